import { invalidQuery, unavailable, unprocessable } from '../../lib/errors.ts';
import { Emitter } from '../../lib/emitter.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { DurationS, EpochS, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import {
  type AmountsQuery,
  CELL,
  localDayEdges,
  type Telemetry,
  type TelemetryEvents,
} from '../telemetry/index.ts';
import { addBalance, type EnergyBalance, emptyBalance, addMinutes, type SourceColumns } from './balance.ts';
import { asOnePart, type Bucket, bucketsOf, daysOf, type Granularity, type LocalDay } from './calendar.ts';
import { type DevicePlan, type EnergyForecast, forecastDays, plansWithin } from './forecast.ts';
import type { EnergySource } from './model.ts';
import { ImplausibleValues, type Watched } from './implausible.ts';
import { addMoney, type Money, noMoney } from './money.ts';
import { powerNow, type PowerNow, SOC_BOUNDS } from './now.ts';
import { unitFactor } from './profiles.ts';
import { sunOf } from './schedule.ts';
import { EnergySources } from './sources.ts';
import { Tariffs } from './tariffs.ts';

interface EnergyOptions {
  database: Database;
  clock: Clock;
  log: Log;
  devices: Devices;
  site: Pick<Site, 'get'>;
  telemetry: Pick<Telemetry, 'amounts' | 'events' | 'latest' | 'quarters'>;
  /** What rules are going to do. */
  plans: () => readonly DevicePlan[];
  limits?: Limits['energy'];
}

interface EnergyEvents {
  /** A value that counts as energy is beyond what the site can have; at most once an hour for each attribute. */
  implausible_value: { device: Device; message: string };
}

interface EnergyQuery {
  /** Unix seconds; absent: the beginning of today. */
  fromS: EpochS | undefined;
  /** Absent: now. */
  toS: EpochS | undefined;
  granularity: Granularity;
}

/** Energy and money of one time. */
export interface Books {
  balance: EnergyBalance;
  money: Money;
}

export interface EnergyAnswer {
  timezone: string;
  buckets: (Bucket & Books)[];
  total: Books;
  /** Undefined while there is no tariff. */
  currency: string | undefined;
  sources: readonly EnergySource[];
  nowS: EpochS;
}

interface Reading {
  columns: AmountsQuery['columns'];
  placed: readonly SourceColumns[];
  gapAfterS: DurationS;
}

interface DayBalances {
  untilMs: MonotonicMs;
  balances: Promise<EnergyBalance[]>;
  count: number;
}

/** Books by day, the least recently used first: all of the same reading. */
interface DayCache {
  of: string;
  days: Map<string, DayBalances>;
  count: number;
}

