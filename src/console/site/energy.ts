/** Powers and energies of the site as text; every number comes from the API. */
import type { EnergyOnWire, EnergySourcesOnWire, PowerNowOnWire } from '../../capabilities/energy/schema.ts';
import type { DurationS } from '../../lib/time.ts';
import { ageText, numberAs } from '../format.ts';
import { locale, say } from '../words/index.ts';

export const ENERGY_ROLES = [
  'pv',
  'generator',
  'battery',
  'grid',
  'load',
  'electrolyser',
  'ev_charger',
  'heat_pump',
] as const satisfies Role[];
export type Role = PowerNowOnWire['roles'][number]['role'];

export type PowerNow = PowerNowOnWire;
export type RoleNow = PowerNow['roles'][number];
export type Energy = EnergyOnWire;
export type Book = Energy['total'];
export type Source = EnergySourcesOnWire['items'][number];

/** Uses that count as consumption. */
const CONSUMERS = ['load', 'electrolyser', 'ev_charger', 'heat_pump'] as const;

/** Energy that uses took from one source, or from all. */
export const consumed = (uses: Readonly<Record<(typeof CONSUMERS)[number], number>>): number =>
  CONSUMERS.reduce((sum, use) => sum + uses[use], 0);

/** Below this power nothing flows: meters and standby are never quite at zero. */
const STILL_W = 5;

/** 1 towards the site, −1 away from it, 0 when nothing flows. */
export function directionOf({ role, power_w: powerW }: RoleNow): -1 | 0 | 1 {
  if (powerW === null || Math.abs(powerW) < STILL_W) return 0;
  const isGiving = role === 'pv' || role === 'generator' || role === 'battery' || role === 'grid';
  return isGiving === powerW > 0 ? 1 : -1;
}

/** Its state in a word. */
export function doingOf(now: RoleNow): string {
  if (now.power_w === null && now.reason === 'implausible') return say.site.valueImplausible;
  if (now.power_w === null) return now.reason === 'stale' ? say.site.noValueNow : say.site.noValueYet;
  if (now.reason !== null) return say.site.partlyKnown;
  const direction = directionOf(now);
  const { doing } = say.site;
  switch (now.role) {
    case 'battery':
      return direction > 0 ? doing.discharging : direction < 0 ? doing.charging : doing.idle;
    case 'grid':
      return direction > 0 ? doing.importing : direction < 0 ? doing.exporting : doing.balanced;
    case 'load':
      return now.is_calculated ? doing.calculated : doing.consuming;
    default:
      return direction === 0 ? doing.idle : direction > 0 ? doing.delivering : doing.consuming;
  }
}

/** A meter that sends every minute is not late yet. */
const LATE_AFTER_S: DurationS = 90;

/** How long ago the oldest of its values was measured; undefined while all are of now. */
export function lateText(
  { role, is_calculated: isCalculated }: RoleNow,
  { sources }: PowerNow,
): string | undefined {
  const own = sources.filter((source) => source.power_w !== null && (isCalculated || source.role === role));
  const ageS = Math.max(0, ...own.map((source) => source.age_s ?? 0));
  return ageS > LATE_AFTER_S ? say.values.ago(ageText(ageS)) : undefined;
}

/** As many digits as mean something. */
function scaled(amount: number): { text: string; prefix: string } {
  if (Math.round(amount) < 1_000) return { text: numberAs(amount, 0), prefix: '' };
  if (amount < 1e6) return { text: numberAs(amount / 1_000, amount < 100_000 ? 1 : 0), prefix: 'k' };
  return { text: numberAs(amount / 1e6, 2), prefix: 'M' };
}

/** `850 W`, `3.2 kW`, without its sign */
export function powerText(powerW: number): { text: string; unit: string } {
  const { text, prefix } = scaled(Math.abs(powerW));
  return { text, unit: `${prefix}W` };
}

/** `12.4 kWh` */
export function energyText(energyWh: number): string {
  const { text, prefix } = scaled(energyWh);
  return `${text} ${prefix}Wh`;
}

const partsOf = (currency: string) =>
  new Intl.NumberFormat(locale, { style: 'currency', currency }).formatToParts(0);

/** `€` */
export const currencySymbol = (currency: string): string =>
  partsOf(currency).find(({ type }) => type === 'currency')?.value ?? currency;

/** `12.40 €` */
export function moneyText(amount: number, currency: string): string {
  const parts = partsOf(currency);
  const digits = parts.find(({ type }) => type === 'fraction')?.value.length ?? 0;
  return `${numberAs(amount, digits)} ${currencySymbol(currency)}`;
}

export const percentText = (ratio: number | null): string =>
  ratio === null ? '–' : `${Math.round(ratio * 100)} %`;
