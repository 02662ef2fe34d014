/** What is asked of the gateway by a button or by being shown. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { isConnected } from '../connection.ts';

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

/** What the gateway answers; asked again when `keys` change or `again` is called. */
export function useAnswer<Answer>(
  ask: () => Promise<Answer>,
  keys: readonly unknown[],
): { answer: Answer | undefined; error: unknown; again: () => void } {
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    ask().then(
      (found) => {
        if (!isCurrent) return;
        setAnswer(found);
        setError(undefined);
      },
      (failure: unknown) => {
        if (isCurrent) setError(failure);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...keys, round]);
  const isBack = isConnected.value;
  useEffect(() => {
    // What could not be read while the gateway was away is read when it is back.
    if (isBack && error !== undefined) setRound((count) => count + 1);
  }, [isBack]);
  return { answer, error, again: () => setRound((count) => count + 1) };
}

/** Does it again and again while somebody looks. */
export function useRefresh(again: () => void, everyMs: number): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && latest.current(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
