export { RetentionLoop, type RetentionLoopOptions, type ScarceRoom } from './retention-loop.ts';
