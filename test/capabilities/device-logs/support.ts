/** A device log service on a real history.db, with a clock and a device that the test plays. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { DeviceLogs, type LogQuery } from '../../../src/capabilities/device-logs/index.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { createGroupCommit, type Database, type GroupCommit } from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { createDeviceFaces, type DeviceFaces } from '../../support/device-faces.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

export interface Bench extends DeviceFaces {
  clock: TestClock;
  history: Database;
  commits: GroupCommit;
  deviceLogs: DeviceLogs;
  lines: LogLine[];
  metrics: () => Promise<string>;
  /** The device logs at QoS 1; resolves when it is acknowledged. */
  say(device: Device, body: Record<string, unknown>): Promise<void>;
  /** Messages on disk, oldest first, all when `query` is absent. */
  messages(device: Device, query?: Partial<LogQuery>): string[];
  restart(): Promise<void>;
}

export const ALL: LogQuery = { descending: false, limit: 1_000, offset: 0 };

export async function startBench(
  test: Pick<TestContext, 'after'>,
  options: {
    limits?: Partial<Limits['deviceLogs']>;
    commits?: Partial<Limits['commits']>;
    wallMs?: number;
    sizeMaxBytes?: () => number;
  } = {},
): Promise<Bench> {
  const clock = new TestClock(options.wallMs);
  const { log, lines } = recordingLog(clock);
  const folder = temporaryFolder(test);
  const open = (name: 'state' | 'history'): Database =>
    openMigrated(name, { path: join(folder, `${name}.db`), clock, log });
  const [state, history] = [open('state'), open('history')];
  const limits: Limits = { ...LIMITS, deviceLogs: { ...LIMITS.deviceLogs, ...options.limits } };
  const faces = createDeviceFaces({ state, clock });

  const build = () => {
    const metrics = createMetrics();
    const commits = createGroupCommit({
      database: history,
      name: 'history',
      clock,
      log,
      metrics,
      limits: { ...LIMITS.commits, ...options.commits },
    });
    const { devices, connectivity } = faces;
    const deviceLogs = new DeviceLogs({
      history,
      commits,
      clock,
      log,
      metrics,
      limits,
      devices,
      connectivity,
      ...(options.sizeMaxBytes && { sizeMaxBytes: options.sizeMaxBytes }),
    });
    deviceLogs.start();
    return { commits, deviceLogs, metrics };
  };
  const stop = async (): Promise<void> => {
    await parts.deviceLogs.stop();
    await parts.commits.stop();
  };

  let parts = build();
  test.after(async () => {
    await stop();
    state.close();
    history.close();
  });

  const bench: Bench = Object.assign(faces, {
    clock,
    history,
    lines,
    commits: parts.commits,
    deviceLogs: parts.deviceLogs,
    metrics: () => parts.metrics.text(),
    say: async (device: Device, body: Record<string, unknown>) => {
      const acknowledged = faces.deliver(device, 'logs', body);
      await clock.advance(LIMITS.commits.windowMinMs);
      await acknowledged;
    },
    messages: (device: Device, query: Partial<LogQuery> = {}) =>
      bench.deviceLogs.list(device, { ...ALL, ...query }).entries.map(({ message }) => message),
    restart: async () => {
      await stop();
      parts = build();
      bench.commits = parts.commits;
      bench.deviceLogs = parts.deviceLogs;
    },
  });
  return bench;
}
