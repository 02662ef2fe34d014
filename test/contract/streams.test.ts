/** WebSockets of the gateway as a whole (docs/interface/http.md#streams). Device logs alone: device-logs.test.ts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import type { MockDevice } from '../support/mock-device.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { Refusal, type Watched } from '../support/serve.ts';
import { type Caller, startTestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/;

let battery: MockDevice;
let other: MockDevice;

const gateway = useTestGateway({}, async (started) => {
  battery = await started.provision('Battery');
  other = await started.provision('Other');
  await battery.connect();
  await other.connect();
});

/** Runs with open streams and closes them. */
async function watching(
  streams: readonly [caller: Caller, path: string][],
  work: (...sockets: Watched[]) => Promise<void>,
): Promise<void> {
  const sockets = await Promise.all(streams.map(([caller, path]) => gateway().watch(caller, path)));
  try {
    await work(...sockets);
  } finally {
    for (const socket of sockets) socket.close();
  }
}

const messagesOf = (socket: Watched | undefined): Json[] => (socket?.messages ?? []) as Json[];
/** What a stream has sent of one member. */
const membersOf = (socket: Watched | undefined, member: string): unknown[] =>
  messagesOf(socket).flatMap((message) => message[member] ?? []);

/** The id of a blueprint with these attributes by access level. */
async function uploaded(levels: Record<string, string>): Promise<string> {
  const telemetry = Object.entries(levels).map(([name, access_level]) => [
    name,
    { display_name: name, type: 'float', access_level, aliases: `${name}_alias` },
  ]);
  const manifest = {
    blueprint_spec: 'device/3.0',
    display_name: 'Tank',
    runtime: { type: 'embedded' },
    telemetry: Object.fromEntries(telemetry) as object,
  };
  const zip = await zipOf({ 'manifest.yml': JSON.stringify(manifest) });
  return String((await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip))['id']);
}

describe('a stream is refused before its upgrade', () => {
  const rows: [title: string, caller: Caller, path: string, expected: string][] = [
    ['telemetry of nobody', 'USER', '/v3/devices/nobody/telemetry', '404 device_not_found'],
    ['a monitor of nobody', 'USER', '/v3/devices?id.in=battery,nobody', '404 device_not_found'],
    ['logs of a read-only caller', 'READONLY', '/v3/devices/battery/logs', '403 insufficient_role'],
    ['a token that is not valid', { token: 'x' }, '/v3/devices', '403 access_denied'],
    ['a token in the query that is not valid', null, '/v3/devices?token=x', '403 access_denied'],
    ['no token', null, '/v3/devices', '401 invalid_header'],
    ['another path', 'USER', '/v3/devices/battery/colour', '404 route_not_found'],
    ['a path without a stream', 'USER', '/v3/site', '404 route_not_found'],
    ['an unknown severity', 'USER', '/v3/devices/battery/logs?severity=loud', '400 invalid_query'],
  ];
  for (const [title, caller, path, expected] of rows)
    test(`a stream is refused before its upgrade with ${expected}: ${title}`, async () => {
      await assert.rejects(gateway().watch(caller, path), (error: unknown) => {
        assert.ok(error instanceof Refusal);
        const { errors } = error.body as { errors: { code: string }[] };
        assert.equal([error.status, ...errors.map(({ code }) => code)].join(' '), expected);
        return true;
      });
    });
});

