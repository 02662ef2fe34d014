/**
 * Every topic × own or another device × publish or subscribe × plain or TLS, with real sessions
 * (docs/interface/mqtt-devices.md#credentials and docs/interface/mqtt-devices.md#topics). A refused publication is
 * acknowledged and dropped, a refused subscription is answered 0x80; the session lives on.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MqttClient } from 'mqtt';
import { type Dialler, type Protocol, provisionDialler } from '../support/device-dial.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

type Verdict = 'yes' | 'no';

/**
 * Topic with H for the hardware id → may its own device publish, may it subscribe. Any other device may do
 * neither. `–`: wildcards, which no publication has.
 */
const TABLE: [topic: string, publish: Verdict | '–', subscribe: Verdict][] = [
  ['v1/from/H/ucm/v1/telemetry', 'yes', 'no'],
  ['v1/from/H/ucm/v1/register', 'yes', 'no'],
  ['v1/from/H/ucm/v1/properties', 'yes', 'no'],
  ['v1/from/H/ucm/v3/logs', 'yes', 'no'],
  ['v1/from/H/ucm/v1/logs', 'yes', 'no'],
  ['v1/from/H/ucm/v1/command/responses', 'yes', 'no'],
  ['v1/from/H/ucm/v1/configuration/read', 'yes', 'no'],
  ['v1/from/H/ucm/v1/module', 'yes', 'no'],
  ['v1/from/H/ucm/v9/whatever', 'yes', 'no'],
  ['v1/from/H/another-channel/v1/telemetry', 'yes', 'no'],
  ['v1/to/H/ucm/v1/command/requests', 'no', 'yes'],
  ['v1/to/H/ucm/v1/configuration', 'no', 'yes'],
  ['v1/to/H/ucm/v1/module', 'no', 'yes'],
  ['v1/to/H/another-channel/v1/command/requests', 'no', 'yes'],
  ['v1/to/H/#', '–', 'yes'],
  ['v1/to/H/+/v1/command/requests', '–', 'yes'],
  ['v1/from/H/#', '–', 'no'],
  ['v1/from/H', 'no', 'no'],
  ['v1/to/H', 'no', 'no'],
  ['v1/to/H0/ucm/v1/command/requests', 'no', 'no'],
  ['v1/from/H0/ucm/v1/telemetry', 'no', 'no'],
  ['/v1/from/H/ucm/v1/telemetry', 'no', 'no'],
  ['v2/to/H/ucm/v1/command/requests', 'no', 'no'],
  ['v1/to/+/ucm/v1/command/requests', '–', 'no'],
  ['v1/+/H/#', '–', 'no'],
  ['v1/to/#', '–', 'no'],
  ['v1/#', '–', 'no'],
  ['+/to/H/#', '–', 'no'],
  ['#', '–', 'no'],
  ['+/+/+/+/#', '–', 'no'],
  ['$share/group/v1/to/H/#', '–', 'no'],
  ['$SYS/#', '–', 'no'],
  ['$SYS/broker/clients/connected', 'no', 'no'],
  ['telemetry/v1/H', 'no', 'no'],
  ['commands/v1/H/requests', 'no', 'no'],
];

const ends: (() => unknown)[] = [];
let gateway: TestGateway;
let devices: Record<Protocol, { own: Dialler; other: Dialler }>;

before(async () => {
  const environment = { GATEWAY_MQTTS: 'true' };
  gateway = await startTestGateway({ after: (end) => void ends.push(end as () => unknown) }, { environment });
  const pair = async (protocol: Protocol) => ({
    own: await provisionDialler(gateway, protocol),
    other: await provisionDialler(gateway, protocol),
  });
  devices = { MQTT: await pair('MQTT'), MQTTS: await pair('MQTTS') };
});
after(async () => {
  for (const end of ends) await end();
});

/** Whether the message, which must be acknowledged, was taken. */
async function publish(client: MqttClient, topic: string): Promise<Verdict> {
  const before = await notPermitted();
  await client.publishAsync(topic, '{}', { qos: 1 });
  return (await notPermitted()) > before ? 'no' : 'yes';
}

async function notPermitted(): Promise<number> {
  const { body } = await gateway.call('INSTALLER', 'GET', '/metrics');
  return Number(/mqtt_messages_dropped_total\{reason="not_permitted"\} (\d+)/.exec(String(body))?.[1] ?? 0);
}

function subscribe(client: MqttClient, filter: string): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    client.once('close', () => reject(new Error('a refused subscription must not end the session')));
    client.subscribe(filter, { qos: 1 }, (error, _granted, packet) => {
      const code = packet?.granted?.[0];
      if (code === 128) resolve('no');
      else if (code === 1) resolve('yes');
      else reject(error ?? new Error(`SUBACK ${JSON.stringify(code)}`));
    });
  });
}

