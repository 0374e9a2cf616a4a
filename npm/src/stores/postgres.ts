// A keep in a PostgreSQL database, for several processes and machines at once: its options, and how it is opened.

import * as check from "../check.js";
import { ThreadkeepError, badArgument } from "../errors.js";
import type { StoreAdapter, StoreScopes } from "./adapter.js";
import { isMissing, mayPass, postgresTrouble } from "./postgres-errors.js";
import { PostgresKeep } from "./postgres-keep.js";
import { VERSION, setup, statements } from "./postgres-schema.js";
import { postgresScopes } from "./postgres-scopes.js";
import { type PostgresPool, type PostgresQuery, PostgresServer } from "./postgres-server.js";
import { address, milliseconds, trouble, words } from "./trouble.js";

export type { PostgresPool, PostgresQuery };

/**
 * What it means that a `strict` commit resolved. `replicated`: it is on the server's disk and at its synchronous standbys, so that it survives the end of
 * the server. `disk`: it is on the server's disk. `none`: the server does not sync (`fsync off`).
 */
export type PostgresDurability = "replicated" | "disk" | "none";

/** A keep's place in a PostgreSQL database. */
export interface PostgresStore extends StoreAdapter {
  /** What it means that a `strict` commit resolved. */
  readonly durability: PostgresDurability;
  /** Scopes: a column by which the table is partitioned, and may be distributed. */
  readonly scopes: StoreScopes;
}

/** Something about the server that its user should know. */
export interface PostgresWarning {
  /** `durability`: acknowledged commits may be lost. `failover`: they may be lost when a standby takes over. */
  code: "durability" | "failover";
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
  /**
   * In how many hash partitions records are stored, by their scope: 16 without it, 0 for a plain table. It counts when the schema is made or migrated from
   * version 1, and not afterwards.
   */
  partitions?: number;
  /** Makes the view `threads` when the store opens. A new schema has it anyway; one of an earlier release gets it so, by its owner. */
  views?: boolean;
  /** Whether statements are kept prepared on the server, `true` without it. `false` for poolers that cannot, such as old PgBouncers. */
  prepare?: boolean;
  /** For how many milliseconds a broken connection is tried again before an error says `transient`; 10,000 without it. */
  retryTimeout?: number;
  /** Called for each thing about the server that puts acknowledged commits at risk. Without it, `console.warn`. */
  onWarning?: (warning: PostgresWarning) => void;
}

/** How many partitions there are without the option, and at most. */
const PARTITIONS = 16;
const MOST_PARTITIONS = 1_024;

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
export async function postgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const checked = check.options(options, "options", {
    connectionString: address,
    pool: postgresPool,
    schema: schemaName,
    partitions: partitionCount,
    views: check.flag,
    prepare: check.flag,
    retryTimeout: milliseconds,
    onWarning: check.callback,
  }) as PostgresStoreOptions;
  const { connectionString, pool, schema = "threadkeep", partitions = PARTITIONS, views = false, prepare = true, retryTimeout = 10_000 } = checked;
  if ((connectionString === undefined) === (pool === undefined)) throw badArgument("options", "must have either `connectionString` or `pool`");
  const own = connectionString === undefined ? undefined : await connectTo(connectionString);
  const place = own ?? (pool as PostgresPool);
  try {
    // Side by side, so that there are two connections from the beginning: the first reading of a transcript needs both.
    const [{ durability, warnings }, texts] = await Promise.all([examine(place), make(place, schema, partitions)]);
    const warn = checked.onWarning ?? (({ message }) => console.warn(`threadkeep/postgres: ${message}`));
    for (const warning of warnings) warn(warning);
    if (views) await place.query({ text: statements(schema).views });
    const server = new PostgresServer(place, schema, texts, prepare, retryTimeout, async () => own?.end());
    server.prune();
    return new PostgresPlace(server, durability);
  } catch (error) {
    await own?.end();
    if (error instanceof ThreadkeepError) throw error;
    throw mayPass(error) ? trouble("unavailable", "PostgreSQL cannot be reached", error) : postgresTrouble(error, "PostgreSQL cannot be used");
  }
}

/**
 * The SQL that makes a keep's schema, for those whose programs may not make one themselves: run it once, as an owner, and
 * grant the program's user USAGE on the schema, EXECUTE on its functions, and SELECT, INSERT, UPDATE and DELETE on its tables.
 *
 * @throws ThreadkeepError `bad-request`
 * @example
 * ```ts
 * import { postgresSetup } from "threadkeep/postgres";
 * console.log(postgresSetup("chats"));
 * ```
 */
