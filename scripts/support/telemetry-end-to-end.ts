/** Publishes a workload from a thread of its own. */
import { Worker } from 'node:worker_threads';
import type { TelemetryLoad, TelemetryLoadFigures } from './telemetry-load-parameters.ts';

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