/** Runs with a session of the device and ends it. */
async function within<Result>(
  protocol: Protocol,
  run: (client: MqttClient) => Promise<Result>,
): Promise<Result> {
  const client = await devices[protocol].own.dial();
  try {
    return await run(client);
  } finally {
    await client.endAsync(true);
  }
}

const cells = (['MQTT', 'MQTTS'] as const).flatMap((protocol) =>
  (['other', 'own'] as const).flatMap((whose) =>
    TABLE.flatMap(([topic, mayPublish, maySubscribe]) =>
      (['publish', 'subscribe'] as const).flatMap((action) => {
        const own = action === 'publish' ? mayPublish : maySubscribe;
        const expected = whose === 'own' || own === '–' ? own : 'no';
        return expected === '–' ? [] : [{ protocol, whose, topic, action, expected }];
      }),
    ),
  ),
);

for (const denied of [true, false])
  describe(`over MQTT a device ${denied ? 'may not' : 'may'}`, () => {
    for (const { protocol, whose, topic, action, expected } of cells.filter(
      ({ expected }) => (expected === 'no') === denied,
    ))
      test(`a client tries to ${action} ${topic} of ${whose === 'own' ? 'itself' : 'another'}, ${protocol}`, async () => {
        const named = topic.replace('H', devices[protocol][whose].hardwareId);
        const verdict = await within(protocol, (client) =>
          action === 'publish' ? publish(client, named) : subscribe(client, named),
        );
        assert.equal(verdict, expected);
      });
  });

describe('no session over MQTT is opened', () => {
  const logins: [title: string, code: number, login: () => { username?: string; password?: string }][] = [
    ['without user name', 5, () => ({})],
    ['with the password of another device', 4, () => loginOf('own', 'other')],
    ['with an empty password', 4, () => ({ ...loginOf('own', 'own'), password: '' })],
    ['with an access token as password', 4, () => tokenLogin(devices.MQTT.own.hardwareId)],
    ['by a user of the console', 4, () => tokenLogin('installer')],
    ['by an unknown device', 4, () => tokenLogin('F'.repeat(40))],
  ];
  for (const [title, code, login] of logins)
    test(title, async () => {
      const options = { username: undefined, password: undefined, ...login() };
      await assert.rejects(devices.MQTT.own.dial(options), { code });
    });

  test('a login by user name and password alone is refused over TLS, even a right one', async () => {
    const { username, password } = loginOf('own', 'own');
    const login = { username, password, cert: '', key: '' };
    await assert.rejects(devices.MQTTS.own.dial(login));
  });

  const tokenLogin = (username: string) => ({ username, password: gateway.token('INSTALLER') });

  function loginOf(user: 'own' | 'other', secret: 'own' | 'other'): { username: string; password: string } {
    const { credentials } = devices.MQTT[secret].config;
    assert.ok(credentials.protocol === 'MQTT');
    return { username: devices.MQTT[user].hardwareId, password: credentials.password };
  }
});

test('a message of a device reaches no other client, and a request reaches only its device', async () => {
  const { own, other } = devices.MQTT;
  const [listening, bystander] = [await own.dial(), await other.dial()];
  const heard: string[] = [];
  listening.on('message', (topic) => heard.push(topic));
  bystander.on('message', (topic) => heard.push(`bystander ${topic}`));
  await listening.subscribeAsync(`v1/to/${own.hardwareId}/#`, { qos: 1 });
  await bystander.subscribeAsync(`v1/to/${other.hardwareId}/#`, { qos: 1 });
  await listening.publishAsync(`v1/from/${own.hardwareId}/ucm/v1/telemetry`, '{"a":1}', { qos: 1 });
  const blueprintId = await gateway.sampleBlueprintId();
  const path = `/v3/devices/${own.id}`;
  await gateway.ok('OWNER', 'POST', `${path}/assign_blueprint`, { blueprint_id: blueprintId });
  // Another blueprint is another configuration.
  await until(() => heard.length === 1);
  await gateway.ok('OWNER', 'POST', `${path}/commands/executions`, { name: 'start' });
  await until(() => heard.length === 2);
  await bystander.publishAsync(`v1/from/${other.hardwareId}/ucm/v1/telemetry`, '{}', { qos: 1 });
  assert.deepEqual(heard, [
    `v1/to/${own.hardwareId}/ucm/v1/configuration`,
    `v1/to/${own.hardwareId}/ucm/v1/command/requests`,
  ]);
  await Promise.all([listening.endAsync(true), bystander.endAsync(true)]);
});

test('the table of topics has every combination', () => {
  const both = TABLE.filter(([, mayPublish]) => mayPublish !== '–').length;
  assert.equal(cells.length, 2 * 2 * (TABLE.length + both));
});
