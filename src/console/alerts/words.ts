/** Alerts and deliveries as people read them. Pure. */
import type { EpochMs, EpochS } from '../../lib/time.ts';
import { ageText, momentText, words } from '../format.ts';
import type { Alert, Delivery } from '../shapes.ts';
import { say } from '../words/index.ts';

export const SEVERITIES = ['error', 'warning', 'info'] as const;
/** Parts of an alert's details that need no name. */
const SENTENCES = new Set(['errmsg', 'message']);

/** How long it is, or was, raised. */
export function lastedText({ raised_at: from, cleared_at: to }: Alert, nowMs: EpochMs): string {
  const ageS = Math.max(0, ((to === null ? nowMs : Date.parse(to)) - Date.parse(from)) / 1_000);
  return ageText(ageS);
}

export function periodText({
  raised_at: from,
  cleared_at: to,
}: Pick<Alert, 'raised_at' | 'cleared_at'>): string {
  if (to === null) return say.alerts.since(momentText(from));
  const start = momentText(from);
  const end = momentText(to);
  const day = start.slice(0, start.lastIndexOf(','));
  return `${start} – ${end.startsWith(day) ? end.slice(day.length + 2) : end}`;
}

/** Details of an alert from a device: a sentence as it is, the parts of an object by their names. */
export function detailsText(details: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(details);
  } catch (error) {
    if (error instanceof SyntaxError) return details;
    throw error;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return details;
  return Object.entries(parsed)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return SENTENCES.has(key) ? text : `${words(key)}: ${text}`;
    })
    .join(' · ');
}

export function statusText({ status, attempts }: Delivery): string {
  return attempts > 1 ? say.alerts.attempts(say.alerts.status[status], attempts) : say.alerts.status[status];
}

export function contentText({
  kind,
  raised_count: raised,
  cleared_count: cleared,
  omitted_count: more,
  message,
}: Delivery) {
  if (kind === 'TEST') return say.alerts.testMessage;
  if (message) return say.alerts.ruleMessage(message.rule.slug, message.title);
  const parts = [
    ...(raised > 0 ? [say.alerts.raisedCount(raised)] : []),
    ...(cleared > 0 ? [say.alerts.clearedCount(cleared)] : []),
    ...(more > 0 ? [say.alerts.moreCount(more)] : []),
  ];
  return parts.join(', ');
}

/** A time range of the history page that shows the whole alert. */
export function historyWindow(
  { raised_at: from, cleared_at: to }: Alert,
  nowMs: EpochMs,
): [fromS: EpochS, toS: EpochS] {
  const fromMs = Date.parse(from);
  const toMs = to === null ? nowMs : Date.parse(to);
  const aroundMs = Math.max(600_000, (toMs - fromMs) / 4);
  return [Math.floor((fromMs - aroundMs) / 1_000), Math.ceil(Math.min(nowMs, toMs + aroundMs) / 1_000)];
}
