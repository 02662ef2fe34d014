/**
 * Requests made from the description: fitting ones, such with one fault, and hostile ones. What a request is
 * good for is known, so that its answer can be judged.
 */
import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import type { Random } from '../../support/random.ts';
import { membersOf, type Operation, type Parameter, type Schema } from './description.ts';
import type { Pool } from './pool.ts';
import { createValues, HOSTILE_TEXTS, type Values } from './values.ts';

export type Kind = 'fitting' | 'faulty' | 'hostile';
export type Caller = 'INSTALLER' | 'OWNER' | 'USER' | 'READONLY' | 'session' | 'nobody' | 'stranger';

/**
 * How a request goes out. `pieces`: in chunks without a length; `cut`: the connection ends in the middle of it; `left`:
 * the caller goes away before the answer.
 */
export type Delivery = 'whole' | 'pieces' | 'cut' | 'left';

export interface GeneratedRequest {
  operation: Operation;
  kind: Kind;
  caller: Caller;
  target: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
  delivery: Delivery;
}

const RAW_PATHS = [
  '%',
  '%zz',
  '%00',
  '%C0%80',
  '...',
  '%2e%2e%2f',
  ';',
  '*',
  '%F0%9F%94%8B',
  'x'.repeat(3_000),
];

const RAW_BODIES = [
  '',
  ' ',
  '{',
  '[]',
  'null',
  '5',
  '"text"',
  '{"a":1e999}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"name":"a","name":5}',
  '{"name":"\\ud800"}',
  '{"a":'.repeat(500) + '1' + '}'.repeat(500),
  '['.repeat(20_000),
  '\ufeff{}',
  '{}}',
];
/** JSON in other encodings than its own, each with what its content type says of it. */
const ENCODINGS: readonly [contentType: string, encode: (text: string) => Buffer][] = [
  ['application/json; charset=utf-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['application/json; charset=utf-16le', (text) => Buffer.from(text, 'utf16le')],
  ['application/json; charset=iso-8859-1', (text) => Buffer.from(text, 'latin1')],
  ['application/json; charset=no-such', (text) => Buffer.from(text)],
  ['application/json; charset="utf-8"; charset=utf-16', (text) => Buffer.from(text)],
  ['application/json', (text) => gzipSync(text)],
];
const CONTENT_ENCODINGS = ['gzip', 'identity', 'br', 'x-no-such', 'gzip, gzip', ''];
const NOT_UTF8 = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);

const CONTENT_TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'a/b; c="d',
  '',
];
const ACCEPTS = ['*/*', 'text/csv', 'text/csv;q=0', 'application/json', ',,;q=x', ''];

/** What only somebody can do who has logged in, not a program with a token. */
const OF_SESSIONS = new Set(['change_own_password']);

/** Makes requests for ever; the same seed and answers give the same requests. */
export function createRequests(
  definitions: ReadonlyMap<string, Schema>,
  pool: Pool,
  random: Random,
): (operation: Operation) => GeneratedRequest {
  let current = '';
  const values = createValues(random, definitions, (name) => pool.known(current, name));
  return (operation) => {
    current = operation.operation;
    const kind = random.pick<Kind>(['fitting', 'fitting', 'faulty', 'hostile']);
    if (kind === 'hostile') return hostileRequest(operation, values, pool, random);
    const request = oddlyWritten(fittingRequest(operation, values, pool, random), random);
    return kind === 'fitting' ? request : (withFault(request, operation, values, random) ?? request);
  };
}

/** The same request as another client writes it: letters as percent codes, a body in pieces. */
function oddlyWritten(request: GeneratedRequest, random: Random): GeneratedRequest {
  const [path = '', ...search] = request.target.split('?');
  const target = random.chance(0.2)
    ? [
        path.replace(/[a-z](?=[a-z_]*$)/g, (letter) => (random.chance(0.5) ? percentCode(letter) : letter)),
        ...search,
      ].join('?')
    : request.target;
  return { ...request, target, delivery: random.chance(0.1) ? 'pieces' : 'whole' };
}

