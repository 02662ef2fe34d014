/**
 * Preloaded into a gateway that is measured (`--import`), because only the process itself sees its event loop
 * and its heap. At every SIGUSR2 it appends to the file named in its own address what was since the last one.
 */
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import type { ProcessFigures } from './watched-process.ts';

/** Finer than what is judged by it; as often as this the watched process wakes up. */
const RESOLUTION_MS = 2;

function watch(file: string): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  process.on('SIGUSR2', () => {
    const { heapUsed, heapTotal, external } = process.memoryUsage();
    const lateMs = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
    const figures: ProcessFigures = {
      delayP50Ms: lateMs(delay.percentile(50)),
      delayP99Ms: lateMs(delay.percentile(99)),
      delayMaxMs: lateMs(delay.max),
      heapUsedBytes: heapUsed,
      heapTotalBytes: heapTotal,
      externalBytes: external,
    };
    appendFileSync(file, `${JSON.stringify(figures)}\n`);
    delay.reset();
  });
}

const file = new URL(import.meta.url).searchParams.get('file');
// Threads of the process load it, too.
if (isMainThread && file !== null) watch(file);