describe('the telemetry stream', () => {
  test('the telemetry stream sends each new message of its device with its content', async () => {
    await battery.telemetry({ battery_soc: 1 });
    const path = '/v3/devices/battery/telemetry';
    await watching(
      [
        ['USER', path],
        ['USER', `${path}?attribute.in=battery_soc,status`],
      ],
      async (all, some) => {
        await other.telemetry({ battery_soc: 2 });
        await battery.telemetry({ battery_voltage: 48.5, alerts: ['battery_low'] });
        await battery.telemetry({ timestamp: 1, battery_soc: 3, unheard_of: 4 });
        await until(() => membersOf(all, 'telemetry').length === 2);
        const [first, second] = messagesOf(all);
        assert.deepEqual(Object.keys(first ?? {}).toSorted(), [
          'device_id',
          'received_at',
          'telemetry',
          'timestamp',
        ]);
        assert.equal(first?.['device_id'], battery.id);
        assert.match(String(first?.['received_at']), ISO);
        assert.equal(Number.isInteger(first?.['timestamp']), true);
        assert.deepEqual(first?.['telemetry'], { battery_voltage: 48.5, alerts: ['battery_low'] });
        assert.deepEqual(second?.['telemetry'], { battery_soc: 3 });
        assert.deepEqual(membersOf(some, 'telemetry'), [{ battery_soc: 3 }]);
      },
    );
  });

  test('the telemetry stream names an attribute by the requested alias', async () => {
    const path = '/v3/devices/battery/telemetry';
    await watching(
      [
        ['USER', `${path}?attribute.in=soc`],
        ['USER', `${path}?attribute.in=soc,battery_soc`],
      ],
      async (alias, both) => {
        await battery.telemetry({ battery_voltage: 48.5 });
        await battery.telemetry({ battery_soc: 5, battery_voltage: 48.5 });
        await until(
          () => membersOf(alias, 'telemetry').length === 1 && membersOf(both, 'telemetry').length === 1,
        );
        assert.deepEqual(membersOf(alias, 'telemetry'), [{ soc: 5 }]);
        assert.deepEqual(membersOf(both, 'telemetry'), [{ battery_soc: 5, soc: 5 }]);
      },
    );
  });

  test('the telemetry stream leaves out what is above the role', async () => {
    const path = '/v3/devices/battery/telemetry';
    await watching(
      [
        ['READONLY', path],
        ['INSTALLER', path],
      ],
      async (low, high) => {
        await battery.telemetry({ internal_fan_speed: 900 });
        await battery.telemetry({ internal_fan_speed: 901, battery_soc: 4 });
        await until(
          () => membersOf(high, 'telemetry').length === 2 && membersOf(low, 'telemetry').length === 1,
        );
        assert.deepEqual(membersOf(high, 'telemetry'), [
          { internal_fan_speed: 900 },
          { internal_fan_speed: 901, battery_soc: 4 },
        ]);
        assert.deepEqual(membersOf(low, 'telemetry'), [{ battery_soc: 4 }]);
      },
    );
  });

  test('the telemetry stream goes by the blueprint that the device has now', async () => {
    const before = await uploaded({ level: 'readonly' });
    const after = await uploaded({ level: 'readonly', secret: 'owner' });
    const tank = await gateway().provision('Tank', before);
    await tank.connect();
    const path = '/v3/devices/tank/telemetry';
    await watching(
      [
        ['READONLY', path],
        ['OWNER', path],
        ['OWNER', `${path}?attribute.in=secret_alias`],
      ],
      async (low, high, alias) => {
        await gateway().ok('OWNER', 'POST', '/v3/devices/tank/assign_blueprint', { blueprint_id: after });
        await tank.telemetry({ level: 1, secret: 2 });
        await until(() => membersOf(high, 'telemetry').length === 1);
        await until(() => membersOf(low, 'telemetry').length === 1);
        assert.deepEqual(membersOf(high, 'telemetry'), [{ level: 1, secret: 2 }]);
        assert.deepEqual(membersOf(low, 'telemetry'), [{ level: 1 }]);
        await until(() => membersOf(alias, 'telemetry').length === 1);
        assert.deepEqual(membersOf(alias, 'telemetry'), [{ secret_alias: 2 }]);
      },
    );
  });
});

