/** Values, ages and moments as people read them. */
import type { DurationS, EpochS } from '../lib/time.ts';
import { timesAs } from './zone.ts';
import type { Attribute, EnumItem, Manifest } from './shapes.ts';
import { unitText } from './units.ts';
import { language, locale, say } from './words/index.ts';

/** From this age on a value is shown as old. */
const STALE_AFTER_S = 30;
/** A slow attribute is late after so many of its usual pauses; a chart shows a gap then, too. */
const LATE_AFTER_PAUSES = 2.5;
/** A longer pause is shown as a gap. */
const PAUSE_MAX_S = 3_600;
/** A measurement from the future is not trusted beyond what clocks differ by. */
const CLOCK_DIFFERENCE_S = 60;

/** Scales of what a blueprint gives none for. */
const USUAL_SCALES: Readonly<Record<string, readonly string[]>> = { W: ['kW', 'MW'], Wh: ['kWh', 'MWh'] };

const PREFIXES: Readonly<Record<string, number>> = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** Factor between a unit and a scaled form of it (`W` → `kW` is 1000); undefined when they are not related. */
export function scaleFactor(unit: string, scaled: string): number | undefined {
  if (scaled === unit) return 1;
  const factor = scaled.endsWith(unit) ? PREFIXES[scaled.slice(0, scaled.length - unit.length)] : undefined;
  if (factor !== undefined) return factor;
  const of = PREFIXES[unit[0] ?? ''];
  const to = PREFIXES[scaled[0] ?? ''];
  return of !== undefined && to !== undefined && unit.slice(1) === scaled.slice(1) ? to / of : undefined;
}

interface Shown {
  text: string;
  unit: string;
  /** Colour of an enum value, as its manifest names it. */
  color?: string | undefined;
}

/** A unit as people write it; what the blueprint itself says of one stays. */
export function shownUnit(unit: string | undefined, manifest?: Pick<Manifest, 'units'>): string {
  const symbol = manifest?.units?.[unit ?? '']?.symbol;
  return symbol === undefined || symbol === unit ? unitText(unit ?? '') : unitText(symbol);
}

/** A value of an attribute with its unit, in the largest scale of the manifest that keeps it above 1. */
export function showValue(
  value: unknown,
  attribute: Attribute | undefined,
  manifest?: Manifest,
  name?: string,
): Shown {
  if (value === null || value === undefined) return { text: '–', unit: '' };
  const item = enumItem(value, attribute?.enum_with_metainfo);
  if (item) {
    const isNamed = item.display_name !== String(item.value);
    return { text: isNamed ? item.display_name : words(item.display_name), unit: '', color: item.color };
  }
  if (typeof value === 'boolean') return { text: value ? say.values.yes : say.values.no, unit: '' };
  if (typeof value === 'number')
    return showSpecial(value, name, attribute?.unit ?? '') ?? showNumber(value, attribute, manifest);
  if (Array.isArray(value))
    return { text: value.length === 0 ? say.values.none : value.map(String).join(', '), unit: '' };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { text: attribute?.enum ? words(text) : text, unit: '' };
}

function enumItem(value: unknown, items: EnumItem[] | undefined): EnumItem | undefined {
  return items?.find((item) => item.value === value);
}

function showNumber(value: number, attribute: Attribute | undefined, manifest: Manifest | undefined): Shown {
  const unit = attribute?.unit ?? '';
  let best = { factor: 1, unit };
  for (const scaled of attribute?.auto_scale ?? USUAL_SCALES[unit] ?? []) {
    const factor = scaleFactor(unit, scaled);
    if (factor !== undefined && Math.abs(value) >= factor && factor > best.factor)
      best = { factor, unit: scaled };
  }
  const shown = value / best.factor;
  return {
    // A larger unit would make a steady value lose and gain digits.
    text:
      best.factor === 1 ? numberText(shown, attribute?.type === 'integer') : numberAs(shown, digitsOf(shown)),
    unit: shownUnit(best.unit, manifest),
  };
}

/** As many digits after the mark as the smallest number of a column needs, so that marks stand below each other. */
export function columnDigits(values: readonly unknown[]): number {
  const numbers = values.filter((value): value is number => Number.isFinite(value));
  const sizes = numbers.map(Math.abs).filter((size) => size > 0);
  const most = sizes.length === 0 ? 0 : digitsOf(Math.min(...sizes));
  for (let digits = 0; digits < most; digits++)
    if (numbers.every((value) => Number(value.toFixed(digits)) === Number(value.toFixed(most))))
      return digits;
  return most;
}

/** A number with exactly so many digits after the mark. */
export const numberAs = (value: number, digits: number): string =>
  Number.isFinite(value)
    ? written(value, { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : '–';

/** A number in the language of the reader. */
export function written(value: number, format: Intl.NumberFormatOptions): string {
  // Zero has no sign, whatever it was rounded from.
  const text = value
    .toLocaleString(locale, format)
    .replace(/^-(?=[0.,]+$)/, '')
    .replaceAll('-', '−');
  // Commas between thousands look like those before a fraction to half of the world.
  return language === 'en' ? text.replaceAll(',', ' ') : text;
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
/** Shorter times are read as seconds. */
const SPELLED_FROM_S = 120;
const SECONDS: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3_600, d: 86_400 };
/** Nobody plans for longer: more digits would only look exact. */
const YEARS_MAX = 20;
const YEAR_S = 365.25 * 86_400;

/** `1.2 MB` */
export function bytesText(bytes: number): string {
  const { text, unit } = showBytes(bytes);
  return `${text} ${unit}`;
}

function showBytes(bytes: number): Shown {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), BYTE_UNITS.length - 1);
  return { text: numberText(bytes / 1_000 ** step), unit: BYTE_UNITS[step] ?? '' };
}

