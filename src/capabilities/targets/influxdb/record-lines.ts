/**
 * Records as InfluxDB line protocol, precision nanoseconds: a measurement for each content, tags for what tells series
 * apart, everything else as fields. The number of the record stands in the nanoseconds: two of one millisecond stay two,
 * and one that is sent again is the same.
 */
import { type CarriedRecord, type LabelledRecord } from '../model.ts';
import type { Line } from './line-body.ts';
import { escapedKey, fieldText, tagText } from './line-protocol.ts';

const NS_PER_MS = 1_000_000n;

/** @param isApart with each field in a line of its own: engines put together what has one instant and one set of tags */
export function* recordLines(records: readonly LabelledRecord[], { isApart = false } = {}): Generator<Line> {
  for (const record of records) {
    const { content, labels, tags, body } = record;
    const head = `gateway_${content.toLowerCase()}${tagText({ ...labels, ...tags })} `;
    const end = ` ${timestampNs(record)}\n`;
    // Engines that know numbers only count records by it.
    const fields = ['count=1'];
    addFields(fields, '', body, new Set(Object.keys(tags)));
    if (!isApart) yield { text: `${head}${fields.join(',')}${end}`, samples: 1 };
    else
      for (const [index, field] of fields.entries())
        yield { text: `${head}${field}${end}`, samples: index === 0 ? 1 : 0, of: record };
  }
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
  if (typeof value === 'string') return fieldText(value);
  const json = JSON.stringify(value);
  // What stands for the digits of a whole number beyond 2^53 (`writableJson`).
  return WHOLE_NUMBER.test(json) ? json : fieldText(json);
}

const WHOLE_NUMBER = /^-?\d+$/;

const timestampNs = ({ atMs, number }: CarriedRecord): bigint =>
  BigInt(Math.max(0, Math.floor(atMs))) * NS_PER_MS + (BigInt(number) % NS_PER_MS);
