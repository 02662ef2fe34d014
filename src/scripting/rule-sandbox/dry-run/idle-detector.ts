/** Tells when a script has nothing left to do but wait for time to pass. */
export type IdleDetector = ReturnType<typeof createIdleDetector>;

/** `nextTurn` lets everything that is ready run. */
export function createIdleDetector(nextTurn: () => Promise<void>) {
  const state = { open: 0, wake: (): void => undefined };
  return {
    /** Marks work that the script, or its machine, waits for in real time. */
    during: async <Result>(work: Promise<Result>): Promise<Result> => {
      state.open++;
      try {
        return await work;
      } finally {
        state.open--;
        state.wake();
      }
    },
    /** Resolves when no such work is open and everything that followed from it has run. */
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
