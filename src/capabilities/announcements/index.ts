export { announcementRoutes } from './routes.ts';
export type { AnnouncedDeviceOnWire } from './schema.ts';
export { Announcements } from './service.ts';