describe('the monitor', () => {
  test('the monitor sends telemetry, properties, logs and connectivity of all devices, each on its own', async () => {
    await watching(
      [
        ['USER', '/v3/devices'],
        ['USER', '/v3/devices/?id.in=other'],
      ],
      async (all, some) => {
        await battery.telemetry({ battery_soc: 5 });
        await battery.properties({ vendor: 'A', unheard_of: 1, constructor: 2 });
        await battery.log('one', { severity: 'error', persist: true, timestamp: 1_772_352_000 });
        await other.log('two');
        const fresh = await gateway().provision('Fresh');
        await fresh.connect();
        const isOf = (id: string) => (message: Json) => message['device_id'] === id;
        await until(() => membersOf(some, 'log').length === 1 && messagesOf(all).some(isOf(fresh.id)));
        const own = messagesOf(all).filter(isOf(battery.id));
        for (const message of own) {
          assert.match(String(message['received_at']), ISO);
          assert.equal(Number.isInteger(message['timestamp']), true);
          assert.equal(Object.keys(message).length, 4);
        }
        assert.deepEqual(
          own.flatMap((message) => message['telemetry'] ?? []),
          [{ battery_soc: 5 }],
        );
        assert.deepEqual(
          own.flatMap((message) => message['properties'] ?? []),
          [{ vendor: 'A' }],
        );
        const [log] = own.filter((message) => 'log' in message);
        assert.deepEqual(log?.['log'], { severity: 'error', message: 'one', persist: true });
        assert.equal(log?.['timestamp'], 1_772_352_000);
        const [online] = messagesOf(all).filter(isOf(fresh.id));
        assert.deepEqual(online?.['connectivity'], { status: 'ONLINE' });
        assert.ok(messagesOf(some).every(isOf(other.id)));
        await gateway().ok('OWNER', 'DELETE', `/v3/devices/${fresh.id}`);
      },
    );
  });

  test('the monitor sends no logs to a read-only caller, and nobody what is above the role', async () => {
    await watching(
      [
        ['READONLY', '/v3/devices'],
        ['INSTALLER', '/v3/devices'],
      ],
      async (low, high) => {
        await battery.log('secret');
        await battery.properties({ commissioned_by: 'B', model: 'M' });
        await battery.telemetry({ internal_fan_speed: 902 });
        await until(() => membersOf(high, 'telemetry').length > 0 && membersOf(low, 'properties').length > 0);
        assert.deepEqual(membersOf(low, 'log'), []);
        assert.deepEqual(Object.keys(membersOf(low, 'properties')[0] as Json), ['model']);
        assert.deepEqual(
          messagesOf(low).filter((message) => message['device_id'] === battery.id && 'telemetry' in message),
          [],
        );
        assert.deepEqual(Object.keys(membersOf(high, 'properties')[0] as Json), ['commissioned_by', 'model']);
      },
    );
  });

  test('the monitor sends the telemetry of some devices, and of the others changed alerts and all else', async () => {
    const low = { alerts: ['battery_low'] };
    await other.telemetry({ battery_soc: 1, ...low });
    await watching([['USER', '/v3/devices?telemetry.of=battery']], async (socket) => {
      await other.telemetry({ battery_soc: 2, ...low });
      await other.telemetry({ battery_soc: 3, alerts: [] });
      await other.telemetry({ battery_soc: 4, alerts: [] });
      await other.telemetry({ battery_soc: 5, ...low });
      await other.telemetry({ battery_soc: 6, alerts: [] });
      await other.log('said');
      await battery.telemetry({ battery_soc: 7 });
      await until(() => membersOf(socket, 'telemetry').length === 4 && membersOf(socket, 'log').length === 1);
      assert.deepEqual(membersOf(socket, 'telemetry'), [
        { alerts: [] },
        low,
        { alerts: [] },
        { battery_soc: 7 },
      ]);
    });
  });

  test('the monitor reports changes and commands by anybody on request, without their content', async () => {
    const stray = await gateway().provision('Stray');
    await stray.connect();
    await watching(
      [
        ['READONLY', '/v3/devices?changes=true'],
        ['READONLY', `/v3/devices?changes=true&id.in=${battery.id}`],
        ['READONLY', '/v3/devices'],
      ],
      async (all, one, plain) => {
        const { ok, call } = gateway();
        await ok('OWNER', 'PATCH', `/v3/devices/${stray.id}`, { name: 'Straying' });
        await call('READONLY', 'PATCH', `/v3/devices/${stray.slug}`, { name: 'Refused' });
        await ok('OWNER', 'GET', `/v3/devices/${stray.id}`);
        await ok('OWNER', 'POST', `/v3/devices/${stray.slug}/commands/executions`, { name: 'stop' });
        await ok('OWNER', 'PATCH', '/v3/site', { name: 'Elsewhere' });
        await ok('OWNER', 'DELETE', `/v3/devices/${stray.id}`);
        await ok('OWNER', 'PATCH', `/v3/devices/${battery.id}`, { name: 'Battery' });
        const changes = (socket: Watched | undefined): Json[] =>
          messagesOf(socket).filter((message) => 'change' in message);
        await until(() => changes(one).length === 2 && changes(all).length === 5);
        assert.deepEqual(
          changes(all).map(({ change, device_id: id }) => [change, id]),
          [
            ['DEVICE', stray.id],
            ['COMMAND', stray.id],
            ['OTHER', undefined],
            ['DEVICE', stray.id],
            ['DEVICE', battery.id],
          ],
        );
        for (const message of changes(all)) {
          assert.match(String(message['received_at']), ISO);
          assert.equal(Number.isInteger(message['timestamp']), true);
        }
        assert.deepEqual(
          changes(one).map(({ change }) => change),
          ['OTHER', 'DEVICE'],
        );
        assert.deepEqual(changes(plain), []);
      },
    );
  });

  test('the monitor ends with 1008 when the last device that was asked for is deleted', async () => {
    const [one, two] = [await gateway().provision('One'), await gateway().provision('Two')];
    const socket = await gateway().watch('USER', `/v3/devices?id.in=${one.id}&id.in=${two.slug}`);
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${one.id}`);
    await two.connect();
    await until(() => membersOf(socket, 'connectivity').length === 1);
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${two.id}`);
    assert.equal((await socket.closed).code, 1008);
  });
});

