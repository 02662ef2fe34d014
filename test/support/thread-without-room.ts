import type { startThread, Thread } from '../../src/platform/threads/index.ts';

/** What `startThread` gives where the system has no room for another thread. */
export function threadWithoutRoom(onExit: Parameters<typeof startThread>[0]['onExit']): Thread {
  queueMicrotask(() => onExit(new Error('no room')));
  return {
    post: () => undefined,
    end: () => Promise.resolve(),
    terminate: () => Promise.resolve(),
    processorMs: () => Promise.resolve(0),
  };
}
