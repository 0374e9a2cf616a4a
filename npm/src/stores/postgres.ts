// A keep in a PostgreSQL database, for several processes and machines at once. The SQL is in `postgres-schema.ts`; here is
// the sending, and the trying again when a connection breaks.

import { createHash, randomUUID } from "node:crypto";
import * as check from "../check.js";
import { ThreadkeepError, badArgument } from "../errors.js";
import type { ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "./adapter.js";
import { isMissing, mayPass, postgresTrouble } from "./postgres-errors.js";
import { VERSION, setup, statements } from "./postgres-schema.js";
import { Conflict, address, milliseconds, overBreaks, trouble, words } from "./trouble.js";

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

/** Something about the server that its user should know. */
export interface PostgresWarning {
  /** `durability`: acknowledged commits may be lost. */
  code: "durability";
  /** In words, with what to do about it. */
  message: string;
}

/** Options of {@link postgresStore}: `connectionString` or `pool`. */
export interface PostgresStoreOptions {
  /** Where the database is: `postgres://user:password@host:port/database`. Needs the package `pg`. */
  connectionString?: string;
  /** A pool of yours, which stays open when the store is closed. */
  pool?: PostgresPool;
  /** The schema that holds everything, `threadkeep` without it. Several keeps can lie in schemas of their own. */
  schema?: string;
  /** Whether statements are kept prepared on the server, `true` without it. `false` for poolers that cannot, such as old PgBouncers. */
  prepare?: boolean;
  /** For how many milliseconds a broken connection is tried again before an error says `transient`; 10,000 without it. */
  retryTimeout?: number;
  /** Called for each thing about the server that puts acknowledged commits at risk. Without it, `console.warn`. */
  onWarning?: (warning: PostgresWarning) => void;
}

/** How many commits later old tokens are looked for. */
const PRUNE = 1_000;

/**
 * Opens a keep in a PostgreSQL database (12 or newer), and makes its schema where there is none. Each commit is one
 * transaction and one round trip; several processes may write at once.
 *
 * A `strict` commit is on the server's disk when it resolves (`synchronous_commit`, which is set to `on` for it where it is
 * `off`); a `relaxed` one within a moment.
 *
 * @throws ThreadkeepError `bad-request` for wrong options; `unavailable` when the server cannot be reached, refuses the user or
 * does not let it make the schema; `newer-version`
 * @example
 * ```ts
 * import { Threadkeep } from "threadkeep";
 * import { postgresStore } from "threadkeep/postgres";
 *
 * const storage = await postgresStore({ connectionString: "postgres://app:secret@127.0.0.1/app" });
 * const keep = await Threadkeep.open({ storage });
 * await keep.thread("main").append([{ role: "user", content: "hello" }]);
 * await keep.close();
 * ```
 */
export async function postgresStore(options: PostgresStoreOptions): Promise<StoreAdapter> {
  const checked = check.options(options, "options", {
    connectionString: address,
    pool: postgresPool,
    schema: schemaName,
    prepare: check.flag,
    retryTimeout: milliseconds,
    onWarning: check.callback,
  }) as PostgresStoreOptions;
  const { connectionString, pool, schema = "threadkeep", prepare = true, retryTimeout = 10_000 } = checked;
  if ((connectionString === undefined) === (pool === undefined)) throw badArgument("options", "must have either `connectionString` or `pool`");
  const own = connectionString === undefined ? undefined : await connectTo(connectionString);
  const place = own ?? (pool as PostgresPool);
  try {
    // Side by side, so that there are two connections from the beginning: the first reading of a transcript needs both.
    const [{ rows }] = await Promise.all([place.query({ text: "SHOW fsync", rowMode: "array" }), make(place, schema)]);
    const synced = rows as [string][];
    const warn = checked.onWarning ?? (({ message }) => console.warn(`threadkeep/postgres: ${message}`));
    if (synced[0]?.[0] === "off")
      warn({ code: "durability", message: "PostgreSQL runs with fsync off: a power failure may destroy the whole database; set fsync to on" });
    const store = new Postgres(place, schema, prepare, retryTimeout, async () => own?.end());
    await store.prune();
    return store;
  } catch (error) {
    await own?.end();
    if (error instanceof ThreadkeepError) throw error;
    throw mayPass(error) ? trouble("unavailable", "PostgreSQL cannot be reached", error) : postgresTrouble(error, "PostgreSQL cannot be used");
  }
}

/**
 * The SQL that makes a keep's schema, for those whose programs may not make one themselves: run it once, as an owner, and
 * grant the program's user USAGE on the schema, EXECUTE on its function, and SELECT, INSERT, UPDATE and DELETE on its tables.
 *
 * @throws ThreadkeepError `bad-request`
 * @example
 * ```ts
 * import { postgresSetup } from "threadkeep/postgres";
 * console.log(postgresSetup("chats"));
 * ```
 */
export function postgresSetup(schema = "threadkeep"): string {
  return setup(schemaName(schema, "schema"));
}

type OwnPool = PostgresPool & { end(): Promise<void> };

async function connectTo(connectionString: string): Promise<OwnPool> {
  const { default: pg } = await import("pg").catch((error: unknown) => {
    throw trouble("unavailable", "a `connectionString` needs the package `pg`: install it, or hand over a `pool`", error);
  });
  try {
    // A client reads the address when it is made, a pool only when it connects.
    new pg.Client({ connectionString });
    const pool = new pg.Pool({ connectionString, max: 4, connectionTimeoutMillis: 5_000, keepAlive: true });
    // A connection that breaks while nobody uses it is replaced by the pool.
    pool.on("error", () => {});
    return pool as unknown as OwnPool;
  } catch (error) {
    // Without the error itself, which may hold the address, and so a password.
    throw badArgument("options.connectionString", `is no address of a PostgreSQL database: ${words(error)}`);
  }
}

/** Makes the schema, unless it is there; refuses one of a newer version. */
async function make(pool: PostgresPool, schema: string): Promise<void> {
  const layout = async (): Promise<number> => {
    const { rows } = await pool.query({ text: statements(schema).layout, rowMode: "array" });
    return Number((rows as [unknown][])[0]?.[0] ?? 0);
  };
  let version: number;
  try {
    version = await layout();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const client = await pool.connect();
    try {
      await client.query(setup(schema));
      client.release();
    } catch (error) {
      // It is in the middle of a transaction that failed.
      client.release(true);
      throw error;
    }
    version = await layout();
  }
  if (version > VERSION) {
    const message = `the data has layout version ${version}, this package reads up to ${VERSION}: update Threadkeep; nothing was changed`;
    throw new ThreadkeepError("newer-version", message, { found: version, supported: VERSION });
  }
}

/** Columns as the server writes them. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

class Postgres implements StoreAdapter {
  readonly #pool: PostgresPool;
  readonly #statements: ReturnType<typeof statements>;
  readonly #names: string | undefined;
  readonly #retryTimeout: number;
  readonly #end: () => Promise<void>;
  /** Calls that were not answered yet. */
  readonly #underWay = new Set<Promise<unknown>>();
  #commits = 0;
  #closed = false;

  constructor(pool: PostgresPool, schema: string, prepare: boolean, retryTimeout: number, end: () => Promise<void>) {
    this.#pool = pool;
    this.#statements = statements(schema);
    // A pool may serve keeps in several schemas.
    this.#names = prepare ? `threadkeep/${createHash("sha1").update(schema).digest("hex").slice(0, 12)}` : undefined;
    this.#retryTimeout = retryTimeout;
    this.#end = end;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const rows = (await this.#patiently(() => this.#query("get", [key]))) as [string][];
    const value = rows[0]?.[0];
    return value === undefined ? undefined : Buffer.from(value, "base64");
  }

  async scan({ start, end, limit, reverse }: ScanRequest): Promise<StoreRecord[]> {
    const rows = await this.#patiently(() => this.#query(reverse ? "down" : "up", [bound(start), bound(end), limit ?? null]));
    return (rows as [string, string][]).map(([key, value]): StoreRecord => [key, Buffer.from(value, "base64")]);
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
    const rows = await this.#patiently(() => {
      const values = [token, tried, ...rest];
      tried = true;
      return this.#query("commit", values);
    });
    const broken = (rows as [string | null][])[0]?.[0];
    if (typeof broken === "string") throw new Conflict(broken);
    this.#commits += 1;
    if (this.#commits % PRUNE === 0) await this.prune();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // A pool that is ended leaves those who wait for a connection without one.
    await Promise.allSettled(this.#underWay);
    await this.#end();
  }

  /** Removes old tokens. That it fails harms nobody. */
  async prune(): Promise<void> {
    await this.#pool.query({ text: this.#statements.prune }).catch(() => {});
  }

  async #query(name: keyof ReturnType<typeof statements>, values: unknown[]): Promise<unknown[]> {
    const query: PostgresQuery = { text: this.#statements[name], values, rowMode: "array", types: AS_TEXT };
    if (this.#names !== undefined) query.name = `${this.#names}/${name}`;
    return (await this.#pool.query(query)).rows;
  }

  /** Does `work`, again and again while the connection is broken or the server not ready. */
  #patiently<T>(work: () => Promise<T>): Promise<T> {
    const done = overBreaks(work, { server: "PostgreSQL", isClosed: () => this.#closed, mayPass, trouble: postgresTrouble, retryTimeout: this.#retryTimeout });
    const forget = () => this.#underWay.delete(done);
    this.#underWay.add(done);
    done.then(forget, forget);
    return done;
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

function schemaName(value: unknown, argument: string): string {
  const name = check.exact(value, argument);
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) || /^pg_/i.test(name))
    throw badArgument(argument, "must be letters, digits and `_`, begin with no digit and not with `pg_`, and have at most 63 characters");
  return name;
}

function postgresPool(value: unknown, argument: string): PostgresPool {
  const { query, connect } = (value ?? {}) as Partial<PostgresPool>;
  if (typeof query !== "function" || typeof connect !== "function") throw badArgument(argument, "must be a `Pool` of the package `pg`");
  return value as PostgresPool;
}
