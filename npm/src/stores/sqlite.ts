// A keep in one SQLite file, or in a table of a database of yours: through `node:sqlite`, better-sqlite3, or anything
// that has their `exec`, `prepare` and `close`. The SQL is here; what to do about errors is in `sqlite-errors.ts`.

import * as check from "../check.js";
import { ThreadkeepError, badArgument } from "../errors.js";
import type { ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "../types/store.js";
import { loadSqlite } from "./sqlite-load.js";
import { isBusy, sqliteTrouble } from "./sqlite-errors.js";
import { Conflict, Patience, closedError, milliseconds, trouble } from "./trouble.js";

/** A prepared statement, as `node:sqlite`, better-sqlite3 and `bun:sqlite` have it. */
export interface SqliteStatement {
  /** Runs it for its effect. */
  run(...values: (string | number | Uint8Array)[]): unknown;
  /** The first row. */
  get(...values: (string | number | Uint8Array)[]): unknown;
  /** All rows. */
  all(...values: (string | number | Uint8Array)[]): unknown[];
}

/** An open SQLite database: a `DatabaseSync` of `node:sqlite`, a `Database` of better-sqlite3 or of `bun:sqlite`. */
export interface SqliteDatabase {
  /** Runs SQL without parameters. */
  exec(sql: string): unknown;
  /** Prepares one statement. */
  prepare(sql: string): SqliteStatement;
  /** Closes the database. */
  close(): unknown;
}

/** Options of {@link sqliteStore}: `path` or `database`. */
export interface SqliteStoreOptions {
  /** The database's file, made where there is none. `":memory:"` keeps nothing. */
  path?: string;
  /** An open database of yours, which stays open when the store is closed. Its journal mode is left as it is. */
  database?: SqliteDatabase;
  /** The name of the table, `threadkeep` without it. Several keeps can lie in one file under names of their own. */
  table?: string;
  /** For how many milliseconds a busy database is tried again before an error says `transient`; 10,000 without it. */
  busyTimeout?: number;
}

/** The longest pause between tries, in milliseconds: whoever waits longer than others write is left out. */
const LONGEST = 10;

/** The value of `PRAGMA synchronous` with which a commit that returned is on the disk, whatever the journal mode is. */
const EXTRA = 3;

/** The version of the layout; data of a newer one is refused. */
const VERSION = 1;

/**
 * Opens a keep in SQLite. Several processes may use the file at once.
 *
 * A `strict` commit is on the disk when it resolves (write-ahead log, `synchronous=EXTRA`); a `relaxed` one survives a crash
 * of the process, not of the machine. Statements run on the calling thread, as SQLite's interfaces for Node do.
 *
 * @throws ThreadkeepError `bad-request` for wrong options; `unavailable` when the file cannot be opened or no SQLite is there;
 * `newer-version`; `corrupt` when the file is no database
 * @example
 * ```ts
 * import { Threadkeep } from "threadkeep";
 * import { sqliteStore } from "threadkeep/sqlite";
 *
 * const keep = await Threadkeep.open({ storage: await sqliteStore({ path: "chats.db" }) });
 * await keep.append("main", [{ role: "user", content: "hello" }]);
 * await keep.close();
 * ```
 */
export async function sqliteStore(options: SqliteStoreOptions): Promise<StoreAdapter> {
  const checked = check.options(options, "options", {
    path: filePath,
    database: sqliteDatabase,
    table: tableName,
    busyTimeout: milliseconds,
  }) as SqliteStoreOptions;
  const { path, database, table = "threadkeep", busyTimeout = 10_000 } = checked;
  if ((path === undefined) === (database === undefined)) throw badArgument("options", "must have either `path` or `database`");
  const patience = new Patience(busyTimeout, 1, LONGEST);
  const opened = database ?? (await openFile(path ?? ""));
  for (;;) {
    try {
      return new SqliteStore(opened, table, busyTimeout, database === undefined);
    } catch (error) {
      if (isBusy(error) && (await patience.wait())) continue;
      if (database === undefined) opened.close();
      throw sqliteTrouble(error, `the SQLite database ${path ?? "that was given"} cannot be used`);
    }
  }
}

async function openFile(path: string): Promise<SqliteDatabase> {
  const open = await loadSqlite();
  try {
    return open(path);
  } catch (error) {
    throw trouble("unavailable", `the SQLite database ${path} cannot be opened`, error);
  }
}

class SqliteStore implements StoreAdapter {
  readonly #database: SqliteDatabase;
  readonly #ours: boolean;
  readonly #busyTimeout: number;
  readonly #statements: Statements;
  /** What `PRAGMA synchronous` is while nothing strict is written. */
  readonly #relaxed: number;
  #synchronous: number;
  #closed = false;

  constructor(database: SqliteDatabase, table: string, busyTimeout: number, ours: boolean) {
    this.#database = database;
    this.#ours = ours;
    this.#busyTimeout = busyTimeout;
    // What blocks for longer is waited for without holding up the thread.
    if (ours) database.exec("PRAGMA busy_timeout = 5; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    this.#relaxed = Number(only(database.prepare("PRAGMA synchronous").get()));
    this.#synchronous = this.#relaxed;
    create(database, table);
    this.#statements = prepare(database, table);
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.#patiently(() => {
      const row = this.#statements.get.get(key);
      return isRow(row) ? (only(row) as Uint8Array) : undefined;
    });
  }

  scan({ start, end, limit, reverse }: ScanRequest): Promise<StoreRecord[]> {
    return this.#patiently(() => {
      const statement = reverse ? this.#statements.down : this.#statements.up;
      const rows = statement.all(start, end, limit ?? -1);
      return rows.map((row) => Object.values(row as object) as StoreRecord);
    });
  }

  commit(commit: StoreCommit): Promise<void> {
    return this.#patiently(() => this.#write(commit));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#ours) this.#database.close();
  }

  /** Does `work`, all of it in one go of the thread, again and again while somebody else holds the database. */
  async #patiently<T>(work: () => T): Promise<T> {
    const patience = new Patience(this.#busyTimeout, 1, LONGEST);
    for (;;) {
      if (this.#closed) throw closedError();
      try {
        return work();
      } catch (error) {
        if (error instanceof Conflict || error instanceof ThreadkeepError) throw error;
        if (isBusy(error) && (await patience.wait())) continue;
        throw sqliteTrouble(error, "SQLite failed");
      }
    }
  }

  #write(commit: StoreCommit): void {
    const { absent, present, deletes, deleteRanges, puts, durability } = commit;
    const { begin, end, undo, has, remove, removeRange, put } = this.#statements;
    // It cannot be changed inside a transaction. EXTRA has the write-ahead log synced before the commit returns, as FULL has; where
    // there is a rollback journal instead, it syncs the folder too, without which the commit may be undone after a power failure.
    const synchronous = durability === "strict" ? EXTRA : this.#relaxed;
    try {
      this.#setSynchronous(synchronous);
      begin.run();
    } catch (error) {
      if (!this.#ours) this.#setSynchronous(this.#relaxed);
      throw error;
    }
    try {
      for (const key of absent) if (isRow(has.get(key))) throw new Conflict(key);
      for (const key of present) if (!isRow(has.get(key))) throw new Conflict(key);
      for (const key of deletes) remove.run(key);
      for (const [start, end] of deleteRanges) removeRange.run(start, end);
      for (const [key, value] of puts) put.run(key, value);
      end.run();
    } catch (error) {
      try {
        undo.run();
      } catch {
        // SQLite has rolled back already, as it does when the disk is full; the first error says why.
      }
      throw error;
    } finally {
      // A database of the user's gets back what it had.
      if (!this.#ours) this.#setSynchronous(this.#relaxed);
    }
  }

  #setSynchronous(value: number): void {
    if (value === this.#synchronous) return;
    this.#database.exec(`PRAGMA synchronous = ${value}`);
    this.#synchronous = value;
  }
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: SqliteDatabase, table: string) {
  const range = `SELECT key, value FROM "${table}" WHERE key >= ? AND key < ? ORDER BY key`;
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    end: database.prepare("COMMIT"),
    undo: database.prepare("ROLLBACK"),
    get: database.prepare(`SELECT value FROM "${table}" WHERE key = ?`),
    has: database.prepare(`SELECT 1 AS there FROM "${table}" WHERE key = ?`),
    up: database.prepare(`${range} ASC LIMIT ?`),
    down: database.prepare(`${range} DESC LIMIT ?`),
    remove: database.prepare(`DELETE FROM "${table}" WHERE key = ?`),
    removeRange: database.prepare(`DELETE FROM "${table}" WHERE key >= ? AND key < ?`),
    put: database.prepare(`INSERT INTO "${table}" (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`),
  };
}

