/** The gateway as a device, on a box that the test plays. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { Appliance, type PartsStatus } from '../../../src/capabilities/appliance/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { Host, HostLoad } from '../../../src/platform/host/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { recordingLog } from '../../support/workspace.ts';

const LOAD: HostLoad = {
  cpuLoadPercent: 12.34,
  memoryUsedBytes: 256,
  memoryTotalBytes: 1_024,
  processMemoryBytes: 100,
  eventLoopDelayMs: 1.26,
  disk: { totalBytes: 1_000, freeBytes: 400 },
  cpuTemperatureCelsius: 48.5,
  writtenBytes: 1_000_000,
};

const STATUS: PartsStatus = {
  historyDegraded: undefined,
  historySizeBytes: 10,
  historyDaysLeft: 400,
  historyDamagedParts: 0,
  isHistoryShortened: false,
  isRehearsal: false,
  historySetAside: { damaged: [], foreign: [] },
  historyMissing: [],
  journalSetAside: [],
  unknownDevices: [],
  stateSizeBytes: 20,
  folderFault: undefined,
  isDiskFull: false,
  stateRecovery: undefined,
  changesLost: [],
  restoreFault: undefined,
  isTlsOff: false,
  certificateProblem: undefined,
  stateDegraded: undefined,
  stateCopyFault: undefined,
  brokerSessions: 3,
  devicesOnline: 2,
  telemetryValues: 0,
  restarts: 0,
  targetsFailing: [],
  targetsRefusing: [],
  commandsFailing: [],
  siteFileFault: undefined,
  updateFailure: undefined,
  targetsLagS: 0,
  targetsLagSamples: 0,
  targetsLagRecords: 0,
  missingPrograms: [],
  backup: { isOverdue: false },
};

function start(t: TestContext, wallMs?: number, provenMs?: number) {
  const clock = new TestClock(wallMs);
  if (provenMs !== undefined) clock.proven.resume(provenMs);
  const { log, lines } = recordingLog(clock);
  const told: Record<string, unknown>[] = [];
  const properties: Record<string, unknown>[] = [];
  const box = { load: LOAD, status: STATUS, fails: false };
  const host: Host = {
    facts: () => ({
      hostname: 'box',
      operatingSystem: 'Debian',
      processorArchitecture: 'arm64',
      processorCount: 4,
      memoryTotalBytes: 1_024,
      model: undefined,
      serialNumber: undefined,
    }),
    load: () => {
      if (box.fails) throw new Error('no disk');
      return box.load;
    },
    stop: () => undefined,
  };
  const metrics = createMetrics();
  const appliance = new Appliance({
    httpsPort: () => undefined,
    clock,
    log,
    metrics,
    host,
    version: '1.2.3',
    status: () => box.status,
    settings: { history_max_bytes: 64 },
    sendTelemetry: (values) => void told.push(values),
    sendProperties: (values) => void properties.push(values),
  });
  t.after(() => appliance.stop());
  return { appliance, clock, lines, told, properties, box, metrics };
}

describe('the gateway as a device', () => {
  test('the gateway as a device works between start and stop only, and leaves no timer', (t) => {
    const { appliance, clock } = start(t);
    assert.equal(appliance.isServing(), false);
    appliance.start();
    assert.equal(appliance.isServing(), true);
    appliance.stop();
    assert.equal(appliance.isServing(), false);
    assert.equal(clock.waiting, 0);
  });

  test('the gateway as a device is not ready before its start, and afterwards names what does not work', (t) => {
    const { appliance, box } = start(t);
    const codes = () => appliance.faults().map(({ code }) => code);
    assert.deepEqual(codes(), ['starting']);
    appliance.start();
    assert.deepEqual(codes(), []);
    box.status = { ...STATUS, stateDegraded: 'The disk is read-only now.' };
    assert.deepEqual(codes(), ['state_degraded']);
    box.status = { ...STATUS, folderFault: 'The disk fails now.' };
    assert.deepEqual(codes(), ['data_folder_unreadable']);
    assert.match(appliance.faults()[0]?.message ?? '', /data folder.*The disk fails now/);
    box.status = {
      ...STATUS,
      historyDegraded: 'database disk image is malformed',
      isDiskFull: true,
      missingPrograms: ['rule-sandbox'],
    };
    assert.deepEqual(codes(), ['history_degraded', 'disk_full', 'program_not_running']);
    assert.match(appliance.faults()[0]?.message ?? '', /malformed/);
    assert.deepEqual(appliance.faults()[2]?.details, { program: 'rule-sandbox' });
    box.status = STATUS;
    assert.deepEqual(codes(), []);
    appliance.stop();
    assert.deepEqual(codes(), ['starting']);
  });

  test('the gateway as a device goes on when a measurement of the box fails once, and logs so once an hour', async (t) => {
    const { appliance, clock, lines, told, box } = start(t);
    appliance.start();
    box.fails = true;
    await clock.advance(60_000);
    assert.equal(told.length, 1);
    assert.equal(lines.filter(({ level }) => level === 'warn').length, 1);
    box.fails = false;
    await clock.advance(10_000);
    assert.equal(told.length, 2);
  });

  test('the gateway as a device is measured while the disk gives no figures, and says so', async (t) => {
    const { appliance, clock, told, box } = start(t);
    appliance.start();
    box.load = { ...LOAD, disk: undefined };
    box.status = { ...STATUS, folderFault: 'The disk fails now.', stateDegraded: 'The disk fails now.' };
    await clock.advance(10_000);
    const { status, disk_used_percent, disk_free_bytes, alerts } = told.at(-1) ?? {};
    assert.deepEqual(
      { status, disk_used_percent, disk_free_bytes, alerts },
      {
        status: 'degraded',
        disk_used_percent: null,
        disk_free_bytes: null,
        alerts: ['data_folder_unreadable', 'state_degraded'],
      },
    );
  });

  test('the metrics page shows its memory and the delay of its event loop too', async (t) => {
    const { appliance, metrics } = start(t);
    appliance.start();
    const text = await metrics.text();
    assert.match(text, /^gateway_process_memory_bytes 100$/m);
    assert.match(text, /^gateway_event_loop_delay_seconds 0\.00126$/m);
  });

  test('the gateway as a device reports its properties at the start and measures every 10 s', async (t) => {
    const { appliance, clock, told, properties, box } = start(t);
    appliance.start();
    assert.equal(properties[0]?.['version'], '1.2.3');
    assert.equal(properties[0]?.['hostname'], 'box');
    assert.equal(properties[0]?.['serial_number'], null);
    assert.equal(properties[0]?.['history_max_bytes'], 64);
    box.status = { ...STATUS, telemetryValues: 500 };
    await clock.advance(10_000);
    assert.equal(told.length, 2);
    assert.deepEqual(told[1], {
      status: 'ok',
      uptime_s: 10,
      cpu_load_percent: 12.3,
      memory_used_percent: 25,
      memory_used_bytes: 256,
      process_memory_bytes: 100,
      event_loop_delay_ms: 1.3,
      disk_used_percent: 60,
      disk_free_bytes: 400,
      history_size_bytes: 10,
      history_days_left: 400,
      history_damaged_parts: 0,
      state_size_bytes: 20,
      broker_sessions: 3,
      devices_online: 2,
      targets_lag_s: 0,
      targets_lag_samples: 0,
      targets_lag_records: 0,
      telemetry_values_per_second: 50,
      cpu_temperature: 48.5,
      flash_written_bytes_per_day: null,
      last_backup_age_h: null,
      alerts: [],
    });
  });

  test('the gateway as a device raises and clears its alerts by what it measures', async (t) => {
    const { appliance, clock, told, box } = start(t);
    appliance.start();
    const alertsAfter = async (durationMs: number): Promise<unknown> => {
      await clock.advance(durationMs);
      return told.at(-1)?.['alerts'];
    };
    box.load = { ...LOAD, disk: { totalBytes: 1_000, freeBytes: 99 } };
    assert.deepEqual(await alertsAfter(10_000), ['disk_almost_full']);
    box.load = LOAD;
    box.status = { ...STATUS, historyDegraded: 'disk full' };
    assert.deepEqual(await alertsAfter(10_000), ['history_degraded']);
    assert.equal(told.at(-1)?.['status'], 'degraded');
    box.status = { ...STATUS, stateDegraded: 'The disk is read-only now.' };
    assert.deepEqual(await alertsAfter(10_000), ['state_degraded']);
    assert.equal(told.at(-1)?.['status'], 'degraded');
    box.status = { ...STATUS, historyDamagedParts: 1 };
    assert.deepEqual(await alertsAfter(10_000), ['history_damaged']);
    assert.deepEqual(await alertsAfter(LIMITS.history.damageShownMs), []);
    box.status = {
      ...STATUS,
      certificateProblem: { kind: 'expiring', reason: 'own.crt expires on 2026-03-10.' },
    };
    assert.deepEqual(await alertsAfter(10_000), ['certificate_expiring']);
    box.status = { ...STATUS, historyMissing: ['history.db'], isTlsOff: true, stateCopyFault: 'backups: no' };
    assert.deepEqual(await alertsAfter(10_000), ['state_copies_failing', 'history_missing', 'tls_off']);
    assert.deepEqual(told.at(-1)?.['alert_details'], {
      history_missing: 'Begun anew: history.db.',
      state_copies_failing: 'backups: no',
    });
    box.status = { ...STATUS, updateFailure: 'Version 2 went away: it hung' };
    assert.deepEqual(await alertsAfter(10_000), ['update_failed']);
    assert.deepEqual(told.at(-1)?.['alert_details'], { update_failed: 'Version 2 went away: it hung' });
    box.status = { ...STATUS, restarts: 1 };
    assert.deepEqual(await alertsAfter(10_000), ['service_restarted']);
    assert.deepEqual(await alertsAfter(3_590_000), ['service_restarted']);
    assert.deepEqual(await alertsAfter(10_000), []);
    assert.equal(told.at(-1)?.['status'], 'ok');
  });

  test('a clock years ahead at the first start raises a warning, which ends when it is put back', async (t) => {
    const { appliance, told, clock } = start(t, Date.UTC(2040, 0, 1));
    appliance.start();
    assert.deepEqual(told[0]?.['alerts'], ['clock_ahead']);
    clock.step(Date.UTC(2026, 5, 1) - clock.wallMs());
    await clock.advance(60_000);
    assert.deepEqual(told.at(-1)?.['alerts'], []);
  });

  test('a clock that went years ahead while the box was off raises a warning', (t) => {
    const { appliance, told } = start(t, Date.UTC(2034, 0, 1), Date.UTC(2027, 0, 1));
    appliance.start();
    assert.deepEqual(told[0]?.['alerts'], ['clock_ahead']);
  });

  test('a clock that is not set raises an alert', (t) => {
    const { appliance, told } = start(t, 0);
    appliance.start();
    assert.deepEqual(told[0]?.['alerts'], ['clock_not_set']);
    assert.equal(told[0]?.['status'], 'degraded');
  });
});
