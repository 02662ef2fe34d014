/** Provisioning (docs/interface/http.md#provisioning; docs/interface/mqtt-devices.md#credentials). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ConnectionConfiguration } from '../../../src/capabilities/provisioning/index.ts';
import { type ProvisioningSetup, startProvisioning } from './support.ts';

const MODULE_ID = 'V0123456789ABCDEF0123456789ABCDEF';
const HOST = '10.0.0.2';

const refused = (code: string, details?: Record<string, unknown>) => (error: unknown) => {
  const [problem] = (error as { problems: { code: string; details?: Record<string, unknown> }[] }).problems;
  assert.equal(problem?.code, code);
  if (details) assert.deepEqual(problem?.details, details);
  return true;
};

async function standalone(setup: ProvisioningSetup, name = 'Battery') {
  const { device, configuration } = await setup.provisioning.standalone({ name }, HOST);
  assert.ok(configuration);
  return { device, configuration };
}

/** Whether the gateway lets this configuration in. */
function isAccepted({ provisioning }: ProvisioningSetup, configuration: ConnectionConfiguration): boolean {
  const { mqttCredentials: credentials, hardwareId } = configuration;
  if (!('username' in credentials)) {
    const fingerprint = `f${credentials.privateKey.replace('KEY ', '')}`;
    return provisioning.verifyCertificate(fingerprint) === hardwareId;
  }
  return provisioning.verifyPassword(credentials.username, Buffer.from(credentials.password)) === hardwareId;
}

describe('a login is refused', () => {
  test("a login is refused when the password is wrong, the name or certificate unknown, or the password another device's", async (t) => {
    const setup = startProvisioning(t);
    const { configuration: one } = await standalone(setup);
    const { configuration: two } = await standalone(setup);
    assert.ok('username' in one.mqttCredentials && 'username' in two.mqttCredentials);
    const verify = (username: string, password: string): string | undefined =>
      setup.provisioning.verifyPassword(username, Buffer.from(password));
    assert.equal(verify(one.hardwareId, 'wrong'), undefined);
    assert.equal(verify(one.hardwareId, ''), undefined);
    assert.equal(verify('nobody', one.mqttCredentials.password), undefined);
    assert.equal(verify(one.hardwareId, two.mqttCredentials.password), undefined);
    assert.equal(verify(one.hardwareId.toLowerCase(), one.mqttCredentials.password), undefined);
    assert.equal(setup.provisioning.verifyCertificate('unknown'), undefined);
  });

  test('a login is refused for the gateway’s own device, which has no password', (t) => {
    const { provisioning } = startProvisioning(t);
    const { hardwareId = '' } = provisioning.own.gateway.communication;
    assert.equal(provisioning.verifyPassword(hardwareId, Buffer.alloc(0)), undefined);
  });
});

describe('a configuration is refused', () => {
  test('a configuration is refused for what has no connection of its own', async (t) => {
    const setup = startProvisioning(t);
    const { provisioning, upload } = setup;
    await assert.rejects(
      provisioning.generateConfiguration(provisioning.own.gateway, 'MQTT', HOST),
      refused('config_generation_not_supported', { communication_type: 'MQTT_V1_LOCALHOST' }),
    );
    // It would cut off the module that runs.
    await assert.rejects(
      provisioning.generateConfiguration(provisioning.own.module, 'MQTT', HOST),
      refused('config_generation_not_supported', { communication_type: 'MQTT_V1_LOCALHOST' }),
    );
    const lua = provisioning.luaDevice({
      name: 'L',
      runtimeId: 'gateway',
      blueprintId: await upload('', 'return 1'),
    });
    await assert.rejects(
      provisioning.generateConfiguration(lua, 'MQTT', HOST),
      refused('config_generation_not_supported', { communication_type: 'UCM_LUA' }),
    );
  });

  test('a configuration is refused for a listener that is off, and nothing changes', async (t) => {
    const setup = startProvisioning(t);
    const { device, configuration } = await standalone(setup);
    await assert.rejects(
      setup.provisioning.generateConfiguration(device, 'MQTTS', HOST),
      refused('not_available_on_gateway', { protocol: 'MQTTS' }),
    );
    setup.ports.mqtt = undefined;
    await assert.rejects(
      setup.provisioning.standalone({ name: 'Other' }, HOST),
      refused('not_available_on_gateway', { protocol: 'MQTT' }),
    );
    assert.equal(setup.devices.find('other'), undefined);
    assert.equal(isAccepted(setup, configuration), true);
    assert.deepEqual(setup.revoked, []);
  });

  test('a configuration is refused for a device that was deleted while its certificate was made', async (t) => {
    const setup = startProvisioning(t, { tls: true });
    const { device } = await standalone(setup);
    const generating = setup.provisioning.generateConfiguration(device, 'MQTTS', HOST);
    setup.devices.remove(device);
    await assert.rejects(generating, refused('device_not_found'));
  });
});

