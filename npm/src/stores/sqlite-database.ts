// What a SQLite database must have to hold a keep.

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
