/** The thread of the store, except that it fails once, at the third record. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { ToEngine } from '../../src/telemetry-store/engine/messages.ts';

let marker = '';
let records = 0;
parentPort?.on('message', (message: ToEngine) => {
  if (message.kind === 'open') marker = join(message.data.journalFolder, 'failed');
  if (message.kind !== 'record' || ++records < 3 || existsSync(marker)) return;
  writeFileSync(marker, '');
  throw new Error('made to fail');
});
await import('../../src/telemetry-store/engine/thread.ts');
