/** Messages that cost the one who reads them as much as one may: within every limit, or just beyond. */

export interface CostlyPayload {
  name: string;
  /** What follows the address of the device in the topic. */
  subject: string;
  payload: Buffer;
}

/** The largest payload that the broker takes. */
const PAYLOAD_BYTES = 262_144;
/** Values of one message that are read. */
const VALUES = 16_000;

export const COSTLY_PAYLOADS: readonly CostlyPayload[] = [
  telemetry(
    'a long integer before many values',
    listOf('1', PAYLOAD_BYTES / 2 - 40, '"x":1234567890123456789,'),
  ),
  telemetry('as many values as are read', listOf('1', VALUES, '"x":1234567890123456789,')),
  telemetry('long integers', listOf('12345678901234567', 12_000)),
  telemetry('one number of 260 000 digits', `{"x":${'9'.repeat(260_000)}}`),
  telemetry(
    'many names',
    namesOf((index) => `k${index}`, 12_000),
  ),
  telemetry(
    'names that need decoding',
    namesOf((index) => `\\u0061${index}${'x'.repeat(8)}`, 9_000),
  ),
  telemetry(
    'long names',
    namesOf((index) => `${index}`.padEnd(120, 'n'), 2_000),
  ),
  telemetry('escapes', `{"x":"${'\\u0041'.repeat(43_000)}"}`),
  telemetry('letters of three bytes', `{"x":"${'€'.repeat(87_000)}"}`),
  telemetry('nesting as deep as is read', listOf(`${'['.repeat(14)}1${']'.repeat(14)}`, 1_000)),
  telemetry('nesting deeper than is read', `{"x":${'['.repeat(130_000)}${']'.repeat(130_000)}}`),
  telemetry('empty lists', listOf('[]', VALUES)),
  telemetry('alerts', `{"alerts":[${Array.from({ length: 12_000 }, (_, index) => `"a${index}"`).join()}]}`),
  telemetry('no JSON at all', 'x'.repeat(PAYLOAD_BYTES)),
  telemetry('small and often', '{}'),
  of(
    'names of properties',
    'v1/properties',
    namesOf((index) => `p${index}`, 12_000),
  ),
  of(
    'large properties',
    'v1/properties',
    namesOf((index) => `p${index}`, 15, `"${'x'.repeat(16_000)}"`),
  ),
  of('long log entries', 'v3/logs', JSON.stringify({ message: '\u0001'.repeat(43_000), persist: true })),
  of('log entries', 'v3/logs', JSON.stringify({ message: 'x', persist: true })),
  of('responses', 'v1/command/responses', `{"id":"x","state":"log","payload":${listOf('1', VALUES)}}`),
  of('a response without end', 'v1/command/responses', `{"id":"x","state":"${'s'.repeat(260_000)}"}`),
  of('questions for the configuration', 'v1/configuration/read', '{}'),
  of('greetings of a module', 'v1/module', greeting()),
  of('an unknown subject', 'v9/nothing', 'x'.repeat(PAYLOAD_BYTES)),
];

function telemetry(name: string, payload: string): CostlyPayload {
  return of(name, 'v1/telemetry', payload);
}

function of(name: string, subject: string, payload: string): CostlyPayload {
  return { name, subject, payload: Buffer.from(payload).subarray(0, PAYLOAD_BYTES) };
}

function listOf(value: string, count: number, before = ''): string {
  return `{${before}"j":[${Array.from({ length: count }, () => value).join()}]}`;
}

function namesOf(name: (index: number) => string, count: number, value = '1'): string {
  return `{${Array.from({ length: count }, (_, index) => `"${name(index)}":${value}`).join()}}`;
}

function greeting(): string {
  return JSON.stringify({
    type: 'hello',
    version: 1,
    run: 'r'.repeat(30),
    offers: [],
    x: 'x'.repeat(200_000),
  });
}
