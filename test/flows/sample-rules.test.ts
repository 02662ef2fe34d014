/** The sample rules on the whole gateway: live with devices on MQTT, and tried on what was recorded. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { SAMPLE_RULES, sampleBlueprint, sampleRule } from '../support/samples.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { RULES, type RuleGateway, WITH_SANDBOX, withRules } from './rule-support.ts';

interface Entry {
  at: string;
  kind: string;
  name?: string;
  message?: string;
  device_id?: string;
  arguments?: Record<string, unknown>;
}

/** The rule as it is in the folder, on the telemetry of the last hours. */
async function tried(
  gateway: TestGateway,
  code: string,
  period: { from: number; to: number },
): Promise<Entry[]> {
  const script = { code: Buffer.from(code).toString('base64'), runtime_version: 'V3' };
  const { dry_run: report } = await gateway.ok('OWNER', 'POST', `${RULES}/dry_run`, { ...period, script });
  const { end, entries } = report as { end: string; entries: Entry[] };
  assert.equal(end, 'period_ended');
  return entries;
}

/** Commands of a dry run, as seconds since its beginning and what was commanded. */
const commands = (entries: Entry[], fromS: number): unknown[] =>
  entries
    .filter(({ kind }) => kind === 'command')
    .map(({ at, name, arguments: given }) => [Date.parse(at) / 1_000 - fromS, name, given]);

const names = ({ requests }: MockDevice): unknown[] => requests.map(({ name }) => name);

async function blueprintId(gateway: TestGateway, sample: string): Promise<string> {
  const { blueprint } = await gateway.ok(
    'OWNER',
    'POST',
    '/v3/blueprints/upload',
    await zipOf(sampleBlueprint(sample)),
  );
  return (blueprint as { id: string }).id;
}

