/** A disk without room: control goes on, from a start as well, and history gives way. Needs root, for a disk of its own. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createTokens, type GatewayHome } from '../../scripts/support/gateway-process.ts';
import { clientOptions } from '../../src/field-module/connection-configuration.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { MockDevice } from '../support/mock-device.ts';
import { until } from '../support/until.ts';
import { newHome, type Running, startHealthy, WITH_CHILD_PROGRAMS } from './support.ts';

const SCRIPT = { code: Buffer.from('return true\n').toString('base64'), runtime_version: 'V3' };
const ENVIRONMENT = { GATEWAY_HTTP_REQUESTS_PER_SECOND: '10000', GATEWAY_HTTP_REQUEST_BURST: '10000' };
const DISK_MIB = 160;
const canMount = process.getuid?.() === 0 && spawnSync('mount', ['--version']).error === undefined;

/** A home whose data folder is a small disk of its own. */
async function homeOnDisk(t: TestContext, options = `size=${DISK_MIB}m`): Promise<GatewayHome> {
  const home = await newHome();
  const dataDir = join(home.folder, 'data');
  mkdirSync(dataDir);
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dataDir]);
  t.after(() => {
    execFileSync('umount', ['--lazy', dataDir]);
    home.remove();
  });
  return home;
}

const FROM_S = Math.floor(Date.now() / 1_000) - 7_200;

/** A device with a number and a text. */
async function meter({ call }: Running, home: GatewayHome): Promise<MockDevice> {
  const manifest = {
    blueprint_spec: 'device/3.0',
    display_name: 'Meter',
    runtime: { type: 'embedded' },
    command_groups: { all: { display_name: 'All' } },
    commands: {
      ping: {
        display_name: 'Ping',
        group: 'all',
        arguments: { number: { display_name: 'Number', type: 'integer' } },
      },
    },
    telemetry: {
      number: { display_name: 'Number', type: 'integer' },
      text: { display_name: 'Text', type: 'string' },
    },
  };
  const zip = await zipOf({ 'manifest.yml': JSON.stringify(manifest) });
  const { body: blueprint } = await call('POST', '/v3/blueprints/upload', zip);
  const { body: made } = await call('POST', '/v3/provisioning/standalone', { name: 'Meter' });
  const { id } = blueprint as { id: string };
  assert.equal((await call('POST', '/v3/devices/meter/assign_blueprint', { blueprint_id: id })).status, 200);
  const surroundings = { settled: <Result>(promise: Promise<Result>) => promise, port: () => home.mqttPort };
  return new MockDevice(made as Record<string, unknown>, surroundings);
}

async function alertsOf({ call }: Running): Promise<string[]> {
  const { body } = await call('GET', '/v3/devices/gateway/telemetry?attribute.in=alerts');
  const { telemetry } = body as { telemetry: { alerts?: { value?: string[] } } };
  return telemetry.alerts?.value ?? [];
}

