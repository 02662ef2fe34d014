/**
 * Devices of other makers with accounts of their own: what they announce, the devices that a person makes of it, and what
 * scripts get (docs/mqtt-devices-of-others.md).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { connectionConfigurationOf } from '../../src/field-module/connection-configuration.ts';
import { MqttCalls } from '../../src/field-module/mqtt-calls.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { connected } from '../support/mqtt.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const gateway = useTestGateway();
let count = 0;

interface Guest {
  id: string;
  open: (options?: IClientOptions) => Promise<MqttClient>;
}

async function newGuest(topics: readonly string[], of: TestGateway = gateway()): Promise<Guest> {
  const number = ++count;
  const answer = await of.ok('OWNER', 'POST', '/v3/mqtt_guests', {
    name: `Guest ${number}`,
    username: `guest-${number}`,
    topics,
  });
  const { mqtt_guest: guest, password } = answer as {
    mqtt_guest: { id: string; username: string };
    password: string;
  };
  return {
    id: guest.id,
    open: async (options) => {
      const { username } = guest;
      const address = `mqtt://127.0.0.1:${of.ports.mqttPort}`;
      const client = mqtt.connect(address, { username, password, reconnectPeriod: 0, ...options });
      client.on('error', () => undefined);
      await connected(client);
      return client;
    },
  };
}

interface Proposal {
  id: string;
  name: string;
  state: string;
  device_id?: string;
  attributes: { name: string; type: string; unit?: string }[];
  commands: { name: string }[];
  left_out: string[];
}

async function proposalsOf({ id }: Guest): Promise<Proposal[]> {
  const { announced_devices: all } = await gateway().ok('OWNER', 'GET', '/v3/announced_devices?limit=200');
  return (all as (Proposal & { mqtt_guest_id: string })[]).filter(
    ({ mqtt_guest_id }) => mqtt_guest_id === id,
  );
}

/** Accepts the only device that the account announced. */
async function accepted(guest: Guest): Promise<string> {
  const [proposal] = await proposalsOf(guest);
  const path = `/v3/announced_devices/${proposal?.id}/accept`;
  return String((await gateway().ok('OWNER', 'POST', path, {}))['device_id']);
}

async function latest(deviceId: string, attribute: string): Promise<unknown> {
  const path = `/v3/devices/${deviceId}/telemetry?attribute=${attribute}`;
  const { telemetry } = await gateway().ok('OWNER', 'GET', path);
  return (telemetry as Record<string, { value: unknown } | undefined>)[attribute]?.value;
}

async function statusOf(deviceId: string): Promise<string> {
  const { device } = await gateway().ok('OWNER', 'GET', `/v3/devices/${deviceId}?expand=connectivity`);
  return (device as { connectivity: { status: string } }).connectivity.status;
}

async function execute(
  deviceId: string,
  name: string,
  given: object,
): Promise<{ state: string; message?: string }> {
  const path = `/v3/devices/${deviceId}/commands/execute`;
  const { execution } = await gateway().ok('OWNER', 'POST', path, { name, arguments: given });
  const { state, response } = execution as { state: string; response: { payload: { message?: string } } };
  return { state, ...response.payload };
}

const publish = (client: MqttClient, topic: string, message: object | string): Promise<unknown> =>
  client.publishAsync(topic, typeof message === 'string' ? message : JSON.stringify(message), {
    qos: 1,
    retain: true,
  });

const PLUG = { ids: ['plug_4711'], name: 'Plug in the hall', mf: 'Example', mdl: 'Plug S', sw: '1.2' };

/** As a plug with metering announces itself: below its own topics, with the short names of keys. */
async function announcePlug(client: MqttClient, root: string): Promise<void> {
  const common = { '~': root, avty_t: '~/LWT', pl_avail: 'Online', pl_not_avail: 'Offline', dev: PLUG };
  const sensor = { ...common, stat_t: '~/SENSOR', stat_cla: 'measurement' };
  await publish(client, 'homeassistant/sensor/plug_4711_power/config', {
    ...sensor,
    name: 'Power',
    unit_of_meas: 'W',
    dev_cla: 'power',
    val_tpl: '{{ value_json.ENERGY.Power }}',
  });
  await publish(client, 'homeassistant/sensor/plug_4711_total/config', {
    ...sensor,
    name: 'Energy total',
    unit_of_meas: 'kWh',
    dev_cla: 'energy',
    stat_cla: 'total_increasing',
    val_tpl: '{{ value_json.ENERGY.Total }}',
  });
  await publish(client, 'homeassistant/switch/plug_4711_relay/config', {
    ...common,
    name: 'Relay',
    stat_t: '~/STATE',
    cmd_t: '~/cmnd/POWER',
    val_tpl: '{{ value_json.POWER }}',
  });
  await publish(client, 'homeassistant/vacuum/plug_4711_robot/config', {
    ...common,
    name: 'Robot',
    cmd_t: '~/robot',
  });
}

