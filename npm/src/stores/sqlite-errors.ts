// What SQLite's errors mean for a keep. `node:sqlite` gives a number, better-sqlite3 and `bun:sqlite` a name.

import { ThreadkeepError, type ThreadkeepErrorCode } from "../errors.js";
import { trouble } from "./trouble.js";

const NAMES = new Map([
  ["SQLITE_PERM", 3],
  ["SQLITE_BUSY", 5],
  ["SQLITE_LOCKED", 6],
  ["SQLITE_READONLY", 8],
  ["SQLITE_IOERR", 10],
  ["SQLITE_CORRUPT", 11],
  ["SQLITE_FULL", 13],
  ["SQLITE_CANTOPEN", 14],
  ["SQLITE_AUTH", 23],
  ["SQLITE_NOTADB", 26],
]);

const CODES = new Map<number, ThreadkeepErrorCode>([
  [3, "unavailable"],
  [5, "transient"],
  [6, "transient"],
  [8, "unavailable"],
  [11, "corrupt"],
  [13, "quota"],
  [14, "unavailable"],
  [23, "unavailable"],
  [26, "corrupt"],
]);

/** SQLite's primary result code, or `undefined` for an error that is not its own. */
function result(error: unknown): number | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  if (typeof code !== "string") return undefined;
  // Extended codes begin with the name of the primary one.
  return NAMES.get(code.split("_").slice(0, 2).join("_"));
}

/** Whether somebody else holds the database, which passes. */
export function isBusy(error: unknown): boolean {
  const found = result(error);
  return found === 5 || found === 6;
}

/** Whether the database cannot be written to. */
export function isReadonly(error: unknown): boolean {
  return result(error) === 8;
}

/** The error for the keep's caller. */
export function sqliteTrouble(error: unknown, what: string): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  return trouble(CODES.get(result(error) ?? 0) ?? "storage", what, error);
}
