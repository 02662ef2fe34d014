/** The gateway's side of docs/communication-module.md, with a module that the test plays over real MQTT. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { type Assignment, type FromModule } from '../../../src/protocol/module.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { refusal, useTestGateway } from '../../support/test-gateway.ts';
import { until } from '../../support/until.ts';
import { type PlayedModule, provisionModule } from './played-module.ts';

const MANIFEST = `
blueprint_spec: device/3.0
display_name: Counter
runtime:
  type: lua
  requirements: []
  options:
    file: main.lua
telemetry:
  count: { display_name: Count, type: integer }
properties:
  model: { display_name: Model, type: string }
commands:
  reset: { display_name: Reset, group: main }
command_groups:
  main: { display_name: Main }
configuration:
  limits:
    display_name: Limits
    parameters:
      top: { display_name: Top, type: integer, default: 10 }
      name: { display_name: Name, type: string, required: true }
      days: { display_name: Days, type: array_of_strings }
`;
const SCRIPT = `enapter.log('${'x'.repeat(200_000)}')`;

const HELLO: FromModule = { type: 'hello', version: 1, run: 'r1', offers: ['http', 'modbus'] };

describe('a communication module', () => {
  const gateway = useTestGateway();
  let module: PlayedModule;
  let zip: Uint8Array;
  let blueprintId: string;
  let deviceId: string;
  let channelId: string;

  before(async () => {
    module = await provisionModule(gateway(), 'Board', 'V00000000000000000000000000000001');
    zip = await writeArchive(
      new Map([
        ['manifest.yml', Buffer.from(MANIFEST)],
        ['main.lua', Buffer.from(SCRIPT)],
      ]),
    );
    const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    blueprintId = String(id);
    const made = await gateway().ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      name: 'Counter',
      runtime_id: module.device.id,
      blueprint_id: blueprintId,
    });
    deviceId = String(made['device_id']);
    channelId = deviceId.replaceAll('-', '');
    await module.connect();
  });

  test('a communication module gets no answer when it speaks another version', async () => {
    await module.say({ ...HELLO, version: 2 });
    await module.say({ type: 'get', hash: '0'.repeat(64), offset: 0 });
    await module.say({ type: 'storage_read', id: 'q0', channel_id: channelId, key: 'a' });
    await module.next('answer');
    assert.deepEqual(module.messages, []);
  });

  test('a communication module is told after its hello everything it shall run, and the configuration of each device', async () => {
    await module.say(HELLO);
    const { devices, time_zone: timeZone, command_timeout_s: commandS } = await module.next('assignments');
    assert.deepEqual([timeZone, commandS], ['UTC', 60]);
    assert.deepEqual(
      devices.map(({ device_id: id, channel_id: channel, script }) => [id, channel, script.size > 200_000]),
      [[deviceId, channelId, true]],
    );
    const configuration = await module.next('configuration');
    assert.deepEqual(configuration, {
      type: 'configuration',
      channel_id: channelId,
      groups: { limits: { top: 10 } },
      written: [],
    });
  });

  test('a communication module fetches script and facts in pieces that give the whole', async () => {
    await module.say(HELLO);
    const [assignment] = (await module.next('assignments')).devices;
    assert.ok(assignment);
    const fetchWhole = async ({ hash, size }: Assignment['script']): Promise<Buffer> => {
      let whole = Buffer.alloc(0);
      while (whole.length < size) {
        await module.say({ type: 'get', hash, offset: whole.length });
        const { data } = await module.next('content');
        whole = Buffer.concat([whole, data]);
      }
      assert.equal(createHash('sha256').update(whole).digest('hex'), hash);
      return whole;
    };
    assert.match((await fetchWhole(assignment.script)).toString('utf8'), /x{200000}/);
    assert.deepEqual(JSON.parse((await fetchWhole(assignment.facts)).toString('utf8')), {
      api: 'v3',
      telemetry: { count: 'integer', alerts: 'alerts', alert_details: 'object' },
      properties: { model: 'string' },
      configuration: { limits: ['name'] },
    });
  });

  test('a communication module is told of a changed configuration at once', async () => {
    const path = `/v3/devices/${deviceId}/configuration/limits`;
    await gateway().ok('OWNER', 'PATCH', path, { set: { name: 'a', top: 5 } });
    const { groups, written } = await module.next('configuration');
    assert.deepEqual([groups, written], [{ limits: { top: 5, name: 'a' } }, ['limits']]);
  });

  test('a communication module is asked before values are stored for a script that it runs, and its refusal is the answer', async () => {
    const path = `/v3/devices/${deviceId}/configuration/limits`;
    const script = '0'.repeat(64);
    const change = (top: number) => gateway().call('OWNER', 'PATCH', path, { set: { top } });
    await module.say({ type: 'status', channel_id: channelId, state: 'running', script });
    const refused = change(7);
    const { id, group, values } = await module.next('configuration_check');
    assert.deepEqual([group, values], ['limits', { top: 7, name: 'a' }]);
    // An answer to a request that nobody asked changes nothing.
    await module.say({ type: 'configuration_verdict', id: 'another', refusal: 'no' });
    await module.say({ type: 'configuration_verdict', id, refusal: 'too much for this relay' });
    assert.equal(refusal(await refused), '422 configuration_refused');
    assert.deepEqual(await gateway().ok('OWNER', 'GET', path), { configuration: { top: 5, name: 'a' } });

    const accepted = change(8);
    const check = await module.next('configuration_check');
    await module.say({ type: 'configuration_verdict', id: check.id });
    assert.equal((await accepted).status, 200);
    assert.deepEqual((await module.next('configuration')).groups, { limits: { top: 8, name: 'a' } });

    const reset = gateway().call('OWNER', 'POST', `${path}/reset_all`);
    const last = await module.next('configuration_check');
    assert.deepEqual(last.values, { top: 10 });
    await module.say({ type: 'configuration_verdict', id: last.id, refusal: '' });
    assert.equal(refusal(await reset), '422 configuration_refused');
    // The same values again are no change, and nobody is asked.
    assert.equal((await change(8)).status, 200);
  });

  test('a communication module is asked for the values that its script reads from the device; wrong ones do not count', async () => {
    const path = `/v3/devices/${deviceId}/configuration/limits`;
    const script = '0'.repeat(64);
    await module.say({ type: 'status', channel_id: channelId, state: 'running', script, reads: ['limits'] });
    const asked = gateway().ok('OWNER', 'GET', path);
    const { id, group } = await module.next('configuration_read');
    assert.equal(group, 'limits');
    await module.say({ type: 'configuration_values', id, values: { top: 3, name: 9, more: true, days: {} } });
    assert.deepEqual(await asked, { configuration: { top: 3, name: 'a', days: [] } });

    const unread = gateway().ok('OWNER', 'GET', path);
    await module.say({ type: 'configuration_values', id: (await module.next('configuration_read')).id });
    assert.deepEqual(await unread, { configuration: { top: 8, name: 'a' } });
    await module.say({ type: 'status', channel_id: channelId, state: 'stopped', script });
    assert.deepEqual(await gateway().ok('OWNER', 'GET', path), { configuration: { top: 8, name: 'a' } });
    assert.equal((await gateway().call('OWNER', 'PATCH', path, { set: { top: 5 } })).status, 200);
    await module.next('configuration');
  });

  test('a communication module is told to start a script again by each assignment of a blueprint, and by nothing else', async () => {
    const path = `/v3/devices/${deviceId}`;
    const assign = (id: string) =>
      gateway().ok('OWNER', 'POST', `${path}/assign_blueprint`, { blueprint_id: id });
    const uploaded = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    module.messages.length = 0;
    await gateway().ok('OWNER', 'PATCH', path, { name: 'Counter 2' });
    await assign(String(uploaded['id']));
    const [assignment] = (await module.next('assignments')).devices;
    assert.deepEqual([assignment?.blueprint_id, assignment?.assignment_count], [uploaded['id'], 1]);
    await module.next('configuration');
    assert.deepEqual(module.messages, []);
    await assign(String(uploaded['id']));
    const restart = { type: 'restart', channel_id: channelId, assignment_count: 2 };
    assert.deepEqual(await module.next('restart'), restart);
    // One that was away and did not hear it learns it from the number.
    await module.say(HELLO);
    assert.deepEqual((await module.next('assignments')).devices, [{ ...assignment, assignment_count: 2 }]);
    await assign(blueprintId);
    await module.next('assignments');
    await module.next('configuration');
    assert.deepEqual(module.messages, []);
  });

  test('a Lua device is ONLINE by its telemetry, and OFFLINE by a failed script', async () => {
    const status = async (): Promise<unknown> => {
      const { device } = await gateway().ok('READONLY', 'GET', `/v3/devices/${deviceId}?expand=connectivity`);
      return (device as { connectivity: { status: string } }).connectivity.status;
    };
    assert.equal(await status(), 'OFFLINE');
    await module.device.send('v1/telemetry', { count: 1 }, channelId);
    assert.equal(await status(), 'ONLINE');
    const script = '0'.repeat(64);
    await module.say({ type: 'status', channel_id: channelId, state: 'failed', script, reason: 'boom' });
    assert.equal(await status(), 'OFFLINE');
    const refused = await gateway().call('OWNER', 'POST', `/v3/devices/${deviceId}/commands/execute`, {
      name: 'reset',
    });
    assert.equal(refusal(refused), '422 device_offline');
  });

  test('a running script that has sent no telemetry takes commands; others do not', async () => {
    const script = '0'.repeat(64);
    const path = `/v3/devices/${deviceId}/commands/executions`;
    const say = (state: 'starting' | 'running' | 'failed' | 'stopped'): Promise<void> =>
      module.say({ type: 'status', channel_id: channelId, state, script });
    const create = () => gateway().call('OWNER', 'POST', path, { name: 'reset' });
    for (const state of ['starting', 'failed', 'stopped'] as const) {
      await say(state);
      assert.equal(refusal(await create()), '422 device_offline', state);
    }
    await say('running');
    const { device } = await gateway().ok('READONLY', 'GET', `/v3/devices/${deviceId}?expand=connectivity`);
    assert.deepEqual((device as { connectivity: object }).connectivity, { status: 'OFFLINE' });
    const created = await create();
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const { execution_id: id } = created.body as { execution_id: string };
    await module.device.send('v1/command/responses', { id, state: 'completed', payload: {} }, channelId);
    const { execution } = await gateway().ok('READONLY', 'GET', `${path}/${id}`);
    assert.equal((execution as { state: string }).state, 'SUCCESS');
  });

  test('values of a script are kept until they are removed, and more than 1 MiB is refused', async () => {
    const ask = async (request: object): Promise<unknown> => {
      await module.say({ id: 'q1', channel_id: channelId, key: 'k', ...request } as FromModule);
      return module.next('answer');
    };
    assert.deepEqual(await ask({ type: 'storage_read' }), { type: 'answer', id: 'q1' });
    const value = Buffer.from([0, 255, 1]);
    assert.deepEqual(await ask({ type: 'storage_write', value }), { type: 'answer', id: 'q1' });
    assert.deepEqual(await ask({ type: 'storage_read' }), { type: 'answer', id: 'q1', value });
    assert.deepEqual(await ask({ type: 'storage_remove' }), { type: 'answer', id: 'q1' });
    assert.deepEqual(await ask({ type: 'storage_read' }), { type: 'answer', id: 'q1' });
    const large = Buffer.alloc(65_536);
    for (let count = 0; count < 15; count++)
      await ask({ type: 'storage_write', key: `k${count}`, value: large });
    assert.match(
      ((await ask({ type: 'storage_write', key: 'last', value: large })) as { error: string }).error,
      /at most 1048576 bytes/,
    );
    assert.match(
      ((await ask({ type: 'storage_read', channel_id: 'other' })) as { error: string }).error,
      /does not exist/,
    );
  });

  test('a script commands another device, and the execution names the caller', async () => {
    const inverter = await gateway().provision('Inverter');
    await inverter.connect();
    inverter.obey({ mode: 'backup' });
    const command = {
      type: 'command',
      id: 'q2',
      channel_id: channelId,
      target: inverter.slug,
      name: 'read_settings',
      arguments: {},
      timeout_ms: 5_000,
    } as const;
    await module.say(command);
    const { state, payload } = await module.next('answer');
    assert.deepEqual([state, payload], ['completed', { result: { mode: 'backup' } }]);
    for (const [target, channel] of [
      [inverter.slug, 'gio'],
      [inverter.config.hardwareId, inverter.config.channelId],
    ] as const) {
      await module.say({ ...command, target, target_channel_id: channel });
      assert.equal((await module.next('answer')).state, 'completed');
    }
    await module.say({ ...command, target: inverter.config.hardwareId, target_channel_id: 'gio' });
    assert.match((await module.next('answer')).error ?? '', /no device/);
    await module.say({ ...command, target: deviceId });
    assert.match((await module.next('answer')).error ?? '', /cannot command itself/);
    await module.say({ ...command, target: 'nobody' });
    assert.match((await module.next('answer')).error ?? '', /no device "nobody"/);
    await module.say({ ...command, name: 'unknown' });
    assert.match((await module.next('answer')).error ?? '', /no command "unknown"/);
  });

  test('a communication module takes no more devices than it can run', async () => {
    const provision = (name: string) =>
      gateway().call('OWNER', 'POST', '/v3/provisioning/lua_device', {
        name,
        runtime_id: module.device.id,
        blueprint_id: blueprintId,
      });
    const made: string[] = [];
    while (made.length + 1 < LIMITS.module.scripts) {
      const { status, body } = await provision(`Counter ${made.length}`);
      assert.equal(status, 200);
      made.push((body as { device_id: string }).device_id);
    }
    assert.equal(refusal(await provision('One too many')), '422 runtime_full');
    for (const id of made) await gateway().ok('OWNER', 'DELETE', `/v3/devices/${id}`);
  });

  test('a communication module is told at once when a device has another blueprint', async () => {
    const files = new Map([
      ['manifest.yml', Buffer.from(MANIFEST)],
      ['main.lua', Buffer.from('enapter.log("another")')],
    ]);
    const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', await writeArchive(files));
    const path = `/v3/devices/${deviceId}/assign_blueprint`;
    /** Script of the only device, by the last assignment. */
    const script = (): string | undefined => {
      const last = module.messages.findLast((message) => message.type === 'assignments');
      const [assignment, ...others] = last?.devices ?? [];
      return others.length === 0 && assignment?.channel_id === channelId ? assignment.script.hash : undefined;
    };
    module.messages.length = 0;
    await module.say(HELLO);
    await until(() => script() !== undefined);
    const before = script();
    await gateway().ok('OWNER', 'POST', path, { blueprint_id: id });
    await until(() => script() !== undefined && script() !== before);
    await gateway().ok('OWNER', 'POST', path, { blueprint_id: blueprintId });
    await until(() => script() === before);
  });

  test('a communication module with a serial port runs serial blueprints of either spec', async () => {
    const upload = async (manifest: string): Promise<string> => {
      const files = new Map([
        ['manifest.yml', Buffer.from(manifest)],
        ['main.lua', Buffer.from('enapter.log("x")')],
      ]);
      const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', await writeArchive(files));
      return String(id);
    };
    const blueprints = [
      await upload(MANIFEST.replace('requirements: []', 'requirements: [modbus, enp_rs485_ports, serial]')),
      await upload(
        'blueprint_spec: device/1.0\ndisplay_name: Old\ncommunication_module:\n  product: ENP-RS485\n  lua:\n    file: main.lua\n',
      ),
    ];
    const provision = (blueprint: string) =>
      gateway().call('OWNER', 'POST', '/v3/provisioning/lua_device', {
        name: 'On a wire',
        runtime_id: module.device.id,
        blueprint_id: blueprint,
      });
    await module.say(HELLO);
    for (const blueprint of blueprints)
      assert.equal(refusal(await provision(blueprint)), '422 invalid_blueprint');
    await module.say({ ...HELLO, offers: [...HELLO.offers, 'port:rs485'] });
    for (const blueprint of blueprints) {
      const made = await provision(blueprint);
      assert.equal(made.status, 200, JSON.stringify(made.body));
      const { device_id: id } = made.body as { device_id: string };
      await gateway().ok('OWNER', 'DELETE', `/v3/devices/${id}`);
    }
  });

  test('a communication module shows its properties, and a command restarts its scripts', async () => {
    await module.device.send('v1/telemetry', { status: 'ok', scripts_running: 1, scripts_failed: 0 });
    const path = `/v3/devices/${module.device.id}/telemetry?attribute.in=scripts_running,status`;
    const { telemetry } = await gateway().ok('READONLY', 'GET', path);
    assert.match(JSON.stringify(telemetry), /"scripts_running":\{"value":1/);
    const { device } = await gateway().ok(
      'READONLY',
      'GET',
      `/v3/devices/${module.device.id}?expand=manifest`,
    );
    assert.ok('reboot' in (device as { manifest: { commands: object } }).manifest.commands);
  });

  test('a communication module is told when a device is gone, and is not deleted before', async () => {
    const refused = await gateway().call('OWNER', 'DELETE', `/v3/devices/${module.device.id}`);
    assert.equal(refusal(refused), '422 device_has_dependents');
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${deviceId}`);
    const last = () => module.messages.findLast((message) => message.type === 'assignments');
    await until(() => last()?.devices.length === 0);
    assert.deepEqual(await gateway().ok('OWNER', 'DELETE', `/v3/devices/${module.device.id}`), {});
  });
});
