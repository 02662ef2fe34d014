/**
 * The conversation between the gateway and a communication module on the module's own channel, as
 * docs/communication-module.md describes it. Pure: encodes, decodes, judges; both ends use it. Whatever does
 * not fit the table below is refused with a sentence; keys that are not in it are passed over.
 */
import { Buffer } from 'node:buffer';
import * as v from 'valibot';
import { exactJson, parseExactJson } from '../lib/json.ts';
import { LIMITS } from '../lib/limits.ts';
import { isStorageKey } from './storage-key.ts';
import { isObject } from '../lib/members.ts';
import type { EpochS } from '../lib/time.ts';
import { deviceTopic } from './device-topic.ts';

/** Sent in `hello`; a gateway of another version does not answer and writes a log entry. */
export const MODULE_PROTOCOL: { readonly version: number } = { version: 1 };

/**
 * Options of Node for the program. Without the first one every Lua state reserves 8 GiB of addresses, and a board
 * with 39-bit addresses is full after 60 scripts; it costs about a quarter of the speed of scripts. The others keep it
 * small, as in the rule sandbox (protocol/rule-sandbox.ts).
 */
export const MODULE_NODE_OPTIONS: readonly string[] = [
  '--disable-wasm-trap-handler',
  '--max-semi-space-size=2',
  '--expose-gc',
  '--optimize-for-size',
];

/** The channel of a module's own messages. */
export const MODULE_CHANNEL = 'ucm';
/** Last part of the topic, the same in both directions. */
export const MODULE_SUBJECT = 'v1/module';

/** The topic on which the gateway sends to the module. */
export function moduleTopic(hardwareId: string): string {
  return deviceTopic({ hardwareId, channelId: MODULE_CHANNEL }, MODULE_SUBJECT);
}

const identifier = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'is no identifier'));
const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'is no SHA-256'));
const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(0));
const sizeBytes = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(LIMITS.module.contentBytes));
const text = v.pipe(v.string(), v.maxLength(LIMITS.module.reasonBytes));
const OF_ANY_NAMES = { type: 'object', additionalProperties: true };
/** Kept as sent: a record loses names such as `constructor`, which parameters may have. */
const table = v.pipe(
  v.custom<Record<string, unknown>>(isObject, 'must be an object'),
  v.metadata({ wire: OF_ANY_NAMES }),
);
const tables = v.pipe(
  v.custom<Record<string, Record<string, unknown>>>(
    (value) => isObject(value) && Object.values(value).every(isObject),
    'must be an object of objects',
  ),
  v.metadata({ wire: { type: 'object', additionalProperties: OF_ANY_NAMES } }),
);
const storageKey = v.pipe(v.string(), v.check(isStorageKey, 'is no storage key'));
const bytes = (bytesMax: number) =>
  v.pipe(
    v.string(),
    v.maxLength(Math.ceil(bytesMax / 3) * 4),
    v.base64(),
    v.transform((base64): Buffer => Buffer.from(base64, 'base64')),
    v.check((decoded) => decoded.length <= bytesMax, `has more than ${bytesMax} bytes`),
  );

/** Something that is fetched in chunks and kept by its SHA-256, in lower-case hexadecimal. */
const content = v.object({ hash, size: sizeBytes });

const assignment = v.object({
  device_id: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  channel_id: identifier,
  /** Another one starts the script again, also one of the same content. */
  blueprint_id: v.optional(v.pipe(v.string(), v.maxLength(64))),
  /** Another number starts the script again, with whatever blueprint; absent in a gateway of before. */
  assignment_count: v.optional(wholeNumber),
  /** The compiled Lua file. */
  script: content,
  /** Facts about the blueprint that the runtime needs: `BlueprintFacts` as JSON. */
  facts: content,
});

