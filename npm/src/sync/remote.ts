// Where devices leave what they have, as the sync sees it: files by name.

/**
 * A place that keeps files by name: a folder, a WebDAV server, a bucket, records of a store. Nothing more is asked of it: no locks, no order,
 * no time. Each device writes and removes only files that begin with its own id. Names are letters, digits, `-` and `.`.
 *
 * @example
 * ```ts
 * const files = new Map<string, Uint8Array>();
 * const remote: SyncRemote = {
 *   id: "in memory",
 *   list: async () => [...files.keys()],
 *   read: async (name) => files.get(name),
 *   write: async (name, bytes) => void files.set(name, bytes),
 *   remove: async (name) => void files.delete(name),
 * };
 * ```
 */
export interface SyncRemote {
  /** Tells this place from others: what a keep knows of it is kept under this name. */
  readonly id: string;
  /** The names of all files. */
  list(): Promise<string[]>;
  /** A file's bytes; `undefined` where there is no such file. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Writes a file, whole or not at all. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes a file. One that is not there is no error. */
  remove(name: string): Promise<void>;
}
