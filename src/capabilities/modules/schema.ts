/** Scans of addresses and lines on the wire: an extension of the interface. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { defined } from '../../lib/members.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { type MediaAnswer, shape } from '../../platform/http/index.ts';
import type { ScanEnd, ScanOrder, ScanUnit } from './scans.ts';
import type { DeviceTrace } from './traces.ts';

const { scanAnswerMs, scanSerialAnswerMs, scanAnswerMsMax, scanReads, scanReadRegisters } = LIMITS.field;

const uri = v.pipe(
  v.string(),
  v.maxLength(255, 'must have at most 255 characters'),
  v.check(
    (text) => /^\s*(?:tcp|rtu\+tcp|tcp\+serial|socket|port):\/\/\S+\s*$/i.test(text),
    'must be tcp://host:port, or port:// and the name of a serial port',
  ),
  v.description('Where to look, as scripts write it: `tcp://192.168.1.20:502`, `port://rs485`.'),
  v.examples(['tcp://192.168.1.20:502']),
);

const wholeNumber = (minValue: number, maxValue: number) =>
  v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(minValue), v.maxValue(maxValue));
const unitId = wholeNumber(0, 255);

const placeFields = {
  runtime_id: v.nullish(
    v.pipe(
      v.string(),
      v.minLength(1, 'must not be empty'),
      v.description(
        'Id or slug of the communication module that looks; `gateway` means the one that is built in.',
      ),
    ),
    'gateway',
  ),
  uri,
  baud_rate: v.nullish(wholeNumber(50, 4_000_000)),
  data_bits: v.nullish(v.picklist([5, 6, 7, 8])),
  parity: v.nullish(v.picklist(['N', 'E', 'O'])),
  stop_bits: v.nullish(v.picklist([1, 2])),
  timeout_ms: v.nullish(
    shape.about(
      wholeNumber(20, scanAnswerMsMax),
      `How long to wait for an answer; ${scanAnswerMs}, on a serial line ${scanSerialAnswerMs}.`,
    ),
  ),
};

type Place = v.InferOutput<v.ObjectSchema<typeof placeFields, undefined>>;

function orderOf(place: Place, firstUnit: number, lastUnit: number): { runtime: string; order: ScanOrder } {
  const { runtime_id: runtime, uri: text, baud_rate, data_bits, parity, stop_bits, timeout_ms } = place;
  return {
    runtime,
    order: {
      uri: text.trim(),
      baud_rate: baud_rate ?? undefined,
      data_bits: data_bits ?? undefined,
      parity: parity ?? undefined,
      stop_bits: stop_bits ?? undefined,
      first_unit: firstUnit,
      last_unit: lastUnit,
      timeout_ms: timeout_ms ?? (isSerialUri(text.trim()) ? scanSerialAnswerMs : scanAnswerMs),
    },
  };
}

export const testBody = v.pipe(
  v.object({ ...placeFields, unit_id: v.nullish(unitId, 1) }),
  shape.example({ uri: 'tcp://192.168.1.20:502', unit_id: 1 }),
  v.transform((body) => orderOf(body, body.unit_id, body.unit_id)),
);

const FUNCTIONS = ['INPUT', 'HOLDING', 'COIL', 'DISCRETE'] as const;
const KINDS = { INPUT: 'input', HOLDING: 'holding', COIL: 'coil', DISCRETE: 'discrete' } as const;

export const readBody = v.pipe(
  v.object({
    ...placeFields,
    unit_id: v.nullish(unitId, 1),
    reads: v.pipe(
      v.array(
        v.object({
          function: v.picklist(FUNCTIONS),
          address: wholeNumber(0, 65_535),
          count: v.nullish(wholeNumber(1, scanReadRegisters), 1),
        }),
      ),
      v.minLength(1, 'must not be empty'),
      v.maxLength(scanReads),
    ),
  }),
  shape.example({
    uri: 'tcp://192.168.1.20:502',
    unit_id: 1,
    reads: [{ function: 'INPUT', address: 12, count: 2 }],
  }),
  v.transform(({ reads, ...body }) => {
    const { runtime, order } = orderOf(body, body.unit_id, body.unit_id);
    const wanted = reads.map(({ function: kind, address: start, count }) => ({
      kind: KINDS[kind],
      start,
      count,
    }));
    return { runtime, order: { ...order, reads: wanted, only_reads: true } };
  }),
);

export const scanBody = v.pipe(
  v.object({
    ...placeFields,
    first_unit: v.nullish(unitId, 1),
    last_unit: v.nullish(shape.about(unitId, 'Units between the two are asked, the lowest first.'), 247),
  }),
  shape.example({ uri: 'port://rs485', baud_rate: 19_200, first_unit: 1, last_unit: 32 }),
  v.transform((body) =>
    orderOf(body, Math.min(body.first_unit, body.last_unit), Math.max(body.first_unit, body.last_unit)),
  ),
);

const word = v.optional(v.string());
const identities = {
  sunspec: v.optional(
    shape.about(
      v.object({ manufacturer: word, model: word, version: word, serial_number: word }),
      'What it says by the common model of SunSpec.',
    ),
  ),
  identification: v.optional(
    shape.about(
      v.object({ vendor: word, product_code: word, revision: word, product_name: word, model_name: word }),
      'What it says by Read Device Identification, function 43/14.',
    ),
  ),
};

const UNIT_OUTCOMES = ['ANSWERS', 'EXCEPTION', 'SILENT', 'GARBLED', 'CLOSED'] as const;
const END_OUTCOMES = [
  'COMPLETE',
  'UNREACHABLE',
  'IN_USE',
  'BUSY',
  'NO_PORT',
  'TIME_LIMIT',
  'MODULE_LOST',
] as const;

/** Outcome of a test of one unit. */
export const testShape = v.object({
  test: v.object({
    usable: shape.about(v.boolean(), 'The unit is there.'),
    outcome: v.picklist([...UNIT_OUTCOMES, ...END_OUTCOMES]),
    message: shape.about(v.string(), 'What happened, in a sentence.'),
    ...identities,
  }),
});