function percentCode(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`;
}

/** Their members depend on each other, which a schema cannot say: the kind of a target or channel, the plan's target. */
const BY_EXAMPLE = new Set(['update_target', 'update_notification_channel', 'update_backup_plan']);

interface Draft {
  operation: Operation;
  path: Record<string, string>;
  query: [name: string, value: string][];
  body: Buffer | undefined;
  mediaType: string | undefined;
  /** The JSON body before it became text. */
  members: Schema | undefined;
}

function draftOf(operation: Operation, values: Values, pool: Pool, random: Random): Draft {
  const draft: Draft = {
    operation,
    path: {},
    query: [],
    body: undefined,
    mediaType: undefined,
    members: undefined,
  };
  for (const parameter of operation.parameters) {
    const value = (): unknown => values.fitting(parameter.schema, parameter.name);
    if (parameter.in === 'path') draft.path[parameter.name] = encodeURIComponent(String(value()) || 'x');
    else if (parameter.required || random.chance(0.4)) draft.query.push(...written(parameter, value()));
  }
  const [json] = operation.bodies.filter(({ mediaType }) => mediaType === 'application/json');
  if (json?.schema) {
    const examples = BY_EXAMPLE.has(operation.operation) ? (json.schema['examples'] as unknown[]) : [];
    // Put together from its members where these fit in any combination: an example is one body only.
    draft.members = membersOf(
      pool.bodyFor(operation.operation) ??
        (examples.length > 0
          ? random.pick(examples)
          : values.fitting({ ...json.schema, examples: undefined })),
    );
    draft.body = Buffer.from(JSON.stringify(draft.members));
    draft.mediaType = random.pick(['application/json', '', 'application/x-www-form-urlencoded']);
  } else if (operation.bodies.length > 0) {
    // The file itself, and not a form around it.
    draft.mediaType = operation.bodies.find(
      ({ mediaType }) => !mediaType.startsWith('multipart/'),
    )?.mediaType;
    draft.body =
      draft.mediaType === 'text/csv'
        ? Buffer.from(
            `ts,telemetry=${pool.stock.attributes[0]} device=${pool.stock.device.id}\n1772352000,50\n`,
          )
        : pool.uploadFor(operation.operation);
  }
  return draft;
}

function written({ name, style }: Parameter, value: unknown): [string, string][] {
  if (style === 'deepObject')
    return Object.entries(membersOf(value)).map(([key, item]) => [`${name}[${key}]`, String(item)]);
  return [[name, Array.isArray(value) ? value.join(',') : String(value)]];
}

function finished(draft: Draft, kind: Kind, caller: Caller): GeneratedRequest {
  const { operation, path, query, body, mediaType } = draft;
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? '');
  const search = query.map(([name, value]) => `${percent(name)}=${percent(value)}`).join('&');
  return {
    operation,
    kind,
    caller,
    target: search === '' ? filled : `${filled}?${search}`,
    headers: {
      ...(mediaType !== undefined && { 'Content-Type': mediaType }),
      ...(operation.answers.get(200)?.has('text/csv') && { Accept: 'text/csv' }),
    },
    body,
    delivery: 'whole',
  };
}

/** As encodeURIComponent, also for texts that are not well formed. */
function percent(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function fittingRequest(operation: Operation, values: Values, pool: Pool, random: Random): GeneratedRequest {
  const needsSession = OF_SESSIONS.has(operation.operation) && pool.session() !== undefined;
  const caller = needsSession ? 'session' : 'INSTALLER';
  return finished(draftOf(operation, values, pool, random), 'fitting', caller);
}

/** With exactly one thing that the description does not allow; undefined when it allows everything. */
function withFault(
  request: GeneratedRequest,
  operation: Operation,
  values: Values,
  random: Random,
): GeneratedRequest | undefined {
  const [json] = operation.bodies.filter(({ mediaType }) => mediaType === 'application/json');
  const faults: (() => GeneratedRequest | undefined)[] = [];
  for (const parameter of operation.parameters) {
    const wrong = parameter.in === 'query' ? wrongText(parameter.schema, random) : undefined;
    if (wrong === undefined) continue;
    const path = request.target.split('?')[0] ?? '';
    const target = `${path}?${percent(parameter.name)}=${percent(wrong)}`;
    faults.push(() => ({ ...request, kind: 'faulty', target }));
  }
  if (json?.schema) {
    const { properties, required = [] } = json.schema as { properties: Schema; required?: string[] };
    const members = JSON.parse(request.body?.toString('utf8') ?? '{}') as Record<string, unknown>;
    const withBody = (body: unknown): GeneratedRequest => ({
      ...request,
      kind: 'faulty',
      body: Buffer.from(JSON.stringify(body)),
    });
    for (const [name, schema] of Object.entries(membersOf(properties)))
      faults.push(() => {
        const wrong = values.unfitting(membersOf(schema));
        return wrong === undefined ? undefined : withBody({ ...members, [name]: wrong });
      });
    for (const name of required) faults.push(() => withBody({ ...members, [name]: undefined }));
    faults.push(() => withBody([]));
  }
  return faults.length === 0 ? undefined : random.pick(faults)();
}

/** A text that a query parameter does not allow. */
function wrongText(schema: Schema, random: Random): string | undefined {
  const { type, pattern, format, maximum } = schema;
  const words = schema['enum'] ?? membersOf(schema['items'])['enum'];
  if (words !== undefined || pattern !== undefined || format !== undefined) return 'no such thing';
  if (type === 'integer')
    return random.pick(['-1', '1.5', 'x', ...(typeof maximum === 'number' ? [String(maximum + 1)] : [])]);
  return type === 'boolean' ? 'maybe' : undefined;
}

function hostileRequest(operation: Operation, values: Values, pool: Pool, random: Random): GeneratedRequest {
  const draft = draftOf(operation, values, pool, random);
  for (const name of Object.keys(draft.path))
    if (random.chance(0.4))
      draft.path[name] = random.chance(0.5)
        ? random.pick(RAW_PATHS)
        : // An empty segment is another path too.
          percent(random.pick(HOSTILE_TEXTS)) || 'x';
  for (const parameter of operation.parameters)
    if (parameter.in === 'query' && random.chance(0.4)) {
      const name = random.chance(0.8) ? parameter.name : `${parameter.name}[__proto__]`;
      draft.query.push([name, random.pick(HOSTILE_TEXTS)]);
    }
  if (random.chance(0.2)) draft.query.push([random.pick(HOSTILE_TEXTS), random.pick(HOSTILE_TEXTS)]);
  if (random.chance(0.6)) draft.body = hostileBody(draft, values, random);
  const caller = random.pick<Caller>(['INSTALLER', 'INSTALLER', 'OWNER', 'USER', 'READONLY', 'nobody']);
  const request = finished(draft, 'hostile', random.chance(0.002) ? 'stranger' : caller);
  if (random.chance(0.3)) request.headers['Content-Type'] = random.pick(CONTENT_TYPES);
  if (random.chance(0.3)) request.headers['Accept'] = random.pick(ACCEPTS);
  if (request.body && random.chance(0.1)) {
    const [contentType, encode] = random.pick(ENCODINGS);
    request.headers['Content-Type'] = contentType;
    request.body = encode(request.body.toString('utf8'));
  }
  if (random.chance(0.05)) request.headers['Content-Encoding'] = random.pick(CONTENT_ENCODINGS);
  if (random.chance(0.15)) request.delivery = random.pick(['pieces', 'cut', 'left']);
  if (random.chance(0.2)) request.headers['X-Request-Id'] = 'x'.repeat(random.integer(0, 300));
  return request;
}

function hostileBody({ members, body }: Draft, values: Values, random: Random): Buffer {
  if (members && random.chance(0.6)) {
    const changed: Record<string, unknown> = { ...members };
    for (const name of Object.keys(changed)) if (random.chance(0.5)) changed[name] = values.hostile();
    return Buffer.from(JSON.stringify(changed));
  }
  if (body && random.chance(0.5)) return damaged(body, random);
  return random.chance(0.1) ? NOT_UTF8 : Buffer.from(random.pick(RAW_BODIES));
}

/** A few bytes changed, or cut short. */
function damaged(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = random.integer(1, 4); count > 0 && copy.length > 0; count -= 1)
    copy[random.integer(0, copy.length - 1)] = random.integer(0, 255);
  return random.chance(0.3) ? copy.subarray(0, random.integer(0, copy.length)) : copy;
}
