/** The energy of the site: what flows now, and the books of hours, days and months. */
import { gatewayError, invalidQuery } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import { type AmountsQuery, CELL, localDayEdges, type Telemetry } from '../telemetry/index.ts';
import { addBook, type Book, emptyBook, keepBooks, type SourceColumns } from './books.ts';
import { type Bucket, bucketsOf, daysOf, type Granularity, type LocalDay } from './calendar.ts';
import type { EnergySource } from './model.ts';
import { powerNow, type PowerNow } from './now.ts';
import { unitFactor } from './profiles.ts';
import { EnergySources } from './sources.ts';

interface EnergyOptions {
  /** state.db */
  database: Database;
  clock: Clock;
  devices: Devices;
  site: Pick<Site, 'get'>;
  telemetry: Pick<Telemetry, 'amounts' | 'latest'>;
  limits?: Limits['energy'];
}

interface EnergyQuery {
  /** Unix seconds; absent: the beginning of today. */
  fromS: number | undefined;
  /** Absent: now. */
  toS: number | undefined;
  granularity: Granularity;
}

export interface EnergyAnswer {
  timezone: string;
  buckets: (Bucket & { book: Book })[];
  total: Book;
  sources: readonly EnergySource[];
  nowS: number;
}

interface DayBooks {
  untilMs: number;
  books: Promise<Book[]>;
}

export class Energy {
  readonly sources: EnergySources;
  readonly #options: EnergyOptions;
  readonly #limits: Limits['energy'];
  /** Books of the hours of days, least recently used first. */
  readonly #days = new Map<string, DayBooks>();
  #running = 0;

  constructor(options: EnergyOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.energy;
    this.sources = new EnergySources(options);
  }

  now(): PowerNow {
    const { clock, devices, telemetry } = this.#options;
    return powerNow(this.sources.all(), {
      atMs: clock.wallMs(),
      gapAfterMs: this.sources.settings().gapAfterS * 1_000,
      latest: ({ deviceId }, attribute) => {
        const device = devices.get(deviceId);
        return device && telemetry.latest(device, attribute);
      },
      factor: (source, attribute) => this.#factor(source, attribute, 'W'),
    });
  }

  /** @throws GatewayError invalid_query, query_too_large, unavailable */
  async books(query: EnergyQuery, signal: AbortSignal): Promise<EnergyAnswer> {
    const { clock, site } = this.#options;
    const { timezone } = site.get();
    const nowS = Math.floor(clock.wallMs() / 1_000);
    const toS = Math.ceil(query.toS ?? nowS + 1);
    const fromS = Math.floor(query.fromS ?? localDayEdges(timezone, dayAt(toS))?.[0] ?? toS);
    if (toS <= fromS) throw invalidQuery('to', 'Parameter "to" must be later than "from".');
    this.#checkCost(fromS, toS, query.granularity);
    if (this.#running >= this.#limits.queriesAtOnce)
      throw gatewayError('unavailable', 'unavailable', 'Too many questions for energy are being answered.');
    this.#running++;
    try {
      return await this.#sumUp({ ...query, fromS, toS }, { timezone, nowS }, signal);
    } finally {
      this.#running--;
    }
  }

  #checkCost(fromS: number, toS: number, granularity: Granularity): void {
    const daysMax = granularity === 'hour' ? this.#limits.hourDaysMax : this.#limits.daysMax;
    if (toS - fromS <= daysMax * DAY_S) return;
    throw gatewayError(
      'unprocessable',
      'query_too_large',
      `By ${granularity}, at most ${daysMax} days are answered at once; ask for a shorter time.`,
    );
  }