/** Registers of one unit as they are now. */
export const readShape = v.object({
  read: v.object({
    usable: shape.about(v.boolean(), 'The unit is there.'),
    outcome: v.picklist([...UNIT_OUTCOMES, ...END_OUTCOMES]),
    message: shape.about(v.string(), 'What happened, in a sentence.'),
    reads: v.array(
      v.object({
        function: v.picklist(FUNCTIONS),
        address: v.number(),
        words: shape.about(
          v.nullable(v.array(v.number())),
          'In the order of the wire, 1 or 0 of coils and discrete inputs; null: the unit gave none.',
        ),
      }),
    ),
  }),
});
/** Registers in an answer. */
export type ReadOnWire = v.InferOutput<typeof readShape>['read'];

/** @param event the end where the unit could not be asked */
export function readOf(event: ScanUnit | ScanEnd, order: ScanOrder): ReadOnWire {
  const { usable, outcome, message } = testOf(lineOf(event, order));
  const words = event.type === 'scan_unit' ? event.reads : undefined;
  return {
    usable,
    outcome,
    message,
    reads: (order.reads ?? []).map(({ kind, start }, index) => ({
      function: FUNCTIONS.find((name) => KINDS[name] === kind) ?? 'HOLDING',
      address: start,
      words: words?.[index] ?? null,
    })),
  };
}

const unitShape = v.object({
  type: v.literal('unit'),
  unit_id: v.number(),
  outcome: v.picklist(UNIT_OUTCOMES),
  message: v.string(),
  ...identities,
});

const endShape = v.object({
  type: v.literal('end'),
  outcome: v.picklist(END_OUTCOMES),
  message: v.string(),
});

/** One line of the answer to a scan. */
export type ScanLine = v.InferOutput<typeof unitShape> | v.InferOutput<typeof endShape>;
export type TestOutcome = v.InferOutput<typeof testShape>['test'];

export const SCAN_ANSWER: MediaAnswer = {
  mediaType: 'application/x-ndjson',
  about:
    'One JSON object in each line, as soon as it is known: `type` unit with `unit_id`, `outcome` (ANSWERS, EXCEPTION, SILENT, GARBLED, CLOSED), `message`, `sunspec`, `identification` for each unit, and at last `type` end with `outcome` (COMPLETE, UNREACHABLE, IN_USE, BUSY, NO_PORT, TIME_LIMIT, MODULE_LOST) and `message`.',
  example:
    '{"type":"unit","unit_id":1,"outcome":"SILENT","message":"Unit 1 does not answer within 300 ms."}\n{"type":"end","outcome":"COMPLETE","message":"All units were asked."}\n',
};

export function lineOf(event: ScanUnit | ScanEnd, order: ScanOrder): ScanLine {
  if (event.type === 'scan_end')
    return { type: 'end', outcome: upper(event.outcome), message: endSentence(event, order.uri) };
  const { unit_id, outcome, sunspec, identification } = event;
  return {
    type: 'unit',
    unit_id,
    outcome: upper(outcome),
    message: unitSentence(event, order),
    ...defined({ sunspec, identification }),
  };
}

export function testOf(line: ScanLine): TestOutcome {
  const usable = line.outcome === 'ANSWERS' || line.outcome === 'EXCEPTION';
  if (line.type === 'end') return { usable, outcome: line.outcome, message: line.message };
  const { type: _type, unit_id: _unitId, ...found } = line;
  return { usable, ...found };
}

function upper<Word extends string>(word: Word): Uppercase<Word> {
  return word.toUpperCase() as Uppercase<Word>;
}

// Results of a scan in sentences for people.

