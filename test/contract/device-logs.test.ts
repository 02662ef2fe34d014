/**
 * Device logs over HTTP and WebSocket (docs/interface/http.md#device-logs and docs/interface/http.md#streams).
 * Denials first, whole bodies compared.
 */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { deviceLogRoutes, deviceLogStreams } from '../../src/capabilities/device-logs/index.ts';
import type { Device } from '../../src/capabilities/devices/index.ts';
import type { Role } from '../../src/lib/role.ts';
import { type Bench, startBench } from '../capabilities/device-logs/support.ts';
import { Refusal, type Served, serve } from '../support/serve.ts';
import { until } from '../support/until.ts';
import { refusal } from './support.ts';

const PATH = '/v3/devices/battery/logs';
const BROWSER = 'Mozilla/5.0';

interface Context extends Served {
  bench: Bench;
  device: Device;
}

async function start(t: TestContext): Promise<Context> {
  const bench = await startBench(t);
  const device = bench.addDevice({ slug: 'battery' });
  const { deviceLogs, devices, clock } = bench;
  const served = await serve(t, {
    clock,
    devices,
    routes: deviceLogRoutes({ deviceLogs, devices }),
    streams: deviceLogStreams({ deviceLogs, devices }),
  });
  return { ...served, bench, device };
}

const invalidQuery = (parameter: string, message: string) =>
  refusal('invalid_query', `Query parameter "${parameter}" ${message}.`, { parameter });

type Denial = [title: string, role: Role | null, path: string, status: number, answer: object];

const NO_TOKEN = refusal('invalid_header', 'An access token is needed.', { header: 'X-Service-Auth-Token' });
const TOO_LOW = refusal('insufficient_role', 'This needs the role USER or higher.', {
  required: 'USER',
  actual: 'READONLY',
});
const NO_DEVICE = refusal('device_not_found', 'There is no such device.');
const BAD_SEVERITY = invalidQuery('severity', 'has unknown "loud", must be of: debug, info, warning, error');
const BAD_KIND = 'must be one of: ALL, PERSISTENT, EPHEMERAL, PERSISTED_ONLY, TEMPORARY_ONLY';

const BOTH: Denial[] = [
  ['without a token', null, PATH, 401, NO_TOKEN],
  ['of a read-only caller', 'READONLY', PATH, 403, TOO_LOW],
  ['of an unknown device', 'USER', '/v3/devices/nobody/logs', 404, NO_DEVICE],
  [
    'below an unknown site',
    'USER',
    '/v3/sites/11111111-1111-4111-8111-111111111111/devices/battery/logs',
    404,
    refusal('site_not_found', 'There is no such site.'),
  ],
  ['with an unknown severity', 'USER', `${PATH}?severity=loud`, 400, BAD_SEVERITY],
  ['with an unknown retention', 'USER', `${PATH}?retention=SOME`, 400, invalidQuery('retention', BAD_KIND)],
  ['with an unknown show', 'USER', `${PATH}?show=SOME`, 400, invalidQuery('show', BAD_KIND)],
];

describe('a list of logs that is refused', () => {
  const LIMIT = invalidQuery('limit', 'must be a whole number from 0 to 50');
  const rows: Denial[] = [
    ...BOTH,
    ['of more than 50', 'USER', `${PATH}?limit=51`, 400, LIMIT],
    ['with a limit that is no number', 'USER', `${PATH}?limit=ten`, 400, LIMIT],
    [
      'with a negative offset',
      'USER',
      `${PATH}?offset=-1`,
      400,
      invalidQuery('offset', 'must be a whole number, 0 or more'),
    ],
    [
      'with an unknown order',
      'USER',
      `${PATH}?order=NEWEST`,
      400,
      invalidQuery('order', 'must be one of: RECEIVED_AT_ASC, RECEIVED_AT_DESC'),
    ],
    [
      'with a time that is none',
      'USER',
      `${PATH}?received_at_from=1`,
      400,
      invalidQuery('received_at_from', 'must be an RFC 3339 timestamp such as 2026-03-01T08:00:00Z'),
    ],
  ];
  for (const [title, role, path, status, expected] of rows)
    test(`a list of logs is refused with ${status}: ${title}`, async (t) => {
      const { ask } = await start(t);
      const answer = await ask(role, 'GET', path);
      assert.deepEqual({ status: answer.status, body: answer.body }, { status, body: expected });
    });
});

