/** The module as a child of the gateway: its settings come over the channel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { Processes, programEntry } from '../../src/platform/processes/index.ts';
import { MODULE_PROTOCOL } from '../../src/protocol/module.ts';
import { until } from '../support/until.ts';
import { recordingLog } from '../support/workspace.ts';
import { isIn, startStandInGateway } from './stand-in-gateway.ts';

test('a module that the gateway starts runs its scripts, is back after its death, and stops when told', async (t) => {
  const gateway = await startStandInGateway();
  const clock = createSystemClock();
  const { log } = recordingLog(clock);
  const { connection } = gateway;
  const program = new Processes({ clock, log, metrics: createMetrics() }).program({
    name: 'communication-module',
    entry: programEntry('field-module/main'),
    protocolVersion: MODULE_PROTOCOL.version,
    rights: { network: true, deviceFiles: ['/dev/ttyUSB0'], systemPrograms: true },
    settings: () => ({
      config: {
        mqtt_host: connection.mqttHost,
        mqtt_port: connection.mqttPort,
        mqtt_protocol: 'MQTT',
        mqtt_credentials: { username: connection.hardwareId, password: 'secret' },
        hardware_id: connection.hardwareId,
        channel_id: 'ucm',
      },
      ports: { rs485: { path: '/dev/ttyUSB0' } },
      log_level: 'warn',
    }),
    onPayload: () => undefined,
  });
  t.after(async () => {
    await program.stop();
    await gateway.stop();
    clock.close();
  });
  program.start();
  gateway.assign([{ channelId: 'c1', script: "enapter.log('start', 'info', true)" }]);
  await isIn(gateway, 'c1', 'running');
  const [hello] = gateway.said;
  assert.ok(hello?.type === 'hello' && hello.offers.includes('port:rs485'));

  const { processId } = program;
  assert.ok(processId !== undefined);
  process.kill(processId, 'SIGKILL');
  await until(() => gateway.bodies('c1', 'v3/logs').length === 2);

  await program.stop();
  assert.equal(program.state, 'stopped');
  assert.equal(program.lastExit?.reason, 'stopped');
  await until(() => gateway.sessions === 0);
});