const unitId = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255));
const word = v.optional(v.pipe(v.string(), v.maxLength(255)));
const register = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));
const scanRead = v.object({
  kind: v.picklist(['input', 'holding', 'coil', 'discrete']),
  start: register,
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LIMITS.field.scanReadRegisters)),
});
/** Bytes as hexadecimal text, at most so many. */
const hex = v.optional(
  v.pipe(
    v.string(),
    v.maxLength(LIMITS.trace.messageBytes * 2),
    v.regex(/^(?:[0-9a-f]{2})*$/, 'is no hexadecimal text'),
  ),
);
/** A request to a device and its answer, or one of the two. */
const traceEntry = v.object({
  /** When it was sent, or came; milliseconds since 1970. Absent: the board's clock is wrong. */
  at_ms: v.optional(v.pipe(v.number(), v.minValue(0))),
  transport: v.picklist(['modbus_tcp', 'modbus_rtu', 'serial', 'http', 'tcp', 'udp', 'websocket', 'mqtt']),
  /** URI, host and port, or topic. */
  address: v.pipe(v.string(), v.maxLength(LIMITS.trace.addressLength)),
  unit_id: v.optional(unitId),
  sent: hex,
  received: hex,
  /** One of the two is longer than what is here. */
  is_cut: v.optional(v.boolean()),
  /** From sending to the answer or the failure. */
  duration_ms: v.optional(v.pipe(v.number(), v.minValue(0))),
  /** Why there is no good answer. */
  error: v.optional(text),
});
const storageValue = bytes(LIMITS.module.storageValueBytes);

const message = <Type extends string, Members extends v.ObjectEntries>(type: Type, members: Members) =>
  v.object({ type: v.literal(type), ...members });

const TO_MODULE = v.variant('type', [
  message('assignments', {
    /** Grows with each document of one run of the gateway. */
    revision: wholeNumber,
    /** IANA name, for `os.date`. */
    time_zone: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
    /** Silence after which the gateway ends an execution; absent: 60 s. */
    command_timeout_s: v.optional(v.pipe(v.number(), v.minValue(1))),
    /** For which start of the module it is: another one with the same credentials passes it over. */
    run: v.optional(identifier),
    /** The gateway's clock, milliseconds since 1970; absent while it is not set. */
    now_ms: v.optional(v.pipe(v.number(), v.minValue(0))),
    /** Everything the module shall run; what is not in it is stopped. */
    devices: v.pipe(v.array(assignment), v.maxLength(LIMITS.module.scripts)),
  }),
  /** Another module with the same credentials is there: this one shall run nothing. */
  message('refused', { run: identifier, reason: text }),
  message('content', { hash, size: sizeBytes, offset: sizeBytes, data: bytes(LIMITS.module.chunkBytes) }),
  message('configuration', {
    channel_id: identifier,
    /** All groups: defaults applied, sensitive values in clear, unset parameters absent. */
    groups: tables,
    /** Groups that were just written: their callbacks run even when no value differs. */
    written: v.pipe(v.array(v.string()), v.maxLength(1_000)),
  }),
  message('configuration_check', {
    id: identifier,
    channel_id: identifier,
    group: v.string(),
    values: table,
  }),
  message('configuration_read', { id: identifier, channel_id: identifier, group: v.string() }),
  message('restart', {
    /** Absent: every script. */
    channel_id: v.optional(identifier),
    /** Counter of the device: assignments with the same number do not start its script again. */
    assignment_count: v.optional(wholeNumber),
  }),
  /** Looks for units behind an address or on a serial line, in order; a single unit is asked more thoroughly. */
  message('scan', {
    id: identifier,
    /** As scripts write it: `tcp://host:port`, `port://name`. */
    uri: v.pipe(v.string(), v.maxLength(255)),
    /** Settings of a serial line; absent: as the port is set. */
    baud_rate: v.optional(v.pipe(v.number(), v.integer(), v.minValue(50), v.maxValue(4_000_000))),
    data_bits: v.optional(v.picklist([5, 6, 7, 8])),
    parity: v.optional(v.picklist(['N', 'E', 'O'])),
    stop_bits: v.optional(v.picklist([1, 2])),
    first_unit: unitId,
    last_unit: unitId,
    timeout_ms: v.pipe(v.number(), v.minValue(1), v.maxValue(LIMITS.field.scanAnswerMsMax)),
    /** Registers to read of each unit that is there. */
    reads: v.optional(v.pipe(v.array(scanRead), v.maxLength(LIMITS.field.scanReads))),
    /** True when only `reads` are wanted, because the values are polled. */
    only_reads: v.optional(v.boolean()),
    /** Whether to follow its chain of SunSpec models. */
    models: v.optional(v.boolean()),
  }),
  message('scan_stop', { id: identifier }),
  /** Sends what the device is asked and answers, from now on for so long; 0 ends that. */
  message('trace', {
    channel_id: identifier,
    duration_ms: v.pipe(v.number(), v.minValue(0), v.maxValue(LIMITS.trace.durationMsMax)),
  }),
  message('answer', {
    id: identifier,
    /** Answer to `storage_read`; absent when there is no such key. */
    value: v.optional(storageValue),
    /** Answer to `command`. */
    state: v.optional(v.picklist(['completed', 'error'])),
    payload: v.optional(table),
    /** The request failed; a sentence for the script. */
    error: v.optional(text),
  }),
]);

