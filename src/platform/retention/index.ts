export { RetentionLoop, type RetentionLoopOptions } from './retention-loop.ts';
