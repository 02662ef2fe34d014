/** Alerts of devices from when they are raised to when they are cleared, whatever happens in between. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { LIMITS } from '../../src/lib/limits.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { TestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const { checkIntervalMs, offlineAfterMs, raisedPerDevice, rhythmDaysMin, sameAlertMs, silentPauses } =
  LIMITS.alerts;

interface Listed {
  id: string;
  device_id: string;
  name: string;
  source: string;
  severity: string;
  display_name: string;
  details: string | null;
  raised_at: string;
  cleared_at: string | null;
  times_raised: number;
  acknowledged_by: string | null;
}

/** Alerts of the device, the last one raised first. */
async function alertsOf({ ok }: TestGateway, device: MockDevice, query = ''): Promise<Listed[]> {
  const { alerts } = await ok('USER', 'GET', `/v3/alerts?device_id.in=${device.id}${query}`);
  return alerts as Listed[];
}

const told = (alerts: readonly Listed[]): string[] =>
  alerts.map(({ name, cleared_at: clearedAt }) => `${name} ${clearedAt === null ? 'raised' : 'cleared'}`);

const clock = new TestClock();
const gatewayOf = useTestGateway({ clock });

const nowS = (): number => Math.floor(clock.wallMs() / SECOND_MS);

async function started() {
  const gateway = gatewayOf();
  const device = await gateway.provision('Battery');
  await device.connect();
  return { gateway, device };
}

test('an alert lasts from the message that raises it to the message that does not', async () => {
  const { gateway, device } = await started();
  const raisedS = nowS();
  await device.telemetry({
    timestamp: raisedS,
    alerts: ['battery_low', 'made_up'],
    alert_details: { made_up: 'cell 7', other: 1 },
  });
  await device.telemetry({ timestamp: raisedS + 5, alerts: ['battery_low', 'made_up'] });
  const open = await alertsOf(gateway, device);
  assert.deepEqual(told(open).toSorted(), ['battery_low raised', 'made_up raised']);
  const madeUp = open.find(({ name }) => name === 'made_up');
  assert.deepEqual([madeUp?.severity, madeUp?.display_name, madeUp?.details], ['error', 'made_up', 'cell 7']);
  const low = open.find(({ name }) => name === 'battery_low');
  assert.deepEqual([low?.severity, low?.display_name, low?.source], ['info', 'Battery Low', 'DEVICE']);
  await clock.advance(20 * SECOND_MS);
  await device.telemetry({ timestamp: raisedS + 20, alerts: ['made_up'] });
  const [over] = await alertsOf(gateway, device, '&state=CLEARED');
  assert.equal(over?.raised_at, new Date(raisedS * SECOND_MS).toISOString());
  assert.equal(over?.cleared_at, new Date((raisedS + 20) * SECOND_MS).toISOString());
  assert.deepEqual(told(await alertsOf(gateway, device, '&state=RAISED')), ['made_up raised']);
});

test('a raised alert is the same after a restart; one cleared meanwhile is cleared', async () => {
  const { gateway, device } = await started();
  await device.telemetry({ alerts: ['battery_low', 'made_up'] });
  const before = await alertsOf(gateway, device);
  await gateway.restart();
  await clock.advance(2 * checkIntervalMs);
  assert.deepEqual(await alertsOf(gateway, device), before);
  await device.connect();
  await device.telemetry({ alerts: ['battery_low'] });
  const after = await alertsOf(gateway, device);
  assert.deepEqual(after.map(({ id }) => id).toSorted(), before.map(({ id }) => id).toSorted());
  assert.deepEqual(told(after).toSorted(), ['battery_low raised', 'made_up cleared']);
});

const isOfLow = (message: unknown): boolean => {
  const { change, alert } = message as { change: string; alert: Listed };
  return change === 'LASTING' && alert.name === 'battery_low' && alert.acknowledged_by === null;
};

test('an alert that is snoozed is news again when the snooze ends, if it is still raised, over a restart too', async () => {
  const { gateway, device } = await started();
  await device.telemetry({ alerts: ['battery_low', 'made_up'] });
  const untilMs = clock.wallMs() + 60 * MINUTE_MS;
  for (const { id } of await alertsOf(gateway, device))
    await gateway.ok('USER', 'POST', `/v3/alerts/${id}/snooze`, { until: new Date(untilMs).toISOString() });
  await device.telemetry({ alerts: ['battery_low'] });
  assert.equal((await alertsOf(gateway, device, '&acknowledged=true')).length, 2);
  await gateway.restart();
  const followed = await gateway.watch('USER', '/v3/alerts');
  await clock.advance(50 * MINUTE_MS);
  assert.equal((await alertsOf(gateway, device, '&acknowledged=false&state=RAISED&severity=info')).length, 0);
  await clock.advance(10 * MINUTE_MS + checkIntervalMs);
  const open = await alertsOf(gateway, device, '&acknowledged=false&state=RAISED&severity=info');
  assert.deepEqual(told(open), ['battery_low raised']);
  await until(() => Promise.resolve(followed.messages.some(isOfLow)));
});

