/** Steps of a run of a rule, in plain words. */
import { attributeTitle, showValue, words } from '../format.ts';
import { liveDevice } from '../live.ts';
import type { RuleRun, RuleRunStep } from '../shapes.ts';
import { say } from '../words/later.ts';

const READS: readonly RuleRunStep['kind'][] = ['event', 'telemetry', 'aggregate', 'property', 'online'];
const ACTIONS: readonly RuleRunStep['kind'][] = ['command', 'output', 'release', 'notify', 'http', 'device'];

/** `Grid meter · Power −3.2 kW → Set current 13 A requested from Wallbox`: each value and action once. */
export function runText({ steps, error }: RuleRun): string {
  const textsOf = (kinds: typeof READS): string =>
    [...new Set(steps.filter(({ kind }) => kinds.includes(kind)).map(stepText))].join(', ');
  const done = [textsOf(ACTIONS), ...(error === undefined ? [] : [error])].filter(Boolean).join(', ');
  return [textsOf(READS), done || say.rules.didNothing].filter(Boolean).join(' → ');
}

export function stepText(step: RuleRunStep): string {
  const text = textOf(step);
  if (step.is_hidden) return `${text}: ${say.rules.notForYou}`;
  return step.error === undefined ? text : `${text}: ${say.frame.logged(step.error)}`;
}

function textOf(step: RuleRunStep): string {
  const { kind, name = '', result, arguments: given } = step;
  const device = step.device_name ?? step.device_id ?? '';
  const part = (title: string): string => `${device} · ${title}`;
  switch (kind) {
    case 'event':
      return name === '' ? onlineText(device, result) : `${part(titleOf(step))} ${valueText(step, result)}`;
    case 'telemetry':
      return `${part(titleOf(step))} ${valueText(step, result)}`.trim();
    case 'aggregate':
      return `${part(titleOf(step))} (${shownText(given?.['kind'])}) ${valueText(step, result)}`.trim();
    case 'property':
      return `${part(words(name))} ${valueText(step, result)}`.trim();
    case 'online':
      return onlineText(device, result);
    case 'device':
      return say.rules.missingDevice(name);
    case 'command':
      return say.rules.sentTo(commandText(step), device);
    case 'output':
      return say.rules.requestedFrom(commandText(step), device);
    case 'release':
      return say.rules.releasedOf(commandText(step), device);
    case 'notify':
      return step.error === undefined ? say.rules.notified(name) : say.rules.notNotified(name);
    case 'http':
      return `${name} ${shownText(given?.['url'])} ${shownText(result)}`.trim();
    case 'storage_read':
      return say.rules.storageRead(name, shownText(result));
    case 'storage_write':
      return say.rules.storageWritten(name, shownText(given?.['value']));
    case 'storage_remove':
      return say.rules.storageRemoved(name);
  }
}

const onlineText = (device: string, isOnline: unknown): string =>
  `${device} · ${isOnline === true ? say.values.status.ONLINE : say.values.status.OFFLINE}`;

const declaredOf = ({ device_id: id, name = '' }: RuleRunStep) =>
  liveDevice(id ?? '')?.manifest?.telemetry[name];

const titleOf = (step: RuleRunStep): string => attributeTitle(step.name ?? '', declaredOf(step));

function valueText(step: RuleRunStep, value: unknown): string {
  if (value === undefined) return '';
  const { text, unit } = showValue(value, declaredOf(step), liveDevice(step.device_id ?? '')?.manifest);
  return `${text} ${unit}`.trim();
}

/** `Set current 13 A`: arguments by their names only where there are several. */
function commandText({ device_id: id, name = '', arguments: given = {} }: RuleRunStep): string {
  const { manifest } = liveDevice(id ?? '') ?? {};
  const command = manifest?.commands?.[name];
  const entries = Object.entries(given).map(([key, value]) => {
    const argument = command?.arguments?.[key];
    const { text, unit } = showValue(value, argument as never, manifest);
    const shown = `${text} ${unit}`.trim();
    return Object.keys(given).length === 1 ? shown : `${argument?.display_name ?? key} ${shown}`;
  });
  return [command?.display_name ?? name, entries.join(', ')].filter(Boolean).join(' ');
}

const shownText = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
