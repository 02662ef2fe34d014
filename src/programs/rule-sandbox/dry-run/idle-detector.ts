/** Tells when a script has nothing left to do but wait for time to pass. */

export interface IdleDetector {
  /** Something that the script, or its machine, waits for in real time. */
  during<Result>(work: Promise<Result>): Promise<Result>;
  /** Resolves when nothing of it is open, and what followed from it has run. */
  reached(): Promise<void>;
}

/** `nextTurn` lets everything that is ready run. */
export function createIdleDetector(nextTurn: () => Promise<void>): IdleDetector {
  const state = { open: 0, wake: (): void => undefined };
  return {
    during: async (work) => {
      state.open++;
      try {
        return await work;
      } finally {
        state.open--;
        state.wake();
      }
    },
    reached: async () => {
      await nextTurn();
      while (state.open > 0) {
        await new Promise<void>((resolve) => {
          state.wake = resolve;
        });
        await nextTurn();
      }
    },
  };
}
