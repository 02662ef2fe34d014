/** The request that sets the tariffs, as it stands on the wire. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { camelMembers } from '../../lib/members.ts';
import { shape } from '../../platform/http/index.ts';
import { PRICE_KINDS, type Tariff } from './tariff.ts';
import type { TariffChange } from './tariffs.ts';

const { priceMost, tariffsMax } = LIMITS.energy;

const amount = (least: number, most: number = priceMost) =>
  v.pipe(
    v.number('must be a number'),
    v.minValue(least, `must be at least ${least}`),
    v.maxValue(most, `must be at most ${most}`),
  );

const price = () =>
  shape.noList(
    v.object({
      kind: shape.about(
        shape.oneOf(PRICE_KINDS),
        'FIXED: one price. TWO_RATE: another one at times of the week. DEVICE: as an attribute says.',
      ),
      price: shape.about(v.nullish(amount(-priceMost), null), 'Per kWh, of FIXED and TWO_RATE.'),
      low_price: shape.about(v.nullish(amount(-priceMost), null), 'The other price of TWO_RATE.'),
      low_times: shape.about(
        v.nullish(shape.text(200), null),
        'When it holds, in the time zone of the site: weekdays, times or both, such as `mon-fri 22:00-06:00, sat-sun`.',
      ),
      device_id: shape.about(v.nullish(v.string(), null), 'Id or slug, of DEVICE.'),
      attribute: shape.about(
        v.nullish(shape.text(LIMITS.telemetry.keyLength), null),
        'Its attribute with the price per kWh of now.',
      ),
      surcharge_per_kwh: shape.about(v.nullish(amount(-priceMost), 0), 'Added to the price.'),
    }),
  );

const tariff = shape.noList(
  v.object({
    valid_from: shape.about(
      v.pipe(
        v.string('must be a day such as 2026-01-01'),
        v.check((date) => isCalendarDay(date), 'must be a day such as 2026-01-01'),
      ),
      'First day, in the time zone of the site; it holds until the next one begins.',
    ),
    import_price: price(),
    export_price: shape.about(v.nullish(price(), null), 'What the site gets per kWh; null: not known.'),
    vat_percent: shape.about(
      v.nullish(amount(0, 100), 0),
      'On the import price with its surcharge, and on standing charges.',
    ),
    standing_charge_per_day: v.nullish(amount(0), 0),
    standing_charge_per_month: v.nullish(amount(0), 0),
  }),
);

const isCalendarDay = (date: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(date) &&
  !Number.isNaN(Date.parse(date)) &&
  new Date(date).toISOString().startsWith(date);

const EXAMPLE_PRICE = {
  kind: 'TWO_RATE' as const,
  price: 0.28,
  low_price: 0.21,
  low_times: 'mon-fri 22:00-06:00, sat-sun',
  device_id: null,
  attribute: null,
  surcharge_per_kwh: 0,
};
export const EXAMPLE_TARIFF = {
  valid_from: '2026-01-01',
  import_price: EXAMPLE_PRICE,
  export_price: { ...EXAMPLE_PRICE, kind: 'FIXED' as const, price: 0.08, low_price: null, low_times: null },
  vat_percent: 19,
  standing_charge_per_day: 0,
  standing_charge_per_month: 11.9,
};

/** As on the wire, for site files, too. */
export const tariffsBody = v.object({
  currency: shape.about(
    v.nullish(
      v.pipe(v.string(), v.regex(/^[A-Z]{3}$/, 'must be three letters such as EUR'), v.examples(['EUR'])),
    ),
    'ISO 4217; needed with the first tariff. Absent: as it is.',
  ),
  items: shape.about(
    v.nullish(
      v.pipe(
        v.array(tariff, 'must be a list'),
        v.maxLength(tariffsMax, `must have at most ${tariffsMax} items`),
      ),
    ),
    'Replaces all tariffs. Absent: as they are.',
  ),
});

export const updateTariffsBody = v.pipe(
  tariffsBody,
  shape.example({ currency: 'EUR', items: [EXAMPLE_TARIFF] }),
  v.transform(({ currency, items }): TariffChange => ({
    currency: currency ?? undefined,
    items: items?.map(({ import_price: importPrice, export_price: exportPrice, ...rest }): Tariff => ({
      ...camelMembers(rest),
      importPrice: camelMembers(importPrice),
      exportPrice: exportPrice && camelMembers(exportPrice),
    })),
  })),
);
