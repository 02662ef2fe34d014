/** Reads a folder that `telemetry-gateway.ts` wrote: which seconds of each device are there. */
import { join } from 'node:path';
import { createThreadedHistory } from '../../src/capabilities/telemetry/index.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { programEntry } from '../../src/platform/processes/index.ts';
import { packagePath } from '../../src/platform/files/index.ts';

/** Seconds by number of the device, out of its series `uptime`, which every device of the workload has. */
export async function secondsStored(folder: string): Promise<Map<number, Set<number>>> {
  const clock = createSystemClock();
  const log = createLog({
    level: 'warn',
    format: 'text',
    clock,
    write: (text) => process.stderr.write(text),
  });
  const history = createThreadedHistory({
    entry: programEntry('capabilities/telemetry/engine-thread'),
    databasePath: join(folder, 'history.db'),
    migrationsDir: packagePath('migrations', 'history'),
    journalFolder: join(folder, 'journal'),
    policy: { sampleDays: 400, minuteDays: 800, quarterDays: 4_000, sampleDaysOf: {}, sizeMaxBytes: 8e9 },
    clock,
    log,
    metrics: createMetrics(),
    limits: LIMITS.telemetry,
  });
  const content = await history.start({ onSealed: () => undefined, onReady: () => undefined });
  if (!content) throw new Error(`the history cannot be read: ${history.failure ?? 'for no reason'}`);
  const { series } = content;
  const seconds = new Map<number, Set<number>>();
  for (const { series: one } of series) {
    if (one.attribute !== 'uptime') continue;
    const plan = {
      fromS: 0,
      toS: 4_000_000_000,
      granularityS: 1,
      columns: [
        {
          seriesId: one.id,
          kind: 'number' as const,
          aggregation: 'last' as const,
          gapMethod: 'none' as const,
          lookAroundS: 0,
          type: 'integer' as const,
        },
      ],
    };
    const found = new Set<number>();
    let text = '';
    for await (const piece of history.rows(plan, new AbortController().signal)) text += piece;
    for (const row of text.split('\n')) if (row !== '') found.add(Number(row.slice(0, row.indexOf(','))));
    seconds.set(Number(one.deviceId.slice(-12)), found);
  }
  await history.stop();
  clock.close();
  return seconds;
}
