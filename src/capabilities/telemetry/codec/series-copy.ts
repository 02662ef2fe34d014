/**
 * The list of series, beside the journal: blocks and records name series by number, so a history.db that lost its
 * list would lose the meaning of everything else. JSON, one array for each series.
 */
import { Buffer } from 'node:buffer';
import type { Series } from './series.ts';
import type { TelemetryType } from '../../../protocol/telemetry.ts';

type Row = [id: number, deviceId: string, attribute: string, type: TelemetryType];

export function writeSeriesCopy(all: Iterable<Series>): Buffer {
  const rows = [...all].map(({ id, deviceId, attribute, type }): Row => [id, deviceId, attribute, type]);
  return Buffer.from(JSON.stringify(rows));
}

/** Empty when there is no intact copy. */
export function readSeriesCopy(bytes: Uint8Array | undefined): Series[] {
  if (!bytes) return [];
  const rows = JSON.parse(Buffer.from(bytes).toString()) as Row[];
  return rows.map(([id, deviceId, attribute, type]) => ({ id, deviceId, attribute, type }));
}
