/** Work that is done one after the other, whatever becomes of what came before. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    // Who asked for it hears of the failure; the next one only waits for the end.
    this.#last = done.catch(() => undefined);
    return done;
  }
}
