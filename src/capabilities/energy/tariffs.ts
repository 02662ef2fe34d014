/** The tariffs of the site: as people set them, and the prices that follow for a time. */
import { errorOfProblems, type Problem } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { Prices } from './money.ts';
import { priceOf, scheduleOf } from './schedule.ts';
import { createTariffStore, type TariffStore } from './store.ts';
import { type Price, type Tariff, type TariffBook, wallQuarters, weeklyTimes } from './tariff.ts';

export interface TariffChange {
  currency?: string | undefined;
  /** All tariffs; they replace those before. */
  items?: readonly Tariff[] | undefined;
}

interface TariffOptions {
  database: Database;
  devices: Devices;
  site: Pick<Site, 'get'>;
  telemetry: Pick<Telemetry, 'latest' | 'quarters'>;
}

/** Quarters of an hour: [from, to). */
interface Span {
  from: number;
  to: number;
}

const { quarterS: QUARTER_S, priceHeldQuarters: HELD_QUARTERS } = LIMITS.energy;
const DAY_S = 86_400;

/** Where a day begins. */
function startOf(date: string, dateAt: (atS: EpochS) => string): EpochS {
  const midnightS = Date.parse(date) / 1_000;
  let [low, high] = [midnightS - DAY_S, midnightS + DAY_S];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (dateAt(middle) < date) low = middle;
    else high = middle;
  }
  return high;
}

export class Tariffs {
  readonly #options: TariffOptions;
  readonly #store: TariffStore;

  constructor(options: TariffOptions) {
    this.#options = options;
    this.#store = createTariffStore(options.database);
  }

  book(): TariffBook {
    return this.#store.book();
  }