/** The result for one unit. @param order the scan */
function unitSentence(unit: ScanUnit, order: ScanOrder): string {
  const { unit_id: id, outcome, reason, exception_code: code } = unit;
  switch (outcome) {
    case 'answers': {
      const name = nameOf(unit);
      return name === ''
        ? `Unit ${id} answers, and does not say what it is.`
        : `Unit ${id} answers: ${name}.`;
    }
    case 'exception':
      return `Unit ${id} is there, and refuses what it was asked with exception ${code} (${reason}).`;
    case 'silent':
      return reason === undefined
        ? `Unit ${id} does not answer within ${order.timeout_ms} ms.`
        : `Unit ${id} does not answer: what is between says "${reason}".`;
    case 'garbled':
      return reason?.includes('?ids=loose') === true
        ? `Unit ${id} ${reason}.`
        : `What came back from unit ${id} is no valid answer: ${reason}. ${hintOf(order.uri)}`;
    case 'closed':
      return `The connection ends when unit ${id} is asked: ${reason}.`;
  }
}

function hintOf(uri: string): string {
  return isSerialUri(uri)
    ? 'Speed or parity may differ, or two units have the same id.'
    : 'Perhaps something else than Modbus listens there.';
}

/** Whether it is a serial line and no network address. */
function isSerialUri(uri: string): boolean {
  return !/^tcp:/i.test(uri);
}

/** Why the scan ended. @param uri the scanned address */
export function endSentence({ outcome, reason }: ScanEnd, uri: string): string {
  switch (outcome) {
    case 'complete':
      return 'All units were asked.';
    case 'unreachable':
      return `${uri} cannot be reached: ${reason}.`;
    case 'in_use':
      return `${uri} is in use: ${reason}.`;
    case 'busy':
      return `Another scan of ${uri} goes on.`;
    case 'no_port':
      return `${uri} leads nowhere: ${reason}.`;
    case 'time_limit':
      return 'The scan took too long and was ended; look at fewer units.';
    case 'module_lost':
      return `The module was lost: ${reason}.`;
  }
}

/** The unit's name of itself, by SunSpec or else by its identification. */
function nameOf({ sunspec, identification }: ScanUnit): string {
  const ways = [
    [sunspec?.manufacturer, sunspec?.model, sunspec?.serial_number],
    [
      identification?.vendor,
      identification?.model_name ?? identification?.product_name ?? identification?.product_code,
      undefined,
    ],
  ] as const;
  const [maker, model, serial] = ways.find((words) => words.some((word) => word !== undefined)) ?? [];
  const name = [maker, model].filter((word) => word !== undefined).join(' ');
  return serial === undefined ? name : `${name}, serial number ${serial}`;
}

// Field traces.

const { durationMs, durationMsMax } = LIMITS.trace;
const SECOND_MS = 1_000;

export const traceBody = v.pipe(
  v.object({
    duration_s: v.nullish(
      shape.about(wholeNumber(1, durationMsMax / SECOND_MS), 'It ends by itself after so many seconds.'),
      durationMs / SECOND_MS,
    ),
  }),
  shape.example({ duration_s: 900 }),
);

const TRANSPORTS = ['MODBUS_TCP', 'MODBUS_RTU', 'SERIAL', 'HTTP', 'TCP', 'UDP', 'WEBSOCKET', 'MQTT'] as const;

const exchangeShape = v.object({
  number: shape.about(v.number(), 'Counts from 1 in each trace.'),
  at: shape.about(v.string(), 'When it was sent, or came.'),
  transport: v.picklist(TRANSPORTS),
  address: shape.about(v.string(), 'URI, host and port, serial port, or topic.'),
  unit_id: v.optional(v.number()),
  format: shape.about(v.picklist(['HEX', 'TEXT']), 'Of `sent` and `received`.'),
  sent: v.optional(v.string()),
  received: v.optional(v.string()),
  is_cut: v.optional(shape.about(v.boolean(), 'One of the two was longer.')),
  duration_ms: v.optional(v.number()),
  error: v.optional(shape.about(v.string(), 'Why there is no good answer.')),
});

/** The newest trace of a device. */
export const traceShape = v.object({
  trace: v.object({
    state: shape.about(
      v.picklist(['OFF', 'STARTING', 'RUNNING', 'ENDED']),
      'STARTING until the module has confirmed it; OFF if the device was not traced since the gateway started.',
    ),
    started_at: v.optional(v.string()),
    ends_at: v.optional(shape.about(v.string(), 'When it ends by itself, or ended.')),
    dropped: shape.about(v.number(), 'Exchanges that were left out or removed, because there were too many.'),
    exchanges: shape.about(v.array(exchangeShape), 'Oldest first.'),
  }),
});

/** A trace in an answer. */
export type TraceOnWire = v.InferOutput<typeof traceShape>['trace'];

/** @param after number of the last exchange that the caller has */
export function traceToWire(trace: DeviceTrace | undefined, after = 0): TraceOnWire {
  if (!trace) return { state: 'OFF', dropped: 0, exchanges: [] };
  const { state, startedAtMs, endsAtMs, dropped, exchanges } = trace;
  return {
    state,
    started_at: formatTimestamp(startedAtMs),
    ends_at: formatTimestamp(endsAtMs),
    dropped,
    exchanges: exchanges
      .filter(({ number }) => number > after)
      .map(({ number, atMs, transport, address, ...others }) => ({
        number,
        at: formatTimestamp(atMs),
        transport: upper(transport),
        address,
        ...others,
      })),
  };
}