describe('Get Logs', () => {
  const SAID: [message: string, severity: string, persist: boolean][] = [
    ['a', 'debug', true],
    ['b', 'info', false],
    ['c', 'warning', true],
    ['d', 'error', false],
  ];

  /** Entries a…d, a second apart from 08:00:00 on. */
  async function filled(t: TestContext): Promise<Context> {
    const context = await start(t);
    const { bench, device } = context;
    for (const [message, severity, persist] of SAID) {
      void bench.deliver(device, 'logs', { message, severity, persist, timestamp: 1_772_352_000 });
      await bench.clock.advance(1_000);
    }
    return context;
  }

  const item = (index: number) => {
    const [message, severity, persist] = SAID[index] ?? [];
    return { received_at: `2026-03-01T08:00:0${index}.000Z`, severity, message, persist };
  };

  test('Get Logs answers whole entries', async (t) => {
    const { origin, device } = await filled(t);
    const response = await fetch(origin + PATH, {
      headers: { 'X-Service-Auth-Token': 'USER', 'User-Agent': BROWSER },
    });
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.deepEqual(await response.json(), {
      logs: [0, 1, 2, 3].map((index) => ({
        device_id: device.id,
        timestamp: 1_772_352_000,
        ...item(index),
      })),
      total_count: 4,
    });
  });

  for (const userAgent of ['', 'Go-http-client/1.1', 'Go-http-client/2.0'])
    test(`Get Logs leaves the device's own time out for the User-Agent "${userAgent}"`, async (t) => {
      const { origin, device } = await filled(t);
      const response = await fetch(`${origin}${PATH}?limit=1`, {
        headers: { 'X-Service-Auth-Token': 'USER', 'User-Agent': userAgent },
      });
      assert.deepEqual(await response.json(), {
        logs: [{ device_id: device.id, ...item(3) }],
        total_count: 4,
      });
    });

  const rows: [query: string, expected: string][] = [
    ['', 'abcd of 4'],
    ['retention=&show=&severity=', 'abcd of 4'],
    ['order=RECEIVED_AT_DESC', 'dcba of 4'],
    ['limit=2', 'cd of 4'],
    ['limit=2&order=received_at_desc', 'dc of 4'],
    ['limit=2&offset=1', 'bc of 4'],
    ['offset=4', ' of 4'],
    ['limit=0', ' of 4'],
    ['limit=50', 'abcd of 4'],
    ['retention=ALL', 'abcd of 4'],
    ['retention=PERSISTENT', 'ac of 2'],
    ['retention=EPHEMERAL', 'bd of 2'],
    ['show=PERSISTED_ONLY', 'ac of 2'],
    ['show=TEMPORARY_ONLY', 'bd of 2'],
    ['show=EPHEMERAL', 'bd of 2'],
    ['retention=PERSISTED_ONLY', 'ac of 2'],
    ['retention=EPHEMERAL&show=PERSISTED_ONLY', 'bd of 2'],
    ['severity=warning', 'c of 1'],
    ['severity=DEBUG,error', 'ad of 2'],
    ['severity=debug&severity=info', 'ab of 2'],
    ['received_at.gte=2026-03-01T08:00:02Z', 'cd of 2'],
    ['received_at_from=2026-03-01T08:00:02Z', 'cd of 2'],
    ['received_at.lt=2026-03-01T08:00:02', 'ab of 2'],
    ['received_at_to=2026-03-01T08:00:02Z', 'ab of 2'],
    [
      'received_at.gte=2026-03-01T08:00:01Z&received_at.lt=2026-03-01T08:00:03Z&retention=PERSISTENT',
      'c of 1',
    ],
    ['received_at.gte=2026-03-01T08:00:03Z&received_at_from=2026-03-01T08:00:00Z', 'd of 1'],
  ];
  for (const [query, expected] of rows)
    test(`Get Logs gives ${expected} for ${query || 'nothing'}`, async (t) => {
      const { ask } = await filled(t);
      const { status, body } = await ask('USER', 'GET', `${PATH}?${query}`);
      assert.equal(status, 200);
      const { logs, total_count } = body as { logs: { message: string }[]; total_count: number };
      assert.equal(`${logs.map(({ message }) => message).join('')} of ${total_count}`, expected);
    });

  test('Get Logs answers the last 50 when nothing is asked', async (t) => {
    const { ask, bench, device } = await start(t);
    const said = Array.from({ length: 60 }, (_, i) => bench.deliver(device, 'logs', { message: `m${i}` }));
    await bench.clock.advance(1_000);
    await Promise.all(said);
    const { body } = await ask('USER', 'GET', PATH);
    const { logs, total_count } = body as { logs: { message: string }[]; total_count: number };
    assert.equal(total_count, 60);
    assert.deepEqual(
      logs.map(({ message }) => message),
      Array.from({ length: 50 }, (_, i) => `m${i + 10}`),
    );
  });
});

