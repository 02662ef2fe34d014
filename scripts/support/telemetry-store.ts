/** The telemetry store without its thread and without devices, for the benchmark: journal, engine, queries. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchWriter, createCoding, type Shape } from '../../src/capabilities/telemetry/codec/batch.ts';
import { createBlockStore } from '../../src/capabilities/telemetry/engine/block-store.ts';
import { csvRows } from '../../src/capabilities/telemetry/query/csv-rows.ts';
import { Engine } from '../../src/capabilities/telemetry/engine/engine.ts';
import type { PlannedColumn } from '../../src/capabilities/telemetry/query/query-plan.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { type Clock, ProvenTime } from '../../src/platform/clock/index.ts';
import { Journal } from '../../src/platform/journal/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { openDatabase } from '../../src/platform/sqlite/index.ts';
import { attributeTypeOf, type Workload } from './workload.ts';
import { kindOf, type StoredValue } from '../../src/capabilities/telemetry/codec/series.ts';

const MIGRATIONS_DIR = join(import.meta.dirname, '..', '..', 'migrations', 'history');
const DAY_S = 86_400;

export interface StoreRun {
  values: number;
  /** Time spent in taking values in, sealing, compacting; without waiting for the disk and making values. */
  busyMs: number;
  /** Processor time of that: what others do on the machine disturbs it least. */
  processorMs: number;
  /** Longest piece of work between two pauses. */
  longestMs: number;
  journalBytes: number;
  /** Bytes that the process had written to the disk. */
  writtenBytes: number;
  usedBytes: number;
  fileBytes: number;
}

export interface BenchStore {
  /**
   * Replays `seconds` of the workload, with one synced journal record every `syncEveryS`; then the day is over, unless
   * it is to stay that of today.
   */
  replay(workload: Workload, seconds: number, syncEveryS: number, isDayOver?: boolean): Promise<StoreRun>;
  /** Milliseconds to the first piece and to the end of an answer, and its length. */
  query(
    seriesIds: readonly number[],
    fromS: number,
    toS: number,
    granularityS: number,
  ): { firstMs: number; totalMs: number; length: number };
  close(): Promise<void>;
}

export async function openBenchStore(folder: string): Promise<BenchStore> {
  const time = { wallMs: 0 };
  // A second of the workload is a second of the store.
  const readings = { wallMs: () => time.wallMs, monotonicMs: () => time.wallMs, isSet: () => true };
  const clock: Clock = {
    ...readings,
    proven: new ProvenTime(readings),
    setTimer: () => ({ cancel: () => undefined }),
    setRepeating: () => ({ cancel: () => undefined }),
    sleep: () => Promise.resolve(),
    onStepped: () => () => undefined,
  };
  const log = createLog({
    level: 'warn',
    format: 'text',
    clock,
    write: (text) => process.stderr.write(text),
  });
  const database = openDatabase({
    path: join(folder, 'history.db'),
    migrationsDir: MIGRATIONS_DIR,
    clock,
    log,
  });
  const store = createBlockStore(database);
  const turns = createTurns();
  const pendingReleases: Promise<void>[] = [];
  const writer = new BatchWriter({ recordsPerKey: LIMITS.telemetry.recordsPerKey });
  const engine = new Engine({
    store,
    readJournal: () => [],
    onSealed: (fromSequence, nextSeriesId) => {
      writer.settledBefore(nextSeriesId);
      pendingReleases.push(journal.segments.release(fromSequence - 1));
    },
    provenMs: () => clock.wallMs(),
    isDiskLow: () => false,
    policy: { sampleDays: 400, minuteDays: 800, quarterDays: 4_000, sampleDaysOf: {}, sizeMaxBytes: 8e9 },
    clock,
    log,
    limits: LIMITS.telemetry,
    pause: turns.pause,
  });
  let journalBytes = 0;
  const journal: Journal = await Journal.open({
    folder: join(folder, 'journal'),
    name: 'bench',
    clock,
    log,
    metrics: createMetrics(),
    encode: () => writer.take(),
    synced: (sequence, record) => {
      journalBytes += record.length;
      turns.begin();
      engine.apply(sequence, record);
      turns.end();
    },
  });
  engine.load();
  return {
    replay: async (workload, seconds, syncEveryS, isDayOver = true) => {
      const before = writtenBytes();
      const given = { workload, seconds, syncEveryS, isDayOver };
      const values = await replay({ ...given, writer, journal, engine, turns, time });
      store.checkpoint();
      const { usedBytes, fileBytes } = engine.status();
      return {
        values,
        busyMs: turns.busyMs(),
        processorMs: turns.processorMs(),
        longestMs: turns.longestMs(),
        journalBytes,
        writtenBytes: writtenBytes() - before,
        usedBytes,
        fileBytes,
      };
    },
    query: (seriesIds, fromS, toS, granularityS) => {
      const columns = seriesIds.map((seriesId) => column(seriesId));
      const startedMs = performance.now();
      let firstMs = 0;
      let length = 0;
      for (const piece of csvRows({ fromS, toS, granularityS, columns }, engine.source)) {
        if (firstMs === 0 && piece !== undefined) firstMs = performance.now() - startedMs;
        length += piece?.length ?? 0;
      }
      return { firstMs, totalMs: performance.now() - startedMs, length };
    },
    close: async () => {
      await journal.stop();
      await Promise.all(pendingReleases);
      store.close();
    },
  };
}

