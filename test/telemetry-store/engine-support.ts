/** The engine on a real file without its thread, and a model of it: all samples in plain maps. */
import { join } from 'node:path';
import { BatchWriter, createCoding, type SeriesCoding } from '../../src/telemetry-store/codec/batch.ts';
import { type BlockStore, createBlockStore } from '../../src/telemetry-store/engine/block-store.ts';
import { csvRows } from '../../src/telemetry-store/query/csv-rows.ts';
import { Engine, type EngineContent } from '../../src/telemetry-store/engine/engine.ts';
import {
  columnType,
  type PlannedColumn,
  type QueryPlan,
} from '../../src/telemetry-store/query/query-plan.ts';
import type { RetentionPolicy } from '../../src/telemetry-store/engine/retention.ts';
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import type { Database } from '../../src/platform/sqlite/index.ts';
import type { TelemetryType } from '../../src/protocol/telemetry.ts';
import { openMigrated } from '../support/databases.ts';
import { TestClock } from '../support/test-clock.ts';
import { type LogLine, recordingLog } from '../support/workspace.ts';
import { TEST_POLICY } from '../capabilities/telemetry/support.ts';
import { kindOf, type Series, type StoredValue } from '../../src/telemetry-store/codec/series.ts';

export interface TestSeries {
  series: Series;
  coding: SeriesCoding;
  /** The model: value by second. */
  samples: Map<number, StoredValue>;
}

/** Stands for the end of the program at a point where other work would have had its turn. */
export class Killed extends Error {}

export interface TestEngine {
  readonly clock: TestClock;
  readonly lines: LogLine[];
  readonly series: TestSeries[];
  engine: Engine;
  store: BlockStore;
  database: Database;
  content: EngineContent;
  /** Records that the journal still holds. */
  journal: { sequence: number; record: Uint8Array }[];
  /** The disk is as full as somebody else made it. */
  isDiskLow: boolean;
  /** Called wherever other work has its turn. */
  atPause: () => void;
  addSeries(type: TelemetryType, attribute?: string, deviceId?: string): TestSeries;
  drop(series: TestSeries): void;
  write(samples: readonly [TestSeries, number, StoredValue][]): void;
  /** Runs `work`; `afterPauses` pauses later the program is killed and started again. */
  killed(afterPauses: number, work: () => Promise<void>): Promise<void>;
  restart(): void;
  rows(plan: Omit<QueryPlan, 'columns'>, columns: readonly ColumnWish[]): string[];
  /** The same as the thread of the store reads it, with pauses. */
  pieces(plan: Omit<QueryPlan, 'columns'>, columns: readonly ColumnWish[]): Generator<Uint8Array | undefined>;
  close(): void;
}

/** Lines of an answer. */
export function rowsOf(pieces: readonly (Uint8Array | undefined)[]): string[] {
  const text = Buffer.concat(pieces.filter((piece) => piece !== undefined)).toString();
  return text.split('\n').slice(0, -1);
}

export interface ColumnWish {
  of: TestSeries;
  aggregation: PlannedColumn['aggregation'];
  gapMethod?: PlannedColumn['gapMethod'];
  lookAroundS?: number;
}

export function startEngine(options: {
  folder: string;
  policy?: Partial<RetentionPolicy>;
  wallMs?: number;
  limits?: Partial<Limits['telemetry']>;
}): TestEngine {
  const clock = new TestClock(options.wallMs);
  const { log, lines } = recordingLog(clock);
  const writer = new BatchWriter({ recordsPerKey: 3 });
  const series: TestSeries[] = [];
  let sequence = 0;
  let pausesLeft = Number.POSITIVE_INFINITY;

  const self: TestEngine = {
    clock,
    lines,
    series,
    journal: [],
    isDiskLow: false,
    atPause: () => undefined,
    engine: undefined as never,
    store: undefined as never,
    database: undefined as never,
    content: undefined as never,
    addSeries: (type, attribute = `a${series.length + 1}`, deviceId = 'device') => {
      const id = series.length + 1;
      const added = {
        series: { id, deviceId, attribute, type },
        coding: createCoding(id, kindOf(type)),
        samples: new Map<number, StoredValue>(),
      };
      series.push(added);
      writer.define(added.series);
      return added;
    },
    drop: (dropped) => {
      dropped.samples.clear();
      writer.drop([dropped.series.id]);
      append();
    },
    write: (samples) => {
      for (const [to, timestampS, value] of samples) {
        writer.sample(to.coding, timestampS, value);
        to.samples.set(timestampS, value);
      }
      append();
    },
    killed: async (afterPauses, work) => {
      pausesLeft = afterPauses;
      try {
        await work();
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
      }
      self.restart();
    },
    restart: () => {
      pausesLeft = Number.POSITIVE_INFINITY;
      self.database.close();
      open();
    },
    rows: (range, wishes) => rowsOf([...self.pieces(range, wishes)]),
    pieces: (range, wishes) =>
      csvRows({ ...range, columns: wishes.map((wish) => planned(wish)) }, self.engine.source),
    close: () => self.database.close(),
  };

  function append(): void {
    const record = writer.take();
    if (!record) return;
    self.journal.push({ sequence: ++sequence, record });
    self.engine.apply(sequence, record);
  }

  function open(): void {
    self.database = openMigrated('history', { path: join(options.folder, 'history.db'), clock, log });
    self.store = createBlockStore(self.database);
    const policy = { ...TEST_POLICY, ...options.policy };
    self.store.limitSize(policy.sizeMaxBytes);
    self.engine = new Engine({
      store: self.store,
      readJournal: (after) =>
        self.journal
          .filter((entry) => entry.sequence > after)
          .map((entry) => ({ sequence: entry.sequence, payload: Buffer.from(entry.record) })),
      onSealed: (fromSequence, nextSeriesId) => {
        writer.settledBefore(nextSeriesId);
        self.journal = self.journal.filter((entry) => entry.sequence >= fromSequence);
      },
      policy,
      isDiskLow: () => self.isDiskLow,
      provenMs: () => clock.proven.nowMs(),
      clock,
      log,
      limits: { ...LIMITS.telemetry, ...options.limits },
      pause: async () => {
        if (pausesLeft-- <= 0) throw new Killed('killed');
        self.atPause();
      },
    });
    self.content = self.engine.load();
  }

  open();
  return self;
}