  async #sumUp(
    { fromS, toS, granularity }: { fromS: number; toS: number; granularity: Granularity },
    { timezone, nowS }: { timezone: string; nowS: number },
    signal: AbortSignal,
  ): Promise<EnergyAnswer> {
    const sources = this.sources.all();
    const buckets = bucketsOf(timezone, granularity, fromS, toS).map((bucket) => ({
      ...bucket,
      book: emptyBook(),
    }));
    const total = emptyBook();
    const first = buckets[0]?.fromS ?? fromS;
    const last = buckets.at(-1)?.toS ?? toS;
    let place = 0;
    for (const day of daysOf(timezone, first, last)) {
      // What has not happened needs no reading.
      if (day.fromS > nowS) break;
      signal.throwIfAborted();
      const books = await this.#booksOf(day, sources, nowS);
      for (const [hour, book] of books.entries()) {
        const atS = day.hourEdgesS[hour] as number;
        while (place < buckets.length && (buckets[place] as Bucket).toS <= atS) place++;
        const bucket = buckets[place];
        if (!bucket || bucket.fromS > atS) continue;
        addBook(bucket.book, book);
        addBook(total, book);
      }
    }
    return { timezone, buckets, total, sources, nowS };
  }

  /** From memory for a while: late messages and imports change past days, seldom. */
  #booksOf(day: LocalDay, sources: readonly EnergySource[], nowS: number): Promise<Book[]> {
    const nowMs = this.#options.clock.monotonicMs();
    const { gapAfterS } = this.sources.settings();
    const key = JSON.stringify([day.fromS, day.toS, gapAfterS, sources]);
    const known = this.#days.get(key);
    this.#days.delete(key);
    if (known && known.untilMs > nowMs) {
      this.#days.set(key, known);
      return known.books;
    }
    const { keptTodayMs, keptLateMs, keptMs, cachedDays } = this.#limits;
    const age = nowS - day.toS;
    const untilMs =
      nowMs + (age < 0 ? keptTodayMs : age * 1_000 < LIMITS.telemetry.lateMs ? keptLateMs : keptMs);
    const books = this.#readDay(day, sources, gapAfterS, nowS);
    this.#days.set(key, { untilMs, books });
    books.catch(() => this.#days.delete(key));
    for (const oldest of this.#days.keys()) {
      if (this.#days.size <= cachedDays) break;
      this.#days.delete(oldest);
    }
    return books;
  }

  /** Whoever asked may leave: others wait for the same day, and it is short. */
  async #readDay(
    day: LocalDay,
    sources: readonly EnergySource[],
    gapAfterS: number,
    nowS: number,
  ): Promise<Book[]> {
    const books = day.hourEdgesS.slice(0, -1).map(emptyBook);
    const { columns, placed } = this.#columnsOf(sources);
    if (columns.length === 0) return books;
    const fromS = day.fromS - (day.fromS % CELL.minuteS);
    const endS = Math.min(day.toS, nowS + CELL.minuteS);
    const pieces = this.#options.telemetry.amounts(
      {
        columns,
        fromS,
        toS: endS - (endS % CELL.minuteS),
        gapS: gapAfterS,
        bridgeS: this.#limits.bridgeS,
      },
      NEVER,
    );
    let hour = 0;
    const bookAt = (startS: number): Book | undefined => {
      while ((day.hourEdgesS[hour + 1] ?? Number.POSITIVE_INFINITY) <= startS) hour++;
      return books[hour];
    };
    for await (const minutes of pieces) keepBooks(minutes, placed, columns.length, bookAt);
    return books;
  }

  #columnsOf(sources: readonly EnergySource[]): {
    columns: AmountsQuery['columns'];
    placed: SourceColumns[];
  } {
    const columns: AmountsQuery['columns'][number][] = [];
    const add = (source: EnergySource, attribute: string | null, quantity: 'W' | 'Wh') => {
      const device = this.#options.devices.get(source.deviceId);
      const factor = attribute === null ? undefined : this.#factor(source, attribute, quantity);
      if (!device || attribute === null || factor === undefined) return undefined;
      columns.push({
        device,
        attribute,
        kind: quantity === 'W' ? 'integral' : 'increase',
        risePerSecondMax: this.#limits.powerMaxW / 3_600 / factor,
      });
      return { column: columns.length - 1, factor };
    };
    const placed = sources
      .filter((source) => this.#wasHeard(source))
      .map((source) => ({
        source,
        power: add(source, source.power, 'W'),
        forward: add(source, source.energyForward, 'Wh'),
        reverse: add(source, source.energyReverse, 'Wh'),
      }));
    return { columns, placed };
  }

  /** Devices that were never heard of make no gaps in what others tell. */
  #wasHeard({ deviceId, power, energyForward }: EnergySource): boolean {
    const { devices, telemetry } = this.#options;
    const device = devices.get(deviceId);
    return [power, energyForward].some(
      (attribute) => device && attribute !== null && telemetry.latest(device, attribute) !== undefined,
    );
  }

  /** The manifest may have changed since somebody chose the attribute. */
  #factor({ deviceId }: EnergySource, attribute: string, quantity: 'W' | 'Wh'): number | undefined {
    const device = this.#options.devices.get(deviceId);
    return device && unitFactor(this.#options.devices.manifest(device), attribute, quantity);
  }
}

const DAY_S = 86_400;
const NEVER = new AbortController().signal;

const dayAt = (toS: number) => ({ fromS: toS - 1, toS, granularityS: DAY_S });
