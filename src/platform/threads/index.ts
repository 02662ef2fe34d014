export { connectThread, processorMs, startThread, type Thread, type ThreadPort } from './thread.ts';
