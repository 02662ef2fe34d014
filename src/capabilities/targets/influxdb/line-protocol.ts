/**
 * Samples as InfluxDB line protocol, precision seconds: one measurement, the device as tags, attributes as fields.
 * Integers are written as floats, so that an attribute may change between both. Several attributes of one device at the
 * same seconds share their lines.
 */
import type { CarriedRecord, LabelledRecord, LabelledSamples } from '../model.ts';
import { writtenValue } from '../sample-text.ts';
import type { Line } from './line-body.ts';

/**
 * Servers do not agree on a backslash before an escaped character or at the end: VictoriaMetrics reads two of them as one,
 * InfluxDB as two. So it is left out there.
 */
function escapedKey(text: string): string {
  return text
    .replace(/[\n\r]/g, ' ')
    .replace(/(?<!\\)\\+(?=[,= ]|$)/g, '')
    .replace(/[,= ]/g, String.raw`\$&`);
}

function escapedMeasurement(text: string): string {
  return text
    .replace(/[\n\r]/g, ' ')
    .replace(/(?<!\\)\\+(?=[, ]|$)/g, '')
    .replace(/[, ]/g, String.raw`\$&`);
}

export function* linesOf(measurement: string, series: readonly LabelledSamples[]): Generator<Line> {
  for (const group of groupsOf(series)) {
    const head = `${escapedMeasurement(measurement)}${tagText({ ...(group[0] as LabelledSamples).labels })} `;
    // Names and values in turn: joining them makes one flat text, whereas concatenation would keep all pieces until it is sent.
    const pieces = group.flatMap(({ attribute }, column) => [
      `${column === 0 ? head : ','}${escapedKey(attribute)}=`,
      '',
    ]);
    const { times } = group[0] as LabelledSamples;
    for (let index = 0; index < times.length; index++) {
      for (let column = 0; column < group.length; column++)
        pieces[column * 2 + 1] = writtenValue(group[column] as LabelledSamples, index, fieldText);
      pieces[group.length * 2] = ` ${times[index]}\n`;
      yield { text: pieces.join(''), samples: group.length };
    }
  }
}

/** The same with each sample in a line of its own, series by series. */
export function* singleLines(measurement: string, all: readonly LabelledSamples[]): Generator<Line> {
  for (const series of all) for (const line of linesOf(measurement, [series])) yield { ...line, of: series };
}

/** Fields of one line at most: more cost the server memory and save nothing. */
const FIELDS_MAX = 64;

/** Consecutive series of one device with the same times. */
function* groupsOf(series: readonly LabelledSamples[]): Generator<LabelledSamples[]> {
  let group: LabelledSamples[] = [];
  for (const samples of series) {
    const first = group[0];
    const fits =
      first !== undefined &&
      group.length < FIELDS_MAX &&
      first.deviceId === samples.deviceId &&
      hasSameTimes(first.times, samples.times) &&
      !group.some(({ attribute }) => attribute === samples.attribute);
    if (!fits && first) {
      yield group;
      group = [];
    }
    group.push(samples);
  }
  if (group.length > 0) yield group;
}

function hasSameTimes(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Tags, each with a comma before it, sorted by name as the protocol recommends. */
function tagText(tags: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(tags)
    .map(([name, value = '']) => [name, escapedKey(value)] as const)
    .filter(([, value]) => value !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `,${name}=${value}`)
    .join('');
}

/** A quoted field value. VictoriaMetrics ends a line at every line break, so it is written as the two characters `\n`. */
function fieldText(text: string): string {
  const escaped = text.replace(/["\\]/g, String.raw`\$&`).replace(/\r\n?|\n/g, String.raw`\\n`);
  return `"${escaped}"`;
}

const NS_PER_MS = 1_000_000n;

/**
 * Records, precision nanoseconds: a measurement for each content, the tags of the record as tags, everything else as fields.
 * The number of the record is in the nanoseconds, so that two records of one millisecond stay two and a record that is sent
 * again stays one. @param isApart each field gets a line of its own; servers merge lines with the same time and tags
 */
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
