/** A rolled-back version in a sentence for the operator. */
import { formatTimestamp } from '../../lib/time.ts';
import type { TrialFailure } from '../../platform/packages/index.ts';

export function sentenceOf({ atMs, version, reason, status, words }: TrialFailure): string {
  const said = words === undefined ? '' : `: ${words}`;
  return `Version ${version} went away at ${formatTimestamp(atMs)}: ${WHY[reason](status ?? 'no exit code')}${said}`;
}

const WHY: Record<TrialFailure['reason'], (status: string) => string> = {
  NOT_READY: () => 'it did not become ready in time',
  ENDED: (status) => `it ended by itself several times (${status})`,
  REFUSED: () => 'it refused to run',
  HUNG: () => 'it hung',
  CUT_OFF: () => 'it was cut off several times before it was ready',
  NO_COPY: () => 'there was no room for a copy of the state, so it was not started',
  OTHER: () => 'see energy-gateway-versions status on the box',
};
