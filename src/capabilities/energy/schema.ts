/** Requests and answers of energy as they stand on the wire. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { camelMembers, recordOf } from '../../lib/members.ts';
import { type EpochS, formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import { GRANULARITIES } from './calendar.ts';
import { ASSUMPTION } from './flows.ts';
import {
  type EnergySettings,
  type FlowMatrix,
  flowIndex,
  type Origin,
  ORIGINS,
  type SourceChoice,
  type Use,
  USES,
} from './model.ts';
import type { Money } from './money.ts';
import { type PowerNow, REASONS } from './now.ts';
import type { DerivedSources } from './profiles.ts';
import type { Books, EnergyAnswer } from './service.ts';
import type { SourcesChange } from './sources.ts';
import { ROLES } from './tables.ts';
import { type Price, PRICE_KINDS, type TariffBook } from './tariff.ts';
import { EXAMPLE_TARIFF } from './tariff-request.ts';

const { gapAfterMinS, gapAfterMaxS, powerMaxLeastW, powerMaxMostW, sourcesMax } = LIMITS.energy;

const attribute = () => v.nullish(shape.text(LIMITS.telemetry.keyLength), null);

const choice = shape.noList(
  v.object({
    role: shape.oneOf(ROLES),
    device_id: shape.about(v.string(), 'Id or slug.'),
    power: shape.about(attribute(), 'Attribute with the power, in W, kW or MW.'),
    is_inverted: shape.about(
      v.nullish(v.boolean(), false),
      'The attribute counts the other way round than the role.',
    ),
    state_of_charge: shape.about(attribute(), 'Attribute with the state of charge, in %.'),
    energy_forward: shape.about(
      attribute(),
      'Lifetime counter of what was delivered, discharged, imported or consumed, in Wh, kWh or MWh.',
    ),
    energy_reverse: shape.about(attribute(), 'Lifetime counter of what was charged or exported.'),
    power_max_w: shape.about(
      v.nullish(
        v.pipe(
          v.number('must be a number of watts'),
          v.gtValue(0, 'must be more than 0'),
          v.maxValue(powerMaxMostW, `must be at most ${powerMaxMostW}`),
        ),
        null,
      ),
      'The device has no more: larger powers are left out as implausible. Null: see docs/energy.md.',
    ),
  }),
);

const EXAMPLE_SOURCE = {
  role: 'battery' as const,
  device_id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11',
  power: 'battery_power',
  is_inverted: false,
  state_of_charge: null,
  energy_forward: null,
  energy_reverse: null,
  power_max_w: null,
};

export const updateSourcesBody = v.pipe(
  v.object({
    gap_after_s: shape.about(
      v.nullish(
        v.pipe(
          v.number('must be a number of seconds'),
          v.integer('must be whole seconds'),
          v.minValue(gapAfterMinS, `must be at least ${gapAfterMinS}`),
          v.maxValue(gapAfterMaxS, `must be at most ${gapAfterMaxS}`),
        ),
      ),
      'Two values further apart than this are not connected. Absent: as it is.',
    ),
    power_max_w: shape.about(
      v.nullish(
        v.pipe(
          v.number('must be a number of watts'),
          v.integer('must be whole watts'),
          v.minValue(powerMaxLeastW, `must be at least ${powerMaxLeastW}`),
          v.maxValue(powerMaxMostW, `must be at most ${powerMaxMostW}`),
        ),
      ),
      'No source of the site has more; larger values are left out as implausible. Absent: as it is.',
    ),
    items: shape.about(
      v.nullish(
        v.pipe(
          v.array(choice, 'must be a list'),
          v.maxLength(sourcesMax, `must have at most ${sourcesMax} items`),
        ),
      ),
      'Replaces all that people said; roles that are in none of them follow the profiles.',
    ),
  }),
  shape.example({ gap_after_s: 300, power_max_w: 10_000_000, items: [EXAMPLE_SOURCE] }),
  v.transform(({ gap_after_s: gapAfterS, power_max_w: powerMaxW, items }): SourcesChange => ({
    gapAfterS: gapAfterS ?? undefined,
    powerMaxW: powerMaxW ?? undefined,
    items: items?.map((item): SourceChoice => camelMembers(item)),
  })),
);

export const energyQuery = v.object({
  from: query.bound(),
  to: query.bound(),
  granularity: query.choice(GRANULARITIES, 'day', 'Length of a bucket, in the time zone of the site.'),
});

const watts = () => shape.about(v.nullable(v.number()), 'W; null when it is not known now.');
const wattHours = () => v.pipe(v.number(), v.minValue(0));
const ratio = () => shape.about(v.nullable(v.number()), '0 to 1; null when there was none of it.');
const notNegative = () => v.pipe(v.number(), v.minValue(0));

const flowsShape = () => v.object(recordOf(ORIGINS, () => v.object(recordOf(USES, wattHours))));
const nullableText = () => v.nullable(v.string());

const otherShape = v.object({
  role: v.picklist(ROLES),
  device_id: shape.id(),
  counted_device_id: shape.about(shape.id(), 'The device that counts for the role.'),
});

const sourceShape = v.object({
  role: v.picklist(ROLES),
  device_id: shape.id(),
  power: nullableText(),
  is_inverted: v.boolean(),
  state_of_charge: nullableText(),
  energy_forward: nullableText(),
  energy_reverse: nullableText(),
  power_max_w: shape.about(v.nullable(v.number()), 'W, as a person or the blueprint says.'),
  profile: shape.about(
    nullableText(),
    'The profile or device of the library that says so; null: a person said it.',
  ),
});

const numberNow = {
  power_w: watts(),
  age_s: shape.about(v.nullable(v.number()), 'Seconds since it was measured.'),
  reason: shape.about(v.nullable(v.picklist(REASONS)), 'Why it is not known.'),
  state_of_charge_percent: v.nullable(v.number()),
};

const { age_s: _age, ...roleNow } = {
  ...numberNow,
  power_w: shape.about(v.nullable(v.number()), 'W, of those of its sources that are known now.'),
  reason: shape.about(v.nullable(v.picklist(REASONS)), 'Why it is not known, or not all of it.'),
};

const money = () => v.number();

const moneyShape = shape.about(
  v.nullable(
    v.object({
      import_cost: shape.about(money(), 'Of imported energy, with surcharges and VAT.'),
      standing_charge: shape.about(money(), 'Of the days that have begun, with VAT.'),
      export_revenue: money(),
      total_cost: shape.about(money(), 'Cost and standing charge without the revenue.'),
      own_consumption_value: shape.about(
        money(),
        'What the consumption from sun, generators and battery would have cost as import.',
      ),
      unpriced_kwh: shape.about(
        v.object({ import: notNegative(), export: notNegative(), own_consumption: notNegative() }),
        'Energy without a known price; it is in none of the amounts.',
      ),
    }),
  ),
  'In `currency`; null while there is no tariff.',
);

const bookEntries = {
  sources_wh: v.object(recordOf(ORIGINS, wattHours)),
  uses_wh: v.object(recordOf(USES, wattHours)),
  flows_wh: flowsShape(),
  self_consumption: shape.about(ratio(), 'Part of the sun that was not exported.'),
  self_sufficiency: shape.about(ratio(), 'Part of the consumption that did not come from the grid.'),
  gap_s: shape.about(
    v.record(v.string(), notNegative()),
    'By role: seconds of the past of which nothing is known.',
  ),
  bridged_s: shape.about(
    v.record(v.string(), notNegative()),
    'By role: seconds that are known by lifetime counters alone.',
  ),
  implausible: shape.about(
    v.record(v.string(), notNegative()),
    'By role: values that were left out because nothing at the site can be so large.',
  ),
  money: moneyShape,
};

const priceShape = v.object({
  kind: v.picklist(PRICE_KINDS),
  price: v.nullable(v.number()),
  low_price: v.nullable(v.number()),
  low_times: nullableText(),
  device_id: v.nullable(shape.id()),
  attribute: nullableText(),
  surcharge_per_kwh: v.number(),
});

export const energyShapes = {
  sources: v.object({
    energy_sources: shape.named(
      'EnergySources',
      v.object({
        gap_after_s: notNegative(),
        power_max_w: v.number(),
        items: v.array(sourceShape),
        not_counted: shape.about(
          v.array(otherShape),
          'Devices that say they measure a role, too, and are left out so that nothing is counted twice.',
        ),
      }),
      {
        gap_after_s: 300,
        power_max_w: 10_000_000,
        items: [{ ...EXAMPLE_SOURCE, profile: null }],
        not_counted: [],
      },
    ),
  }),
  tariffs: v.object({
    energy_tariffs: shape.named(
      'EnergyTariffs',
      v.object({
        currency: nullableText(),
        items: v.array(
          v.object({
            valid_from: v.string(),
            import_price: priceShape,
            export_price: v.nullable(priceShape),
            vat_percent: v.number(),
            standing_charge_per_day: v.number(),
            standing_charge_per_month: v.number(),
          }),
        ),
      }),
      { currency: 'EUR', items: [EXAMPLE_TARIFF] },
    ),
  }),
  now: v.object({
    power: shape.named(
      'PowerNow',
      v.object({
        at: shape.instant(),
        is_complete: v.boolean(),
        roles: v.array(v.object({ role: v.picklist(ROLES), is_calculated: v.boolean(), ...roleNow })),
        sources: v.array(v.object({ role: v.picklist(ROLES), device_id: shape.id(), ...numberNow })),
        flows_w: flowsShape(),
      }),
    ),
  }),
  balances: v.object({
    energy: shape.named(
      'Energy',
      v.object({
        timezone: v.string(),
        assumption: shape.about(v.string(), 'How flows are decided, in a sentence for people.'),
        currency: shape.about(nullableText(), 'Of the tariffs; null while there is none.'),
        total: v.object(bookEntries),
        buckets: v.array(v.object({ from: shape.instant(), to: shape.instant(), ...bookEntries })),
      }),
    ),
  }),
};

export type EnergySourcesOnWire = ReturnType<typeof sourcesToWire>;
export type EnergyTariffsOnWire = ReturnType<typeof tariffsToWire>;
export type PowerNowOnWire = ReturnType<typeof nowToWire>;
export type EnergyOnWire = ReturnType<typeof energyToWire>;

export function sourcesToWire({ counted, others }: DerivedSources, settings: EnergySettings) {
  return {
    gap_after_s: settings.gapAfterS,
    power_max_w: settings.powerMaxW,
    items: counted.map((source) => shape.filled(sourceShape, source)),
    not_counted: others.map(({ source, countedDeviceId }) => ({
      role: source.role,
      device_id: source.deviceId,
      counted_device_id: countedDeviceId,
    })),
  };
}

export function tariffsToWire({ currency, items }: TariffBook) {
  return {
    currency: currency ?? null,
    items: items.map(({ importPrice, exportPrice, ...tariff }) => ({
      valid_from: tariff.validFrom,
      import_price: priceToWire(importPrice),
      export_price: exportPrice && priceToWire(exportPrice),
      vat_percent: tariff.vatPercent,
      standing_charge_per_day: tariff.standingChargePerDay,
      standing_charge_per_month: tariff.standingChargePerMonth,
    })),
  };
}

const priceToWire = (price: Price) => shape.filled(priceShape, price);

export function nowToWire(now: PowerNow) {
  return {
    at: formatTimestamp(now.atMs),
    is_complete: now.isComplete,
    roles: now.roles.map(({ role, powerW, socPercent, reason, isCalculated }) => ({
      role,
      is_calculated: isCalculated,
      power_w: rounded(powerW),
      state_of_charge_percent: rounded(socPercent),
      reason: reason ?? null,
    })),
    sources: now.sources.map(({ source, power, socPercent }) => ({
      role: source.role,
      device_id: source.deviceId,
      power_w: rounded(power.value),
      age_s: rounded(power.ageMs === undefined ? undefined : power.ageMs / 1_000),
      reason: power.reason ?? null,
      state_of_charge_percent: rounded(socPercent?.value),
    })),
    flows_w: flowsToWire(now.flowsW),
  };
}

export function energyToWire({ timezone, buckets, total, sources, nowS, currency }: EnergyAnswer) {
  const roles = ROLES.filter((role) => sources.some((source) => source.role === role));
  const last = buckets.at(-1);
  const first = buckets[0];
  const toWire = ({ balance, money }: Books, fromS: EpochS, toS: EpochS) => {
    const pastS = Math.max(0, Math.min(toS, nowS) - fromS);
    const byRole = (read: (place: number) => number): Record<string, number> =>
      recordOf(roles, (role) => Math.max(0, Math.round(read(ROLES.indexOf(role)))));
    return {
      ...balanceToWire(balance.flowsWh),
      gap_s: byRole((place) => pastS - (balance.knownS[place] as number)),
      bridged_s: byRole((place) => balance.bridgedS[place] as number),
      implausible: byRole((place) => balance.implausible[place] as number),
      money: currency === undefined ? null : moneyToWire(money),
    };
  };
  return {
    timezone,
    assumption: ASSUMPTION,
    currency: currency ?? null,
    total: toWire(total, first?.fromS ?? nowS, last?.toS ?? nowS),
    buckets: buckets.map(({ fromS, toS, ...books }) => ({
      from: formatTimestamp(fromS * 1_000),
      to: formatTimestamp(toS * 1_000),
      ...toWire(books, fromS, toS),
    })),
  };
}

/** Hundredths of a cent, so that hours add up to their day. */
function moneyToWire(money: Money) {
  const { importCost, standingCharge, exportRevenue, ownConsumptionValue, unpricedWh } = money;
  const amountOf = (value: number): number => Math.round(value * 1e4) / 1e4;
  return {
    import_cost: amountOf(importCost),
    standing_charge: amountOf(standingCharge),
    export_revenue: amountOf(exportRevenue),
    total_cost: amountOf(importCost + standingCharge - exportRevenue),
    own_consumption_value: amountOf(ownConsumptionValue),
    unpriced_kwh: {
      import: rounded(unpricedWh.import / 1_000),
      export: rounded(unpricedWh.export / 1_000),
      own_consumption: rounded(unpricedWh.ownConsumption / 1_000),
    },
  };
}

