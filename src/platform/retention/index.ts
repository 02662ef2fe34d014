export { RetentionLoop, type ScarceRoom } from './retention-loop.ts';
