/**
 * A gateway as the existing clients of the interface find it, and requests byte for byte as they send them.
 * The ids in the titles are those of the client matrix: PY Python SDK, GO and GN command line in Go, GD and GP
 * Grafana, MC MCP server, VS editor extension, SA standalone device runner.
 */
import assert from 'node:assert/strict';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { zipOf } from '../../capabilities/blueprints/support.ts';
import type { MockDevice } from '../../support/mock-device.ts';
import { trace } from '../../support/trace.ts';
import { type TestGateway, useTestGateway } from '../../support/test-gateway.ts';

export type Json = Record<string, unknown>;

export const ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER', 'SYSTEM', 'VENDOR'];
export const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/;
export const MODULE = `V${'0123456789ABCDEF'.repeat(2)}`;
const MANIFEST = 'blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: embedded}\n';
const LUA_MANIFEST =
  'blueprint_spec: device/3.0\ndisplay_name: L\nruntime: {type: lua, options: {file: main.lua}}\n';

export let device: MockDevice;
export let siteId: string;
export let zip: Buffer;
export let luaId: string;

let current: TestGateway;

/** The gateway of the file whose tests run. */
export const gateway = (): TestGateway => current;

/** To be called by each file: its gateway is started and prepared before its first test. */
export const useClientGateway = () => useTestGateway({}, prepare);

async function prepare(started: TestGateway): Promise<void> {
  current = started;
  device = await started.provision('Battery');
  await device.connect();
  device.obey({ limit_w: 5 });
  const nowS = Math.floor(Date.now() / 1_000);
  for (let ageS = 4; ageS >= 0; ageS--)
    await device.telemetry({ timestamp: nowS - ageS, battery_soc: 50 + ageS, alerts: ['battery_low'] });
  await device.log('hello', { timestamp: nowS, severity: 'warning', persist: true });
  zip = await zipOf({ 'manifest.yml': MANIFEST });
  siteId = ((await started.ok('OWNER', 'GET', '/v3/site'))['site'] as { id: string }).id;
  const lua = await zipOf({ 'manifest.yml': LUA_MANIFEST, 'main.lua': 'return 1' });
  luaId = String((await started.ok('OWNER', 'POST', '/v3/blueprints/upload', lua))['id']);
}

interface RawAnswer {
  status: number;
  /** One entry per header line. */
  lines: [name: string, value: string][];
  text: string;
}

/** Exactly these headers besides Host and the length; no client library adds its own. */
export function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const sent = httpRequest(
    gateway().origin + path,
    {
      method,
      headers: { ...headers, ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }) },
    },
    (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const status = response.statusCode ?? 0;
        trace({ method, path, headers, body, status });
        const { rawHeaders } = response;
        const lines = rawHeaders.flatMap((name, index) =>
          index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as [string, string]] : [],
        );
        resolve({ status, lines, text: Buffer.concat(chunks).toString('utf8') });
      });
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

export const header = ({ lines }: RawAnswer, name: string): string[] =>
  lines.filter(([key]) => key === name).map(([, value]) => value);

/** The body of a good answer, whose content type some clients compare as a whole. */
export function json(answer: RawAnswer): Json {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(header(answer, 'content-type'), ['application/json']);
  return JSON.parse(answer.text) as Json;
}

/** As each client identifies itself. */
export const py = () => ({
  'X-Enapter-Auth-Token': gateway().token('INSTALLER'),
  'X-Enapter-Allow-HTTP': 'true',
  'User-Agent': 'python-httpx/0.28.1',
  Accept: '*/*',
});
export const go = () => ({
  'X-Enapter-Auth-Token': gateway().token('INSTALLER'),
  'User-Agent': 'Go-http-client/1.1',
  'Content-Type': '',
});
export const goNew = () => ({ ...go(), 'User-Agent': 'enapter-cli/3.0.0' });
export const grafana = () => ({
  'X-Enapter-Auth-Token': gateway().token('USER'),
  'X-Enapter-Auth-User': 'does_not_exist',
  'User-Agent': 'Go-http-client/1.1',
});
export const editor = () => ({ 'X-Enapter-Auth-Token': gateway().token('OWNER') });

/** JSON is sent as such by the Python client. */
export const pyJson = async (method: string, path: string, body: unknown): Promise<Json> =>
  json(await raw(method, path, { ...py(), 'Content-Type': 'application/json' }, JSON.stringify(body)));
export const pyGet = async (path: string): Promise<Json> => json(await raw('GET', path, py()));

export function assertSite(site: Json): void {
  for (const name of ['id', 'name', 'timezone']) assert.equal(typeof site[name], 'string');
  assert.equal(site['version'], 'V3');
  assert.ok(ROLES.includes(String(site['authorized_role'])));
  const location = site['location'] as Json | undefined;
  assert.ok(location === undefined || typeof location['name'] === 'string');
}

export function assertDevice(found: Json): void {
  for (const name of ['id', 'blueprint_id', 'name', 'site_id', 'slug', 'type'])
    assert.equal(typeof found[name], 'string');
  assert.match(String(found['updated_at']), ISO);
  assert.ok(ROLES.includes(String(found['authorized_role'])));
}

export function assertExecution(execution: Json): void {
  assert.equal(typeof execution['id'], 'string');
  assert.equal(execution['device_id'], device.id);
  assert.match(String(execution['state']), /^(NEW|IN_PROGRESS|SUCCESS|ERROR|TIMEOUT|UNSYNC)$/);
  assert.match(String(execution['created_at']), ISO);
  const { name, arguments: given } = execution['request'] as Json;
  assert.equal(typeof name, 'string');
  assert.equal(typeof given, 'object');
}
