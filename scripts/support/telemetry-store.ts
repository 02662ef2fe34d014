/** The telemetry store without its thread and without devices, for benchmarks: journal, engine, queries. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchWriter, createCoding, type Shape } from '../../src/telemetry-store/codec/batch.ts';
import { createBlockStore } from '../../src/telemetry-store/engine/block-store.ts';
import { csvRows } from '../../src/telemetry-store/query/csv-rows.ts';
import { Engine } from '../../src/telemetry-store/engine/engine.ts';
import type { PlannedColumn } from '../../src/telemetry-store/query/query-plan.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { type Clock, ProvenTime } from '../../src/platform/clock/index.ts';
import { Journal, readJournal } from '../../src/telemetry-store/journal/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { openDatabase } from '../../src/platform/sqlite/index.ts';
import { attributeTypeOf, type Workload, WORKLOAD_START_S } from './workload.ts';
import { kindOf, type StoredValue } from '../../src/telemetry-store/codec/series.ts';

const MIGRATIONS_DIR = join(import.meta.dirname, '..', '..', 'migrations', 'history');
const DAY_S = 86_400;

export interface StoreRun {
  values: number;
  /** Time spent in taking values in, sealing, compacting; without waiting for the disk and making values. */
  busyMs: number;
  /** Processor time of that, those of the process that collect garbage and compile included. */
  processorMs: number;
  /** Longest piece of work between two pauses. */
  longestMs: number;
  journalBytes: number;
  /** Bytes that the process had written to the disk. */
  writtenBytes: number;
  usedBytes: number;
  fileBytes: number;
  /** Largest resident memory of the process, looked at once a minute of the workload. */
  largestMib: number;
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
  const time = { wallMs: WORKLOAD_START_S * 1_000 };
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
  const journalFolder = join(folder, 'journal');
  const engine = new Engine({
    store,
    readJournal: (afterSequence, onDamage) => readJournal(journalFolder, afterSequence, onDamage),
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
  const { lastSequence, neededFrom } = engine.load();
  let journalBytes = 0;
  const journal: Journal = await Journal.open({
    folder: journalFolder,
    name: 'bench',
    clock,
    log,
    metrics: createMetrics(),
    lastKnownSequence: lastSequence,
    neededFrom,
    encode: () => turns.run(() => writer.take()),
    synced: (sequence, record) => {
      journalBytes += record.length;
      turns.run(() => engine.apply(sequence, record));
    },
  });
  return {
    replay: async (workload, seconds, syncEveryS, isDayOver = true) => {
      const before = writtenBytes();
      journalBytes = 0;
      turns.calibrate();
      const given = { workload, seconds, syncEveryS, isDayOver };
      const taken = await replay({ ...given, writer, journal, engine, turns, time });
      store.checkpoint();
      const { usedBytes, fileBytes } = engine.status();
      return {
        ...taken,
        ...turns.sums(),
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
  run<Result>(work: () => Result): Result;
  pause: () => Promise<void>;
  /** Begins anew. */
  calibrate(): void;
  sums(): Pick<StoreRun, 'busyMs' | 'processorMs' | 'longestMs'>;
}

/** So many show what one costs. */
const EMPTY_TURNS = 1_000;

/** Counts the time between two pauses. */
function createTurns(): Turns {
  let beganMs = 0;
  let pieceBeganMs = 0;
  let began = process.cpuUsage();
  /** What reading the clock itself adds to each turn. */
  let ownMs = 0;
  const sums = { busyMs: 0, processorMs: 0, longestMs: 0 };
  const notePiece = (): void => {
    sums.longestMs = Math.max(sums.longestMs, performance.now() - pieceBeganMs);
  };
  // Time of the process: the system counts the time of a single thread in steps of milliseconds.
  const begin = (): void => {
    began = process.cpuUsage();
    beganMs = performance.now();
    pieceBeganMs = beganMs;
  };
  const end = (): void => {
    notePiece();
    sums.busyMs += performance.now() - beganMs;
    const { user, system } = process.cpuUsage(began);
    sums.processorMs += (user + system) / 1_000 - ownMs;
  };
  const reset = (): void => void Object.assign(sums, { busyMs: 0, processorMs: 0, longestMs: 0 });
  const calibrate = (): void => {
    ownMs = 0;
    reset();
    for (let turn = 0; turn < EMPTY_TURNS; turn++) {
      begin();
      end();
    }
    ownMs = sums.processorMs / EMPTY_TURNS;
    reset();
  };
  return {
    begin,
    end,
    run: (work) => {
      begin();
      const result = work();
      end();
      return result;
    },
    // No other work runs here, and reading the clock of the processor would cost more than the pause.
    pause: async () => {
      notePiece();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      pieceBeganMs = performance.now();
    },
    calibrate,
    sums: () => ({ ...sums }),
  };
}

/** So many messages are made before they are taken in together, so that reading the clock costs next to nothing. */
const MESSAGES_PER_TURN = 200;

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
}): Promise<Pick<StoreRun, 'values' | 'largestMib'>> {
  const { workload, writer, journal, engine, turns, time } = parts;
  const shapes = defineSeries(workload, writer);
  const messages = Array.from({ length: MESSAGES_PER_TURN }, () => ({
    device: 0,
    timestampS: 0,
    values: [] as StoredValue[],
  }));
  let waiting = 0;
  const taken = { values: 0, largestMib: 0 };
  const takeIn = (): void =>
    turns.run(() => {
      for (let index = 0; index < waiting; index++) {
        const { device, timestampS, values: given } = messages[index] as (typeof messages)[number];
        writer.samples(shapes[device] as Shape, timestampS, given);
      }
      waiting = 0;
    });
  for (let second = 1; second <= parts.seconds; second++) {
    workload.tick();
    time.wallMs = workload.nowS * 1_000;
    for (const device of workload.devices) {
      if (!device.isPresent) continue;
      const message = messages[waiting++] as (typeof messages)[number];
      message.device = device.index;
      message.timestampS = workload.nowS;
      message.values.length = 0;
      for (let offset = 0; offset < device.signals.length; offset++)
        message.values.push(workload.value(device.first + offset));
      taken.values += message.values.length;
      if (waiting === MESSAGES_PER_TURN) takeIn();
    }
    if (second % parts.syncEveryS !== 0 && second !== parts.seconds) continue;
    takeIn();
    const synced = journal.commits.request(writer.sizeBytes);
    await journal.commits.flush();
    await synced;
    if (second % 60 !== 0) continue;
    taken.largestMib = Math.max(taken.largestMib, process.memoryUsage.rss() / 1_048_576);
    turns.begin();
    await engine.maintain();
    turns.end();
  }
  if (!parts.isDayOver) return taken;
  // The day is over: everything is sealed and compacted, as it is a little after midnight.
  time.wallMs = (Math.ceil(workload.nowS / DAY_S) * DAY_S + 3_600) * 1_000;
  turns.begin();
  await engine.seal();
  await engine.maintain();
  turns.end();
  return taken;
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