  /** @throws GatewayError device_not_found, invalid_body naming every field that does not fit */
  change({ currency, items }: TariffChange): void {
    const known = items?.map((tariff) => ({
      ...tariff,
      importPrice: this.#withId(tariff.importPrice),
      exportPrice: tariff.exportPrice && this.#withId(tariff.exportPrice),
    }));
    const problems = this.#problemsOf(known ?? []);
    const money = currency ?? this.#store.book().currency;
    if (known && known.length > 0 && money === undefined)
      problems.push(['currency', 'Field "currency" is needed with the first tariff.']);
    const refused = errorOfProblems(
      'invalid_argument',
      problems.map(([field, message]): Problem => ({ code: 'invalid_body', message, details: { field } })),
    );
    if (refused) throw refused;
    this.#options.database.transaction(() => {
      if (known) this.#store.replaceTariffs(known);
      if (currency !== undefined) this.#store.putCurrency(currency);
    });
  }

  /**
   * The import price of each quarter of [fromS, toS), as schedules of devices say it where there are any; without a
   * tariff that of the first device with one. @throws GatewayError unavailable
   */
  async ahead(
    fromS: EpochS,
    toS: EpochS,
  ): Promise<{ currency: string | undefined; importPrice: (quarter: number) => number | undefined }> {
    const { currency, items } = this.#store.book();
    if (items.length === 0) {
      const schedule = priceOf(this.#options);
      return { currency, importPrice: (quarter) => schedule?.(quarter * QUARTER_S) };
    }
    // Prices are known for whole quarters.
    const prices = await this.prices(fromS - (fromS % QUARTER_S), toS - (toS % QUARTER_S), 'with schedules');
    return {
      currency,
      importPrice: (quarter) => {
        const price = prices.import[quarter - prices.firstQuarter];
        return price === undefined || Number.isNaN(price) ? undefined : price;
      },
    };
  }

  /** Prices of all quarters of [fromS, toS). @throws GatewayError unavailable */
  async prices(
    fromS: EpochS,
    toS: EpochS,
    known: 'measured' | 'with schedules' = 'measured',
  ): Promise<Prices> {
    const [from, to] = [Math.floor(fromS / QUARTER_S), Math.ceil(toS / QUARTER_S)];
    const unknown = (): Float64Array => new Float64Array(to - from).fill(Number.NaN);
    const prices = { firstQuarter: from, import: unknown(), export: unknown() };
    for (const { tariff, fromS: beginS, toS: endS } of this.#periods(fromS, toS)) {
      const span = { from: Math.max(from, beginS / QUARTER_S), to: Math.min(to, endS / QUARTER_S) };
      const factor = 1 + tariff.vatPercent / 100;
      await this.#fill(prices.import, from, span, tariff.importPrice, factor);
      if (known === 'with schedules') this.#fillAhead(prices.import, from, span, tariff.importPrice, factor);
      if (tariff.exportPrice) await this.#fill(prices.export, from, span, tariff.exportPrice, 1);
    }
    return prices;
  }

  /** Cost of a local day whatever is used, VAT included; 0 before the first tariff. */
  standingCharges(fromS: EpochS, toS: EpochS): (dayS: EpochS) => number {
    const periods = this.#periods(fromS, toS);
    const dateAt = this.#calendar();
    return (dayS) => {
      const tariff = periods.find((period) => dayS >= period.fromS && dayS < period.toS)?.tariff;
      const perDay = tariff?.standingChargePerDay ?? 0;
      const perMonth = tariff?.standingChargePerMonth ?? 0;
      if (!tariff || perDay + perMonth === 0) return 0;
      const [year = 0, month = 0] = dateAt(dayS).split('-').map(Number);
      const daysOfMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
      return (perDay + perMonth / daysOfMonth) * (1 + tariff.vatPercent / 100);
    };
  }

  /** The parts of [fromS, toS) that have a tariff. */
  #periods(fromS: EpochS, toS: EpochS): { tariff: Tariff; fromS: EpochS; toS: EpochS }[] {
    const { items } = this.#store.book();
    const dateAt = this.#calendar();
    const starts = items.map(({ validFrom }) => startOf(validFrom, dateAt));
    return items
      .map((tariff, index) => ({
        tariff,
        fromS: Math.max(fromS, starts[index] as EpochS),
        toS: Math.min(toS, starts[index + 1] ?? toS),
      }))
      .filter((period) => period.fromS < period.toS);
  }

  /** The day of the site at a moment; to be kept, because a calendar is slow to make. */
  #calendar(): (atS: EpochS) => string {
    const { timezone: timeZone } = this.#options.site.get();
    // The calendar of Sweden writes dates as ISO 8601 does.
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone });
    return (atS) => format.format(atS * 1_000);
  }

  async #fill(into: Float64Array, first: number, span: Span, price: Price, factor: number): Promise<void> {
    const put = (quarter: number, plain: number): void => {
      into[quarter - first] = (plain + price.surchargePerKwh) * factor;
    };
    if (price.kind === 'DEVICE') {
      for (const [quarter, value] of await this.#pricesOfDevice(price, span)) put(quarter, value);
      return;
    }
    const { price: usual, lowPrice } = price;
    const isLow = price.kind === 'TWO_RATE' ? weeklyTimes(price.lowTimes ?? '') : undefined;
    if (usual === null) return;
    if (!isLow || lowPrice === null) for (let at = span.from; at < span.to; at++) put(at, usual);
    else {
      const { timezone } = this.#options.site.get();
      const quarters = wallQuarters(timezone, span.from * QUARTER_S, span.to * QUARTER_S);
      for (const { quarter, weekday, minute } of quarters)
        put(quarter, isLow(weekday, minute) ? lowPrice : usual);
    }
  }

  /** Fills prices of the future from the schedule of the device. */
  #fillAhead(into: Float64Array, first: number, span: Span, price: Price, factor: number): void {
    const device = this.#options.devices.get(price.deviceId ?? '');
    if (price.kind !== 'DEVICE' || !device || price.attribute === null) return;
    const schedule = scheduleOf(this.#options, device, price.attribute);
    for (let at = span.from; at < span.to; at++) {
      const plain = schedule?.(at * QUARTER_S);
      if (plain !== undefined) into[at - first] = (plain + price.surchargePerKwh) * factor;
    }
  }

  /** Each value holds until the next one, for a while. */
  async #pricesOfDevice({ deviceId, attribute }: Price, { from, to }: Span): Promise<Map<number, number>> {
    const device = this.#options.devices.get(deviceId ?? '');
    const prices = new Map<number, number>();
    if (!device || attribute === null) return prices;
    const fromS = (from - HELD_QUARTERS) * QUARTER_S;
    const known = await this.#options.telemetry.quarters(device, attribute, fromS, to * QUARTER_S);
    for (const [quarter, value] of known)
      for (let at = quarter; at < quarter + HELD_QUARTERS; at++) {
        if (at > quarter && known.has(at)) break;
        if (at >= from && at < to) prices.set(at, value);
      }
    return prices;
  }

  /** A device that was deleted stays in the tariffs of its time. */
  #withId(price: Price): Price {
    const { items } = this.#store.book();
    const isKnown = items.some(({ importPrice, exportPrice }) =>
      [importPrice.deviceId, exportPrice?.deviceId].includes(price.deviceId),
    );
    const device = price.deviceId === null ? undefined : this.#options.devices.find(price.deviceId);
    if (price.deviceId === null || (!device && isKnown)) return price;
    return { ...price, deviceId: this.#options.devices.require(price.deviceId).id };
  }

  #problemsOf(items: readonly Tariff[]): [field: string, message: string][] {
    return items.flatMap(({ validFrom, importPrice, exportPrice }, index): [string, string][] => {
      const place = `items.${index}`;
      const field = `${place}.valid_from`;
      const isTwice = items.some((other, earlier) => earlier < index && other.validFrom === validFrom);
      const twice: [string, string] = [field, `Field "${field}": another tariff begins on this day.`];
      return [
        ...(isTwice ? [twice] : []),
        ...this.#problemsOfPrice(importPrice, `${place}.import_price`),
        ...(exportPrice ? this.#problemsOfPrice(exportPrice, `${place}.export_price`) : []),
      ];
    });
  }

  #problemsOfPrice(price: Price, place: string): [field: string, message: string][] {
    const needed = {
      FIXED: { price: price.price },
      TWO_RATE: { price: price.price, low_price: price.lowPrice, low_times: price.lowTimes },
      DEVICE: { device_id: price.deviceId, attribute: price.attribute },
    }[price.kind];
    const problems = Object.entries(needed).flatMap(([name, value]): [string, string][] =>
      value === null
        ? [[`${place}.${name}`, `Field "${place}.${name}" is needed with kind ${price.kind}.`]]
        : [],
    );
    if (problems.length > 0) return problems;
    if (price.kind === 'TWO_RATE' && !weeklyTimes(price.lowTimes ?? '')) {
      const example = 'mon-fri 22:00-06:00, sat-sun';
      const field = `${place}.low_times`;
      return [[field, `Field "${field}" must have weekdays, times or both, such as ${example}.`]];
    }
    return price.kind === 'DEVICE' ? this.#problemsOfAttribute(price, `${place}.attribute`) : [];
  }

  #problemsOfAttribute({ deviceId, attribute }: Price, field: string): [field: string, message: string][] {
    const device = this.#options.devices.get(deviceId ?? '');
    if (!device) return [];
    const declared = new Map(Object.entries(this.#options.devices.manifest(device).telemetry));
    const type = declared.get(attribute ?? '')?.type;
    if (type === 'float' || type === 'integer') return [];
    const problem =
      type === undefined
        ? `is not declared by device "${device.slug}"`
        : `is of type ${type}, it must be a number`;
    return [[field, `Field "${field}": attribute "${attribute}" ${problem}.`]];
  }
}
