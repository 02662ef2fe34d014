/** The state of a rule, in a word. */
import { isAway } from '../connection.ts';
import { ageText } from '../format.ts';
import { nowS } from '../gateway-time.ts';
import type { Rule } from '../shapes.ts';
import { say } from '../words/later.ts';

function stateOf(rule: Rule): { kind: string; text: string } {
  const { state, disabled, starting, broken, restarts_at: restartsAt } = rule;
  if (disabled) return { kind: '', text: say.rules.disabled };
  if (broken) return { kind: 'error', text: say.rules.doesNotCompile };
  if (state === 'STARTED') return { kind: 'success', text: say.rules.running };
  if (starting) return { kind: 'in_progress', text: say.rules.starting };
  if (restartsAt === undefined) return { kind: '', text: say.rules.ended };
  const leftS = Date.parse(restartsAt) / 1_000 - nowS.value;
  return {
    kind: 'error',
    text: leftS > 0 ? say.rules.failedAgainIn(ageText(leftS)) : say.rules.failedStarting,
  };
}

/** It is enabled, but broken or failing. */
export function isAtFault({ disabled, broken, restarts_at: restartsAt }: Rule): boolean {
  return !disabled && (broken === true || restartsAt !== undefined);
}

export function RuleBadge({
  rule,
  isSuspended,
  isKnown,
}: {
  rule: Rule;
  isSuspended: boolean;
  /** The last read did not fail. */
  isKnown: boolean;
}) {
  // Its state before the connection was lost is not the state of now.
  if (isAway.value || !isKnown) return <span class="badge">{say.values.status.UNKNOWN}</span>;
  if (isSuspended && !rule.disabled) return <span class="badge">{say.rules.suspended}</span>;
  const { kind, text } = stateOf(rule);
  return <span class={`badge ${kind}`}>{text}</span>;
}
