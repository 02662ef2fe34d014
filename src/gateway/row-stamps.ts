/** What was made by a wrong clock gets its true moment once the clock is right: in state.db, and in memory. */
import { createStampCorrector, type StampCorrection } from '../platform/clock/index.ts';
import { rowStampsOf } from '../platform/sqlite/index.ts';
import type { Infrastructure, StartedHook } from './infrastructure.ts';

/** Their capabilities correct more than a moment: ends of tokens, and the order of commands and their responses. */
const CORRECTED_ELSEWHERE = ['access_token', 'execution'];

/** Has rows in memory. */
interface Holder {
  restamp(correction: StampCorrection): void;
}

/** To be called before rows are read; those who keep them in memory join the returned list. */
export function keepRowStamps({ options, state }: Infrastructure, started: StartedHook): Holder[] {
  const { clock, log } = options;
  const restampRows = rowStampsOf(state, CORRECTED_ELSEWHERE);
  const holders: Holder[] = [];
  const restamp = (): void => {
    const correction = stamps.correction();
    if (!correction) return;
    try {
      restampRows(correction);
    } catch (error) {
      // The next start does it.
      log.warn('moments that a wrong clock gave could not be corrected', { error });
    }
    for (const holder of holders) holder.restamp(correction);
  };
  const stamps = createStampCorrector(clock, restamp);
  started('row stamps', () => stamps.stop());
  restamp();
  return holders;
}