/** Makes the tables, unless they are there; refuses those of a newer version. */
function create(database: SqliteDatabase, table: string): void {
  const find = "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name = ?";
  const read = () => Number(only(database.prepare(`SELECT version FROM "${table}_version"`).get()));
  const there = () => Number(only(database.prepare(find).get(`${table}_version`))) > 0;
  // A look without a lock, for all but the first who comes.
  if (!there()) {
    database.exec("BEGIN IMMEDIATE");
    try {
      if (!there())
        database.exec(
          `CREATE TABLE "${table}" (key TEXT NOT NULL COLLATE BINARY PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
           CREATE TABLE "${table}_version" (version INTEGER NOT NULL);
           INSERT INTO "${table}_version" VALUES (${VERSION})`,
        );
      database.exec("COMMIT");
    } catch (error) {
      try {
        database.exec("ROLLBACK");
      } catch {
        // It was rolled back already.
      }
      throw error;
    }
  }
  const version = read();
  if (version > VERSION) {
    const message = `the data has layout version ${version}, this package reads up to ${VERSION}: update Threadkeep; nothing was changed`;
    throw new ThreadkeepError("newer-version", message, { found: version, supported: VERSION });
  }
}

function isRow(row: unknown): boolean {
  return row !== undefined && row !== null;
}

/** The value of a row with one column. Rows are lists where a database of the user's was told so (`returnArrays`). */
function only(row: unknown): unknown {
  return Object.values(row as object)[0];
}

function filePath(value: unknown, argument: string): string {
  const path = check.exact(value, argument);
  // SQLite would take "" for a database that is deleted when it is closed; U+0000 would end the name early.
  if (path === "" || path.includes("\0")) throw badArgument(argument, 'must name a file (":memory:" keeps nothing), and must not be empty or contain U+0000');
  return path;
}

function tableName(value: unknown, argument: string): string {
  const name = check.exact(value, argument);
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) || /^sqlite_/i.test(name))
    throw badArgument(argument, "must be letters, digits and `_`, begin with no digit and not with `sqlite_`, and have at most 63 characters");
  return name;
}

function sqliteDatabase(value: unknown, argument: string): SqliteDatabase {
  const { exec, prepare } = (value ?? {}) as Partial<SqliteDatabase>;
  if (typeof exec !== "function" || typeof prepare !== "function")
    throw badArgument(argument, "must be an open database of `node:sqlite`, better-sqlite3 or `bun:sqlite`");
  return value as SqliteDatabase;
}