function balanceToWire(flows: FlowMatrix) {
  const sum = (origins: readonly Origin[], uses: readonly Use[]): number =>
    origins.reduce(
      (all, origin) => all + uses.reduce((row, use) => row + (flows[flowIndex(origin, use)] as number), 0),
      0,
    );
  const consumption = ['load', 'electrolyser', 'ev_charger', 'heat_pump'] as const;
  const sun = sum(['pv'], USES);
  // The origin of unmeasured energy is not known, so it counts neither way.
  const consumed = sum(['pv', 'generator', 'battery', 'grid'], consumption);
  return {
    sources_wh: recordOf(ORIGINS, (origin) => rounded(sum([origin], USES))),
    uses_wh: recordOf(USES, (use) => rounded(sum(ORIGINS, [use]))),
    flows_wh: flowsToWire(flows),
    self_consumption: sun > 0 ? ratioOf(1 - sum(['pv'], ['grid']) / sun) : null,
    self_sufficiency: consumed > 0 ? ratioOf(1 - sum(['grid'], consumption) / consumed) : null,
  };
}

function flowsToWire(flows: FlowMatrix) {
  return recordOf(ORIGINS, (origin) =>
    recordOf(USES, (use) => rounded(flows[flowIndex(origin, use)] as number)),
  );
}

const ratioOf = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 1e4) / 1e4;

/** Smaller digits than thousandths mean nothing. */
function rounded(value: number): number;
function rounded(value: number | undefined): number | null;
function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value * 1e3) / 1e3;
}