describe('a stream of logs that is refused before the upgrade', () => {
  for (const [title, role, path, status, expected] of BOTH)
    test(`a stream of logs is refused before the upgrade with ${status}: ${title}`, async (t) => {
      const { watch } = await start(t);
      await assert.rejects(watch(role, path), (error) => {
        assert.ok(error instanceof Refusal, String(error));
        assert.deepEqual({ status: error.status, body: error.body }, { status, body: expected });
        return true;
      });
    });
});

describe('Stream Logs', () => {
  test('Stream Logs sends what is received after the upgrade, flat and nested', async (t) => {
    const { watch, bench, device } = await start(t);
    await bench.say(device, { message: 'before' });
    const stream = await watch('USER', PATH, { 'User-Agent': BROWSER });
    await bench.say(bench.addDevice(), { message: 'of another device' });
    await bench.say(device, {
      message: 'hot',
      severity: 'warning',
      persist: true,
      timestamp: 1_772_352_000,
    });
    await until(() => stream.messages.length > 0);
    assert.deepEqual(stream.messages, [
      {
        device_id: device.id,
        received_at: '2026-03-01T08:00:00.020Z',
        timestamp: 1_772_352_000,
        severity: 'warning',
        message: 'hot',
        persist: true,
        log: { severity: 'warning', message: 'hot' },
      },
    ]);
  });

  test("Stream Logs leaves the device's own time out for a client without User-Agent", async (t) => {
    const { watch, bench, device } = await start(t);
    const stream = await watch('USER', PATH);
    await bench.say(device, { message: 'hot', timestamp: 1_772_352_000 });
    await until(() => stream.messages.length > 0);
    assert.ok(!('timestamp' in (stream.messages[0] as object)));
  });

  test('Stream Logs sends an entry only when it is on disk', async (t) => {
    const { watch, bench, device } = await start(t);
    const stream = await watch('USER', PATH);
    bench.history.prepare('ALTER TABLE device_log RENAME TO full_disk').run();
    void bench.deliver(device, 'logs', { message: 'hot' });
    await bench.clock.advance(3_000);
    assert.ok(bench.commits.failure);
    assert.deepEqual(stream.messages, []);
    bench.history.prepare('ALTER TABLE full_disk RENAME TO device_log').run();
    await bench.clock.advance(1_000);
    await until(() => stream.messages.length === 1);
  });

  const rows: [query: string, expected: string][] = [
    ['', 'abcd'],
    ['retention=PERSISTENT', 'ac'],
    ['show=TEMPORARY_ONLY', 'bd'],
    ['severity=error', 'd'],
    ['severity=debug,info&show=PERSISTED_ONLY', 'a'],
  ];
  for (const [query, expected] of rows)
    test(`Stream Logs sends ${expected} for ${query || 'nothing'}`, async (t) => {
      const { watch, bench, device } = await start(t);
      const stream = await watch('USER', `${PATH}?${query}`);
      const end = await watch('USER', PATH);
      await bench.say(device, { message: 'a', severity: 'debug', persist: true });
      await bench.say(device, { message: 'b', severity: 'info', persist: false });
      await bench.say(device, { message: 'c', severity: 'warning', persist: true });
      await bench.say(device, { message: 'd', severity: 'error', persist: false });
      await until(() => end.messages.length === 4 && stream.messages.length === expected.length);
      assert.equal(stream.messages.map((entry) => (entry as { message: string }).message).join(''), expected);
    });

  test('Stream Logs is closed with 1008 when the device is deleted', async (t) => {
    const { watch, bench, device } = await start(t);
    const stream = await watch('USER', PATH);
    bench.deleteDevice(device);
    assert.deepEqual(await stream.closed, { code: 1008, reason: 'The device was deleted.' });
  });

  test('Stream Logs is closed with 1001 when the gateway stops', async (t) => {
    const { watch, stop } = await start(t);
    const stream = await watch('USER', PATH);
    await stop();
    assert.equal((await stream.closed).code, 1001);
  });

  test('Stream Logs ends its subscription with the socket', async (t) => {
    const { watch, bench } = await start(t);
    const stream = await watch('USER', PATH);
    stream.close();
    await stream.closed;
    await until(() => !bench.deviceLogs.events.has('entry_stored'));
  });
});
