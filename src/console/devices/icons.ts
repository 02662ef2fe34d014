/** The drawing of a device: that of the icon its blueprint names, that of its role of energy, or a letter. Pure. */
import { DEVICE_ICON, ROLE_ICONS } from '../site/role-icons.ts';
import type { Role } from '../site/energy.ts';
import type { Place } from './roles.ts';

const METER = 'M4 4h16v16H4zM7.500 8h9v4h-9zM8 16h2M14 16h2';
const PLUG = 'M8 3v5M16 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v4';
const DROP = ROLE_ICONS.electrolyser;
const CLOUD = 'M7 19a4.500 4.500 0 0 1-.500-9 6 6 0 0 1 11.300 1.500A3.800 3.800 0 0 1 17.500 19z';
const PRICE = 'M3 12V4h8l10 10-8 8zM7.500 7.500v.500';
const WARMTH = 'M10 4a2 2 0 0 1 4 0v9.500a4.500 4.500 0 1 1-4 0zM12 9v8';
const FAN = 'M12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM12 10c-3-6 4-8 5-4s-3 4-5 4zM12 14c3 6-4 8-5 4s3-4 5-4z';
const LIGHT = 'M9 18h6M10 21h4M9 18c0-3-3-4-3-8a6 6 0 0 1 12 0c0 4-3 5-3 8';
const GAUGE = 'M4 18a9 9 0 1 1 16 0M12 14l4-5';
const NETWORK =
  'M4 15h16v5H4zM8 15v-3M16 15v-3M7.500 8a6.500 6.500 0 0 1 9 0M10 10.500a3 3 0 0 1 4 0M7.500 17.500h.500';

/** Roles that a blueprint's icon shows; the first word that is found counts. */
const ROLE_WORDS: readonly [RegExp, Role][] = [
  [/solar|sun(ny)?\b|photovoltaic|inverter/, 'pv'],
  [/battery/, 'battery'],
  [/charger|charging|\bcar\b|\bev\b/, 'ev_charger'],
  [/heat-?pump|hvac|air-conditioner|heater|radiator|boiler/, 'heat_pump'],
  [/transmission|\bgrid\b/, 'grid'],
  [/generator|engine|flash|lightning/, 'generator'],
  [/electrolyser|electrolyzer|hydrogen|fuel-cell/, 'electrolyser'],
  [/home|house/, 'load'],
];

const DRAWINGS: readonly [RegExp, string][] = [
  [/meter|counter/, METER],
  [/socket|outlet|plug|switch/, PLUG],
  [/thermo|temperature|fire/, WARMTH],
  [/water|pump|pipe|tank/, DROP],
  [/weather|cloud/, CLOUD],
  [/price|currency|cash|tag/, PRICE],
  [/fan|wind|air/, FAN],
  [/light|lamp|bulb/, LIGHT],
  [/gauge|speed|sensor/, GAUGE],
  [/lan|wi-?fi|router|network|server|chip|cpu|module|gateway/, NETWORK],
];

const find = <Found>(table: readonly [RegExp, Found][], name: string): Found | undefined =>
  table.find(([words]) => words.test(name))?.[1];

/** The role that the icon of a blueprint stands for, of a device that the site does not count. */
export function roleOfIcon(icon: string | undefined): Role | undefined {
  return icon === undefined || /meter/.test(icon) ? undefined : find(ROLE_WORDS, icon);
}

/** A path of 24 by 24 to be drawn with lines, or a letter. @param name of the device or its blueprint, for the letter */
export function iconOf(
  icon: string | undefined,
  place: Place,
  name: string,
): { path: string } | { letter: string } {
  if (place !== 'other' && place !== 'box') return { path: ROLE_ICONS[place] };
  if (icon === undefined || icon === '') return { path: DEVICE_ICON };
  const path = find(DRAWINGS, icon);
  return path === undefined ? { letter: name.trim().charAt(0).toUpperCase() } : { path };
}