/** The energy of the site: present powers, and the balances of hours, days and months. */
export class Energy {
  readonly events: Emitter<EnergyEvents>;
  readonly sources: EnergySources;
  readonly tariffs: Tariffs;
  readonly #implausible: ImplausibleValues;
  #watched: { byDevice: ReadonlyMap<string, readonly Watched[]>; untilMs: MonotonicMs; revision: number } = {
    byDevice: new Map(),
    untilMs: Number.NEGATIVE_INFINITY,
    revision: 0,
  };
  readonly #options: EnergyOptions;
  readonly #limits: Limits['energy'];
  #cache: DayCache = { of: '', days: new Map(), count: 0 };
  #running = 0;

  constructor(options: EnergyOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.energy;
    this.sources = new EnergySources(options);
    this.tariffs = new Tariffs(options);
    this.events = new Emitter(options.log);
    this.#implausible = new ImplausibleValues(options.clock);
    options.telemetry.events.on('telemetry_received', 'energy', (message) => this.#check(message));
    // Imports change days long past, too.
    options.telemetry.events.on('history_imported', 'energy', () => this.#clear());
  }

  now(): PowerNow {
    const { clock, devices, telemetry } = this.#options;
    return powerNow(this.sources.all(), {
      atMs: clock.wallMs(),
      gapAfterMs: this.sources.settings().gapAfterS * 1_000,
      powerMaxW: (source) => this.sources.powerMaxW(source),
      isOffline: ({ deviceId }) => devices.connectivity(deviceId) === 'OFFLINE',
      latest: ({ deviceId }, attribute) => {
        const device = devices.get(deviceId);
        return device && telemetry.latest(device, attribute);
      },
      factor: (source, attribute) => this.#factor(source, attribute, 'W'),
    });
  }

  /** @throws GatewayError invalid_query, query_too_large, unavailable */
  async balances(query: EnergyQuery, signal: AbortSignal): Promise<EnergyAnswer> {
    const { clock, site } = this.#options;
    const { timezone } = site.get();
    const nowS = Math.floor(clock.wallMs() / 1_000);
    const toS = Math.ceil(query.toS ?? nowS + 1);
    const fromS = Math.floor(query.fromS ?? localDayEdges(timezone, dayAt(toS))?.[0] ?? toS);
    if (toS <= fromS) throw invalidQuery('to', 'Parameter "to" must be later than "from".');
    this.#checkCost(fromS, toS, query.granularity);
    if (this.#running >= this.#limits.queriesAtOnce)
      throw unavailable('Too many questions for energy are being answered.');
    this.#running++;
    try {
      return await this.#sumUp({ ...query, fromS, toS }, { timezone, nowS }, signal);
    } finally {
      this.#running--;
    }
  }

  /** Today and tomorrow. @throws GatewayError unavailable */
  async forecast(signal: AbortSignal): Promise<EnergyForecast> {
    const { clock, site } = this.#options;
    const { timezone } = site.get();
    const nowS = Math.floor(clock.wallMs() / 1_000);
    const hasLoad = this.sources.all().some(({ role }) => role === 'load');
    const hours = async (day: Bucket) =>
      (await this.balances({ ...day, granularity: 'hour' }, signal)).buckets;
    const { currency, importPrice } = await this.tariffs.ahead(nowS - DAY_S, nowS + 3 * DAY_S);
    const ahead = { sunW: sunOf(this.#options), importPrice };
    const days = await forecastDays({ hours, hasLoad, nowS, timezone }, ahead);
    return { timezone, currency, days, plans: plansWithin(this.#options.plans(), days) };
  }

  #checkCost(fromS: EpochS, toS: EpochS, granularity: Granularity): void {
    const daysMax = granularity === 'hour' ? this.#limits.hourDaysMax : this.#limits.daysMax;
    if (toS - fromS <= daysMax * DAY_S) return;
    throw unprocessable(
      'query_too_large',
      `By ${granularity}, at most ${daysMax} days are answered at once; ask for a shorter time.`,
    );
  }

  async #sumUp(
    { fromS, toS, granularity }: Bucket & Pick<EnergyQuery, 'granularity'>,
    { timezone, nowS }: { timezone: string; nowS: EpochS },
    signal: AbortSignal,
  ): Promise<EnergyAnswer> {
    const sources = this.sources.all();
    const { gapAfterS } = this.sources.settings();
    const reading = { ...this.#columnsOf(sources), gapAfterS };
    const buckets = bucketsOf(timezone, granularity, fromS, toS).map((bucket) => ({
      ...bucket,
      balance: emptyBalance(),
      money: noMoney(),
    }));
    const total = { balance: emptyBalance(), money: noMoney() };
    const first = buckets[0]?.fromS ?? fromS;
    const last = buckets.at(-1)?.toS ?? toS;
    // Days in the future need no reading.
    const days = daysOf(timezone, first, last)
      .filter((day) => day.fromS <= nowS)
      .map((day) => (granularity === 'hour' ? day : asOnePart(day)));
    const { currency, items } = this.tariffs.book();
    const prices = items.length > 0 ? await this.tariffs.prices(first, last) : undefined;
    // The first hour may be in the middle of its day.
    const standingCharge = this.tariffs.standingCharges(days[0]?.fromS ?? first, last);
    let place = 0;
    for await (const { day, balances } of this.#balancesOf(days, reading, nowS, signal)) {
      const perSecond = standingCharge(day.fromS) / (day.toS - day.fromS);
      for (const [part, balance] of balances.entries()) {
        const atS = day.edgesS[part] as number;
        while (place < buckets.length && (buckets[place] as Bucket).toS <= atS) place++;
        const bucket = buckets[place];
        if (!bucket || bucket.fromS > atS) continue;
        for (const books of [bucket, total]) {
          addBalance(books.balance, balance);
          if (!prices) continue;
          addMoney(books.money, balance.tradedWh, balance.fromS, prices);
          books.money.standingCharge += perSecond * ((day.edgesS[part + 1] as number) - atS);
        }
      }
    }
    return { timezone, buckets, total, sources, nowS, currency: prices && currency };
  }

  /** Books of days one after another. They are cached for a while, because late messages and imports seldom change past days. */
  async *#balancesOf(
    days: readonly LocalDay[],
    reading: Reading,
    nowS: EpochS,
    signal: AbortSignal,
  ): AsyncGenerator<{ day: LocalDay; balances: EnergyBalance[] }> {
    const of = JSON.stringify([
      reading.gapAfterS,
      reading.columns.map(({ rateMax }) => rateMax),
      reading.placed,
    ]);
    if (this.#cache.of !== of) this.#cache = { of, days: new Map(), count: 0 };
    // The sources may change while this query is answered.
    const cache = this.#cache;
    for (const [place, day] of days.entries()) {
      signal.throwIfAborted();
      const balances =
        this.#known(cache, keyOf(day)) ?? this.#readOn(cache, days.slice(place), reading, nowS);
      yield { day, balances: await balances };
    }
  }

  #known(cache: DayCache, key: string): Promise<EnergyBalance[]> | undefined {
    const known = cache.days.get(key);
    if (!known) return undefined;
    cache.days.delete(key);
    if (known.untilMs <= this.#options.clock.monotonicMs()) {
      cache.count -= known.count;
      return undefined;
    }
    cache.days.set(key, known);
    return known.balances;
  }

  #check(message: TelemetryEvents['telemetry_received']): void {
    const { device } = message;
    const watched = this.#watchedNow().get(device.id);
    if (!watched) return;
    for (const sentence of this.#implausible.check(device.id, watched, message))
      this.events.emit('implausible_value', { device, message: sentence });
  }

  /** Found anew from time to time, because sources follow from manifests and choices. */
  #watchedNow(): ReadonlyMap<string, readonly Watched[]> {
    const nowMs = this.#options.clock.monotonicMs();
    const { revision } = this.sources;
    if (nowMs < this.#watched.untilMs && revision === this.#watched.revision) return this.#watched.byDevice;
    const { powerMaxW } = this.sources.settings();
    const all = this.sources.all().flatMap((source) => {
      const { deviceId, power, energyForward, energyReverse, stateOfCharge } = source;
      const watch = (attribute: string | null, unit: Watched['unit']): [string, Watched][] => {
        if (attribute === null) return [];
        const mostW = unit === 'W' ? this.sources.powerMaxW(source) : powerMaxW;
        const [least, most] = unit === '%' ? SOC_BOUNDS : [-mostW, mostW];
        const factor = unit === '%' ? 1 : this.#factor(source, attribute, unit);
        return factor === undefined ? [] : [[deviceId, { attribute, unit, factor, least, most }]];
      };
      return [
        ...watch(power, 'W'),
        ...watch(energyForward, 'Wh'),
        ...watch(energyReverse, 'Wh'),
        ...watch(stateOfCharge, '%'),
      ];
    });
    const byDevice = Map.groupBy(all, ([deviceId]) => deviceId);
    this.#watched = {
      byDevice: new Map([...byDevice].map(([id, entries]) => [id, entries.map(([, watched]) => watched)])),
      untilMs: nowMs + this.#limits.keptTodayMs,
      revision,
    };
    this.#implausible.keep(new Set(all.map(([deviceId, { attribute }]) => `${deviceId} ${attribute}`)));
    return this.#watched.byDevice;
  }

  #clear(): void {
    this.#cache = { of: '', days: new Map(), count: 0 };
  }

  /** Reads the first of these days and the following unknown ones, up to the length of one query. */
  #readOn(
    cache: DayCache,
    days: readonly LocalDay[],
    reading: Reading,
    nowS: EpochS,
  ): Promise<EnergyBalance[]> {
    const ahead = days.slice(0, this.#limits.daysAtOnce);
    const end = ahead.findIndex((day, place) => place > 0 && this.#known(cache, keyOf(day)) !== undefined);
    const run = end < 0 ? ahead : ahead.slice(0, end);
    const read = this.#readDays(run, reading, nowS);
    for (const [place, day] of run.entries()) {
      const balances = read.then((all) => all[place] ?? []);
      const added = { untilMs: this.#goodUntilMs(day, nowS), balances, count: day.edgesS.length - 1 };
      cache.days.set(keyOf(day), added);
      cache.count += added.count;
      balances.catch(() => this.#takeOut(cache, keyOf(day), added));
    }
    for (const [key, oldest] of cache.days) {
      if (cache.count <= this.#limits.cachedBalances) break;
      this.#takeOut(cache, key, oldest);
    }
    return read.then(([first = []]) => first);
  }

  #takeOut(cache: DayCache, key: string, balances: DayBalances): void {
    if (cache.days.get(key) !== balances) return;
    cache.days.delete(key);
    cache.count -= balances.count;
  }

  #goodUntilMs(day: LocalDay, nowS: EpochS): MonotonicMs {
    const { keptTodayMs, keptLateMs, keptMs } = this.#limits;
    const age = nowS - day.toS;
    const nowMs = this.#options.clock.monotonicMs();
    return nowMs + (age < 0 ? keptTodayMs : age * 1_000 < LIMITS.telemetry.lateMs ? keptLateMs : keptMs);
  }

  /** It is not aborted when the caller leaves, because others may wait for the same days, and they are few. */
  async #readDays(
    days: readonly LocalDay[],
    { columns, placed, gapAfterS }: Reading,
    nowS: EpochS,
  ): Promise<EnergyBalance[][]> {
    const balances = days.map(({ edgesS }) =>
      edgesS.slice(1).map((toS, part) => emptyBalance(edgesS[part] as EpochS, toS)),
    );
    const [first, last] = [days[0], days.at(-1)];
    if (columns.length === 0 || !first || !last) return balances;
    const fromS = first.fromS - (first.fromS % CELL.minuteS);
    const endS = Math.min(last.toS, nowS + CELL.minuteS);
    const { bridgeS } = this.#limits;
    const toS = endS - (endS % CELL.minuteS);
    const pieces = this.#options.telemetry.amounts({ columns, fromS, toS, gapS: gapAfterS, bridgeS }, NEVER);
    const parts = days.flatMap(({ edgesS }, day) =>
      edgesS.slice(1).map((endS, part) => ({ endS, balance: balances[day]?.[part] })),
    );
    let place = 0;
    const balanceAt = (startS: EpochS): EnergyBalance | undefined => {
      while ((parts[place]?.endS ?? Number.POSITIVE_INFINITY) <= startS) place++;
      return parts[place]?.balance;
    };
    for await (const minutes of pieces) addMinutes(minutes, placed, columns.length, balanceAt);
    return balances;
  }

  #columnsOf(sources: readonly EnergySource[]): Pick<Reading, 'columns' | 'placed'> {
    const { powerMaxW } = this.sources.settings();
    const columns: AmountsQuery['columns'][number][] = [];
    const add = (source: EnergySource, attribute: string | null, quantity: 'W' | 'Wh') => {
      const device = this.#options.devices.get(source.deviceId);
      const factor = attribute === null ? undefined : this.#factor(source, attribute, quantity);
      if (!device || attribute === null || factor === undefined) return undefined;
      columns.push({
        device,
        attribute,
        kind: quantity === 'W' ? 'integral' : 'increase',
        rateMax: (quantity === 'W' ? this.sources.powerMaxW(source) : powerMaxW / 3_600) / factor,
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

  /** Devices that never sent a value make no gaps in the balances of others. */
  #wasHeard({ deviceId, power, energyForward }: EnergySource): boolean {
    const { devices, telemetry } = this.#options;
    const device = devices.get(deviceId);
    return [power, energyForward].some(
      (attribute) => device && attribute !== null && telemetry.latest(device, attribute) !== undefined,
    );
  }

  /** Read each time, because the manifest may have changed since the attribute was chosen. */
  #factor({ deviceId }: EnergySource, attribute: string, quantity: 'W' | 'Wh'): number | undefined {
    const device = this.#options.devices.get(deviceId);
    return device && unitFactor(this.#options.devices.manifest(device), attribute, quantity);
  }
}

const DAY_S = 86_400;
const keyOf = ({ fromS, edgesS }: LocalDay): string => `${fromS} ${edgesS.length}`;
const NEVER = new AbortController().signal;

const dayAt = (toS: EpochS) => ({ fromS: toS - 1, toS, granularityS: DAY_S });
