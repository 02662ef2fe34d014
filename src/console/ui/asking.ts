/** What is asked of the gateway by a button or by being shown. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DurationMs } from '../../lib/time.ts';
import { ApiError, NoAnswer } from '../api.ts';
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
/** What could not be answered is asked for again after this time, without anybody doing anything. */
const RETRY_MS = 5_000;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERROR_FROM = 500;

/** Whether the same question may be answered later. */
const mayPass = (error: unknown): boolean =>
  error instanceof NoAnswer ||
  (error instanceof ApiError && (error.status >= SERVER_ERROR_FROM || error.status === TOO_MANY_REQUESTS));

interface Answered<Answer> {
  answer: Answer | undefined;
  /** The answer is that for keys before: the one for these is on its way, or could not be had. */
  isOther: boolean;
  error: unknown;
  again: () => void;
  /** Asks again unless an answer is on its way: one that is slower than the refreshes would never be drawn. */
  refresh: () => void;
  /** What it is about has changed: asks again, but not before an answer on its way is there, for the same reason. */
  follow: () => void;
}

/** What the gateway answers; asked again when `keys` change or `again` is called. */
export function useAnswer<Answer>(ask: () => Promise<Answer>, keys: readonly unknown[]): Answered<Answer> {
  const [answered, setAnswered] = useState<{ answer: Answer; keys: readonly unknown[] } | undefined>(
    undefined,
  );
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  const askedAtMs = useRef<number | undefined>(undefined);
  // Known before what it means is drawn.
  const hasFailed = useRef(false);
  const isOutdated = useRef(false);
  const again = (): void => setRound((count) => count + 1);
  useEffect(() => {
    let isCurrent = true;
    let retry: ReturnType<typeof setInterval> | undefined;
    // While the gateway is away there is nothing to ask; when it is back, it is asked at once.
    const askAgain = (): void => {
      if (document.visibilityState === 'visible' && !isAway.value) again();
    };
    askedAtMs.current = performance.now();
    isOutdated.current = false;
    ask().then(
      (found) => {
        if (!isCurrent) return;
        askedAtMs.current = undefined;
        hasFailed.current = false;
        setAnswered({ answer: found, keys });
        setError(undefined);
        if (isOutdated.current) again();
      },
      (failure: unknown) => {
        if (!isCurrent) return;
        askedAtMs.current = undefined;
        hasFailed.current = true;
        setError(failure);
        if (mayPass(failure)) retry = setInterval(askAgain, RETRY_MS);
      },
    );
    return () => {
      isCurrent = false;
      clearInterval(retry);
    };
  }, [...keys, round]);
  const isBack = isConnected.value;
  const wasAway = useRef(false);
  if (isAway.value) wasAway.current = true;
  useEffect(() => {
    if (!isBack) return;
    // What could not be read while the gateway was away is read when it is back, and what was asked of it meanwhile.
    if (hasFailed.current || (wasAway.current && askedAtMs.current !== undefined)) again();
    wasAway.current = false;
  }, [isBack]);
  const isAwaited = (): boolean => performance.now() - (askedAtMs.current ?? -Infinity) <= ANSWER_MAX_MS;
  const refresh = (): void => {
    if (!isAwaited()) again();
  };
  const follow = (): void => {
    if (isAwaited()) isOutdated.current = true;
    else again();
  };
  const isOther = answered !== undefined && keys.some((key, index) => key !== answered.keys[index]);
  return { answer: answered?.answer, isOther, error, again, refresh, follow };
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
