/** What is asked of the gateway by a button or by being shown. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DurationMs } from '../../lib/time.ts';
import { isAway, isConnected } from '../connection.ts';

export interface Action<Parameters extends unknown[] = []> {
  isBusy: boolean;
  /** It was done, and nothing was changed since. */
  isDone: boolean;
  error: unknown;
  /** Resolves with whether it was done. */
  start: (...parameters: Parameters) => Promise<boolean>;
  clear: () => void;
}

const IDLE = { isBusy: false, isDone: false, error: undefined };

/** Something that is asked of the gateway by a button: busy while it runs, with its error after. */
export function useAction<Parameters extends unknown[]>(
  run: (...parameters: Parameters) => Promise<unknown>,
): Action<Parameters> {
  const [state, setState] = useState<Pick<Action, 'isBusy' | 'isDone' | 'error'>>(IDLE);
  const running = useRef(false);
  return {
    ...state,
    clear: () => setState(IDLE),
    start: async (...parameters) => {
      // A second press before the first is answered must not ask twice.
      if (running.current) return false;
      running.current = true;
      setState({ ...IDLE, isBusy: true });
      try {
        await run(...parameters);
        setState({ ...IDLE, isDone: true });
        return true;
      } catch (error) {
        setState({ ...IDLE, error });
        return false;
      } finally {
        running.current = false;
      }
    },
  };
}

/** An answer that takes longer may never come. */
const ANSWER_MAX_MS = 15_000;

interface Answered<Answer> {
  answer: Answer | undefined;
  error: unknown;
  again: () => void;
  /** Asks again unless an answer is on its way: one that is slower than the refreshes would never be drawn. */
  refresh: () => void;
}

/** What the gateway answers; asked again when `keys` change or `again` is called. */
export function useAnswer<Answer>(ask: () => Promise<Answer>, keys: readonly unknown[]): Answered<Answer> {
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  const askedAtMs = useRef<number | undefined>(undefined);
  // Known before what it means is drawn.
  const hasFailed = useRef(false);
  useEffect(() => {
    let isCurrent = true;
    askedAtMs.current = performance.now();
    ask().then(
      (found) => {
        if (!isCurrent) return;
        askedAtMs.current = undefined;
        hasFailed.current = false;
        setAnswer(found);
        setError(undefined);
      },
      (failure: unknown) => {
        if (!isCurrent) return;
        askedAtMs.current = undefined;
        hasFailed.current = true;
        setError(failure);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...keys, round]);
  const isBack = isConnected.value;
  const wasAway = useRef(false);
  if (isAway.value) wasAway.current = true;
  useEffect(() => {
    if (!isBack) return;
    // What could not be read while the gateway was away is read when it is back, and what was asked of it meanwhile.
    if (hasFailed.current || (wasAway.current && askedAtMs.current !== undefined))
      setRound((count) => count + 1);
    wasAway.current = false;
  }, [isBack]);
  const again = (): void => setRound((count) => count + 1);
  const refresh = (): void => {
    if (performance.now() - (askedAtMs.current ?? -Infinity) > ANSWER_MAX_MS) again();
  };
  return { answer, error, again, refresh };
}

/** Does it again and again while somebody looks, and at once for who comes back after a while. */
export function useRefresh(refresh: () => void, everyMs: DurationMs): void {
  const latest = useRef(refresh);
  latest.current = refresh;
  useEffect(() => {
    let doneAtMs = Date.now();
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      doneAtMs = Date.now();
      latest.current();
    };
    const comeBack = (): void => {
      if (Date.now() - doneAtMs >= everyMs) look();
    };
    const timer = setInterval(look, everyMs);
    document.addEventListener('visibilitychange', comeBack);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', comeBack);
    };
  }, [everyMs]);
}
