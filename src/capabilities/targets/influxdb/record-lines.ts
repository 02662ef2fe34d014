/**
 * Records as InfluxDB line protocol, precision nanoseconds: a measurement for each content, tags for what tells series
 * apart, everything else as fields. The number of the record stands in the nanoseconds: two of one millisecond stay two,
 * and one that is sent again is the same.
 */
import { type CarriedRecord, type LabelledRecord } from '../model.ts';
import type { Line } from './line-body.ts';
import { escapedKey, fieldText, tagText } from './line-protocol.ts';

const NS_PER_MS = 1_000_000n;

export function* recordLines(records: readonly LabelledRecord[]): Generator<Line> {
  for (const record of records) yield { text: recordLine(record), samples: 1 };
}

function recordLine(record: LabelledRecord): string {
  const { content, labels, tags, body } = record;
  // Engines that know numbers only count records by it.
  const fields = ['count=1'];
  addFields(fields, '', body, new Set(Object.keys(tags)));
  const measurement = `gateway_${content.toLowerCase()}`;
  return `${measurement}${tagText({ ...labels, ...tags })} ${fields.join(',')} ${timestampNs(record)}\n`;
}

function addFields(fields: string[], prefix: string, body: object, known: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    const key = prefix + name;
    if (known.has(key) || value === null || value === undefined) continue;
    if (typeof value === 'object' && !Array.isArray(value) && prefix === '')
      addFields(fields, `${name}_`, value, known);
    else fields.push(`${escapedKey(key)}=${fieldOf(value)}`);
  }
}

function fieldOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return fieldText(typeof value === 'string' ? value : JSON.stringify(value));
}

const timestampNs = ({ atMs, number }: CarriedRecord): bigint =>
  BigInt(Math.max(0, Math.floor(atMs))) * NS_PER_MS + (BigInt(number) % NS_PER_MS);
