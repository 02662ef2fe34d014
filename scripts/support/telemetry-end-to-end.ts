/** Runs the load against the child process and collects what both say. */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ontoBoard } from './small-board.ts';
import type { TelemetryLoad, TelemetryLoadFigures } from './telemetry-load-parameters.ts';

export interface EndToEndFigures {
  values: number;
  elapsedMs: number;
  received: number;
  /** For the newest values of all series, in memory. */
  latestMs: number;
  commits: number;
  rssBytes: number;
  delayP99Ms: number;
  delayMaxMs: number;
  writtenBytes: number;
  cpuMs: number;
}

/** From the first message to the last acknowledgement. */
export async function runEndToEnd(
  folder: string,
  load: Omit<TelemetryLoad, 'port'>,
): Promise<EndToEndFigures> {
  const child = fork(
    join(import.meta.dirname, 'telemetry-gateway.ts'),
    [folder, String(load.seed), String(load.devices)],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  ontoBoard(child.pid);
  const answer = <Answer>(): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const onExit = (code: number | null): void => reject(new Error(`the gateway ended with ${code}`));
      child.once('exit', onExit);
      child.once('message', (message) => {
        child.off('exit', onExit);
        resolve(message as Answer);
      });
    });
  const { port } = await answer<{ port: number }>();
  const sent = await publish({ ...load, port });
  const figures = answer<Omit<EndToEndFigures, 'values' | 'elapsedMs'>>();
  child.send('figures');
  const gateway = await figures;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.send('stop');
  await ended;
  return { ...sent, ...gateway };
}

/**
 * From the first message to the last acknowledgement; `onReady` is called when all devices are connected, `signal` ends it
 * early.
 */
export function publish(
  load: TelemetryLoad,
  onReady: () => void = () => undefined,
  signal?: AbortSignal,
): Promise<TelemetryLoadFigures> {
  const worker = new Worker(new URL('telemetry-load.ts', import.meta.url), { workerData: load });
  signal?.addEventListener('abort', () => worker.postMessage('end'), { once: true });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.on('message', (message: 'ready' | TelemetryLoadFigures) => {
      if (message === 'ready') onReady();
      else resolve(message);
    });
  });
}
