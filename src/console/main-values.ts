/** Which values of a device say most, and how many values are put in order. */
import { groupBy } from './group-by.ts';
import type { Manifest } from './shapes.ts';
import { say } from './words/index.ts';

/** Names that devices of most kinds have, the most telling first. */
const TELLING = [
  // The least and the greatest one are settings.
  /(^|_)(?<!(min|max)_)soc$/,
  /^(total_)?power$|^ac_total_power$/,
  /^pv_total_power$/,
  /^grid_total_power$/,
  /^load_total_power$/,
  /^battery_power$/,
  /_power$/,
  /temperature$/,
  /energy/,
  /voltage$/,
];

const ABOUT_STATE = /^(status|state|mode)$/;
const COUNT = 4;

interface MainValues {
  /** Attribute that tells the device's state in a word. */
  state: string | undefined;
  numbers: string[];
}

export function mainValues({ telemetry }: Manifest): MainValues {
  const names = Object.keys(telemetry);
  const isNumber = (name: string): boolean => /^(float|integer)$/.test(telemetry[name]?.type ?? '');
  const rank = (name: string): number => {
    const found = TELLING.findIndex((pattern) => pattern.test(name));
    return found < 0 ? TELLING.length : found;
  };
  const numbers = names.filter(isNumber).toSorted((a, b) => rank(a) - rank(b));
  return { state: names.find((name) => ABOUT_STATE.test(name)), numbers: numbers.slice(0, COUNT) };
}

/** Whether it says nothing about the device, as that of a new one. */
export function isBlank(manifest: Manifest): boolean {
  const { properties, commands } = manifest;
  return groupValues(manifest).length + Object.keys({ ...properties, ...commands }).length === 0;
}

interface ValueGroup {
  title: string;
  names: string[];
}

/** Larger groups are divided by one more word, if there is one. */
const GROUP_MAX = 30;

/** Attributes by the first word of their names, those alone with theirs first of all. */
export function groupValues(manifest: Manifest): ValueGroup[] {
  const names = Object.keys(manifest.telemetry).filter((name) => {
    const type = manifest.telemetry[name]?.type;
    return type !== 'alerts' && name !== 'alert_details';
  });
  return groupsOf(names, '', 1);
}

/** @param start what they have in common */
function groupsOf(names: readonly string[], start: string, words: number): ValueGroup[] {
  const byStart = groupBy(names, (name) => name.split('_').slice(0, words).join('_'));
  const groups = [...byStart].filter(([, members]) => members.length > 1);
  const alone = [...byStart].flatMap(([, members]) => (members.length > 1 ? [] : members));
  return [
    ...(alone.length > 0 ? [{ title: titleOf(start), names: alone }] : []),
    ...groups.flatMap(([common, members]) =>
      members.length > GROUP_MAX
        ? groupsOf(members, common, words + 1)
        : [{ title: titleOf(common), names: members }],
    ),
  ];
}

/** Short first words are abbreviations. */
function titleOf(start: string): string {
  const [word = '', ...others] = start.split('_');
  const said = say.values.groups[word];
  const isShort = word.length <= 3;
  const first = isShort ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1);
  return [said ?? first, ...others].join(' ');
}

/** Attributes that a chart can show. */
export function drawable({ telemetry }: Manifest): string[] {
  return Object.entries(telemetry)
    .filter(([, { type }]) => type === 'float' || type === 'integer' || type === 'boolean')
    .map(([name]) => name);
}