test('an alert that returns within a minute continues, and one that returns later is new', async () => {
  const { gateway, device } = await started();
  const say = async (...alerts: string[]): Promise<void> => {
    await device.telemetry({ timestamp: nowS(), alerts });
    await clock.advance(SECOND_MS);
  };
  for (let round = 0; round < 3; round++) {
    await say('battery_low');
    await say();
  }
  const [only, ...others] = await alertsOf(gateway, device);
  assert.deepEqual([only?.times_raised, others.length], [3, 0]);
  await clock.advance(sameAlertMs);
  await say('battery_low');
  assert.deepEqual(told(await alertsOf(gateway, device)), ['battery_low raised', 'battery_low cleared']);
});

test('late messages correct past alerts, and a clock that was ahead leaves no alert in the future', async () => {
  const { gateway, device } = await started();
  const sentS = nowS();
  // A device sends what it has kept.
  await device.telemetry({ timestamp: sentS - 3_600, alerts: ['battery_low'] });
  await device.telemetry({ timestamp: sentS - 1_800, alerts: [] });
  const [kept] = await alertsOf(gateway, device);
  assert.equal(kept?.raised_at, new Date((sentS - 3_600) * SECOND_MS).toISOString());
  assert.equal(kept?.cleared_at, new Date((sentS - 1_800) * SECOND_MS).toISOString());
  clock.step(48 * 3_600_000);
  await device.telemetry({ alerts: ['made_up'] });
  clock.step(-48 * 3_600_000);
  await clock.advance(checkIntervalMs);
  const [ahead] = await alertsOf(gateway, device, '&state=RAISED');
  assert.ok(Date.parse(ahead?.raised_at ?? '') <= clock.wallMs(), String(ahead?.raised_at));
});

test('a device that goes away keeps its alerts; after five minutes that is reported once, also over a restart', async () => {
  const { gateway, device } = await started();
  await device.telemetry({ alerts: ['battery_low'] });
  await device.leave();
  await clock.advance(offlineAfterMs - MINUTE_MS);
  assert.deepEqual(told(await alertsOf(gateway, device)), ['battery_low raised']);
  await clock.advance(2 * MINUTE_MS);
  assert.deepEqual(told(await alertsOf(gateway, device)).toSorted(), [
    'battery_low raised',
    'offline raised',
  ]);
  await gateway.restart();
  await clock.advance(offlineAfterMs + MINUTE_MS);
  const [offline] = (await alertsOf(gateway, device)).filter(({ source }) => source === 'GATEWAY');
  assert.deepEqual([offline?.display_name, offline?.severity], ['Offline', 'warning']);
  await device.connect();
  assert.deepEqual(told(await alertsOf(gateway, device)).toSorted(), [
    'battery_low raised',
    'offline cleared',
  ]);
});

test('a device that is back is no longer offline as soon as the disk takes that', async () => {
  const { gateway, device } = await started();
  await device.telemetry({ alerts: [] });
  await device.leave();
  await clock.advance(offlineAfterMs + MINUTE_MS);
  const handle = new BetterSqlite3(join(gateway.dataDir, 'state.db'));
  handle.exec(`CREATE TRIGGER refused BEFORE UPDATE ON alert BEGIN SELECT RAISE(ABORT, 'no'); END`);
  await device.connect();
  assert.deepEqual(told(await alertsOf(gateway, device)), ['offline raised']);
  handle.exec('DROP TRIGGER refused');
  handle.close();
  await clock.advance(checkIntervalMs);
  assert.deepEqual(told(await alertsOf(gateway, device)), ['offline cleared']);
});

test('a device that was never connected is not reported as OFFLINE', async () => {
  const gateway = gatewayOf();
  const device = await gateway.provision('Battery');
  await clock.advance(offlineAfterMs + MINUTE_MS);
  assert.deepEqual(await alertsOf(gateway, device), []);
});