const FROM_MODULE = v.variant('type', [
  message('hello', {
    version: v.pipe(v.number(), v.integer()),
    /** Another text after each start of the module. */
    run: identifier,
    /** Requirements of blueprints that it meets, such as `modbus`, and its ports, as `moduleOffers` writes them. */
    offers: v.pipe(v.array(v.pipe(v.string(), v.maxLength(96))), v.maxLength(512)),
  }),
  message('get', { hash, offset: sizeBytes }),
  message('status', {
    channel_id: identifier,
    state: v.picklist(['starting', 'running', 'failed', 'stopped']),
    /** SHA-256 of the script it is about. */
    script: hash,
    /** Why it failed. */
    reason: v.optional(text),
    /** Configuration groups whose values the script reads from the device. */
    reads: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(255))), v.maxLength(1_000))),
  }),
  message('configuration_verdict', { id: identifier, refusal: v.optional(text) }),
  /** Answer to `configuration_read`; without values what is stored counts. */
  message('configuration_values', { id: identifier, values: v.optional(table) }),
  /** A unit that a scan found. */
  message('scan_unit', {
    id: identifier,
    unit_id: unitId,
    outcome: v.picklist(['answers', 'exception', 'silent', 'garbled', 'closed']),
    exception_code: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(255))),
    /** In words, why not. */
    reason: v.optional(text),
    /** Identity from the common model of SunSpec. */
    sunspec: v.optional(v.object({ manufacturer: word, model: word, version: word, serial_number: word })),
    /** Identity from function 43/14. */
    identification: v.optional(
      v.object({
        vendor: word,
        product_code: word,
        revision: word,
        product_name: word,
        model_name: word,
      }),
    ),
    /** Words of the registers that the scan names, in that order; null for those that it did not get. */
    reads: v.optional(v.pipe(v.array(v.nullable(v.array(register))), v.maxLength(LIMITS.field.scanReads))),
    /** Numbers of its SunSpec models. */
    models: v.optional(v.pipe(v.array(register), v.maxLength(LIMITS.field.scanModels))),
  }),
  message('scan_end', {
    id: identifier,
    outcome: v.picklist(['complete', 'unreachable', 'in_use', 'busy', 'no_port', 'time_limit']),
    reason: v.optional(text),
  }),
  /** Exchanges of a traced device, oldest first; the first message is empty and confirms that the trace runs. */
  message('trace_entries', {
    channel_id: identifier,
    entries: v.pipe(v.array(traceEntry), v.maxLength(LIMITS.trace.entriesAtOnce)),
    /** Entries that were left out since the last message, because there were too many. */
    dropped: wholeNumber,
  }),
  message('storage_read', { id: identifier, channel_id: identifier, key: storageKey }),
  message('storage_write', { id: identifier, channel_id: identifier, key: storageKey, value: storageValue }),
  message('storage_remove', { id: identifier, channel_id: identifier, key: storageKey }),
  message('command', {
    id: identifier,
    /** Channel of the device whose script asks. */
    channel_id: identifier,
    /** The other device: its id, its slug, or its hardware id together with `target_channel_id`. */
    target: v.pipe(v.string(), v.minLength(1), v.maxLength(255)),
    target_channel_id: v.optional(identifier),
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(255)),
    arguments: table,
    timeout_ms: v.pipe(v.number(), v.minValue(1), v.maxValue(LIMITS.module.peerMsMax)),
  }),
]);

/** Every message of the conversation, for the description of the interface. */
export const MODULE_MESSAGES = { toModule: TO_MODULE, fromModule: FROM_MODULE };

export type ToModule = v.InferOutput<typeof TO_MODULE>;
export type FromModule = v.InferOutput<typeof FROM_MODULE>;
export type Assignment = v.InferOutput<typeof assignment>;
export type TraceEntry = v.InferOutput<typeof traceEntry>;
export type ScriptState = (FromModule & { type: 'status' })['state'];

type Decoded<Message> = { message: Message; problem?: undefined } | { problem: string };

/** Reads a message to the module. */
export function decodeToModule(payload: Uint8Array): Decoded<ToModule> {
  return decode(TO_MODULE, payload);
}

/** Reads a message of the module; also takes the object, if it was parsed already. */
export function decodeFromModule(payload: Uint8Array | Record<string, unknown>): Decoded<FromModule> {
  return decode(FROM_MODULE, payload);
}

