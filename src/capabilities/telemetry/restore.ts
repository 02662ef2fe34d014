/** Takes exported samples back in: through the same checks and the same journal, without events. */
import { invalidBody } from '../../lib/errors.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import type { Journal } from '../../platform/journal/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { importCsv } from './csv-import.ts';
import type { Ingest } from './ingest.ts';
import type { AttributePlan, Plans } from './plans.ts';

export interface ImportReport {
  rows: number;
  /** Values stored. */
  values: number;
  /** Values that do not fit their attribute. */
  rejected: number;
}

/** G: bytes given to the journal at once; between two the event loop has its turn. */
const BYTES_PER_REQUEST = 32_768;
/** G: rows between two looks at how much was written. */
const ROWS_PER_TURN = 64;

/** Resolves when everything is on disk. @throws GatewayError invalid_body, device_not_found, unavailable */
export async function restoreCsv(
  chunks: AsyncIterable<Uint8Array>,
  parts: { devices: Devices; plans: Plans; ingest: Ingest; journal: Journal },
): Promise<ImportReport> {
  const { devices, plans, ingest, journal } = parts;
  const report: ImportReport = { rows: 0, values: 0, rejected: 0 };
  let targets: { device: Device; plan: AttributePlan }[] = [];
  let pendingBytes = 0;
  let rows = 0;
  let stored: Promise<void> = Promise.resolve();
  report.rows = await importCsv(chunks, {
    columns: (columns) => {
      targets = columns.map(({ device: idOrSlug, attribute }) => {
        const device = devices.require(idOrSlug);
        const plan = plans.of(device).attributes.get(attribute);
        if (!plan) throw invalidBody('line 1', `Device ${idOrSlug} has no telemetry "${attribute}".`);
        return { device, plan };
      });
      return targets.map(({ plan }) => plan.type);
    },
    value: (column, timestampS, value) => {
      const { device, plan } = targets[column] ?? {};
      if (!device || !plan) return;
      const sizeBytes = ingest.restore(device, plan, timestampS, value);
      if (sizeBytes === undefined) report.rejected++;
      else {
        report.values++;
        pendingBytes += sizeBytes;
      }
    },
    rowDone: async () => {
      if (++rows % ROWS_PER_TURN !== 0) return;
      await nextTurn();
      if (pendingBytes < BYTES_PER_REQUEST) return;
      // One group is on its way while the next one is read.
      await stored;
      stored = journal.request(pendingBytes);
      pendingBytes = 0;
    },
  });
  await stored;
  if (pendingBytes > 0) await journal.request(pendingBytes);
  return report;
}