describe('a module is refused', () => {
  test('a module is refused when its hardware id belongs to a device of another type', async (t) => {
    const setup = startProvisioning(t);
    const { device } = await standalone(setup);
    const hardwareId = device.communication.hardwareId ?? '';
    await assert.rejects(
      setup.provisioning.module({ name: 'M', hardwareId, type: 'VIRTUAL_UCM' }, HOST),
      refused('already_exists', { field: 'hardware_id', value: hardwareId }),
    );
    await setup.provisioning.module({ name: 'M', hardwareId: MODULE_ID, type: 'VIRTUAL_UCM' }, HOST);
    await assert.rejects(
      setup.provisioning.module({ name: 'M', hardwareId: MODULE_ID, type: 'HARDWARE_UCM' }, HOST),
      refused('already_exists'),
    );
  });
});

describe('the first start', () => {
  test('the first start makes the gateway’s device and its module, once', (t) => {
    const setup = startProvisioning(t);
    const describeAll = (all: readonly { type: string; name: string; communication: object }[]) =>
      all.map(({ type, name }) => `${type} ${name}`).toSorted();
    const made = ['GATEWAY box', 'VIRTUAL_UCM Communication Module'];
    assert.deepEqual(describeAll(setup.devices.all()), made);
    const again = setup.restartProvisioning();
    assert.deepEqual(again.own, setup.provisioning.own);
    assert.equal(setup.provisioning.own.gateway.slug, 'gateway');
    assert.match(setup.provisioning.own.module.communication.hardwareId ?? '', /^V[0-9A-F]{32}$/);
  });
});

describe('a standalone device', () => {
  test('a standalone device has a configuration with all that a device needs, and is let in with it', async (t) => {
    const setup = startProvisioning(t);
    const { device, configuration } = await standalone(setup);
    const { mqttCredentials, hardwareId, ...rest } = configuration;
    assert.deepEqual(rest, {
      mqttHost: HOST,
      mqttPort: 1_883,
      mqttProtocol: 'MQTT',
      timeSyncProtocol: 'HTTP',
      timeSyncHost: HOST,
      timeSyncPort: 8_080,
      channelId: 'ucm',
    });
    assert.match(hardwareId, /^[0-9A-F]{40}$/);
    assert.ok('username' in mqttCredentials);
    assert.equal(mqttCredentials.username, hardwareId);
    assert.match(mqttCredentials.password, /^[A-Za-z0-9_-]{32,}$/);
    assert.deepEqual(device.communication, { type: 'MQTT_V1_PLAINTEXT', hardwareId, channelId: 'ucm' });
    assert.equal(device.blueprintId, setup.blueprints.builtIn.empty);
    assert.equal(isAccepted(setup, configuration), true);
    setup.restartProvisioning();
    assert.equal(isAccepted(setup, configuration), true);
  });

  test('a standalone device gets MQTTS where that is served, MQTT on request, and the address that the operator set', async (t) => {
    const setup = startProvisioning(t, { tls: true, publicHost: 'box.local' });
    const { configuration, device } = await standalone(setup);
    assert.equal(configuration.mqttHost, 'box.local');
    assert.equal(configuration.mqttPort, 8_883);
    assert.equal(device.communication.type, 'MQTT_V1_TLS');
    assert.equal(isAccepted(setup, configuration), true);
    const plain = await setup.provisioning.standalone({ name: 'B', protocol: 'MQTT' }, HOST);
    assert.equal(plain.configuration?.mqttProtocol, 'MQTT');
  });

  test('a standalone device has no secret in the database', async (t) => {
    const setup = startProvisioning(t);
    const { configuration } = await standalone(setup);
    assert.ok('username' in configuration.mqttCredentials);
    const rows = JSON.stringify(setup.database.prepare('SELECT * FROM device_credential').all());
    assert.equal(rows.includes(configuration.mqttCredentials.password), false);
  });
});

describe('the built-in module', () => {
  test('the built-in module gets a configuration from the gateway, and the one before is void', async (t) => {
    const setup = startProvisioning(t);
    const first = await setup.provisioning.configureOwnModule('127.0.0.1');
    assert.equal(first.mqttHost, '127.0.0.1');
    assert.equal(isAccepted(setup, first), true);
    const second = await setup.restartProvisioning().configureOwnModule('127.0.0.1');
    assert.deepEqual([isAccepted(setup, first), isAccepted(setup, second)], [false, true]);
    assert.equal(setup.provisioning.own.module.communication.type, 'MQTT_V1_LOCALHOST');
  });
});