function column(seriesId: number): PlannedColumn {
  return { seriesId, kind: 'number', aggregation: 'avg', gapMethod: 'none', lookAroundS: 0, type: 'float' };
}

interface Turns {
  begin(): void;
  end(): void;
  pause: () => Promise<void>;
  busyMs(): number;
  processorMs(): number;
  longestMs(): number;
}

/** Counts the time between two pauses. */
function createTurns(): Turns {
  let beganMs = 0;
  let began = process.threadCpuUsage();
  let busyMs = 0;
  let processorUs = 0;
  let longestMs = 0;
  const end = (): void => {
    const tookMs = performance.now() - beganMs;
    const { user, system } = process.threadCpuUsage(began);
    processorUs += user + system;
    busyMs += tookMs;
    longestMs = Math.max(longestMs, tookMs);
  };
  const begin = (): void => {
    // First: it is a call of the system, which takes twice as long as to write a value.
    began = process.threadCpuUsage();
    beganMs = performance.now();
  };
  return {
    begin,
    end,
    pause: async () => {
      end();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      begin();
    },
    busyMs: () => busyMs,
    processorMs: () => processorUs / 1_000,
    longestMs: () => longestMs,
  };
}

async function replay(parts: {
  workload: Workload;
  seconds: number;
  syncEveryS: number;
  isDayOver: boolean;
  writer: BatchWriter;
  journal: Journal;
  engine: Engine;
  turns: Turns;
  time: { wallMs: number };
}): Promise<number> {
  const { workload, writer, journal, engine, turns, time } = parts;
  const shapes = defineSeries(workload, writer);
  let values = 0;
  const given: StoredValue[] = [];
  for (let second = 1; second <= parts.seconds; second++) {
    workload.tick();
    time.wallMs = workload.nowS * 1_000;
    for (const device of workload.devices) {
      if (!device.isPresent) continue;
      given.length = 0;
      for (let offset = 0; offset < device.signals.length; offset++)
        given.push(workload.value(device.first + offset));
      turns.begin();
      writer.samples(shapes[device.index] as Shape, workload.nowS, given);
      turns.end();
      values += given.length;
    }
    if (second % parts.syncEveryS !== 0 && second !== parts.seconds) continue;
    const synced = journal.commits.request(writer.sizeBytes);
    await journal.commits.flush();
    await synced;
    if (second % 60 !== 0) continue;
    turns.begin();
    await engine.maintain();
    turns.end();
  }
  if (!parts.isDayOver) return values;
  // The day is over: everything is sealed and compacted, as it is a little after midnight.
  time.wallMs = (Math.ceil(workload.nowS / DAY_S) * DAY_S + 3_600) * 1_000;
  turns.begin();
  await engine.seal();
  await engine.maintain();
  turns.end();
  return values;
}

function defineSeries(workload: Workload, writer: BatchWriter): Shape[] {
  return workload.devices.map((device) => ({
    id: 0,
    epoch: -1,
    codings: device.signals.map((signal, offset) => {
      const type = attributeTypeOf(signal);
      const id = device.first + offset + 1;
      writer.define({ id, deviceId: `device-${device.index}`, attribute: signal.name, type });
      return createCoding(id, kindOf(type));
    }),
  }));
}

/** Bytes that this process caused to be written, as the kernel counts them; 0 where it does not say. */
function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
