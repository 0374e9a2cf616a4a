// Work that must not overlap.

/** Work on things with names, for each name one after the other. */
export class Queues {
  readonly #busy = new Map<string, Promise<unknown>>();

  /** Does `work` when all that was asked for before under that name is done, well or not. */
  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#busy.get(name) ?? Promise.resolve()).then(work, work);
    const quiet = done.then(
      () => {},
      () => {},
    );
    this.#busy.set(name, quiet);
    void quiet.then(() => {
      if (this.#busy.get(name) === quiet) this.#busy.delete(name);
    });
    return done;
  }
}
