/** The thread of the store, except that it fails once, at the third record. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

const marker = join((workerData as { journalFolder: string }).journalFolder, 'failed');
let records = 0;
parentPort?.on('message', (message: { kind: string }) => {
  if (message.kind !== 'record' || ++records < 3 || existsSync(marker)) return;
  writeFileSync(marker, '');
  throw new Error('made to fail');
});
await import('../../../src/capabilities/telemetry/engine/thread.ts');