test('a connected device that stops sending is reported until it sends or is gone', async () => {
  const gateway = gatewayOf();
  const device = await gateway.provision('Battery');
  await device.connect();
  const halfHour = async (): Promise<void> => {
    clock.spend(30 * MINUTE_MS - checkIntervalMs);
    await clock.advance(checkIntervalMs);
  };
  const lastsHours = async (hours: number, sends: boolean): Promise<void> => {
    for (let round = 0; round < 2 * hours; round++) {
      if (sends) await device.telemetry({ battery_soc: round % 100 });
      await halfHour();
    }
  };
  await lastsHours(24 * rhythmDaysMin + 1, true);
  // What was learned is not lost.
  await gateway.restart();
  await device.connect();
  await lastsHours(1, true);
  await lastsHours(1, false);
  assert.deepEqual(await alertsOf(gateway, device), []);
  const fellSilentMs = clock.wallMs() - 90 * MINUTE_MS;
  await lastsHours(silentPauses, false);
  const [silent, ...others] = await alertsOf(gateway, device);
  assert.deepEqual(
    [silent?.name, silent?.source, silent?.severity, silent?.cleared_at, others.length],
    ['silent', 'GATEWAY', 'warning', null, 0],
  );
  assert.ok(
    Math.abs(Date.parse(silent?.raised_at ?? '') - fellSilentMs) <= MINUTE_MS,
    silent?.raised_at ?? 'none',
  );
  await gateway.restart();
  await device.connect();
  await clock.advance(checkIntervalMs);
  assert.deepEqual(told(await alertsOf(gateway, device)), ['silent raised'], 'it has not sent since');
  await device.telemetry({ battery_soc: 50 });
  await clock.advance(checkIntervalMs);
  assert.deepEqual(told(await alertsOf(gateway, device)), ['silent cleared']);
});

test('a device may change all of its alerts at once, and each is reported', async () => {
  const { gateway, device } = await started();
  const alertsOfRound = (round: number): string[] =>
    Array.from({ length: raisedPerDevice }, (_, index) => `round_${round}_${index}`);
  for (const round of [1, 2, 3]) {
    await device.telemetry({ alerts: alertsOfRound(round) });
    const { alerts } = await gateway.ok(
      'USER',
      'GET',
      `/v3/alerts?device_id.in=${device.id}&state=RAISED&limit=500`,
    );
    assert.deepEqual(
      (alerts as Listed[]).map(({ name }) => name).toSorted(),
      alertsOfRound(round).toSorted(),
    );
  }
});

test('a device that invents alerts fills neither the list nor the disk, and others are not hidden', async () => {
  const { gateway, device } = await started();
  for (let round = 0; round < 30; round++)
    await device.telemetry({
      alerts: Array.from({ length: 200 }, (_, index) => `made_up_${round}_${index}`),
    });
  await clock.advance(checkIntervalMs);
  const { total_count: raised } = await gateway.ok(
    'USER',
    'GET',
    `/v3/alerts?device_id.in=${device.id}&state=RAISED&limit=0`,
  );
  assert.equal(raised, 200);
  const many = Array.from({ length: raisedPerDevice }, (_, index) => `first_${index}`);
  await device.telemetry({ alerts: many });
  await device.telemetry({ alerts: many, conn_alerts: ['one_more'] });
  await clock.advance(checkIntervalMs);
  const after = await gateway.ok('USER', 'GET', `/v3/alerts?device_id.in=${device.id}&state=RAISED&limit=0`);
  assert.equal(after['total_count'], raisedPerDevice);
  const other = await gateway.provision('Other');
  await other.connect();
  await other.telemetry({ alerts: ['battery_low'] });
  assert.deepEqual(told(await alertsOf(gateway, other)), ['battery_low raised']);
});

test('a deleted device takes its alerts along, and another blueprint those that only the old one declared', async () => {
  const { gateway, device } = await started();
  await device.telemetry({ conn_alerts: ['made_up'] });
  assert.deepEqual(told(await alertsOf(gateway, device)), ['made_up raised']);
  const { blueprint } = await gateway.ok('OWNER', 'GET', '/v3/blueprints/enapter/empty/latest');
  await gateway.ok('OWNER', 'POST', `/v3/devices/${device.id}/assign_blueprint`, {
    blueprint_id: (blueprint as { id: string }).id,
  });
  assert.deepEqual(told(await alertsOf(gateway, device)), ['made_up cleared']);
  await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  const { alerts: left } = await gateway.ok('USER', 'GET', '/v3/alerts?limit=500');
  assert.ok((left as Listed[]).every(({ device_id: id }) => id !== device.id));
});
