/** Somebody looks for a fault at a device: what it is asked and answers, from the wire to the file. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { parseSimulateModbusOptions } from '../../scripts/simulate/modbus-options.ts';
import { simulateModbus } from '../../scripts/simulate/modbus-run.ts';
import { createRandom } from '../../scripts/support/random.ts';
import type { TraceOnWire } from '../../src/capabilities/modules/schema.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { programEntry } from '../../src/platform/processes/index.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { NO_SERIAL_LINE, playModbus } from '../support/simulated-modbus.ts';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

type Exchange = TraceOnWire['exchanges'][number];

const PASSWORD = 'correct horse';
const MANIFEST = `
blueprint_spec: device/3.0
display_name: Traced
runtime: { type: lua, requirements: [modbus], options: { file: main.lua } }
configuration:
  connection:
    display_name: Connection
    parameters:
      address: { display_name: Address, type: string, required: true }
      line: { display_name: Line, type: string }
      web: { display_name: Web, type: string, required: true }
      socket: { display_name: Socket, type: string, required: true }
      password: { display_name: Password, type: string, required: true, sensitive: true }
telemetry: {}
`;
const SCRIPT = `
local function look()
  if not configuration.is_all_required_set('connection') then return end
  local own = configuration.read('connection')
  local inverter = modbus.new(own.address)
  inverter:read_inputs(1, 0, 4, 500)
  inverter:read_inputs(1, 60000, 1, 500)
  if own.line then modbus.new(own.line):read_inputs(2, 0, 2, 500) end
  local login = http.request('POST', own.web .. '/login?user=u&token=abcdef', '{"password":"' .. own.password .. '","keep":1}')
  login:set_header('Content-Type', 'application/json')
  login:set_header('X-Pass', own.password)
  login:set_basic_auth('u', own.password)
  http.client():do_request(login)
  http.get(own.web .. '/status')
  local plain = tcp.new(own.socket)
  plain:write('hello ' .. own.password .. '\\n')
  plain:read_line(500)
  plain:close()
end
scheduler.add(500, look)
`;

describe('a field trace', () => {
  const ends: (() => unknown)[] = [];
  const owner = { after: (end: () => unknown) => void ends.push(end) };
  let gateway: TestGateway;
  let path = '';
  let blueprintId: unknown;
  let set: Record<string, string> = {};

  const make = async (name: string, runtime: unknown): Promise<string> => {
    const body = { name, runtime_id: runtime, blueprint_id: blueprintId };
    const { device_id: id } = await gateway.ok('OWNER', 'POST', '/v3/provisioning/lua_device', body);
    const made = `/v3/devices/${String(id)}`;
    await gateway.ok('OWNER', 'PATCH', `${made}/configuration/connection`, { set });
    return made;
  };

  before(async () => {
    const played = await playModbus(owner);
    gateway = await startTestGateway(owner, { environment: played.environment });
    const web = http.createServer((request, response) => {
      response.setHeader('set-cookie', 'session=0123456789');
      response.end(
        request.url === '/status' ? '{"power":\n 230}' : '{"token":"s3cr3t-of-the-box","ok":true}',
      );
    });
    const socket = net.createServer((stream) => {
      stream.on('error', () => undefined);
      stream.on('data', () => stream.write('ok\n'));
    });
    for (const server of [web, socket]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      owner.after(() => server.close());
    }
    owner.after(() => web.closeAllConnections());
    const portOf = (server: net.Server): number => (server.address() as AddressInfo).port;
    set = {
      address: played.uri,
      ...(NO_SERIAL_LINE === false && { line: 'port://rs485' }),
      web: `http://127.0.0.1:${portOf(web)}`,
      socket: `tcp://127.0.0.1:${portOf(socket)}`,
      password: PASSWORD,
    };
    const zip = await zipOf({ 'manifest.yml': MANIFEST, 'main.lua': SCRIPT });
    const { blueprint } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    ({ id: blueprintId } = blueprint as { id: string });
    path = await make('Inverter', 'gateway');
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const traceOf = async (of = path, query = ''): Promise<TraceOnWire> =>
    ((await gateway.ok('INSTALLER', 'GET', `${of}/trace${query}`)) as { trace: TraceOnWire }).trace;
  const start = (of = path, body: object = {}): Promise<unknown> =>
    gateway.ok('INSTALLER', 'POST', `${of}/trace`, body);
  /** Waits for an exchange of that kind. */
  const seen = async (isMeant: (exchange: Exchange) => boolean, of = path): Promise<Exchange> => {
    let found: Exchange | undefined;
    await until(async () => {
      found = (await traceOf(of)).exchanges.find(isMeant);
      return found !== undefined;
    });
    return found ?? assert.fail();
  };

  test('a field trace is refused to a USER, for a device without a module, and for a time that is too long', async () => {
    const { call } = gateway;
    for (const [method, of] of [
      ['POST', `${path}/trace`],
      ['GET', `${path}/trace`],
      ['POST', `${path}/trace/stop`],
      ['GET', `${path}/trace/image`],
    ] as const)
      assert.equal(
        refusal(await call('USER', method, of, method === 'POST' ? {} : undefined)),
        '403 insufficient_role',
      );
    const made = await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', {
      name: 'M',
      protocol: 'MQTT',
    });
    const other = `/v3/devices/${String(made['device_id'])}/trace`;
    assert.equal(refusal(await call('INSTALLER', 'POST', other, {})), '422 device_not_traceable');
    for (const duration_s of [0, LIMITS.trace.durationMsMax / 1_000 + 1])
      assert.equal(
        refusal(await call('INSTALLER', 'POST', `${path}/trace`, { duration_s })),
        '400 invalid_body',
      );
    assert.equal(refusal(await call('INSTALLER', 'POST', `${path}/trace/stop`, {})), '404 trace_not_found');
    assert.equal(refusal(await call('INSTALLER', 'GET', `${path}/trace/image`)), '404 trace_not_found');
  });

  test('a field trace is off by default', async () => {
    assert.deepEqual(await traceOf(), { state: 'OFF', dropped: 0, exchanges: [] });
  });

  test('a field trace shows each Modbus request with its answer, as they were on the wire', async () => {
    await start();
    const read = await seen(({ sent }) => sent?.endsWith('010400000004') === true);
    const { transport, address, unit_id: unit, format, sent = '', received = '' } = read;
    assert.deepEqual([transport, address, unit, format], ['MODBUS_TCP', set['address'], 1, 'HEX']);
    assert.match(sent, /^[0-9a-f]{4}00000006010400000004$/);
    assert.match(received, new RegExp(`^${sent.slice(0, 4)}0000000b010408[0-9a-f]{16}$`));
    assert.ok(Date.parse(read.at) > 0 && (read.duration_ms ?? -1) >= 0);
    const refused = await seen(({ error }) => error?.includes('llegal') === true);
    assert.match(refused.received ?? '', /0184\d\d$/);
    const { state, exchanges } = await traceOf();
    assert.equal(state, 'RUNNING');
    const last = exchanges.at(-1)?.number ?? 0;
    assert.ok((await traceOf(path, `?after=${last}`)).exchanges.every(({ number }) => number > last));
  });

  test(
    'a field trace shows frames of a serial line with their checksums',
    { skip: NO_SERIAL_LINE },
    async () => {
      const read = await seen(({ transport, error }) => transport === 'MODBUS_RTU' && error === undefined);
      assert.equal(read.address, 'port://rs485');
      assert.match(read.sent ?? '', /^020400000002[0-9a-f]{4}$/);
      assert.match(read.received ?? '', /020404[0-9a-f]{12}$/);
    },
  );

  test('a field trace shows HTTP and TCP without logins, tokens and passwords', async () => {
    const login = await seen(
      ({ transport, sent }) => transport === 'HTTP' && sent?.startsWith('POST') === true,
    );
    assert.equal(login.format, 'TEXT');
    assert.match(
      login.sent ?? '',
      /^POST http:\/\/127.*\/login\?user=u&token="\[removed\]"\nContent-Type: application\/json\n/,
    );
    assert.match(login.sent ?? '', /X-Pass: "\[removed\]"\nAuthorization: "\[removed\]"/);
    assert.match(login.sent ?? '', /"keep":1/);
    assert.match(login.received ?? '', /^200\n/);
    assert.match(login.received ?? '', /"ok":true/);
    const plain = await seen(({ transport, sent }) => transport === 'TCP' && sent !== undefined);
    assert.equal(Buffer.from(plain.sent ?? '', 'hex').toString(), `hello ${'*'.repeat(PASSWORD.length)}\n`);
    await seen(
      ({ transport, received }) => transport === 'TCP' && received === Buffer.from('ok').toString('hex'),
    );
    const text = JSON.stringify(await traceOf());
    const inHex = Buffer.from(PASSWORD).toString('hex');
    const inBase64 = Buffer.from(`u:${PASSWORD}`).toString('base64');
    for (const secret of [
      PASSWORD,
      encodeURIComponent(PASSWORD),
      inHex,
      inBase64,
      's3cr3t',
      '0123456789',
      'abcdef"',
    ])
      assert.ok(!text.includes(secret), secret);
  });

  test('a field trace is in the problem report, and a file of it is played back by the simulator', async (t) => {
    const report = await (await gateway.request('OWNER', 'GET', '/v3/problem_report')).text();
    const { traces } = JSON.parse(report) as { traces: (TraceOnWire & { device: string })[] };
    assert.equal(traces[0]?.device, 'inverter');
    assert.ok(traces[0]?.exchanges.some(({ transport }) => transport === 'MODBUS_TCP'));

    const { trace } = (await gateway.ok('INSTALLER', 'POST', `${path}/trace/stop`, {})) as {
      trace: TraceOnWire;
    };
    assert.equal(trace.state, 'ENDED');
    const answer = await gateway.request('INSTALLER', 'GET', `${path}/trace/image`);
    assert.match(answer.headers.get('content-disposition') ?? '', /inverter-image\.yml/);
    const yaml = await answer.text();
    const [registers, web] = parse(yaml) as [
      { units: Record<number, { input: Record<number, string> }> },
      object,
    ];
    assert.match(registers.units[1]?.input[0] ?? '', /^(?:[0-9A-F]{4} ?){4}$/);
    assert.deepEqual(web, { name: 'field trace of Inverter', answers: { '/status': { power: 230 } } });

    const file = join(temporaryFolder(t), 'image.yml');
    writeFileSync(file, yaml);
    const clock = createSystemClock();
    const options = parseSimulateModbusOptions(['--port', '0', '--image', file]) ?? assert.fail();
    const terminal = { line: () => undefined };
    const simulated = await simulateModbus({ options, clock, random: createRandom(5), terminal });
    t.after(async () => {
      await simulated.stop();
      clock.close();
    });
    const address = `tcp://127.0.0.1:${simulated.servers[0]?.port}`;
    await gateway.ok('OWNER', 'PATCH', `${path}/configuration/connection`, { set: { address } });
    await start();
    const again = await seen(({ address: at, error }) => at === address && error === undefined);
    const words = (registers.units[1]?.input[0] ?? '').replaceAll(' ', '').toLowerCase();
    assert.ok(again.received?.endsWith(words));
  });

  test('a field trace goes on when its module has started again', async () => {
    await start();
    await seen(() => true);
    const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices');
    const module = (devices as { id: string; type: string }[]).find(({ type }) => type === 'VIRTUAL_UCM');
    // Another port is a reason to start it again.
    await gateway.ok('INSTALLER', 'POST', '/v3/serial_ports', { name: 'spare', path: '/dev/null' });
    assert.ok(module);
    const { exchanges } = await traceOf();
    const last = exchanges.at(-1)?.number ?? 0;
    await seen(({ number }) => number > last + 20);
    assert.equal((await traceOf()).state, 'RUNNING');
  });

  test('a field trace is made by a module on another board, too, and ends by itself', async (t) => {
    const made = await gateway.ok('OWNER', 'POST', '/v3/provisioning/vucm', {
      name: 'Shed',
      hardware_id: 'VSHED0001',
    });
    const file = join(temporaryFolder(t), 'module.json');
    writeFileSync(file, JSON.stringify(made));
    const of = await make('Far', made['device_id']);
    await start(of, { duration_s: 3_600 });
    assert.equal((await traceOf(of)).state, 'STARTING');
    const child = spawn(process.execPath, [programEntry('field-module/main'), '--config', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {},
    });
    t.after(() => child.kill('SIGKILL'));
    await seen(({ transport }) => transport === 'MODBUS_TCP', of);
    await start(of, { duration_s: 1 });
    await until(async () => (await traceOf(of)).state === 'ENDED');
  });
});
