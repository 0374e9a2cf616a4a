// One keep in PostgreSQL: the records of a scope, or those outside all scopes. The SQL is in `postgres-schema.ts`.

import { randomUUID } from "node:crypto";
import type { ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "./adapter.js";
import type { PostgresServer } from "./postgres-server.js";
import { Conflict, closedError } from "./trouble.js";

/** The records of one scope; an empty name is no scope. @internal */
export class PostgresKeep implements StoreAdapter {
  readonly #server: PostgresServer;
  readonly #scope: string;
  #closed = false;

  constructor(server: PostgresServer, scope: string) {
    this.#server = server;
    this.#scope = scope;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const rows = (await this.#run("get", () => [key])) as [string | null][];
    const value = rows[0]?.[0] ?? undefined;
    return value === undefined ? undefined : Buffer.from(value, "base64");
  }

  async scan({ start, end, limit, reverse }: ScanRequest): Promise<StoreRecord[]> {
    const rows = await this.#run(this.#server.scan, () => [bound(start), bound(end), limit ?? null, reverse]);
    return (rows as [string, string | null, string][]).map(([key, words, data]) => [key, words === null ? Buffer.from(data, "base64") : Buffer.from(words)]);
  }

  async commit({ absent, present, deletes, deleteRanges, puts, durability }: StoreCommit): Promise<void> {
    // Whoever tries again after a broken connection shows the same token, and is told when it had happened after all.
    const token = randomUUID();
    const last = new Map(puts);
    const [starts, ends] = [deleteRanges.map(([start]) => bound(start)), deleteRanges.map(([, end]) => bound(end))];
    const values = [...last.values()];
    const lengths = values.map(({ length }) => length);
    const rest = [durability === "strict", absent, present, deletes, starts, ends, [...last.keys()], lengths, joined(values)];
    let tried = false;
    const rows = await this.#run("commit", () => {
      const values = [token, tried, ...rest];
      tried = true;
      return values;
    });
    const broken = (rows as [string | null][])[0]?.[0];
    if (typeof broken === "string") throw new Conflict(broken);
    this.#server.prune();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #run(name: "get" | "scan" | "read" | "commit", values: () => unknown[]): Promise<unknown[]> {
    if (this.#closed) return Promise.reject(closedError());
    return this.#server.run(name, () => [this.#scope, ...values()]);
  }
}

/**
 * The end of a range as PostgreSQL can take it: its text cannot hold U+0000, which is how one says "behind this key". No key
 * has it, and so none lies between that and the same with U+0001.
 */
function bound(key: string): string {
  const at = key.indexOf("\0");
  return at < 0 ? key : `${key.slice(0, at)}\u0001`;
}

/** All bytes behind each other: one parameter travels as it is, a list of them would travel as text. */
function joined(values: Uint8Array[]): Buffer {
  const [only] = values;
  if (values.length === 1 && only !== undefined) return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
  return Buffer.concat(values);
}
