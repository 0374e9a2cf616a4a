// Locks by name: Web Locks if the platform has them, which reach other tabs and workers, else a queue of this process.

/** What Web Locks do here. @internal */
export interface Locks {
  /** Does `work` after all work under that name that was asked for before. */
  request<T>(name: string, work: () => Promise<T>): Promise<T>;
}

const queues = new Map<string, Promise<unknown>>();

const own: Locks = {
  request<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (queues.get(name) ?? Promise.resolve()).then(work, work);
    queues.set(name, done);
    const end = (): void => {
      if (queues.get(name) === done) queues.delete(name);
    };
    done.then(end, end);
    return done;
  },
};

/** The locks that reach furthest. @internal */
export function locks(): Locks {
  return (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks ?? own;
}
