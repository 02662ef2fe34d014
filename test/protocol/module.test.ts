import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../src/lib/limits.ts';
import {
  contentChunk,
  decodeFacts,
  decodeFromModule,
  decodeToModule,
  encodeFacts,
  encodeModuleMessage,
  type FromModule,
  moduleTopic,
  type ToModule,
} from '../../src/protocol/module.ts';

const HASH = 'a'.repeat(64);
const CONTENT = { hash: HASH, size: 10 };
const DEVICE = { device_id: 'd1', channel_id: 'c1', script: CONTENT, facts: CONTENT };

const TO_MODULE: ToModule[] = [
  { type: 'assignments', revision: 3, time_zone: 'Europe/Berlin', devices: [DEVICE] },
  { type: 'content', hash: HASH, size: 3, offset: 0, data: Buffer.from([0, 255, 10]) },
  { type: 'configuration', channel_id: 'c1', groups: { connection: { port: 502 } }, written: ['connection'] },
  { type: 'configuration_read', id: 'q3', channel_id: 'c1', group: 'connection' },
  { type: 'configuration_check', id: 'q1', channel_id: 'c1', group: 'connection', values: { port: 1 } },
  {
    type: 'scan',
    id: 's1',
    uri: 'port://rs485',
    baud_rate: 19_200,
    data_bits: 8,
    parity: 'E',
    stop_bits: 1,
    first_unit: 1,
    last_unit: 247,
    timeout_ms: 300,
  },
  { type: 'scan_stop', id: 's1' },
  { type: 'trace', channel_id: 'c1', duration_ms: 900_000 },
  { type: 'trace', channel_id: 'c1', duration_ms: 0 },
  { type: 'restart' },
  { type: 'restart', channel_id: 'c1', assignment_count: 3 },
  { type: 'answer', id: 'q1' },
  { type: 'answer', id: 'q1', value: Buffer.from([128]) },
  { type: 'answer', id: 'q1', state: 'completed', payload: { result: 1 } },
  { type: 'answer', id: 'q1', error: 'the storage is full' },
  {
    type: 'assignments',
    revision: 4,
    time_zone: 'UTC',
    run: 'r1',
    now_ms: 1_700_000_000_000,
    devices: [{ ...DEVICE, blueprint_id: 'b1', assignment_count: 2 }],
  },
  { type: 'refused', run: 'r2', reason: 'another one is there' },
];

const FROM_MODULE: FromModule[] = [
  { type: 'hello', version: 1, run: 'r1', offers: ['modbus'] },
  { type: 'get', hash: HASH, offset: 131_072 },
  { type: 'status', channel_id: 'c1', state: 'running', script: HASH },
  { type: 'status', channel_id: 'c1', state: 'failed', script: HASH, reason: 'main.lua:1: boom' },
  { type: 'configuration_verdict', id: 'q1' },
  { type: 'configuration_verdict', id: 'q1', refusal: 'too hot' },
  { type: 'storage_read', id: 'q1', channel_id: 'c1', key: 'k' },
  { type: 'storage_write', id: 'q1', channel_id: 'c1', key: 'k', value: Buffer.from('v') },
  { type: 'storage_remove', id: 'q1', channel_id: 'c1', key: 'k' },
  {
    type: 'command',
    id: 'q1',
    channel_id: 'c1',
    target: 'H2',
    target_channel_id: 'rl6',
    name: 'close',
    arguments: { ch: 1 },
    timeout_ms: 1_000,
  },
  { type: 'status', channel_id: 'c1', state: 'running', script: HASH, reads: ['connection'] },
  { type: 'configuration_values', id: 'q1' },
  { type: 'configuration_values', id: 'q1', values: { port: 1 } },
  {
    type: 'scan_unit',
    id: 's1',
    unit_id: 3,
    outcome: 'answers',
    sunspec: { manufacturer: 'Acme', model: 'Hybrid 5' },
    identification: { vendor: 'Acme' },
  },
  { type: 'scan_unit', id: 's1', unit_id: 4, outcome: 'exception', exception_code: 2, reason: 'no' },
  { type: 'trace_entries', channel_id: 'c1', entries: [], dropped: 2 },
  {
    type: 'trace_entries',
    channel_id: 'c1',
    entries: [{ at_ms: 1, transport: 'http', address: 'http://a/', sent: '00ff', error: 'timeout' }],
    dropped: 0,
  },
  { type: 'scan_end', id: 's1', outcome: 'unreachable', reason: 'connection refused' },
];

const REFUSED_TO_MODULE: [what: string, message: unknown][] = [
  ['a list', []],
  ['no type', {}],
  ['another type', { type: 'explode' }],
  [
    'more devices than a module runs',
    { ...TO_MODULE[0], devices: Array.from({ length: 101 }, () => DEVICE) },
  ],
  ['a hash that is none', { ...TO_MODULE[1], hash: 'a'.repeat(63) }],
  ['a script larger than any', { ...TO_MODULE[1], size: LIMITS.module.contentBytes + 1 }],
  ['a chunk larger than any', { ...TO_MODULE[1], data: Buffer.alloc(131_073).toString('base64') }],
  ['bytes that are no base64', { ...TO_MODULE[1], data: '%' }],
  ['a channel that would leave its topic', { type: 'restart', channel_id: 'a/b' }],
  ['a group that is no table', { ...TO_MODULE[2], groups: { connection: 1 } }],
  [
    'a trace longer than any',
    { type: 'trace', channel_id: 'c1', duration_ms: LIMITS.trace.durationMsMax + 1 },
  ],
  ['an offset before the beginning', { ...TO_MODULE[1], offset: -1 }],
];

