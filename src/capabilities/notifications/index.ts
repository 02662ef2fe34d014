export { newChannelBody } from './schema.ts';
export { notificationRoutes } from './routes.ts';
export { Notifications } from './service.ts';