describe('any stream', () => {
  test('any stream takes the token in the query, because browsers cannot send headers', async () => {
    const socket = await gateway().watch(null, `/v3/devices/battery/logs?token=${gateway().token('USER')}`);
    await battery.log('to a browser');
    await until(() => socket.messages.length === 1);
    socket.close();
  });

  test('any stream ignores what the client sends, and closes with 1009 on more than 64 KiB', async () => {
    const url = `${gateway().origin.replace('http', 'ws')}/v3/devices/battery/logs`;
    const socket = new WebSocket(url, { headers: { 'X-Service-Auth-Token': gateway().token('USER') } });
    const closed = new Promise<number>((resolve) => void socket.on('close', (code) => resolve(code)));
    const messages: string[] = [];
    socket.on('message', (data: Buffer) => messages.push(data.toString()));
    await new Promise((resolve) => void socket.on('open', resolve));
    assert.deepEqual([socket.protocol, socket.extensions], ['', '']);
    socket.send('{"subscribe":"all"}');
    socket.send('x'.repeat(65_536));
    await battery.log('still there');
    await until(() => messages.length === 1);
    socket.send('x'.repeat(65_537));
    assert.equal(await closed, 1009);
  });

  test('any stream ends with 1008 when its token is revoked', async () => {
    const { ok, watch } = gateway();
    const body = { name: 'for a while', role: 'USER' };
    const made = await ok('INSTALLER', 'POST', '/v3/auth/tokens', body);
    const { id } = made['access_token'] as { id: string };
    const socket = await watch({ token: String(made['token']) }, '/v3/devices');
    await ok('INSTALLER', 'DELETE', `/v3/auth/tokens/${id}`);
    assert.equal((await socket.closed).code, 1008);
  });

  test('any stream ends with 1001 when the gateway stops', async (t) => {
    const stopping = await startTestGateway(t);
    const socket = await stopping.watch('USER', '/v3/devices');
    await stopping.stop();
    assert.equal((await socket.closed).code, 1001);
  });
});
