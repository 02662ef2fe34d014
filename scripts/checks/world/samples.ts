/** Telemetry values that follow from device, second and attribute, so that any stored one can be judged. */
import type { CompiledAttribute, CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import type { Attempts, Problem } from './journal.ts';

export interface Attribute {
  /** Place in the message; part of what its values follow from. */
  index: number;
  name: string;
  type: CompiledAttribute['type'];
  /** Values to choose from, when the blueprint says so. */
  choices: readonly unknown[];
}

/** The first attributes that the blueprint declares; `alert_details` belongs to another message. */
export function attributesOf(manifest: CompiledManifest, count: number): Attribute[] {
  return Object.entries(manifest.telemetry)
    .filter(([name]) => name !== 'alert_details')
    .slice(0, count)
    .map(([name, declaration], index) => ({
      index,
      name,
      type: declaration.type,
      choices:
        declaration.type === 'alerts'
          ? Object.keys(manifest.alerts).filter((alert) => alert !== 'not_configured')
          : (declaration.enum ?? []),
    }));
}

/** The one value of this device, second and attribute. */
export function sampleValue(device: number, timestampS: number, attribute: Attribute): unknown {
  const number = mix(
    Math.imul(device + 1, 0x9e3779b1) ^ Math.imul(attribute.index + 1, 0x85ebca6b) ^ timestampS,
  );
  switch (attribute.type) {
    case 'float':
      return (number % 2_000_000) / 100 - 10_000;
    case 'integer':
      return number % 100_000;
    case 'boolean':
      return number % 2 === 1;
    case 'string':
      return attribute.choices.length > 0
        ? attribute.choices[number % attribute.choices.length]
        : `text "${number}", with a comma`;
    case 'alerts':
      return attribute.choices.filter((_, choice) => (number >> choice) % 2 === 1);
    case 'array_of_strings':
      return [`item ${number % 7}`, `item ${number % 11}`];
    case 'json':
    case 'object':
      return { number };
  }
}

export function sampleMessage(
  device: number,
  timestampS: number,
  attributes: readonly Attribute[],
): Record<string, unknown> {
  const values = attributes.map((attribute) => [attribute.name, sampleValue(device, timestampS, attribute)]);
  return { timestamp: timestampS, ...(Object.fromEntries(values) as Record<string, unknown>) };
}

/** Rows of `query_timeseries` with one second and the last value: time, then one cell per attribute. */
export function judgeSamples(
  device: number,
  attributes: readonly Attribute[],
  attempts: Attempts<number>,
  required: readonly number[],
  rows: readonly (readonly string[])[],
): Problem[] {
  const problems: Problem[] = [];
  const found = new Set<number>();
  for (const [time, ...cells] of rows) {
    const timestampS = Number(time);
    const where = `sample of device ${device} at ${timestampS}`;
    if (found.has(timestampS)) problems.push({ kind: 'doubled', item: where });
    found.add(timestampS);
    if (!attempts.has(timestampS)) problems.push({ kind: 'wrong', item: `${where} was never sent` });
    for (const [index, attribute] of attributes.entries()) {
      const expected = cellOf(sampleValue(device, timestampS, attribute));
      const cell = cells[index] ?? '';
      if (cell === expected) continue;
      const kind = cell === '' ? 'lost' : 'wrong';
      problems.push({ kind, item: `${where}: ${attribute.name} is ${cell}, sent was ${expected}` });
    }
  }
  for (const timestampS of required)
    if (!found.has(timestampS))
      problems.push({ kind: 'lost', item: `sample of device ${device} at ${timestampS}` });
  return problems;
}

/** A value stored twice would count twice in an average: compares with the mean of the single seconds. */
export function judgeAverages(
  device: number,
  attributes: readonly Attribute[],
  bucketS: number,
  isSettled: (timestampS: number) => boolean,
  rows: readonly (readonly string[])[],
): Problem[] {
  const problems: Problem[] = [];
  for (const [time, ...cells] of rows) {
    const seconds = Array.from({ length: bucketS }, (_, offset) => Number(time) + offset);
    if (!seconds.every(isSettled)) continue;
    for (const [index, attribute] of attributes.entries()) {
      const values = seconds.map((second) => Number(sampleValue(device, second, attribute)));
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      if (Math.abs(Number(cells[index]) - mean) > 1e-6)
        problems.push({
          kind: 'doubled',
          item: `average of device ${device} from ${time}: ${attribute.name} is ${cells[index]}, must be ${mean}`,
        });
    }
  }
  return problems;
}

/** As docs/interface/http.md#csv writes it. */
function cellOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Finalizer of MurmurHash3 (A. Appleby): every input bit changes about half of the output bits. */
function mix(word: number): number {
  let value = word;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
