// The tables of a keep in SQLite, and their statements. A row has a key, a value and the value's sum; a row of the first layout has no sum
// until it is written again.

import { ThreadkeepError } from "../errors.js";
import { isReadonly } from "./sqlite-errors.js";
import type { SqliteDatabase } from "./sqlite-database.js";

/** The version of the layout; data of a newer one is refused. The first had no sums. */
const VERSION = 2;

/** The prepared statements of a table. */
export type Statements = ReturnType<typeof prepare>;

/** Prepares the statements. Without `sums`, in a database of the first layout that cannot be written to, rows have none. */
export function prepare(database: SqliteDatabase, table: string, sums: boolean) {
  const crc = sums ? "crc" : "NULL AS crc";
  const range = `SELECT key, value, ${crc} FROM "${table}" WHERE key >= ? AND key < ? ORDER BY key`;
  // In a database that cannot be written to, this one only says so.
  const put = sums
    ? `INSERT INTO "${table}" (key, value, crc) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, crc = excluded.crc`
    : `INSERT INTO "${table}" (key, value) SELECT ?, ? WHERE ? IS NOT NULL`;
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    end: database.prepare("COMMIT"),
    undo: database.prepare("ROLLBACK"),
    get: database.prepare(`SELECT key, value, ${crc} FROM "${table}" WHERE key = ?`),
    has: database.prepare(`SELECT 1 AS there FROM "${table}" WHERE key = ?`),
    up: database.prepare(`${range} ASC LIMIT ?`),
    down: database.prepare(`${range} DESC LIMIT ?`),
    remove: database.prepare(`DELETE FROM "${table}" WHERE key = ?`),
    removeRange: database.prepare(`DELETE FROM "${table}" WHERE key >= ? AND key < ?`),
    put: database.prepare(put),
  };
}

/** Makes the tables, or brings them to this layout; refuses those of a newer version. Says whether rows have sums. */
export function create(database: SqliteDatabase, table: string): boolean {
  const find = "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name = ?";
  const version = (): number =>
    Number(only(database.prepare(find).get(`${table}_version`))) > 0 ? Number(only(database.prepare(`SELECT version FROM "${table}_version"`).get())) : 0;
  // A look without a lock, for all but the first who comes.
  if (version() < VERSION) {
    try {
      migrate(database, table, version);
    } catch (error) {
      if (!isReadonly(error) || version() === 0) throw error;
      // It can be read as it is.
      return false;
    }
  }
  const found = version();
  if (found > VERSION) {
    const message = `the data has layout version ${found}, this package reads up to ${VERSION}: update Threadkeep; nothing was changed`;
    throw new ThreadkeepError("newer-version", message, { found, supported: VERSION });
  }
  return true;
}

/** Migrates forward, one version after the other, in one transaction. */
function migrate(database: SqliteDatabase, table: string, version: () => number): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Somebody else may have been first.
    const found = version();
    if (found === 0)
      database.exec(
        `CREATE TABLE "${table}" (key TEXT NOT NULL COLLATE BINARY PRIMARY KEY, value BLOB NOT NULL, crc INTEGER);
         CREATE TABLE "${table}_version" (version INTEGER NOT NULL);
         INSERT INTO "${table}_version" VALUES (${VERSION})`,
      );
    if (found === 1) database.exec(`ALTER TABLE "${table}" ADD COLUMN crc INTEGER; UPDATE "${table}_version" SET version = 2`);
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

/** The value of a row with one column. Rows are lists where a database of the user's was told so (`returnArrays`). */
export function only(row: unknown): unknown {
  return Object.values(row as object)[0];
}