export function postgresSetup(schema = "threadkeep", options: { partitions?: number } = {}): string {
  const { partitions = PARTITIONS } = check.options(options, "options", { partitions: partitionCount });
  return setup(schemaName(schema, "schema"), partitions);
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

/** Makes the schema, unless it is there; migrates an older one, and refuses one of a newer version. Says whether it can read texts as they are. */
async function make(pool: PostgresPool, schema: string, partitions: number): Promise<boolean> {
  const layout = async (): Promise<[version: number, texts: boolean]> => {
    const { rows } = await pool.query({ text: statements(schema).layout, rowMode: "array" });
    const [version, texts] = (rows as [unknown, unknown][])[0] ?? [];
    return [Number(version ?? 0), texts === true];
  };
  let [version, texts] = await layout().catch((error: unknown): [number, boolean] => {
    if (!isMissing(error)) throw error;
    return [0, false];
  });
  if (version < VERSION) {
    await setUp(pool, schema, partitions, version);
    [version, texts] = await layout();
  } else if (version === VERSION) {
    // Without it, old tokens are only removed more slowly.
    await pool.query({ text: statements(schema).index }).catch(() => {});
    // Without these, readings are only slower.
    if (!texts) [, texts] = await pool.query({ text: statements(schema).readingTexts }).then(layout, (): [number, boolean] => [version, false]);
  }
  if (version > VERSION) {
    const message = `the data has layout version ${version}, this package reads up to ${VERSION}: update Threadkeep; nothing was changed`;
    throw new ThreadkeepError("newer-version", message, { found: version, supported: VERSION });
  }
  return texts;
}

async function setUp(pool: PostgresPool, schema: string, partitions: number, found: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(setup(schema, partitions));
    client.release();
  } catch (error) {
    // It is in the middle of a transaction that failed.
    client.release(true);
    if (found === 0 || mayPass(error)) throw error;
    const what = `the schema ${schema} has layout version ${found}, this package needs ${VERSION}; its owner can run the text of \`postgresSetup\``;
    throw postgresTrouble(error, what);
  }
}

/** What the server promises, and what its user should know of it. */
async function examine(pool: PostgresPool): Promise<{ durability: PostgresDurability; warnings: PostgresWarning[] }> {
  const names = ["fsync", "synchronous_commit", "synchronous_standby_names"];
  const text = `SELECT ${names.map((name) => `current_setting('${name}')`).join()}, (SELECT count(*) FROM pg_stat_replication)`;
  const { rows } = await pool.query({ text, rowMode: "array" });
  const [fsync, synchronous, standbys, connected] = (rows as [string, string, string, unknown][])[0] ?? ["on", "on", "", 0];
  const replicated = standbys !== "" && synchronous !== "local";
  const warnings: PostgresWarning[] = [];
  if (fsync === "off")
    warnings.push({ code: "durability", message: "PostgreSQL runs with fsync off: a power failure may destroy the whole database; set fsync to on" });
  if (Number(connected) > 0 && !replicated) {
    const message =
      "PostgreSQL has standbys, and strict commits do not wait for them: one that takes over may lack the last commits; set synchronous_standby_names";
    warnings.push({ code: "failover", message });
  }
  const disk = fsync === "off" ? "none" : "disk";
  return { durability: replicated ? "replicated" : disk, warnings };
}

class PostgresPlace extends PostgresKeep implements PostgresStore {
  readonly durability: PostgresDurability;
  readonly scopes: StoreScopes;
  readonly #server: PostgresServer;

  constructor(server: PostgresServer, durability: PostgresDurability) {
    super(server, "");
    this.#server = server;
    this.scopes = postgresScopes(server);
    this.durability = durability;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#server.close();
  }
}

function schemaName(value: unknown, argument: string): string {
  const name = check.exact(value, argument);
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) || /^pg_/i.test(name))
    throw badArgument(argument, "must be letters, digits and `_`, begin with no digit and not with `pg_`, and have at most 63 characters");
  return name;
}

function partitionCount(value: unknown, argument: string): number {
  return check.count(value, argument, MOST_PARTITIONS);
}

function postgresPool(value: unknown, argument: string): PostgresPool {
  const { query, connect } = (value ?? {}) as Partial<PostgresPool>;
  if (typeof query !== "function" || typeof connect !== "function") throw badArgument(argument, "must be a `Pool` of the package `pg`");
  return value as PostgresPool;
}