/** Bytes travel as base64. The maker of the parts keeps them within one publication. */
export function encodeModuleMessage(message: ToModule | FromModule): string {
  const wire = Object.entries(message).map(([key, value]: [string, unknown]) => [
    key,
    // A Buffer that came from another thread is a plain array of bytes.
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  ]);
  return exactJson(Object.fromEntries(wire));
}

function decode<Message>(
  schema: v.GenericSchema<unknown, Message>,
  payload: Uint8Array | Record<string, unknown>,
): Decoded<Message> {
  let value: unknown = payload;
  if (payload instanceof Uint8Array) {
    try {
      value = parseExactJson(Buffer.from(payload).toString('utf8'));
    } catch {
      return { problem: 'a message is not JSON' };
    }
  }
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return { message: result.output };
  const [issue] = result.issues;
  const path = v.getDotPath(issue) ?? 'message';
  return { problem: `${path}: ${issue.message}` };
}

/** Facts about a blueprint that the runtime needs; sent as JSON with its own hash. */
const FACTS = v.object({
  /** `v3` for the spec `device/3.0`, `v1` for `device/1.0`. */
  api: v.picklist(['v3', 'v1']),
  /** Type of each declared attribute by its name. */
  telemetry: v.record(v.string(), v.string()),
  properties: v.record(v.string(), v.string()),
  /** Parameters of each configuration group that must have a value. */
  configuration: v.record(v.string(), v.array(v.string())),
});
export type BlueprintFacts = v.InferOutput<typeof FACTS>;

export function encodeFacts(facts: BlueprintFacts): Buffer {
  return Buffer.from(JSON.stringify(facts));
}

/** Undefined: these are no facts. */
export function decodeFacts(content: Uint8Array): BlueprintFacts | undefined {
  const decoded = decode(FACTS, content);
  return 'message' in decoded ? decoded.message : undefined;
}

/** The chunk of some content that answers a `get`; undefined when the offset lies beyond its end. */
export function contentChunk(
  contentHash: string,
  whole: Uint8Array,
  offset: number,
): (ToModule & { type: 'content' }) | undefined {
  if (offset > whole.length) return undefined;
  const data = Buffer.from(whole.subarray(offset, offset + LIMITS.module.chunkBytes));
  return { type: 'content', hash: contentHash, size: whole.length, offset, data };
}

/**
 * What a module says of itself on its own channel, and how often. While it rests nothing changes, and values cost the card
 * a sync each time: then it says an empty message each second, and its values so that they stay fresh.
 */
export const MODULE_INTERVALS = { telemetryMs: 1_000, restingMs: 10_000, propertiesMs: 30_000 } as const;

/** Scripts in each state, and ports that scripts need and that cannot be opened. */
export interface ModuleCounts {
  running: number;
  failed: number;
  portsFailed: number;
}

/** The state of a module as telemetry; without a timestamp the time of receipt counts. */
export function moduleTelemetry(
  timestamp: EpochS | undefined,
  { running, failed, portsFailed }: ModuleCounts,
) {
  return {
    timestamp,
    alerts: portsFailed > 0 ? ['port_failed'] : [],
    status: 'ok',
    scripts_running: running,
    scripts_failed: failed,
    ports_failed: portsFailed,
  };
}

export function moduleProperties(timestamp: EpochS | undefined) {
  return { timestamp, virtual: true, lua_api_ver: 3 };
}

/** Kinds of ports that are no serial lines, as `hello` and the settings of a module call them. */
export const IO_PORT_KINDS = ['can', 'digital_input', 'digital_output', 'analog_input'] as const;
export type IoPortKind = (typeof IO_PORT_KINDS)[number];

/** Member `offers` of its hello: `port:rs485` for a serial line, `can:can` and so on for everything else. */
export function moduleOffers(
  serialNames: readonly string[],
  io: Readonly<Record<string, IoPortKind>>,
): string[] {
  // Device files are second names, which no blueprint asks for.
  const ports = serialNames.filter((name) => !name.startsWith('/'));
  return [
    'modbus',
    'http',
    ...ports.map((name) => `port:${name}`),
    ...Object.entries(io).map(([name, kind]) => `${kind}:${name}`),
  ];
}

/** The response to a command for the module itself, which has been carried out. */
export function moduleAnswer(name: string): { state: string; payload: Record<string, unknown> } {
  if (name === 'reboot') return { state: 'completed', payload: {} };
  return { state: 'error', payload: { message: 'command handler not implemented' } };
}
