export { startThread, type Thread } from './thread.ts';
export { connectThread, type ThreadPort } from './inside.ts';
