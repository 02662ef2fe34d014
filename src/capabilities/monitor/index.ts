export { monitorStreams } from './routes.ts';
