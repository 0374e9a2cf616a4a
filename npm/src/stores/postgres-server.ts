// Running statements in PostgreSQL, and the trying again when a connection breaks.

import { createHash } from "node:crypto";
import { mayPass, postgresTrouble } from "./postgres-errors.js";
import { statements } from "./postgres-schema.js";
import { overBreaks } from "./trouble.js";

/** A statement as the package `pg` takes it. */
export interface PostgresQuery {
  /** Its name, under which the server keeps it prepared. */
  name?: string;
  /** The SQL. */
  text: string;
  /** The values of its parameters. */
  values?: unknown[];
  /** `array`: rows are lists of their columns. */
  rowMode?: "array";
  /** How columns are read. */
  types?: { getTypeParser(): (value: string) => unknown };
}

/** A pool of connections: a `Pool` of the package `pg`, or one that does as it does. */
export interface PostgresPool {
  /** Runs a statement on any connection. */
  query(query: PostgresQuery): Promise<{ rows: unknown[] }>;
  /** A connection for oneself. */
  connect(): Promise<{ query(text: string): Promise<unknown>; release(destroy?: boolean): void }>;
}

/** Columns as the server writes them. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };
/** How many milliseconds later old tokens are looked for again. */
const PRUNE = 60_000;

type Statement = keyof ReturnType<typeof statements>;

/** A database, and how its statements are run. @internal */
export class PostgresServer {
  /** The statement that reads a range. */
  readonly scan: "scan" | "read";
  readonly #pool: PostgresPool;
  readonly #statements: ReturnType<typeof statements>;
  readonly #names: string | undefined;
  readonly #retryTimeout: number;
  readonly #end: () => Promise<void>;
  /** Calls that were not answered yet. */
  readonly #underWay = new Set<Promise<unknown>>();
  #nextPrune = 0;
  #closed = false;

  /** `texts`: the schema has the function that reads texts as they are. */
  constructor(pool: PostgresPool, schema: string, texts: boolean, prepare: boolean, retryTimeout: number, end: () => Promise<void>) {
    this.#pool = pool;
    this.scan = texts ? "read" : "scan";
    this.#statements = statements(schema);
    // A pool may serve keeps in several schemas.
    this.#names = prepare ? `threadkeep/${createHash("sha1").update(schema).digest("hex").slice(0, 12)}` : undefined;
    this.#retryTimeout = retryTimeout;
    this.#end = end;
  }

  /** Runs a statement, again and again while the connection is broken or the server not ready; `values` is called for each try. */
  run(name: Statement, values: () => unknown[]): Promise<unknown[]> {
    const done = overBreaks(() => this.#query(name, values()), {
      server: "PostgreSQL",
      isClosed: () => this.#closed,
      mayPass,
      trouble: postgresTrouble,
      retryTimeout: this.#retryTimeout,
    });
    this.#track(done);
    return done;
  }

  /** Removes old tokens, at most once a minute. Only {@link close} waits for it, and that it fails harms nobody. */
  prune(): void {
    if (performance.now() < this.#nextPrune) return;
    this.#nextPrune = performance.now() + PRUNE;
    this.#track(this.#pool.query({ text: this.#statements.prune }));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // A pool that is ended leaves those who wait for a connection without one.
    await Promise.allSettled(this.#underWay);
    await this.#end();
  }

  #track(work: Promise<unknown>): void {
    const forget = () => this.#underWay.delete(work);
    this.#underWay.add(work);
    work.then(forget, forget);
  }

  async #query(name: Statement, values: unknown[]): Promise<unknown[]> {
    const query: PostgresQuery = { text: this.#statements[name], values, rowMode: "array", types: AS_TEXT };
    if (this.#names !== undefined) query.name = `${this.#names}/${name}`;
    return (await this.#pool.query(query)).rows;
  }
}