function planned({ of, aggregation, gapMethod = 'none', lookAroundS = 0 }: ColumnWish): PlannedColumn {
  const { type, id } = of.series;
  const kind = kindOf(type);
  const method = gapMethod === 'interpolation' && kind !== 'number' ? 'locf' : gapMethod;
  return {
    seriesId: id,
    kind,
    aggregation,
    gapMethod: method,
    lookAroundS,
    type: columnType(type, aggregation, method),
  };
}

/** The same rows out of the model, worked out the plain way; numbers as numbers. */
export function modelRows(
  range: Omit<QueryPlan, 'columns'>,
  wishes: readonly ColumnWish[],
): (number | StoredValue | undefined)[][] {
  const { fromS, toS, granularityS } = range;
  const columns = wishes.map((wish) => modelColumn(range, wish));
  const rows: (StoredValue | undefined)[][] = [];
  for (let start = fromS - (fromS % granularityS); start < toS; start += granularityS) {
    const cells = columns.map((column) => column(start));
    if (cells.some((cell) => cell !== undefined)) rows.push([start, ...cells]);
  }
  return rows;
}

function modelColumn(
  { fromS, toS, granularityS }: Omit<QueryPlan, 'columns'>,
  { of, aggregation, gapMethod = 'none', lookAroundS = 0 }: ColumnWish,
): (start: number) => StoredValue | undefined {
  const ordered = [...of.samples].sort(([a], [b]) => a - b);
  const inRange = ordered.filter(([at]) => at >= fromS && at < toS);
  const buckets = new Map<number, StoredValue[]>();
  for (const [at, value] of inRange) {
    const start = at - (at % granularityS);
    const bucket = buckets.get(start);
    if (bucket) bucket.push(value);
    else buckets.set(start, [value]);
  }
  const values = new Map([...buckets].map(([start, bucket]) => [start, aggregated(bucket, aggregation)]));
  if (gapMethod === 'none') return (start) => values.get(start);
  const earlier = ordered.findLast(([at]) => at < fromS && at >= fromS - lookAroundS);
  const later = ordered.find(([at]) => at >= toS && at < toS + lookAroundS);
  const points = [...values];
  if (earlier) points.unshift(earlier);
  if (later) points.push(later);
  return (start) => {
    const own = values.get(start);
    if (own !== undefined) return own;
    const before =
      points.findLast(([at]) => at <= start) ?? (earlier && earlier[0] > start ? earlier : undefined);
    if (gapMethod === 'locf' || kindOf(of.series.type) !== 'number') {
      // A value from beyond the end is never carried back.
      return before?.[1];
    }
    const after = points.find(([at]) => at > start && (!before || at > before[0]));
    if (!before || !after) return undefined;
    if (before[0] >= start) return Number(before[1]);
    const share = (start - before[0]) / (after[0] - before[0]);
    return Number(before[1]) + (Number(after[1]) - Number(before[1])) * share;
  };
}

function aggregated(bucket: readonly StoredValue[], aggregation: PlannedColumn['aggregation']): StoredValue {
  switch (aggregation) {
    case 'last':
      return bucket.at(-1) as StoredValue;
    case 'avg':
      return bucket.reduce<number>((sum, value) => sum + Number(value), 0) / bucket.length;
    case 'bool_or':
      return bucket.includes(true);
    default:
      return bucket.reduce((best, value) => {
        const isBetter = aggregation === 'min' ? value < best : value > best;
        return isBetter ? value : best;
      });
  }
}

export const DAY_S = 86_400;
/** Midnight before the clock of the tests. */
export const TODAY_S = Date.UTC(2026, 2, 1) / 1_000;

/** A day of samples, one every `stepS` seconds. */
export function writeDay(engine: TestEngine, series: TestSeries, dayStartS: number, stepS = 60): void {
  for (let from = 0; from < DAY_S; from += stepS * 500)
    engine.write(
      Array.from({ length: Math.min(500, Math.ceil((DAY_S - from) / stepS)) }, (_, index) => {
        const at = from + index * stepS;
        return [series, dayStartS + at, Math.round(2_300 + 100 * Math.sin(at / 5_000)) / 10];
      }),
    );
}

export async function maintain(engine: TestEngine, days = 0): Promise<void> {
  for (let day = 0; day < days; day++) {
    await engine.clock.advance(DAY_S * 1_000);
    await engine.engine.maintain();
  }
  await engine.clock.advance(3_600_000);
  await engine.engine.seal();
  await engine.engine.maintain();
}

export function countRows(
  engine: TestEngine,
  series: TestSeries,
  granularityS: number,
  fromS: number,
  toS: number,
): number {
  return engine.rows({ fromS, toS, granularityS }, [{ of: series, aggregation: 'last' }]).length;
}
