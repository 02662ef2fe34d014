export type { RecognisedDevice, SearchQuestions } from './model.ts';
export { libraryRoutes } from './routes.ts';
export { DeviceLibrary } from './service.ts';
