/** A rule as a sentence, as far as it is made from a strategy. */
import { attributeTitle, numberText, shownUnit, spanText } from '../format.ts';
import { liveDevice } from '../live.ts';
import type { Rule, Strategy } from '../shapes.ts';
import { say } from '../words/later.ts';
import { WEEKDAYS } from '../../lib/weekdays.ts';
import { inWords } from './strategies.ts';

type Values = Readonly<Record<string, unknown>>;

/** `Battery · State of Charge`; names as far as the device is known. */
function partText(value: unknown): string {
  const { device = '', attribute, command } = value as Partial<Record<string, string>>;
  const live = liveDevice(device);
  const { telemetry, commands } = live?.manifest ?? {};
  const part =
    attribute === undefined
      ? (commands?.[command ?? '']?.display_name ?? command)
      : attributeTitle(attribute, telemetry?.[attribute]);
  return [live?.device.name ?? device, part].filter(Boolean).join(' · ');
}

function limitText(watched: unknown, limit: unknown): string {
  const { device = '', attribute = '' } = watched as Partial<Record<string, string>>;
  const { manifest } = liveDevice(device) ?? {};
  const unit = shownUnit(manifest?.telemetry[attribute]?.unit, manifest);
  return `${numberText(Number(limit))} ${unit}`.trim();
}

/** Names of the devices that a strategy works with, each once. */
function devicesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { device } = value as { device?: unknown };
  const own = typeof device === 'string' ? [liveDevice(device)?.device.name ?? device] : [];
  return [...new Set([...own, ...Object.values(value).flatMap(devicesIn)])];
}

function daysText(days: readonly string[]): string {
  if (days.length === WEEKDAYS.length) return say.rules.everyDay;
  return WEEKDAYS.filter((day) => days.includes(day))
    .map((day) => say.rules.weekday[day])
    .join(', ');
}

/** Undefined for a script of somebody's own, and until the strategies are known. */
export function ruleInWords({ strategy: made }: Rule, strategies: readonly Strategy[]): string | undefined {
  const strategy = strategies.find(({ id }) => id === made?.id);
  if (!made || !strategy) return undefined;
  const given: Values = made.parameters;
  if (strategy.id === 'limit')
    return say.rules.whenLimit(
      partText(given['watched']),
      given['side'] === 'below',
      limitText(given['watched'], given['limit']),
      Number(given['hold_s']) > 0 ? spanText(Number(given['hold_s'])) : '',
      partText(given['action']),
    );
  if (strategy.id === 'daily')
    return say.rules.atTime(
      String(given['at']),
      daysText((given['days'] ?? []) as string[]),
      partText(given['action']),
    );
  return [inWords(strategy.name), devicesIn(given).join(', ')].filter(Boolean).join(': ');
}
