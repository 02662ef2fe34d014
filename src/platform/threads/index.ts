export { startThread, type Thread } from './thread.ts';
export { connectThread, processorMs, type ThreadPort } from './inside.ts';
