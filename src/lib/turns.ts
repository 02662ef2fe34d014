/** Runs work one after the other, whatever the outcome of the work before. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    // The caller gets the failure; the next work only waits for the end.
    this.#last = done.catch(() => undefined);
    return done;
  }
}
