// What errors of PostgreSQL, its client and the network mean for a keep. The server's have a code of five characters.

import { ThreadkeepError, type ThreadkeepErrorCode } from "../errors.js";
import { trouble } from "./trouble.js";

function state(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** By the code, else by its class, its first two characters. */
const CODES = new Map<string, ThreadkeepErrorCode>([
  ["08", "transient"], // connection
  ["25006", "unavailable"], // read-only
  ["28", "unavailable"], // user or password
  ["3D", "unavailable"], // no such database
  ["3F", "storage-gone"], // no such schema
  ["40", "transient"], // deadlock, serialisation
  ["42501", "unavailable"], // not allowed
  ["42P01", "storage-gone"], // no such table
  ["42883", "storage-gone"], // no such function
  ["53100", "quota"], // disk full
  ["53200", "quota"], // out of memory
  ["53300", "transient"], // too many connections
  ["55P03", "transient"], // lock not available
  ["57014", "transient"], // cancelled, as statement_timeout does
  ["57P01", "transient"], // shutting down
  ["57P02", "transient"], // crashed
  ["57P03", "transient"], // starting up
  ["57P05", "transient"], // idle for too long
  ["XX001", "corrupt"],
  ["XX002", "corrupt"],
]);

function codeOf(error: unknown): ThreadkeepErrorCode {
  const found = state(error);
  if (found === undefined) {
    // Somebody's mistake, which will be there the next time too.
    if (error instanceof TypeError || error instanceof RangeError) return "storage";
    // The client's own: the connection broke, or could not be made. A pool that was ended stays so.
    return error instanceof Error && /after calling end/.test(error.message) ? "closed" : "transient";
  }
  return CODES.get(found) ?? CODES.get(found.slice(0, 2)) ?? "storage";
}

/** Whether trying again may help. */
export function mayPass(error: unknown): boolean {
  return codeOf(error) === "transient";
}

/** Whether something that the store needs has not been made, or is gone. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === "storage-gone";
}

/** The error for the keep's caller. */
export function postgresTrouble(error: unknown, what: string): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  // No such prepared statement, or one of that name already: somebody else had the server's connection meanwhile.
  const pooled = ["26000", "42P05"].includes(state(error) ?? "");
  return trouble(codeOf(error), pooled ? `${what} (a pooler that cannot keep prepared statements needs the option \`prepare: false\`)` : what, error);
}
