// A keep in one SQLite file, or in a table of a database of yours: through `node:sqlite`, better-sqlite3, or anything
// that has their `exec`, `prepare` and `close`. The tables are in `sqlite-layout.ts`; what errors mean is in `sqlite-errors.ts`.

import * as check from "../check.js";
import { ThreadkeepError, badArgument } from "../errors.js";
import type { MaybePromise, ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "./adapter.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { loadSqlite } from "./sqlite-load.js";
import { isBusy, sqliteTrouble } from "./sqlite-errors.js";
import { create, only, prepare, type Statements } from "./sqlite-layout.js";
import { createViews } from "./sqlite-views.js";
import { fastestCrc32 } from "./log/crc.js";
import { pause as nextTurn } from "./log/folder.js";
import { Conflict, Patience, closedError, milliseconds, trouble } from "./trouble.js";

export type { SqliteDatabase, SqliteStatement } from "./sqlite-database.js";

/** Options of {@link sqliteStore}: `path` or `database`. */
export interface SqliteStoreOptions {
  /** The database's file, made where there is none. `":memory:"` keeps nothing. */
  path?: string;
  /** An open database of yours, which stays open when the store is closed. Its journal mode is left as it is. */
  database?: SqliteDatabase;
  /** The name of the table, `threadkeep` without it. Several keeps can lie in one file under names of their own. */
  table?: string;
  /** Makes the view `<table>_threads`, which shows the messages of each thread to people who read the file with SQL. It needs SQLite 3.35. */
  views?: boolean;
  /** For how many milliseconds a busy database is tried again before an error says `transient`; 10,000 without it. */
  busyTimeout?: number;
}

/** The longest pause between tries, in milliseconds: whoever waits longer than others write is left out. */
const LONGEST = 10;

/** The value of `PRAGMA synchronous` with which a commit that returned is on the disk, whatever the journal mode is. */
const EXTRA = 3;

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
 * await keep.thread("main").append([{ role: "user", content: "hello" }]);
 * await keep.close();
 * ```
 */
export async function sqliteStore(options: SqliteStoreOptions): Promise<StoreAdapter> {
  const checked = check.options(options, "options", {
    path: filePath,
    database: sqliteDatabase,
    table: tableName,
    views: check.flag,
    busyTimeout: milliseconds,
  }) as SqliteStoreOptions;
  const { path, database, table = "threadkeep", views = false, busyTimeout = 10_000 } = checked;
  if ((path === undefined) === (database === undefined)) throw badArgument("options", "must have either `path` or `database`");
  const patience = new Patience(busyTimeout, 1, LONGEST);
  const crc32 = await fastestCrc32();
  const opened = database ?? (await openFile(path ?? ""));
  for (;;) {
    try {
      const store = new SqliteStore(opened, table, busyTimeout, database === undefined, crc32);
      if (views) createViews(opened, table);
      return store;
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

/** A commit that waits for its turn. */
interface Waiting {
  commit: StoreCommit;
  patience: Patience;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** What is known of a commit that is being carried out: nothing, or that a condition does not hold. */
type Outcome = Conflict | undefined;

/** So many commits are one transaction at most, */
const MOST = 256;
/** and so many bytes of values, but for one that has more by itself. */
const MOST_BYTES = 8 << 20;

class SqliteStore implements StoreAdapter {
  readonly #database: SqliteDatabase;
  readonly #ours: boolean;
  readonly #busyTimeout: number;
  readonly #statements: Statements;
  /** What `PRAGMA synchronous` is while nothing strict is written. */
  readonly #relaxed: number;
  readonly #crc32: (bytes: Uint8Array, before?: number) => number;
  #synchronous: number;
  #closed = false;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  constructor(database: SqliteDatabase, table: string, busyTimeout: number, ours: boolean, crc32: (bytes: Uint8Array, before?: number) => number) {
    this.#database = database;
    this.#ours = ours;
    this.#busyTimeout = busyTimeout;
    this.#crc32 = crc32;
    // What blocks for longer is waited for without holding up the thread.
    if (ours) database.exec("PRAGMA busy_timeout = 5; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    this.#relaxed = Number(only(database.prepare("PRAGMA synchronous").get()));
    this.#synchronous = this.#relaxed;
    this.#statements = prepare(database, table, create(database, table));
  }

  get(key: string): MaybePromise<Uint8Array | undefined> {
    return this.#patiently(() => {
      const row = this.#statements.get.get(key);
      return isRow(row) ? this.#record(row)[1] : undefined;
    });
  }

  scan({ start, end, limit, reverse }: ScanRequest): MaybePromise<StoreRecord[]> {
    return this.#patiently(() => {
      const statement = reverse ? this.#statements.down : this.#statements.up;
      const records = statement.all(start, end, limit ?? -1).map((row) => this.#record(row));
      // A damaged page may give anything.
      if (!records.every(([key], index) => key >= start && key < end && (index === 0 || key > records[index - 1]![0] !== reverse)))
        throw damagedDatabase("its keys are not in order");
      return records;
    });
  }

  /** A row's key and value, if the value is what was written. */
  #record(row: unknown): StoreRecord {
    const [key, value, crc] = Object.values(row as object) as [unknown, unknown, number | bigint | null];
    if (typeof key !== "string" || !(value instanceof Uint8Array)) throw damagedDatabase("a row has no key or no value");
    if (crc !== null && Number(crc) !== this.#sum(key, value)) {
      const message = `the value of ${JSON.stringify(key)} in the SQLite database is not what was written: restore the file from a copy; what else is in it can be read and exported`;
      throw Object.assign(new ThreadkeepError("corrupt", message, { key }), { key });
    }
    return [key, value];
  }

  /** The sum of a value, which also holds it in its place. */
  #sum(key: string, value: Uint8Array): number {
    return this.#crc32(value, this.#crc32(ENCODER.encode(key)));
  }

  /** Carries out a commit. Those that come in one turn of the event loop share a transaction, and one wait for the disk. */
  commit(commit: StoreCommit): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw closedError();
      this.#waiting.push({ commit, patience: new Patience(this.#busyTimeout, 1, LONGEST), resolve, reject });
      this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writing;
    if (this.#ours) this.#database.close();
  }

  /** Does `work`, all of it in one go of the thread and at once: most answers need no promise. While somebody else holds the database, tries again. */
  #patiently<T>(work: () => T): MaybePromise<T> {
    try {
      if (this.#closed) throw closedError();
      return work();
    } catch (error) {
      return this.#again(work, error);
    }
  }

  /** Does `work`, which failed with `error`, again and again while somebody else holds the database. */
  async #again<T>(work: () => T, error: unknown): Promise<T> {
    const patience = new Patience(this.#busyTimeout, 1, LONGEST);
    for (let failed = error; ; ) {
      if (failed instanceof ThreadkeepError) throw failed;
      if (!isBusy(failed) || !(await patience.wait())) throw sqliteTrouble(failed, "SQLite failed");
      try {
        if (this.#closed) throw closedError();
        return work();
      } catch (error) {
        failed = error;
      }
    }
  }

  /** Carries out what waits, in the order in which it came. */
  async #write(): Promise<void> {
    // Others have their turn before each transaction: those who read, and those whose commits can be in it, too.
    for (await nextTurn(); this.#waiting.length > 0; await nextTurn()) {
      let bytes = 0;
      const end = this.#waiting.findIndex(({ commit }, index) => index === MOST || ((bytes += size(commit)) > MOST_BYTES && index > 0));
      await this.#carryOut(this.#waiting.splice(0, end < 0 ? this.#waiting.length : end));
    }
  }

  /** Carries out commits in one transaction; where that fails, each in one of its own. */
  async #carryOut(all: Waiting[]): Promise<void> {
    while (all.length > 0) {
      try {
        const outcomes = this.#transaction(all.map(({ commit }) => commit));
        all.forEach(({ resolve, reject }, index) => (outcomes[index] === undefined ? resolve() : reject(outcomes[index])));
        return;
      } catch (error) {
        if (isBusy(error)) {
          const [first] = all as [Waiting];
          if (await first.patience.wait()) continue;
          first.reject(sqliteTrouble(error, "SQLite failed"));
          all.shift();
        } else if (all.length === 1) {
          all[0]!.reject(sqliteTrouble(error, "SQLite failed"));
          return;
        } else {
          // One of them may be too large for the disk, and keeps no other back.
          for (const one of all) await this.#carryOut([one]);
          return;
        }
      }
    }
  }

  /** Carries out commits, each as if those before it had been carried out already: all of them, but for those of which a condition fails. */
  #transaction(commits: readonly StoreCommit[]): Outcome[] {
    const { begin, end, undo } = this.#statements;
    // It cannot be changed inside a transaction. EXTRA has the write-ahead log synced before the commit returns, as FULL has; where
    // there is a rollback journal instead, it syncs the folder too, without which the commit may be undone after a power failure.
    const synchronous = commits.some(({ durability }) => durability === "strict") ? EXTRA : this.#relaxed;
    try {
      this.#setSynchronous(synchronous);
      begin.run();
    } catch (error) {
      if (!this.#ours) this.#setSynchronous(this.#relaxed);
      throw error;
    }
    try {
      const outcomes = commits.map((commit) => this.#change(commit));
      end.run();
      return outcomes;
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

  /** Does what a commit says, unless a condition does not hold: then nothing. */
  #change({ absent, present, deletes, deleteRanges, puts }: StoreCommit): Outcome {
    const { has, remove, removeRange, put } = this.#statements;
    for (const key of absent) if (isRow(has.get(key))) return new Conflict(key);
    for (const key of present) if (!isRow(has.get(key))) return new Conflict(key);
    for (const key of deletes) remove.run(key);
    for (const [start, end] of deleteRanges) removeRange.run(start, end);
    for (const [key, value] of puts) put.run(key, value, this.#sum(key, value));
    return undefined;
  }

  #setSynchronous(value: number): void {
    if (value === this.#synchronous) return;
    this.#database.exec(`PRAGMA synchronous = ${value}`);
    this.#synchronous = value;
  }
}

function damagedDatabase(why: string): ThreadkeepError {
  return new ThreadkeepError("corrupt", `the SQLite database is damaged: ${why}. Restore the file from a copy`);
}

const ENCODER = new TextEncoder();

/** How many bytes of values a commit has. */
function size({ puts }: StoreCommit): number {
  return puts.reduce((sum, [, value]) => sum + value.length, 0);
}

function isRow(row: unknown): boolean {
  return row !== undefined && row !== null;
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