describe('an account of an MQTT device of another maker', () => {
  for (const [title, topics] of [
    ['of the own devices of the gateway', ['v1/from/H/#']],
    ['of everybody', ['#']],
    ['of everybody at the first level', ['+/plug']],
    ['of the broker', ['$SYS/#']],
    ['with a wildcard within a level', ['plug/a#']],
    ['that are none', []],
  ] as const)
    test(`an account of an MQTT device of another maker is refused topics ${title}`, async () => {
      const body = { name: 'x', username: 'x', topics };
      const { status } = await gateway().call('OWNER', 'POST', '/v3/mqtt_guests', body);
      assert.equal(status, 400);
    });

  test('an account of an MQTT device of another maker is not made by a user, and has its password shown once', async () => {
    const body = { name: 'Meter', username: 'meter', topics: ['meter'] };
    assert.equal((await gateway().call('USER', 'POST', '/v3/mqtt_guests', body)).status, 403);
    const made = await gateway().ok('OWNER', 'POST', '/v3/mqtt_guests', body);
    assert.match(String(made['password']), /^[A-Za-z0-9_-]{20}$/);
    const { mqtt_guests: all } = await gateway().ok('OWNER', 'GET', '/v3/mqtt_guests');
    assert.ok(!JSON.stringify(all).includes(String(made['password'])));
    const again = await gateway().call('OWNER', 'POST', '/v3/mqtt_guests', { ...body, name: 'Other' });
    assert.equal(again.status, 409);
  });

  test('an account of an MQTT device of another maker uses its own topics only, and loses nothing else for trying others', async () => {
    const device = await gateway().provision();
    const [guest, other] = [await newGuest(['plug', 'shared/+/state']), await newGuest(['lamp'])];
    const [client, listener] = [await guest.open(), await other.open()];
    await client.subscribeAsync('plug/#', { qos: 1 });
    for (const filter of ['#', 'lamp/#', 'v1/to/#', `v1/to/${device.config.hardwareId}/#`, '+/x', 'shared/#'])
      await assert.rejects(client.subscribeAsync(filter, { qos: 1 }), filter);
    const heard: string[] = [];
    listener.on('message', (topic) => heard.push(topic));
    client.on('message', (topic) => heard.push(topic));
    await listener.subscribeAsync('lamp/#', { qos: 1 });
    await client.publishAsync('lamp/state', 'x', { qos: 1 });
    await client.publishAsync(device.from('v1/telemetry'), '{"battery_soc":7}', { qos: 1 });
    await client.publishAsync('plug/state', 'x', { qos: 1 });
    await until(() => heard.length > 0);
    assert.deepEqual(heard, ['plug/state']);
    assert.equal(await latest(device.id, 'battery_soc'), undefined);
    const { mqtt_guest: shown } = await gateway().ok('OWNER', 'GET', `/v3/mqtt_guests/${guest.id}`);
    const { connected: isConnected, last_refusal: refusal } = shown as {
      connected: boolean;
      last_refusal: { what: string; topic: string };
    };
    assert.deepEqual(
      [isConnected, refusal.what, refusal.topic],
      [true, 'publish', device.from('v1/telemetry')],
    );
  });

  test('an account of an MQTT device of another maker is closed when its password changes, and when it is deleted', async () => {
    const guest = await newGuest(['plug']);
    const first = await guest.open();
    const closed = new Promise<void>((resolve) => first.once('close', () => resolve()));
    await gateway().ok('OWNER', 'POST', `/v3/mqtt_guests/${guest.id}/generate_password`, {});
    await closed;
    await assert.rejects(guest.open());
    await gateway().ok('OWNER', 'DELETE', `/v3/mqtt_guests/${guest.id}`);
    assert.equal((await gateway().call('OWNER', 'GET', `/v3/mqtt_guests/${guest.id}`)).status, 404);
  });

  test('an account of an MQTT device of another maker exchanges messages with modules, which may use the topics of all accounts', async () => {
    const guest = await newGuest(['plug-of-module']);
    const client = await guest.open();
    await client.subscribeAsync('plug-of-module/cmnd/#', { qos: 1 });
    const path = '/v3/provisioning/vucm';
    const hardware = 'V0123456789ABCDEF0123456789ABCDE1';
    const answer = await gateway().ok('OWNER', 'POST', path, { name: 'Module', hardware_id: hardware });
    const module = gateway().deviceOf(answer);
    const { client: session } = await module.open();
    const heard: string[] = [];
    for (const one of [client, session])
      one.on('message', (topic, payload) => heard.push(`${topic} ${payload.toString()}`));
    await session.subscribeAsync('plug-of-module/#', { qos: 1 });
    await assert.rejects(session.subscribeAsync('nobody/#', { qos: 1 }));
    await client.publishAsync('plug-of-module/state', 'on', { qos: 1 });
    await session.publishAsync('plug-of-module/cmnd/POWER', 'off', { qos: 1 });
    await until(() => heard.length >= 3);
    assert.deepEqual(new Set(heard), new Set(['plug-of-module/state on', 'plug-of-module/cmnd/POWER off']));
    const device = await gateway().provision();
    const { client: own } = await device.open();
    await assert.rejects(own.subscribeAsync('plug-of-module/#', { qos: 1 }));
  });

  test('an account of an MQTT device of another maker is reached by scripts of a module through the broker called gateway, also when its account comes later', async (t) => {
    const path = '/v3/provisioning/vucm';
    const hardware = 'V0123456789ABCDEF0123456789ABCDE2';
    const answer = await gateway().ok('OWNER', 'POST', path, { name: 'Second', hardware_id: hardware });
    const clock = createSystemClock();
    const limits = { ...LIMITS, lua: { ...LIMITS.lua, mqtt: { ...LIMITS.lua.mqtt, refusedAgainMs: 50 } } };
    const config = connectionConfigurationOf(answer['config']);
    const calls = new MqttCalls({
      clock,
      limits,
      gateway: { ...config, mqttHost: '127.0.0.1', mqttPort: gateway().ports.mqttPort },
    });
    t.after(async () => {
      await calls.close();
      clock.close();
    });
    const opened = await calls.carryOut(1, { do: 'open', choice: { uri: 'gateway' } });
    assert.deepEqual(opened, { kind: 'results', results: [1] });
    const refused = await calls.carryOut(1, { do: 'subscribe', client: 1, filter: 'late-plug/#' });
    assert.match(
      refused.kind === 'fault' ? refused.fault.text : '',
      /does not let this client read late-plug/,
    );
    const client = await (await newGuest(['late-plug'])).open();
    const commands: string[] = [];
    client.on('message', (topic, payload) => commands.push(`${topic} ${payload.toString()}`));
    await client.subscribeAsync('late-plug/cmnd/#', { qos: 1 });
    await until(async () => {
      await client.publishAsync('late-plug/power', '17', { qos: 1 });
      const latest = await calls.carryOut(1, { do: 'latest', client: 1, topic: 'late-plug/power' });
      return latest.kind === 'latest' && Buffer.from(latest.payload).toString() === '17';
    });
    const messages = await calls.carryOut(1, { do: 'take', client: 1 });
    assert.equal(messages.kind === 'messages' && messages.messages[0]?.topic, 'late-plug/power');
    const payload = Buffer.from('ON');
    const sent = { do: 'publish', client: 1, topic: 'late-plug/cmnd/POWER', payload } as const;
    assert.deepEqual(await calls.carryOut(1, { ...sent, qos: 1, isRetained: false }), { kind: 'done' });
    await until(() => commands.includes('late-plug/cmnd/POWER ON'));
  });

  test('an account of an MQTT device of another maker leaves its retained messages for later subscribers, until its topics end', async () => {
    const guest = await newGuest(['retaining']);
    const client = await guest.open();
    await publish(client, 'retaining/temperature', '21.5');
    const hear = async (of: Guest): Promise<string[]> => {
      const heard: string[] = [];
      const later = await of.open();
      later.on('message', (topic, payload, { retain }) =>
        heard.push(`${topic} ${payload.toString()} ${retain}`),
      );
      await later.subscribeAsync('retaining/#', { qos: 1 });
      await later.publishAsync('retaining/end', 'x', { qos: 1 });
      await until(() => heard.includes('retaining/end x false'));
      return heard.slice(0, -1);
    };
    assert.deepEqual(await hear(guest), ['retaining/temperature 21.5 true']);
    await gateway().ok('OWNER', 'DELETE', `/v3/mqtt_guests/${guest.id}`);
    assert.deepEqual(await hear(await newGuest(['retaining'])), []);
  });

  test('an account of an MQTT device of another maker that listens for discovery learns that announcements are read', async () => {
    const client = await (await newGuest(['plug'])).open();
    const heard = new Promise<string>((resolve) =>
      client.once('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
    );
    await client.subscribeAsync('homeassistant/status', { qos: 1 });
    assert.equal(await heard, 'homeassistant/status online');
  });
});

describe('a device that announced itself', () => {
  test('a device that announced itself is proposed with its attributes and commands, and becomes an ordinary device', async () => {
    const guest = await newGuest(['plug-a']);
    const client = await guest.open({
      will: { topic: 'plug-a/LWT', payload: Buffer.from('Offline'), qos: 1, retain: true },
    });
    await publish(client, 'plug-a/LWT', 'Online');
    await announcePlug(client, 'plug-a');
    const [proposal] = await proposalsOf(guest);
    assert.ok(proposal);
    assert.deepEqual([proposal.name, proposal.state], ['Plug in the hall', 'NEW']);
    assert.deepEqual(proposal.attributes, [
      { name: 'power', display_name: 'Power', type: 'float', unit: 'W' },
      { name: 'total', display_name: 'Energy total', type: 'float', unit: 'Wh' },
      { name: 'relay', display_name: 'Relay', type: 'boolean' },
    ]);
    assert.deepEqual(proposal.commands, [{ name: 'set_relay', display_name: 'Switch Relay' }]);
    assert.deepEqual(proposal.left_out, [
      '"Robot" (vacuum) is left out: the gateway has no use for "vacuum".',
    ]);
    const path = `/v3/announced_devices/${proposal.id}`;
    const { device_id: id } = await gateway().ok('OWNER', 'POST', `${path}/accept`, {});
    const deviceId = String(id);
    assert.equal((await gateway().call('OWNER', 'POST', `${path}/accept`, {})).status, 409);

    await publish(client, 'plug-a/SENSOR', { ENERGY: { Power: 41.5, Total: 12.345 } });
    await publish(client, 'plug-a/STATE', { POWER: 'ON' });
    assert.deepEqual(
      [await latest(deviceId, 'power'), await latest(deviceId, 'total'), await latest(deviceId, 'relay')],
      [41.5, 12_345, true],
    );
    assert.equal(await statusOf(deviceId), 'ONLINE');
    const { device } = await gateway().ok('OWNER', 'GET', `/v3/devices/${deviceId}?expand=manifest`);
    const { implements: profiles } = (device as { manifest: { implements: string[] } }).manifest;
    assert.deepEqual(profiles, ['lib.energy.power_meter.power', 'lib.energy.power_meter.energy.lifetime']);

    await client.subscribeAsync('plug-a/cmnd/#', { qos: 1 });
    const heard: string[] = [];
    client.on('message', (topic, payload) => heard.push(`${topic} ${payload.toString()}`));
    assert.equal((await execute(deviceId, 'set_relay', { on: false })).state, 'SUCCESS');
    await until(() => heard.length > 0);
    assert.deepEqual(heard, ['plug-a/cmnd/POWER OFF']);
    await client.unsubscribeAsync('plug-a/cmnd/#');
    const { state, message } = await execute(deviceId, 'set_relay', { on: true });
    assert.deepEqual([state, message], ['ERROR', 'Nobody is subscribed to "plug-a/cmnd/POWER".']);

    client.stream.destroy();
    await until(async () => (await statusOf(deviceId)) === 'OFFLINE');
    const back = await guest.open();
    await publish(back, 'plug-a/LWT', 'Online');
    await until(async () => (await statusOf(deviceId)) === 'ONLINE');
  });

  test('a device that announced itself has the reason of a dropped value in its log, and keeps the others', async () => {
    const guest = await newGuest(['probes']);
    const client = await guest.open();
    const sensor = { state_topic: 'probes/SENSOR', device: { identifiers: ['probes'] } };
    for (const [name, more] of [
      ['Air', { unit_of_measurement: '°C', value_template: '{{ value_json.Air.Temperature }}' }],
      ['Water', { unit_of_measurement: '°C', value_template: '{{ value_json.Water | round(1) }}' }],
      ['Voltage', { unit_of_measurement: 'V', value_template: '{{ value_json.Voltage | float }}' }],
      ['Note', { value_template: '{{ value_json.Voltage | float }} V' }],
      ['Pressure', { unit_of_measurement: 'hPa', value_template: '{{ value_json.Pressure }}' }],
      ['Sun', { unit_of_measurement: 'lx', value_template: '{{ value_json.Sun | float }}' }],
    ] as const)
      await publish(client, `homeassistant/sensor/probes/${name}/config`, { ...sensor, name, ...more });
    const relay = { name: 'Valve', state_topic: 'probes/valve', device: sensor.device };
    await publish(client, 'homeassistant/binary_sensor/probes/valve/config', relay);
    const [proposal] = await proposalsOf(guest);
    const accept = `/v3/announced_devices/${proposal?.id}/accept`;
    const { device_id: id } = await gateway().ok('OWNER', 'POST', accept, {});
    const deviceId = String(id);
    await publish(client, 'probes/valve', 'STUCK');
    await publish(client, 'probes/SENSOR', {
      Air: { Temperature: [21.4, 19.8] },
      Water: { Temperature: 11.2 },
      Voltage: 'low',
      Pressure: 1013,
    });
    const values = ['pressure', 'note', 'sun'].map((attribute) => latest(deviceId, attribute));
    assert.deepEqual(await Promise.all(values), [1013, undefined, undefined]);
    const messages = async (): Promise<string[]> => {
      const { logs } = await gateway().ok('USER', 'GET', `/v3/devices/${deviceId}/logs`);
      return (logs as { message: string }[]).map(({ message }) => message).toSorted();
    };
    await until(async () => (await messages()).length >= 4);
    assert.deepEqual(await messages(), [
      'Telemetry "air": The value must be of type float, not array.',
      'Telemetry "valve": The value must be of type boolean, not string.',
      'Telemetry "voltage": The value must be of type float, not string.',
      'Telemetry "water": The value must be of type float, not object.',
    ]);
  });

  test('a device that announced itself follows later announcements, survives a restart, and is proposed again when it is deleted', async () => {
    const guest = await newGuest(['plug-b']);
    const client = await guest.open();
    await announcePlug(client, 'plug-b');
    const [proposal] = await proposalsOf(guest);
    const accept = `/v3/announced_devices/${proposal?.id}/accept`;
    const deviceId = String((await gateway().ok('OWNER', 'POST', accept, { name: 'Plug B' }))['device_id']);
    await publish(client, 'homeassistant/sensor/plug_4711_power/config', '');
    await publish(client, 'homeassistant/number/plug_4711_limit/config', {
      name: 'Limit',
      dev: PLUG,
      cmd_t: 'plug-b/limit/set',
      stat_t: 'plug-b/limit',
      min: 0,
      max: 16,
      unit_of_meas: 'A',
    });
    const commandsOf = async (): Promise<unknown> => {
      const { device } = await gateway().ok('OWNER', 'GET', `/v3/devices/${deviceId}?expand=manifest`);
      const { telemetry, commands } = (device as { manifest: Record<'telemetry' | 'commands', object> })
        .manifest;
      return [Object.keys(commands), 'power' in telemetry, 'limit' in telemetry];
    };
    const changed = JSON.stringify([['set_limit', 'set_relay'], false, true]);
    await until(async () => JSON.stringify(await commandsOf()) === changed);
    const tooMuch = { name: 'set_limit', arguments: { value: 17 } };
    const refused = await gateway().call(
      'OWNER',
      'POST',
      `/v3/devices/${deviceId}/commands/execute`,
      tooMuch,
    );
    assert.equal(refused.status, 422);

    await gateway().restart();
    const again = await guest.open();
    await publish(again, 'plug-b/limit', '10');
    await until(async () => (await latest(deviceId, 'limit')) === 10);
    assert.equal((await proposalsOf(guest))[0]?.device_id, deviceId);
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${deviceId}`);
    assert.equal((await proposalsOf(guest))[0]?.state, 'NEW');
    await gateway().ok('OWNER', 'POST', `/v3/announced_devices/${proposal?.id}/ignore`);
    assert.equal((await proposalsOf(guest))[0]?.state, 'IGNORED');
  });

  test('a device that announced itself keeps the states that follow a changed announcement at once', async () => {
    const guest = await newGuest(['bridge']);
    const client = await guest.open();
    const config = (topic: string, more: object = {}) => ({
      name: 'Door',
      uniq_id: 'door',
      stat_t: topic,
      dev: { ids: ['door-1'], name: 'Door' },
      ...more,
    });
    await publish(client, 'homeassistant/sensor/door/config', config('bridge/door'));
    await publish(client, 'bridge/door', 'open');
    const deviceId = await accepted(guest);
    await until(async () => (await latest(deviceId, 'door')) === 'open');
    await publish(client, 'homeassistant/sensor/door/config', config('bridge/renamed'));
    await publish(client, 'homeassistant/sensor/battery/config', {
      ...config('bridge/battery', { name: 'Battery', uniq_id: 'battery', unit_of_meas: '%' }),
    });
    await publish(client, 'bridge/renamed', 'closed');
    await publish(client, 'bridge/battery', '87');
    await proposalsOf(guest);
    await until(async () => (await latest(deviceId, 'door')) === 'closed');
    await until(async () => (await latest(deviceId, 'battery')) === 87);
  });

  test('a device that announced itself by a topic with wildcards gets the messages of its own account only', async () => {
    const guest = await newGuest(['radio-a']);
    const [client, stranger] = [await guest.open(), await (await newGuest(['radio-b'])).open()];
    await publish(client, 'homeassistant/sensor/probe-temp/config', {
      stat_t: '+/+/BTtoMQTT/PROBE',
      unit_of_meas: '°C',
      val_tpl: '{{ value_json.tempc | is_defined }}',
      dev: { ids: ['PROBE'], name: 'Probe' },
    });
    await publish(client, 'radio-a/OMG/BTtoMQTT/PROBE', { tempc: 4.5 });
    const deviceId = await accepted(guest);
    await until(async () => (await latest(deviceId, 'temp')) === 4.5);
    await publish(stranger, 'radio-b/OMG/BTtoMQTT/PROBE', { tempc: 92 });
    await publish(client, 'radio-a/OMG/BTtoMQTT/PROBE', { tempc: 5.5 });
    assert.equal(await latest(deviceId, 'temp'), 5.5);
  });

  test('a device that announced itself with an off_delay goes back to false after it', async () => {
    const guest = await newGuest(['motion']);
    const client = await guest.open();
    const config = { name: 'Seen', stat_t: 'motion/state', off_dly: 0.2, dev: { ids: ['motion'] } };
    await publish(client, 'homeassistant/binary_sensor/seen/config', config);
    const deviceId = await accepted(guest);
    await publish(client, 'motion/state', 'ON');
    assert.equal(await latest(deviceId, 'seen'), true);
    await until(async () => (await latest(deviceId, 'seen')) === false);
  });

  test('a device that announced itself cannot use topics of another account', async () => {
    const guest = await newGuest(['plug-c']);
    const client = await guest.open();
    await publish(client, 'homeassistant/switch/plug_c/config', {
      name: 'Relay',
      stat_t: 'plug-a/STATE',
      cmd_t: 'v1/to/x/ucm/v1/command/requests',
    });
    const [proposal] = await proposalsOf(guest);
    assert.deepEqual(proposal?.left_out, [
      '"Relay" (switch) is left out: its command_topic "v1/to/x/ucm/v1/command/requests" is outside the topics of its account.',
    ]);
    const accept = `/v3/announced_devices/${proposal?.id}/accept`;
    assert.equal((await gateway().call('OWNER', 'POST', accept, {})).status, 422);
  });
});