describe('another configuration', () => {
  test('another configuration makes the old one void, reports so, and shows how the device connects', async (t) => {
    const setup = startProvisioning(t, { tls: true });
    const { device, configuration: first } = await standalone(setup);
    const { hardwareId } = first;
    const second = await setup.provisioning.generateConfiguration(device, 'MQTTS', HOST);
    assert.deepEqual([isAccepted(setup, first), isAccepted(setup, second)], [false, true]);
    assert.deepEqual(setup.revoked, [hardwareId]);
    const third = await setup.provisioning.generateConfiguration(device, 'MQTT', HOST);
    assert.deepEqual([isAccepted(setup, second), isAccepted(setup, third)], [false, true]);
    assert.equal(setup.devices.require(device.id).communication.type, 'MQTT_V1_PLAINTEXT');
    const fourth = await setup.provisioning.generateConfiguration(device, 'MQTT', HOST);
    assert.deepEqual([isAccepted(setup, third), isAccepted(setup, fourth)], [false, true]);
    // Moving a device from one protocol to the other leaves no second way in.
    assert.equal(isAccepted(setup, second), false);
    const fifth = await setup.provisioning.generateConfiguration(device, 'MQTTS', HOST);
    assert.deepEqual([isAccepted(setup, fourth), isAccepted(setup, fifth)], [false, true]);
    assert.equal(setup.revoked.length, 4);
  });
});

describe('deleting a device', () => {
  test('deleting a device makes its credentials void and reports so', async (t) => {
    const setup = startProvisioning(t, { tls: true });
    const { device, configuration: secure } = await standalone(setup);
    const plain = await setup.provisioning.generateConfiguration(device, 'MQTT', HOST);
    setup.revoked.length = 0;
    setup.devices.remove(setup.devices.require(device.id));
    assert.deepEqual(setup.revoked, [plain.hardwareId]);
    assert.deepEqual([isAccepted(setup, secure), isAccepted(setup, plain)], [false, false]);
  });

  test('deleting a device leaves the credentials of its module alone', async (t) => {
    const setup = startProvisioning(t);
    const { provisioning, upload } = setup;
    const blueprintId = await upload('', 'return 1');
    setup.devices.remove(provisioning.luaDevice({ name: 'L', runtimeId: 'gateway', blueprintId }));
    assert.deepEqual(setup.revoked, []);
  });
});

describe('a module', () => {
  test('a module is the same device when its hardware id comes again, with the new name and its old credentials', async (t) => {
    const setup = startProvisioning(t);
    const provision = (name: string) =>
      setup.provisioning.module({ name, hardwareId: MODULE_ID, type: 'VIRTUAL_UCM' }, HOST);
    const first = await provision('One');
    const second = await provision('Two');
    assert.equal(second.device.id, first.device.id);
    assert.equal(second.device.name, 'Two');
    assert.equal(second.configuration, undefined);
    assert.ok(first.configuration);
    assert.equal(isAccepted(setup, first.configuration), true);
    setup.devices.remove(second.device);
    assert.notEqual((await provision('Three')).device.id, first.device.id);
  });

  test('a module is one device when it is requested twice at once, let in with the credentials that were shown', async (t) => {
    const setup = startProvisioning(t, { tls: true });
    const provision = (name: string) =>
      setup.provisioning.module({ name, hardwareId: MODULE_ID, type: 'VIRTUAL_UCM' }, HOST);
    const made = await Promise.all([provision('One'), provision('Two')]);
    assert.equal(new Set(made.map(({ device }) => device.id)).size, 1);
    const [shown, ...others] = made.flatMap(({ configuration }) => configuration ?? []);
    assert.ok(shown);
    assert.deepEqual(others, []);
    assert.equal(isAccepted(setup, shown), true);
  });

  test('a module carries a Lua device on a channel of its own; the gateway stands for the built-in one', async (t) => {
    const setup = startProvisioning(t);
    const { provisioning, upload } = setup;
    const blueprintId = await upload('', 'return 1');
    const module = await provisioning.module({ name: 'M', hardwareId: MODULE_ID, type: 'VIRTUAL_UCM' }, HOST);
    const onModule = provisioning.luaDevice({ name: 'A', runtimeId: module.device.slug, blueprintId });
    assert.deepEqual(onModule.communication, {
      type: 'UCM_LUA',
      upstreamId: module.device.id,
      hardwareId: MODULE_ID,
      channelId: onModule.id.replaceAll('-', ''),
    });
    const onGateway = provisioning.luaDevice({ name: 'B', runtimeId: 'gateway', blueprintId });
    assert.equal(onGateway.communication.upstreamId, provisioning.own.module.id);
    assert.equal(onGateway.type, 'LUA');
  });
});
