/** Runs work one after the other, whatever the outcome of the work before. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    // The caller gets the failure; the next work only waits for the end.
    this.#last = done.catch(() => undefined);
    return done;
  }
}
