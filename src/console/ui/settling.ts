/**
 * A page is shown when all of it is known that it asks for at first, so that nothing of it jumps when something above comes
 * later. One that takes long is shown with what is there.
 */
import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { DurationMs } from '../../lib/time.ts';

const HELD_MAX_MS: DurationMs = 3_000;

/** Counts what is missing. */
class Holds {
  readonly #onFree: () => void;
  #count = 0;

  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  /** Returns what ends it. */
  hold(): () => void {
    this.#count++;
    return () => {
      this.#count--;
      this.look();
    };
  }

  /** Looks after the next drawing, which may have added holds, whether there are none. */
  look(): void {
    requestAnimationFrame(() => setTimeout(() => this.#count === 0 && this.#onFree()));
  }
}

export const Settling = createContext<Holds | undefined>(undefined);

/** Holds the page back while something of it is missing. */
export function useHold(isMissing: boolean): void {
  const holds = useContext(Settling);
  useLayoutEffect(() => (isMissing ? holds?.hold() : undefined), [isMissing, holds]);
}

/** Whether the first page after a load is shown, and what its parts hold it back with. */
export function useSettling(): { isSettled: boolean; holds: Holds } {
  const [isSettled, setSettled] = useState(false);
  const holds = useMemo(() => new Holds(() => setSettled(true)), []);
  useEffect(() => {
    holds.look();
    const timer = setTimeout(() => setSettled(true), HELD_MAX_MS);
    return () => clearTimeout(timer);
  }, []);
  return { isSettled, holds };
}
