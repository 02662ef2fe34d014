/** The sample blueprints, compiled as an upload and run by a real module against simulated devices, or against none. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { parseSimulateModbusOptions } from '../../scripts/simulate/modbus-options.ts';
import { type SimulatedModbus, simulateModbus } from '../../scripts/simulate/modbus-run.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { CommunicationModule } from '../../src/field-module/module.ts';
import { compiled } from '../capabilities/blueprints/support.ts';
import { until } from '../support/until.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { recordingLog } from '../support/workspace.ts';
import { isIn, type StandInDevice, type StandInGateway, startStandInGateway } from './stand-in-gateway.ts';

/** What the gateway would assign for the sample. */
function sample(name: string): Pick<StandInDevice, 'script' | 'facts'> {
  const files = sampleBlueprint(name);
  const { manifest, script } = compiled(files['manifest.yml'] ?? '', files);
  const typesOf = (attributes: Record<string, { type: string }>): Record<string, string> =>
    Object.fromEntries(Object.entries(attributes).map(([attribute, { type }]) => [attribute, type]));
  return {
    script: script ?? assert.fail(),
    facts: {
      api: 'v3',
      telemetry: typesOf(manifest.telemetry),
      properties: typesOf(manifest.properties),
      configuration: Object.fromEntries(
        Object.entries(manifest.configuration).map(([group, { parameters }]) => [
          group,
          Object.entries(parameters).flatMap(([parameter, { required }]) => (required ? [parameter] : [])),
        ]),
      ),
    },
  };
}

