/**
 * Records as InfluxDB line protocol, precision nanoseconds: a measurement for each content, the tags of the record as tags,
 * everything else as fields. The number of the record is in the nanoseconds, so that two records of one millisecond stay two
 * and a record that is sent again stays one.
 */
import { type CarriedRecord, type LabelledRecord } from '../model.ts';
import type { Line } from './line-body.ts';
import { escapedKey, fieldText, tagText } from './line-protocol.ts';

const NS_PER_MS = 1_000_000n;

/** @param isApart each field gets a line of its own; servers merge lines with the same time and tags */
export function* recordLines(records: readonly LabelledRecord[], { isApart = false } = {}): Generator<Line> {
  for (const record of records) {
    const { content, labels, tags, body } = record;
    const head = `gateway_${content.toLowerCase()}${tagText({ ...labels, ...tags })} `;
    const end = ` ${timestampNs(record)}\n`;
    // Servers that know only numbers can count records by it.
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
  // An object of `writableJson` that stands for the digits of an integer beyond 2^53.
  return WHOLE_NUMBER.test(json) ? json : fieldText(json);
}

const WHOLE_NUMBER = /^-?\d+$/;

const timestampNs = ({ atMs, number }: CarriedRecord): bigint =>
  BigInt(Math.max(0, Math.floor(atMs))) * NS_PER_MS + (BigInt(number) % NS_PER_MS);
