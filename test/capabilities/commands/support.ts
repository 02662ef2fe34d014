/** A command service on a real state.db, with a clock and a device that the test plays. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Commands, type Execution, type Running } from '../../../src/capabilities/commands/index.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import type { Role } from '../../../src/lib/role.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import type { ScarceRoom } from '../../../src/platform/retention/index.ts';
import {
  createGroupCommit,
  type Database,
  type GroupCommit,
  type SyncFile,
} from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { createDeviceFaces, type DeviceFaces } from '../../support/device-faces.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

export interface Bench extends DeviceFaces {
  clock: TestClock;
  state: Database;
  commits: GroupCommit;
  commands: Commands;
  lines: LogLine[];
  metrics: () => Promise<string>;
  /** Executes as a caller of the role, default OWNER. */
  run(device: Device, name: string, options?: RunOptions): Promise<Running>;
  /** The device answers; resolves when the answer is acknowledged. */
  answer(
    device: Device,
    running: { id: string },
    state: string,
    payload?: unknown,
    delivery?: { qos?: 0 | 1; duplicate?: boolean },
  ): Promise<void>;
  /** The execution as it stands on disk. */
  stored(running: { id: string }): Execution | undefined;
  /** A new service on the same data, as after a restart. */
  restart(): Promise<Commands>;
}

export interface RunOptions {
  arguments?: Record<string, unknown>;
  ephemeral?: boolean;
  role?: Role;
}

export const ORIGIN = { kind: 'token', id: 't1', name: 'test' } as const;

export async function startBench(
  test: Pick<TestContext, 'after'>,
  options: {
    limits?: Partial<Limits['commands']>;
    wallMs?: number;
    timeoutMs?: number;
    room?: ScarceRoom;
    /** Given: commits share syncs, which this does. */
    sync?: SyncFile;
  } = {},
): Promise<Bench> {
  const clock = new TestClock(options.wallMs);
  const { log, lines } = recordingLog(clock);
  const state = openMigrated('state', {
    path: join(temporaryFolder(test), 'state.db'),
    clock,
    log,
    ...(options.sync && { sync: options.sync }),
  });
  const limits: Limits = { ...LIMITS, commands: { ...LIMITS.commands, ...options.limits } };
  const faces = createDeviceFaces({ state, clock });
  let number = 0;

  const build = () => {
    const metrics = createMetrics();
    const commits = createGroupCommit({ database: state, name: 'state', clock, log, metrics });
    const commands = new Commands({
      database: state,
      commits,
      clock,
      log,
      metrics,
      limits,
      devices: faces.devices,
      connectivity: faces.connectivity,
      room: options.room,
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      newId: () => `10000000-0000-4000-8000-${String(++number).padStart(12, '0')}`,
    });
    return { commits, commands, metrics };
  };

  let parts = build();
  await parts.commands.start();
  test.after(async () => {
    await parts.commands.stop();
    await parts.commits.stop();
    state.close();
  });

  const bench: Bench = Object.assign(faces, {
    clock,
    state,
    lines,
    commits: parts.commits,
    commands: parts.commands,
    metrics: () => parts.metrics.text(),
    run: (device: Device, name: string, run: RunOptions = {}) =>
      bench.commands.execute(
        device,
        { name, arguments: run.arguments ?? {}, ephemeral: run.ephemeral ?? false },
        { role: run.role ?? 'OWNER', origin: ORIGIN },
      ),
    answer: async (
      device: Device,
      { id }: { id: string },
      word: string,
      payload?: unknown,
      delivery: { qos?: 0 | 1; duplicate?: boolean } = {},
    ) => {
      const acknowledged = faces.deliver(device, 'command_responses', { id, state: word, payload }, delivery);
      await clock.advance(LIMITS.commits.windowMaxMs);
      await acknowledged;
    },
    stored: ({ id }: { id: string }) => bench.commands.find(id),
    restart: async () => {
      await parts.commands.stop();
      await parts.commits.stop();
      parts = build();
      bench.commits = parts.commits;
      bench.commands = parts.commands;
      await parts.commands.start();
      return parts.commands;
    },
  });
  return bench;
}
