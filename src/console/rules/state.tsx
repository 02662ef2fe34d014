/** What a rule does now, in a word. */
import { ageText } from '../format.ts';
import { nowS } from '../gateway-time.ts';
import type { Rule } from '../shapes.ts';

function stateOf(rule: Rule): { kind: string; text: string } {
  const { state, disabled, starting, broken, restarts_at: restartsAt } = rule;
  if (disabled) return { kind: '', text: 'Disabled' };
  if (broken) return { kind: 'error', text: 'Does not compile' };
  if (state === 'STARTED') return { kind: 'success', text: 'Running' };
  if (starting) return { kind: 'in_progress', text: 'Starting…' };
  if (restartsAt === undefined) return { kind: '', text: 'Ended' };
  const leftS = Date.parse(restartsAt) / 1_000 - nowS.value;
  return { kind: 'error', text: leftS > 0 ? `Failed, again in ${ageText(leftS)}` : 'Failed, starting again' };
}

/** It is enabled, and something keeps it from running. */
export function isAtFault({ disabled, broken, restarts_at: restartsAt }: Rule): boolean {
  return !disabled && (broken === true || restartsAt !== undefined);
}

export function RuleBadge({ rule, isSuspended }: { rule: Rule; isSuspended: boolean }) {
  if (isSuspended && !rule.disabled) return <span class="badge">Suspended</span>;
  const { kind, text } = stateOf(rule);
  return <span class={`badge ${kind}`}>{text}</span>;
}
