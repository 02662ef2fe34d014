/** The meaning of the present power flows, in a sentence and its most important consequence. Pure. */
import { directionOf, type PowerNow, powerText, type Role, type RoleNow } from './energy.ts';
import { locale, say } from '../words/index.ts';

type Source = 'pv' | 'generator' | 'battery' | 'grid';
const SOURCES = ['pv', 'generator', 'battery', 'grid'] as const satisfies readonly Source[];
/** Roles that take power, those first that take it on purpose. */
const SINKS = ['battery', 'ev_charger', 'heat_pump', 'electrolyser', 'grid'] as const;
/** A smaller share is noise of a meter, and no supply. */
const SHARE_MIN = 0.05;
/** More consequences are no sentence any more. */
const SAID_MAX = 2;

/** Where the power comes from now, with how much. */
export function supplyOf({ roles }: PowerNow): { role: Source; powerW: number }[] {
  const giving = SOURCES.flatMap((role) => {
    const now = roles.find((one) => one.role === role);
    return now && directionOf(now) > 0 ? [{ role, powerW: Math.abs(now.power_w ?? 0) }] : [];
  });
  const whole = giving.reduce((sum, { powerW }) => sum + powerW, 0);
  return giving.filter(({ powerW }) => powerW >= SHARE_MIN * whole);
}

const LIST = new Intl.ListFormat(locale, { type: 'conjunction' });
const begun = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const amountOf = (now: RoleNow): string => {
  const { text, unit } = powerText(now.power_w ?? 0);
  return `${text} ${unit}`;
};

/** The sentence above the picture, and what follows from it. */
export function sentenceOf(power: PowerNow): { title: string; more: string } {
  const { flow } = say.site;
  const supply = supplyOf(power);
  const [only, ...others] = supply;
  if (!only) {
    const isUnknown = power.roles.every(({ power_w: powerW }) => powerW === null);
    return isUnknown ? { title: flow.unknown, more: flow.unknownMore } : { title: flow.still, more: '' };
  }
  const title =
    others.length === 0
      ? flow.alone[only.role]
      : flow.several(begun(LIST.format(supply.map(({ role }) => flow.name[role]))));
  return { title, more: begun(consequenceOf(power)) };
}

function consequenceOf({ roles }: PowerNow): string {
  const { flow } = say.site;
  const of = (wanted: Role): RoleNow | undefined => roles.find(({ role }) => role === wanted);
  const taking = SINKS.flatMap((role) => {
    const now = of(role);
    return now && directionOf(now) < 0 ? [flow.into[role](amountOf(now))] : [];
  });
  if (taking.length > 0) return `${LIST.format(taking.slice(0, SAID_MAX))}.`;
  const battery = of('battery');
  const charge = battery?.state_of_charge_percent ?? undefined;
  if (battery && charge !== undefined && directionOf(battery) > 0) return flow.left(Math.round(charge));
  const grid = of('grid');
  return grid && directionOf(grid) > 0 ? flow.fromGrid(amountOf(grid)) : '';
}