describe('the sample rules', () => {
  const nowS = Math.floor(Date.now() / 1_000);
  let inverter: MockDevice;
  let relay: MockDevice;
  let alarm: MockDevice;
  let rules: RuleGateway;
  const gateway = useTestGateway(WITH_SANDBOX, async (started) => {
    rules = withRules(started);
    const relayBlueprint = await blueprintId(started, 'relay');
    inverter = await started.provision('Inverter');
    relay = await started.provision('Relay', relayBlueprint);
    alarm = await started.provision('Alarm', relayBlueprint);
    for (const device of [inverter, relay, alarm]) {
      await device.connect();
      device.obey({});
    }
    // Half an hour of surplus in the middle of two hours, one value a minute.
    await Promise.all(
      Array.from({ length: 120 }, async (_, minute) => {
        const timestamp = nowS - 7_200 + minute * 60;
        const isSunny = minute >= 60 && minute < 90;
        await inverter.telemetry({
          timestamp,
          grid_total_power: isSunny ? -2_500 : 400,
          battery_soc: 90,
          mode: 'self_consumption',
          alerts: minute >= 30 && minute < 50 ? ['battery_low'] : [],
        });
        await relay.telemetry({ timestamp, closed: false });
      }),
    );
    await started.ok('READONLY', 'GET', RULES);
    await rules.create('ready', `enapter.log('ready')`);
    await rules.heard('ready', /ready/);
  });

  test('the sample rules are the three tested here', () => {
    assert.deepEqual(
      readdirSync(SAMPLE_RULES)
        .filter((name) => name.endsWith('.lua'))
        .sort(),
      ['alert-escalation.lua', 'battery-night-reserve.lua', 'surplus-to-load.lua'],
    );
  });

  test('a dry run of surplus to load closes the relay once the surplus has lasted', async () => {
    const from = nowS - 7_200;
    const entries = await tried(gateway(), sampleRule('surplus-to-load'), { from, to: nowS });
    const [first, ...later] = commands(entries, from);
    assert.deepEqual(first, [65 * 60, 'close', {}]);
    // No command was sent, so the relay was recorded as open, and the rule kept trying while the sun was there.
    for (const [atS, name] of later as [number, string][]) {
      assert.equal(name, 'close');
      assert.ok(atS < 91 * 60);
    }
    assert.deepEqual(names(relay), []);
  });

  test('surplus to load closes the relay, and opens it when power is imported or unknown', async () => {
    await relay.telemetry({ closed: false });
    await inverter.telemetry({ grid_total_power: -100, battery_soc: 90 });
    await rules.create('surplus', sampleRule('surplus-to-load', { HOLD_S: '0' }));
    await rules.heard('surplus', /rule started/);
    // The rule watches from some moment on; values go on to come, as those of an inverter do.
    const measure = async (
      values: Record<string, unknown>,
      relayIs: boolean,
      wanted: string,
    ): Promise<void> => {
      const before = relay.requests.length;
      await until(async () => {
        await relay.telemetry({ closed: relayIs });
        await inverter.telemetry(values);
        // A value that came before may have it commanded once more what it was before.
        return names(relay).slice(before).includes(wanted);
      });
    };
    await measure({ grid_total_power: -2_500, battery_soc: 90 }, false, 'close');
    await rules.heard('surplus', /^close$/);
    await measure({ grid_total_power: 900, battery_soc: 90 }, true, 'open');
    await rules.heard('surplus', /^open$/);
    assert.deepEqual(new Set(names(relay)), new Set(['close', 'open']));
    await gateway().ok('OWNER', 'POST', `${RULES}/surplus/disable`);
  });

  test('a dry run of battery reserve at night sets the mode at both ends of the night', async () => {
    // A whole day before the recorded hour, so that neither end of the night falls into it.
    const to = Math.floor(nowS / 86_400) * 86_400 - 43_200;
    const entries = await tried(gateway(), sampleRule('battery-night-reserve'), { from: to - 86_400, to });
    const clocks = entries
      .filter(({ kind }) => kind === 'command')
      .map(({ at, arguments: given }) => [at.slice(11, 19), given]);
    for (const wanted of [
      ['22:00:00', { mode: 'backup', reserve_percent: 60 }],
      ['06:00:00', { mode: 'self_consumption' }],
    ])
      assert.ok(
        clocks.some((clock) => JSON.stringify(clock) === JSON.stringify(wanted)),
        JSON.stringify(clocks),
      );
  });

  test('battery reserve at night sets the mode of the hour when it starts, unless it is set already', async () => {
    const NIGHT = 'NIGHT_FROM, NIGHT_TO';
    await inverter.telemetry({ mode: 'self_consumption' });
    await rules.create('night', sampleRule('battery-night-reserve', { [NIGHT]: `'00:00', '24:00'` }));
    await until(() => inverter.requests.length > 0);
    const [request] = inverter.requests;
    assert.deepEqual(
      [request?.name, request?.arguments],
      ['set_mode', { mode: 'backup', reserve_percent: 60 }],
    );
    await rules.heard('night', /^mode backup$/);
    await inverter.telemetry({ mode: 'backup' });
    await rules.update(
      'night',
      `${sampleRule('battery-night-reserve', { [NIGHT]: `'00:00', '24:00'` })} enapter.log('kept')`,
    );
    await rules.heard('night', /^kept$/);
    assert.equal(inverter.requests.length, 1);
    await gateway().ok('OWNER', 'POST', `${RULES}/night/disable`);
  });

  test('a dry run of alert escalation warns after a minute and sounds the alarm after ten', async () => {
    const from = nowS - 7_200;
    const entries = await tried(gateway(), sampleRule('alert-escalation'), { from, to: nowS });
    const logs = entries.filter(({ kind }) => kind === 'log').map(({ message }) => message);
    assert.deepEqual(logs, [
      'inverter: battery_low since 60 s',
      'inverter: battery_low since 600 s: alarm',
      'inverter: battery_low is over',
    ]);
    assert.deepEqual(commands(entries, from), [
      [40 * 60, 'close', {}],
      [50 * 60, 'open', {}],
    ]);
    assert.deepEqual(names(alarm), []);
  });

  test('alert escalation sounds the alarm while an alert stays, and for an unknown device', async () => {
    const { devices } = await gateway().ok('READONLY', 'GET', '/v3/devices');
    // The module is not started here.
    const module = (devices as { slug: string; type: string }[]).find(
      ({ type }) => type === 'VIRTUAL_UCM',
    )?.slug;
    const settings = {
      LOOK_EVERY_MS: '50',
      'WARN_AFTER_S, ALARM_AFTER_S': '0, 1',
      IGNORED: `{ ['${module}: offline'] = true }`,
    };
    await inverter.telemetry({ alerts: ['battery_overheated'] });
    await rules.create('escalation', sampleRule('alert-escalation', settings));
    await until(() => names(alarm).includes('close'));
    await rules.heard('escalation', /^inverter: battery_overheated since \d s$/);
    await rules.heard('escalation', /^inverter: battery_overheated since \d s: alarm$/);
    await inverter.telemetry({ alerts: [] });
    await until(() => names(alarm).includes('open'));
    await rules.heard('escalation', /^inverter: battery_overheated is over$/);
    // One that never came.
    await gateway().provision('Boiler');
    await rules.heard('escalation', /^boiler: offline since \d s: alarm$/);
    await until(() => names(alarm).length === 3);
    assert.deepEqual(names(alarm), ['close', 'open', 'close']);
  });
});