/** Sizes and long times in units that a person reads. */
function showSpecial(value: number, name: string | undefined, unit: string): Shown | undefined {
  if (unit === 'By' || (unit === '' && name?.endsWith('_bytes') === true)) return showBytes(value);
  if (value * (SECONDS[unit] ?? 0) > YEARS_MAX * YEAR_S)
    return { text: say.values.moreThanYears(YEARS_MAX), unit: '' };
  if (unit !== 's' || value < SPELLED_FROM_S) return undefined;
  const days = Math.floor(value / 86_400);
  const hours = Math.floor((value % 86_400) / 3_600);
  const minutes = Math.floor((value % 3_600) / 60);
  const parts =
    days > 0
      ? [say.values.days(days), say.values.hours(hours)]
      : [...(hours > 0 ? [say.values.hours(hours)] : []), say.values.minutes(minutes)];
  return { text: parts.join(' '), unit: '' };
}

/** Title of an attribute; the unit of sizes is written with the value. */
export function attributeTitle(name: string, attribute: Attribute | undefined): string {
  return (attribute?.display_name ?? words(name)).replace(/ \(bytes\)$/, '');
}

/** No scale makes more digits than these readable. */
const LONG_FROM = 1e15;

/**
 * Below this the first digits count, not those after the decimal mark; still smaller numbers are rounding errors of
 * zero.
 */
const SMALL_TO = 1e-3;
const SMALL_FROM = 1e-9;
const EXPONENT_BELOW = 1e-6;

/** About four digits: more cannot be read at a glance. */
export function numberText(value: number, isInteger = false): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= LONG_FROM) return written(value, { notation: 'scientific', maximumFractionDigits: 3 });
  if (size >= SMALL_FROM && size < SMALL_TO)
    return written(value, {
      maximumSignificantDigits: 3,
      notation: size < EXPONENT_BELOW ? 'scientific' : 'standard',
    });
  return written(value, { maximumFractionDigits: isInteger ? 0 : digitsOf(value) });
}

/** Digits after the mark that are shown of a number of this size. */
function digitsOf(value: number): number {
  const size = Math.abs(value);
  if (size >= 1_000) return 0;
  return size >= 100 ? 1 : size >= 0.1 || size === 0 ? 2 : 4;
}

/** `lithium_based` → `Lithium based`. */
export function words(name: string): string {
  const text = name.replaceAll(/[_-]+/g, ' ').trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** An age in its largest unit: `12 s`, `5 min`, `3 h`, `2 d`. */
export function ageText(ageS: DurationS): string {
  if (ageS < 60) return say.values.seconds(Math.max(0, Math.floor(ageS)));
  if (ageS < 3_600) return say.values.minutes(Math.floor(ageS / 60));
  if (ageS < 172_800) return say.values.hours(Math.floor(ageS / 3_600));
  return say.values.days(Math.floor(ageS / 86_400));
}

/** `4 min`, `2 h 10 min`, `22 d 10 h`: its two largest parts, of minutes that were rounded. */
export function spanText(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / 60));
  const parts = [
    [Math.floor(minutes / 1_440), say.values.days],
    [Math.floor(minutes / 60) % 24, say.values.hours],
    [minutes % 60, say.values.minutes],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .flatMap(([count, text]) => (count > 0 ? text(count) : []))
    .join(' ');
}

/**
 * How old a value is by the gateway's clock. No measurement is younger than its arrival, so one from the future counts from
 * then; it is not trusted when the arrival is unknown, or was by a clock that is ahead, too.
 * @param pauseS between two measurements, as usual; 0: not known
 */
export function freshness(
  timestampS: EpochS,
  receivedAtS: EpochS | undefined,
  nowS: EpochS,
  pauseS: DurationS = 0,
): { ageS: DurationS; isStale: boolean } {
  const atS = Math.min(timestampS, receivedAtS ?? timestampS);
  if (isAhead(atS, nowS)) return { ageS: 0, isStale: true };
  const ageS = Math.max(0, nowS - atS);
  const lateS = pauseS > PAUSE_MAX_S ? 0 : pauseS * LATE_AFTER_PAUSES;
  return { ageS, isStale: ageS > Math.max(STALE_AFTER_S, lateS) };
}

/** Whether an instant is later than clocks differ by: it is that of a wrong clock. */
export function isAhead(atS: EpochS, nowS: EpochS): boolean {
  return atS > nowS + CLOCK_DIFFERENCE_S;
}

/** Day, month and time of an instant where the site is. */
export function momentText(instant: string | number): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return '–';
  return timesAs({ dateStyle: 'medium', timeStyle: 'medium' }).format(date);
}

export function clockText(instant: string | number): string {
  return timesAs({ timeStyle: 'medium' }).format(new Date(instant));
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  GATEWAY: say.values.gateway,
  STANDALONE: say.values.standalone,
  LUA: say.values.lua,
  VIRTUAL_UCM: say.values.module,
  HARDWARE_UCM: say.values.hardwareModule,
};

export function typeName(type: string): string {
  return TYPE_NAMES[type] ?? words(type.toLowerCase());
}
