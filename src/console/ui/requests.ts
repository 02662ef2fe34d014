/** Requests that a button starts, or a page that is shown. */
import type { Signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DurationMs } from '../../lib/time.ts';
import { ApiError, changeCount, NoAnswer } from '../api.ts';
import { isAway, isConnected } from '../connection.ts';
import { remoteChangeCount } from '../remote-changes.ts';
import { useHold } from './settling.ts';

export interface Action<Parameters extends unknown[] = []> {
  isBusy: boolean;
  /** It succeeded, and nothing was typed since. */
  isDone: boolean;
  error: unknown;
  /** Resolves with whether it succeeded. */
  start: (...parameters: Parameters) => Promise<boolean>;
  clear: () => void;
}

const IDLE = { isBusy: false, isDone: false, error: undefined };

/** An action of a button: busy while it runs, with its error afterwards. */
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
/** A failed read is repeated after this time. */
const RETRY_MS = 5_000;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERROR_FROM = 500;

/** Whether the same request may succeed later. */
const mayPass = (error: unknown): boolean =>
  error instanceof NoAnswer ||
  (error instanceof ApiError && (error.status >= SERVER_ERROR_FROM || error.status === TOO_MANY_REQUESTS));

interface Answered<Answer> {
  answer: Answer | undefined;
  /** The answer belongs to earlier keys: the one for these has not come yet, or failed. */
  isOther: boolean;
  error: unknown;
  again: () => void;
  /** Reads again unless a request is under way: an answer slower than the refreshes would never be drawn. */
  refresh: () => void;
  /** Reads again after a change, but after the request that is under way, for the same reason. */
  follow: () => void;
}

/**
 * An answer of the gateway, read again when `keys` change or `again` is called. @param changes made from this page: an
 * answer to a request from before is dropped
 */
export function useAnswer<Answer>(
  ask: () => Promise<Answer>,
  keys: readonly unknown[],
  changes = 0,
): Answered<Answer> {
  const [answered, setAnswered] = useState<{ answer: Answer; keys: readonly unknown[] } | undefined>(
    undefined,
  );
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  useHold(answered === undefined && error === undefined);
  const askedAtMs = useRef<number | undefined>(undefined);
  // Refs, because effects need them before the next drawing.
  const hasFailed = useRef(false);
  const isOutdated = useRef(false);
  const again = (): void => setRound((count) => count + 1);
  useEffect(() => {
    let isCurrent = true;
    let retry: ReturnType<typeof setInterval> | undefined;
    // While the gateway is away no request can succeed; when it is back, one is sent at once.
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
  }, [...keys, round, changes]);
  const isBack = isConnected.value;
  const wasAway = useRef(false);
  if (isAway.value) wasAway.current = true;
  useEffect(() => {
    if (!isBack) return;
    // When the gateway is back, what failed meanwhile is read again, and what has no answer yet.
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

/** Interval for data that changes by itself, and for changes that the stream missed. */
const STORED_REFRESH_MS = 30_000;

/**
 * Something that the gateway stores, or a list of it: read again after every change, made here or elsewhere, and every so
 * often.
 */
export function useStored<Answer>(
  ask: () => Promise<Answer>,
  keys: readonly unknown[] = [],
  everyMs: DurationMs | ((answer: Answer | undefined) => DurationMs) = STORED_REFRESH_MS,
): Answered<Answer> {
  const answered = useAnswer(ask, keys, changeCount.value);
  useFollow(remoteChangeCount, answered.follow);
  useRefresh(answered.refresh, typeof everyMs === 'function' ? everyMs(answered.answer) : everyMs);
  return answered;
}

/** Calls it whenever the count has grown. */
export function useFollow(count: Signal<number>, follow: () => void): void {
  const now = count.value;
  const followed = useRef(now);
  useEffect(() => {
    if (followed.current !== now) follow();
    followed.current = now;
  }, [now]);
}

/** Repeats it while the page is visible, and at once when somebody comes back later. */
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