const REFUSED_FROM_MODULE: [what: string, message: unknown][] = [
  ['a message to a module', TO_MODULE[0]],
  ['a storage key of 65 bytes', { type: 'storage_read', id: 'q', channel_id: 'c', key: 'ä'.repeat(33) }],
  ['an empty storage key', { type: 'storage_read', id: 'q', channel_id: 'c', key: '' }],
  [
    'a stored value larger than the limit',
    { ...FROM_MODULE[7], value: Buffer.alloc(LIMITS.module.storageValueBytes + 1).toString('base64') },
  ],
  [
    'traced bytes that are no hexadecimal text',
    {
      type: 'trace_entries',
      channel_id: 'c1',
      entries: [{ transport: 'tcp', address: 'a', sent: '0' }],
      dropped: 0,
    },
  ],
  ['a state that is none', { ...FROM_MODULE[2], state: 'happy' }],
  ['a wait longer than the limit', { ...FROM_MODULE[9], timeout_ms: LIMITS.module.peerMsMax + 1 }],
  [
    'a reason longer than the limit',
    { ...FROM_MODULE[3], reason: 'x'.repeat(LIMITS.module.reasonBytes + 1) },
  ],
];

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? '');

describe('the conversation with a module', () => {
  for (const [what, message] of REFUSED_TO_MODULE)
    test(`the conversation with a module refuses to send: ${what}`, () =>
      assert.ok(decodeToModule(bytesOf(message)).problem));

  for (const [what, message] of REFUSED_FROM_MODULE)
    test(`the conversation with a module refuses to receive: ${what}`, () =>
      assert.ok(decodeFromModule(bytesOf(message)).problem));

  test('the conversation with a module refuses what is not JSON, and any other bytes, without a crash', () => {
    assert.equal(decodeToModule(Buffer.from('{')).problem, 'a message is not JSON');
    fc.assert(
      fc.property(fc.uint8Array(), fc.jsonValue(), (bytes, value) => {
        assert.ok(decodeFromModule(bytes).problem);
        assert.ok(decodeToModule(bytesOf(value)).problem);
      }),
    );
  });

  for (const message of TO_MODULE)
    test(`the conversation with a module carries to it: ${JSON.stringify(message).slice(0, 60)}`, () =>
      assert.deepEqual(decodeToModule(Buffer.from(encodeModuleMessage(message))), { message }));

  for (const message of FROM_MODULE)
    test(`the conversation with a module carries from it: ${JSON.stringify(message).slice(0, 60)}`, () => {
      const text = encodeModuleMessage(message);
      assert.deepEqual(decodeFromModule(Buffer.from(text)), { message });
      assert.deepEqual(decodeFromModule(JSON.parse(text) as Record<string, unknown>), { message });
    });

  test('the conversation with a module ignores unknown keys', () => {
    const decoded = decodeToModule(bytesOf({ type: 'restart', channel_id: 'c1', mood: 'good' }));
    assert.deepEqual(decoded, { message: { type: 'restart', channel_id: 'c1' } });
  });

  test('the conversation with a module fits the largest document and the largest chunk into one publication', () => {
    const long = (letter: string): string => letter.repeat(64);
    const device = { ...DEVICE, device_id: long('d'), channel_id: long('c') };
    const devices = Array.from({ length: LIMITS.module.scripts }, () => device);
    const document = encodeModuleMessage({ type: 'assignments', revision: 1, time_zone: 'UTC', devices });
    assert.ok(Buffer.byteLength(document) < LIMITS.mqtt.payloadBytes);
    const chunk = contentChunk(HASH, Buffer.alloc(LIMITS.module.contentBytes), 0) ?? assert.fail();
    assert.ok(Buffer.byteLength(encodeModuleMessage(chunk)) < LIMITS.mqtt.payloadBytes);
    assert.equal(decodeToModule(Buffer.from(encodeModuleMessage(chunk))).problem, undefined);
  });

  test('the conversation with a module is held on a topic below the address of the module', () =>
    assert.equal(moduleTopic('H'), 'v1/to/H/ucm/v1/module'));
});

describe('content in chunks', () => {
  test('content in chunks has none beyond its end', () => {
    assert.equal(contentChunk(HASH, Buffer.from('abc'), 4), undefined);
    assert.equal(contentChunk(HASH, Buffer.from('abc'), 3)?.data.length, 0);
  });

  test('content in chunks is whole again when its chunks are joined', () => {
    const whole = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index & 0xff));
    const chunks: Buffer[] = [];
    for (let offset = 0; offset < whole.length;) {
      const { data } = contentChunk(HASH, whole, offset) ?? assert.fail();
      chunks.push(data);
      offset += data.length;
    }
    assert.deepEqual(Buffer.concat(chunks), whole);
  });

  test('content in chunks gives the facts of a blueprint back, and refuses other documents', () => {
    const facts = {
      api: 'v3' as const,
      telemetry: { power: 'float' },
      properties: { model: 'string' },
      configuration: { connection: ['address'] },
    };
    assert.deepEqual(decodeFacts(encodeFacts(facts)), facts);
    assert.equal(decodeFacts(Buffer.from('{"api":"v2"}')), undefined);
    assert.equal(decodeFacts(Buffer.from('nonsense')), undefined);
  });
});
