export { announcementRoutes } from './routes.ts';
export { Announcements } from './service.ts';