describe('the samples on a module', () => {
  const clock = createSystemClock();
  let gateway: StandInGateway;
  let module: CommunicationModule;
  let simulated: SimulatedModbus;
  let address = '';

  before(async () => {
    gateway = await startStandInGateway();
    const options = parseSimulateModbusOptions(['--port', '0', '--hour', '12']) ?? assert.fail();
    const parts = { options, clock, random: createRandom(5), terminal: { line: () => undefined } };
    simulated = await simulateModbus(parts);
    address = `tcp://127.0.0.1:${simulated.servers[0]?.port}`;
    module = new CommunicationModule({
      configuration: { connection: gateway.connection, ports: {}, ioPorts: {} },
      clock,
      log: recordingLog(clock).log,
      run: randomUUID(),
    });
  });
  after(async () => {
    await module.stop();
    await simulated.stop();
    await gateway.stop();
    clock.close();
  });

  const newest = (channelId: string): Record<string, unknown> =>
    gateway.bodies(channelId, 'v1/telemetry').at(-1) ?? {};
  const answerTo = async (channelId: string, name: string, args = {}): Promise<Record<string, unknown>> => {
    const id = randomUUID();
    const find = (): Record<string, unknown> | undefined =>
      gateway.bodies(channelId, 'v1/command/responses').find((response) => response.id === id);
    gateway.command(channelId, id, name, args);
    await until(() => find() !== undefined);
    return find() ?? assert.fail();
  };

  test('the inverter sample reports that it is not configured, then that nobody answers, then what it measures', async () => {
    gateway.assign([
      {
        channelId: 'inverter',
        ...sample('modbus-inverter'),
        groups: { connection: { unit_id: 1, meter_unit_id: 2 } },
      },
    ]);
    await until(() => (newest('inverter').conn_alerts as string[] | undefined)?.[0] === 'not_configured');
    const refused = await answerTo('inverter', 'start');
    assert.deepEqual(refused.payload, { message: 'the connection is not configured' });

    // Nobody listens there.
    const nowhere = { address: 'tcp://127.0.0.1:1', unit_id: 1, meter_unit_id: 2 };
    gateway.configure('inverter', { connection: nowhere }, ['connection']);
    await until(() => (newest('inverter').conn_alerts as string[])[0] === 'communication_failed');
    assert.deepEqual(newest('inverter').alert_details, {
      communication_failed: { errmsg: 'connection failed: connection refused' },
    });
    assert.equal(newest('inverter').pv_total_power, undefined);

    gateway.configure('inverter', { connection: { ...nowhere, address } }, ['connection']);
    await until(() => newest('inverter').pv_total_power !== undefined);
    const measured = newest('inverter');
    assert.deepEqual(measured.conn_alerts, []);
    assert.equal(measured.status, 'operating');
    assert.equal(measured.mode, 'self_consumption');
    const {
      pv_total_power: pvW,
      grid_total_power: gridW,
      load_total_power: loadW,
      ac_total_power: acW,
    } = measured;
    assert.ok(Number(pvW) > 100);
    // Meter and inverter agree, to the rounding of their registers.
    assert.ok(Math.abs(Number(acW) + Number(gridW) - Number(loadW)) <= 2);
  });

  test('the inverter sample takes commands, and shows what they changed', async () => {
    assert.deepEqual((await answerTo('inverter', 'set_mode', { mode: 'peak_shaving' })).payload, {
      mode: 'peak_shaving',
    });
    await until(() => newest('inverter').mode === 'peak_shaving');
    const refused = await answerTo('inverter', 'set_charge_limit', { limit_w: 9_999 });
    assert.deepEqual(refused, {
      id: refused.id,
      state: 'error',
      payload: { message: 'the inverter did not take it: illegal data value' },
    });
    await answerTo('inverter', 'set_charge_limit', { limit_w: 1_234 });
    assert.deepEqual((await answerTo('inverter', 'read_settings')).payload, {
      limit_w: 1_234,
      mode: 'peak_shaving',
    });
    await answerTo('inverter', 'stop');
    await until(() => newest('inverter').status === 'off');
  });

  test('the inverter sample shows no old value while the device is silent, and recovers with it', async () => {
    simulated.command('silent 1');
    await until(() => (newest('inverter').conn_alerts as string[])[0] === 'communication_failed');
    assert.deepEqual(Object.keys(newest('inverter')).sort(), ['alert_details', 'conn_alerts', 'timestamp']);
    simulated.command('ok');
    await until(() => (newest('inverter').conn_alerts as string[]).length === 0);
  });

  test('the weather sample reports what the service answers, with the time of the measurement, and what is wrong', async () => {
    const asked: string[] = [];
    let status = 503;
    const service = http.createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`);
      const current = { time: 1_780_000_000, temperature_2m: 21.5, wind_speed_10m: 3, cloud_cover: 80 };
      response.writeHead(status).end(JSON.stringify({ current }));
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', () => resolve()));
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/v1/forecast`;
    const place = { latitude: 52.5, longitude: 13.25 };
    gateway.assign([
      {
        channelId: 'weather',
        ...sample('http-weather'),
        groups: { place, service: { url, api_key: 'key' } },
      },
    ]);
    await until(() => newest('weather').status === 'failed');
    assert.deepEqual(newest('weather').alert_details, {
      communication_failed: { errmsg: 'the service answers with 503' },
    });
    status = 200;
    assert.equal((await answerTo('weather', 'update')).state, 'completed');
    assert.deepEqual(newest('weather'), {
      timestamp: 1_780_000_000,
      status: 'ok',
      conn_alerts: [],
      ambient_temperature: 21.5,
      wind_speed: 3,
      cloud_cover: 80,
    });
    assert.match(asked[0] ?? '', /latitude=52.5000&longitude=13.2500&current=.* Bearer key$/);
    service.closeAllConnections();
    await new Promise((resolve) => service.close(resolve));
  });

  test('the house sample sends consistent values, takes commands, warns, and continues after a restart', async () => {
    const house = { channelId: 'house', ...sample('simulated-house') };
    gateway.assign([house]);
    await until(() => newest('house').load_total_power !== undefined);
    const settings = { limit_w: 4_000, mode: 'backup', reserve_percent: 60 };
    const { limit_w, ...mode } = settings;
    assert.deepEqual((await answerTo('house', 'set_charge_limit', { limit_w })).payload, { limit_w });
    assert.deepEqual((await answerTo('house', 'set_mode', mode)).payload, mode);
    await answerTo('house', 'set_battery_soc', { soc_percent: 10 });
    assert.deepEqual((await answerTo('house', 'read_settings')).payload, settings);
    await until(() => (newest('house').alerts as string[])[0] === 'battery_low');
    assert.deepEqual([newest('house').battery_power, newest('house').status], [-4_000, 'charging']);
    assert.deepEqual(newest('house').alert_details, { battery_low: { errmsg: '10 % left' } });
    await answerTo('house', 'stop');
    await until(() => newest('house').status === 'standby');
    const stopped = newest('house');
    assert.deepEqual([stopped.pv_total_power, stopped.battery_power], [0, 0]);
    assert.equal(stopped.grid_total_power, stopped.load_total_power);

    const known = gateway.bodies('house', 'v1/telemetry').length;
    gateway.say({ type: 'restart', channel_id: 'house' });
    await until(() => gateway.bodies('house', 'v1/telemetry').length > known);
    assert.deepEqual((await answerTo('house', 'read_settings')).payload, settings);
    assert.equal(newest('house').status, 'standby');
    const sent = gateway.bodies('house', 'v1/telemetry') as Record<string, number>[];
    for (const { pv_total_power: pv, battery_power: battery, grid_total_power: grid, ...body } of sent)
      assert.equal((pv ?? 0) + (battery ?? 0) + (grid ?? 0), body.load_total_power);
    const consumed = sent.map((body) => body.load_energy_lifetime ?? 0);
    assert.deepEqual(
      consumed,
      consumed.toSorted((a, b) => a - b),
    );
    assert.ok((consumed.at(-1) ?? 0) > 0);
  });

  test('the relay sample closes, remembers, counts, and returns to its position after a restart', async () => {
    const connection = { address, unit_id: 1, coil: 1 };
    const relay = {
      channelId: 'relay',
      ...sample('relay'),
      groups: { connection, behaviour: { restore: true } },
    };
    gateway.assign([relay]);
    await isIn(gateway, 'relay', 'running');
    assert.equal((await answerTo('relay', 'open')).state, 'completed');
    await until(() => newest('relay').closed === false);
    assert.equal((await answerTo('relay', 'impulse', { duration_ms: 60 })).state, 'completed');
    assert.equal((await answerTo('relay', 'close')).state, 'completed');
    await until(() => newest('relay').status === 'closed');
    assert.equal(gateway.storage.get('relay operations')?.toString(), '4');
    // Somebody else moved it while the module was away.
    gateway.storage.set('relay closed', Buffer.from('0'));
    gateway.say({ type: 'restart', channel_id: 'relay' });
    await until(() => newest('relay').status === 'open');
    await until(() => gateway.bodies('relay', 'v1/register').some(({ operations }) => operations === 4));
  });
});
