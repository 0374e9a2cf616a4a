// Which SQLite there is: Node's own from version 22.13 on, else better-sqlite3 where it is installed.

import type { SqliteDatabase } from "./sqlite-database.js";
import { trouble } from "./trouble.js";

type Database = new (path: string) => SqliteDatabase;

/** Names that no bundler shall look for: who opens a file by its path is not in a browser. */
const BUILT_IN = "node:sqlite";
const PEER = "better-sqlite3";

/** What opens a file. */
export async function loadSqlite(): Promise<(path: string) => SqliteDatabase> {
  try {
    const { DatabaseSync } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ BUILT_IN)) as { DatabaseSync: Database };
    return (path) => new DatabaseSync(path);
  } catch {
    // An older Node, another runtime.
  }
  try {
    const { default: Peer } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ PEER)) as { default: Database };
    return (path) => new Peer(path);
  } catch (error) {
    const what = "there is no SQLite: Node has its own from version 22.13 on; for older ones install better-sqlite3, or hand over an open `database`";
    throw trouble("unavailable", what, error);
  }
}
