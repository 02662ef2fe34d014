/** From a blueprint to a command that it declares, checked on the way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { refusal, startTestGateway } from '../support/test-gateway.ts';

const MANIFEST = `blueprint_spec: device/3.0
display_name: Heater
runtime: {type: embedded}
properties:
  model: {display_name: Model, type: string}
telemetry:
  temperature: {display_name: Temperature, type: float, unit: Cel}
alerts:
  overheated: {display_name: Overheated, severity: error}
command_groups:
  main: {display_name: Main}
commands:
  heat:
    display_name: Heat
    group: main
    aliases: [warm]
    arguments:
      power_w: {display_name: Power, type: integer, required: true, min: 0, max: 3000}
      program: {display_name: Program, type: string, enum: [eco, boost], default: eco}
configuration:
  limits:
    display_name: Limits
    parameters:
      max_w: {display_name: Largest Power, type: integer, default: 2000, min: 0, max: 3000}
      pin: {display_name: PIN, type: string, sensitive: true}
`;

type Json = Record<string, unknown>;

test('a blueprint is uploaded, assigned, configured, read by both paths, and its commands are checked', async (t) => {
  const gateway = await startTestGateway(t);
  const { ok, call } = gateway;
  const broken = await zipOf({ 'manifest.yml': MANIFEST.replace('type: float', 'type: double') });
  const { validation_errors: problems } = await ok('OWNER', 'POST', '/v3/blueprints/validate', broken);
  const refused = await call('OWNER', 'POST', '/v3/blueprints/upload', broken);
  assert.equal(refused.status, 422);
  const messages = (refused.body as { errors: { message: string }[] }).errors.map(({ message }) => message);
  assert.deepEqual(messages, problems);

  const zip = await zipOf({ 'manifest.yml': MANIFEST });
  const { id } = await ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  const device = await gateway.provision('Heater', String(id));
  const path = `/v3/devices/${device.slug}`;

  const group = `${path}/configuration/limits`;
  assert.deepEqual((await ok('USER', 'GET', group))['configuration'], { max_w: 2_000 });
  const tooMuch = await call('USER', 'PATCH', group, { set: { max_w: 5_000 } });
  assert.equal(refusal(tooMuch), '422 invalid_configuration');
  const { configuration } = await ok('USER', 'PATCH', group, { set: { max_w: 2_500, pin: '1234' } });
  assert.deepEqual(configuration, { max_w: 2_500 });

  await device.connect();
  device.obey({ heating: true });
  const execute = (body: unknown) => call('USER', 'POST', `${path}/commands/execute`, body);
  for (const [body, expected] of [
    [{ name: 'cool' }, '422 command_not_found'],
    [{ name: 'heat' }, '422 invalid_command_arguments'],
    [{ name: 'heat', arguments: { power_w: '1' } }, '422 invalid_command_arguments'],
    [{ name: 'heat', arguments: { power_w: 3_001 } }, '422 invalid_command_arguments'],
    [{ name: 'heat', arguments: { power_w: 1, program: 'turbo' } }, '422 invalid_command_arguments'],
    [{ name: 'heat', arguments: { power_w: 1, colour: 'red' } }, '422 invalid_command_arguments'],
    [{ name: 'heat', arguments: [] }, '400 invalid_body'],
  ] as const)
    assert.equal(refusal(await execute(body)), expected, JSON.stringify(body));
  assert.deepEqual(device.requests, []);

  const { body } = await execute({ name: 'warm', arguments: { power_w: 1_000 } });
  const { state, request } = (body as { execution: Json }).execution;
  assert.equal(state, 'SUCCESS');
  assert.deepEqual(request, {
    name: 'warm',
    arguments: { power_w: 1_000, program: 'eco' },
    manifest_name: 'heat',
  });
  assert.deepEqual(
    device.requests.map(({ name, arguments: given }) => ({ name, given })),
    [{ name: 'heat', given: { power_w: 1_000, program: 'eco' } }],
  );

  const { manifest } = await ok('USER', 'GET', `${path}/manifest`);
  const { device: expanded } = await ok('USER', 'GET', `${path}?expand=manifest`);
  assert.deepEqual((expanded as Json)['manifest'], manifest);
  assert.deepEqual(Object.keys((manifest as Json)['commands'] as Json), ['heat']);

  await device.telemetry({ temperature: 81, alerts: ['overheated'] });
  const { telemetry } = await ok('USER', 'GET', `${path}/telemetry`);
  assert.deepEqual(Object.keys(telemetry as Json).toSorted(), ['alert_details', 'alerts', 'temperature']);
});
