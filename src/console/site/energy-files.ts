/** The energy of hours, days or months as files. Unknown values are empty. */
import type { DurationS, EpochMs } from '../../lib/time.ts';
import { sheetOf, sheetTime } from '../sheet.ts';
import { say } from '../words/index.ts';
import { type Book, consumed, type Energy, type Role } from './energy.ts';

const HOUR_S = 3_600;

const kWh = (energyWh: number): number => Math.round(energyWh) / 1_000;

/** For spreadsheets: the numbers of the page for each hour, day or month that has begun, and its unknown time. */
export function sheetOfBooks({ buckets, timezone, currency }: Energy, nowMs: EpochMs): string {
  const { role, imported, exported, charged, discharged, consumption, selfSufficiency, notKnown } = say.site;
  const { cost, standing, revenue, total, saved, withoutPrice: unpriced } = say.site.money;
  const names = [role.pv, role.generator, imported, exported, charged, discharged, consumption];
  const head = [
    say.site.from,
    ...names.map((name) => `${name} kWh`),
    `${selfSufficiency} %`,
    `${notKnown} h`,
    ...(currency ? [cost, standing, revenue, total, saved].map((name) => `${name} ${currency}`) : []),
    ...(currency ? [`${unpriced} kWh`] : []),
  ];
  const begun = buckets.filter(({ from }) => Date.parse(from) < nowMs);
  const rows = begun.map(({ from, to, ...book }) => {
    const pastS = Math.floor((Math.min(Date.parse(to), nowMs) - Date.parse(from)) / 1_000);
    const { sources_wh: sources, uses_wh: uses, self_sufficiency: ratio } = book;
    const told = (energyWh: number, of: Role): number | null =>
      isUnknown(book, of, pastS) ? null : kWh(energyWh);
    return [
      sheetTime(Date.parse(from), timezone),
      told(sources.pv, 'pv'),
      told(sources.generator, 'generator'),
      told(sources.grid, 'grid'),
      told(uses.grid, 'grid'),
      told(uses.battery, 'battery'),
      told(sources.battery, 'battery'),
      told(consumed(uses), 'load'),
      ratio === null ? null : Math.round(ratio * 100),
      Number((Math.max(0, ...Object.values(book.gap_s)) / HOUR_S).toFixed(2)),
      ...(book.money ? amountsOf(book.money) : []),
    ];
  });
  return sheetOf([head, ...rows]);
}

/** Money, and the kWh that it leaves out. */
const amountsOf = ({ unpriced_kwh: unpriced, ...money }: NonNullable<Book['money']>): number[] => [
  money.import_cost,
  money.standing_charge,
  money.export_revenue,
  money.total_cost,
  money.own_consumption_value,
  kWh((unpriced.import + unpriced.export) * 1_000),
];
const AMOUNTS = [
  'import_cost',
  'standing_charge',
  'export_revenue',
  'total_cost',
  'own_consumption_value',
  'unpriced_kwh',
];

/** True when its energy is unknown; without a meter, if all others are. Both sides count whole seconds. */
function isUnknown({ gap_s: gaps }: Pick<Book, 'gap_s'>, role: Role, pastS: DurationS): boolean {
  const gapS = gaps[role] ?? Math.min(...Object.values(gaps));
  return gapS >= pastS - 1;
}

/** Wh by source and use of each hour, day or month, and the unknown seconds. */
export function csvOfBooks({ buckets, currency }: Energy): string {
  const [first] = buckets;
  if (!first) return '';
  const head = [
    'from',
    'to',
    ...Object.keys(first.sources_wh).map((name) => `source_${name}_wh`),
    ...Object.keys(first.uses_wh).map((name) => `use_${name}_wh`),
    'self_sufficiency',
    'self_consumption',
    ...Object.keys(first.gap_s).map((name) => `gap_${name}_s`),
    ...(currency ? AMOUNTS.map((name) => (name === 'unpriced_kwh' ? name : `${name}_${currency}`)) : []),
  ];
  const rows = buckets.map(({ from, to, ...book }) => [
    from,
    to,
    ...Object.values(book.sources_wh),
    ...Object.values(book.uses_wh),
    book.self_sufficiency,
    book.self_consumption,
    ...Object.values(book.gap_s),
    ...(book.money ? amountsOf(book.money) : []),
  ]);
  return [head, ...rows].map((row) => `${row.map((cell) => cell ?? '').join(',')}\r\n`).join('');
}