/** Values of the meter that can be read. */
async function numbersOf({ call }: Running): Promise<Set<number>> {
  const query = {
    from: FROM_S,
    to: FROM_S + 6_000,
    granularity: '1s',
    aggregation: 'last',
    telemetry: [{ device: 'meter', attribute: 'number' }],
  };
  const { status, body } = await call('POST', '/v3/telemetry/query_timeseries', query);
  assert.equal(status, 200);
  return new Set(
    String(body)
      .split('\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[1])),
  );
}

const filler = (home: GatewayHome): string => join(home.folder, 'data', 'filler');

/** To the last byte. */
function fill(home: GatewayHome): void {
  const file = openSync(filler(home), 'a');
  try {
    for (let sizeBytes = 1_048_576; sizeBytes >= 1;) {
      try {
        if (writeSync(file, Buffer.alloc(sizeBytes, 7)) < sizeBytes) sizeBytes = Math.floor(sizeBytes / 2);
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
        sizeBytes = Math.floor(sizeBytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
  assert.equal(statfsSync(join(home.folder, 'data')).bavail, 0);
}

const PASSWORD = 'a password of the full disk';

/** Commands the meter twice a second. */
const TICKER = `
local meter = enapter.device('meter')
scheduler.add(500, function() meter.execute_command('ping', { number = 1 }) end)`;

/** A person who can log in, and a rule that runs. */
async function inhabitants(home: GatewayHome, { call, tokens }: Running): Promise<void> {
  const made = await fetch(`${home.baseUrl}/v3/auth/users`, {
    method: 'POST',
    headers: { 'X-Service-Auth-Token': tokens.INSTALLER },
    body: JSON.stringify({ name: 'ida', role: 'USER', password: PASSWORD }),
  });
  assert.equal(made.status, 200, await made.text());
  const script = { code: Buffer.from(TICKER).toString('base64'), runtime_version: 'V3' };
  const rule = await call('POST', '/v3/site/rule_engine/rules', { slug: 'ticker', script });
  assert.equal(rule.status, 200, JSON.stringify(rule.body));
}

/** The meter is there, is commanded by the rule, and by a person who logs in. */
async function life({ call }: Running, device: MockDevice): Promise<void> {
  await device.connect(clientOptions(device.config, device.config.mqttHost));
  device.obey();
  const ofRule = (): number => device.requests.filter(({ arguments: { number } }) => number === 1).length;
  const before = ofRule();
  await until(() => ofRule() >= before + 3);
  for (let number = 2; number <= 4; number++) {
    const login = await call('POST', '/v3/auth/login', { name: 'ida', password: PASSWORD });
    assert.equal(login.status, 200, JSON.stringify(login.body));
    const body = { name: 'ping', arguments: { number } };
    const { body: answer } = await call('POST', '/v3/devices/meter/execute_command', body);
    assert.equal(
      (answer as { execution?: { state: string } }).execution?.state,
      'SUCCESS',
      JSON.stringify(answer),
    );
  }
}

/** Everything that control is made of, once; the statuses that were not 200. */
async function control({ call }: Running, number: number): Promise<string[]> {
  const calls: [string, string, unknown?][] = [
    ['POST', '/v3/provisioning/standalone', { name: `Device ${number}` }],
    ['POST', '/v3/auth/tokens', { name: `token ${number}`, role: 'USER' }],
    ['POST', '/v3/site/rule_engine/rules', { slug: `rule-${number}`, disable: true, script: SCRIPT }],
    ['GET', `/v3/devices/device-${number}`],
    ['PATCH', `/v3/devices/device-${number}`, { name: `Renamed ${number}` }],
    ['PATCH', '/v3/site', { name: `Site ${number}` }],
    ['GET', '/v3/audit?limit=1'],
    ['DELETE', `/v3/devices/device-${number}`],
  ];
  const refused: string[] = [];
  for (const [method, path, body] of calls) {
    const answer = await call(method, path, body);
    if (answer.status !== 200)
      refused.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    // A token makes so many others only.
    const made = (answer.body as { access_token?: { id: string } }).access_token;
    if (made) await call('DELETE', `/v3/auth/tokens/${made.id}`);
  }
  return refused;
}

test(
  'a local command without disk space says what a person can do',
  { skip: !canMount && 'needs root' },
  async (t) => {
    const home = await homeOnDisk(t, 'size=64k');
    const words = [home.entries.admin, 'create-token', '--role', 'OWNER'];
    const { status, stderr } = spawnSync(process.execPath, words, {
      env: home.environment,
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stderr, /^The disk is full, so this cannot be stored now\. Make room on it\. \(.+\)\n$/);
  },
);

describe('a full disk', { skip: !canMount && 'needs root and mount' }, () => {
  test('a full disk does not stop control, commands, logins and rules, not even after a kill and a start, and recovers', async (t) => {
    const home = await homeOnDisk(t);
    const environment = { ...ENVIRONMENT, ...WITH_CHILD_PROGRAMS };
    const first = await startHealthy(t, home, environment);
    await until(() => existsSync(join(home.folder, 'data', 'start.reserve')));
    const device = await meter(first, home);
    await inhabitants(home, first);
    assert.deepEqual(await control(first, 0), []);
    fill(home);
    await life(first, device);
    for (let number = 1; number <= 60; number++) assert.deepEqual(await control(first, number), []);
    await first.gateway.end('SIGKILL');
    const second = await startHealthy(t, home, environment);
    await life(second, device);
    for (let number = 61; number <= 100; number++) assert.deepEqual(await control(second, number), []);
    assert.equal((await second.gateway.end('SIGTERM')).code, 0);
    // Other programs take the room that the stop gave back.
    fill(home);
    const third = await startHealthy(t, home, environment);
    assert.deepEqual(await control(third, 101), []);
    await createTokens(home, 'OWNER', 1);
    rmSync(filler(home));
    assert.deepEqual(await control(third, 102), []);
  });

  test('a full disk refuses telemetry instead of losing it, and takes it again within seconds of room', async (t) => {
    const home = await homeOnDisk(t);
    const first = await startHealthy(t, home, { ...ENVIRONMENT, GATEWAY_HISTORY_MAX_MIB: '64' });
    await until(() => existsSync(join(home.folder, 'data', 'start.reserve')));
    const device = await meter(first, home);
    const told: number[] = [];
    const tell = async (number: number): Promise<void> => {
      const body = { timestamp: FROM_S + number, number, text: `${number} `.padEnd(4_000, randomUUID()) };
      await device.send('v1/telemetry', body);
      told.push(number);
    };
    await device.open(clientOptions(device.config, device.config.mqttHost));
    for (let number = 0; number < 50; number++) await tell(number);
    fill(home);
    // What the journal has taken of the disk before is used up, then nothing more is acknowledged.
    const flood: Promise<void>[] = [];
    for (let number = 50; number < 3_000; number++) flood.push(tell(number));
    // Those that are not acknowledged before the kill fail with the connection, as they should.
    for (const sent of flood) sent.catch(() => undefined);
    await until(async () => (await alertsOf(first)).includes('history_degraded'));
    assert.ok(told.length < 3_000, `${told.length} of 3 000 messages were acknowledged`);
    assert.deepEqual(await control(first, 1), []);
    await first.gateway.end('SIGKILL');
    const second = await startHealthy(t, home, { ...ENVIRONMENT, GATEWAY_HISTORY_MAX_MIB: '64' });
    assert.deepEqual(await control(second, 2), []);
    await device.open(clientOptions(device.config, device.config.mqttHost));
    rmSync(filler(home));
    const after = tell(5_000);
    await until(() => told.includes(5_000));
    await after;
    const numbers = await numbersOf(second);
    for (const number of told) assert.ok(numbers.has(number), `sample ${number} was acknowledged`);
    await until(async () => !(await alertsOf(second)).includes('history_degraded'));
  });

  test('a full disk does not stop control when it has room but no place for another file', async (t) => {
    const home = await homeOnDisk(t, `size=${DISK_MIB}m,nr_inodes=200`);
    const dataDir = join(home.folder, 'data');
    const first = await startHealthy(t, home, ENVIRONMENT);
    await until(() => existsSync(join(dataDir, 'start.reserve')));
    let files = 0;
    try {
      for (;;) closeSync(openSync(join(dataDir, `inode-${files++}`), 'wx'));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    }
    for (let number = 1; number <= 10; number++) assert.deepEqual(await control(first, number), []);
    await first.gateway.end('SIGKILL');
    const second = await startHealthy(t, home, ENVIRONMENT);
    for (let number = 11; number <= 15; number++) assert.deepEqual(await control(second, number), []);
    for (let file = 0; file < files - 1; file++) rmSync(join(dataDir, `inode-${file}`));
    assert.deepEqual(await control(second, 16), []);
  });
});
