// What errors of Redis, its clients and the network mean for a keep.

import { ThreadkeepError, type ThreadkeepErrorCode } from "../errors.js";
import { trouble, words } from "./trouble.js";

/** The word with which an error of the server begins; `undefined` for what came from the client or the network. */
function replyWord(error: unknown): string | undefined {
  return /^(?:-?)([A-Z][A-Z0-9]{1,})(?: |$)/.exec(error instanceof Error ? error.message : "")?.[1];
}

/** A server that is about to be what it should be. */
const SOON = new Set(["LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "MOVED", "ASK", "READONLY", "NOREPLICAS", "UNBLOCKED"]);

const CODES = new Map<string, ThreadkeepErrorCode>([
  ["OOM", "quota"],
  ["READONLY", "unavailable"],
  ["MISCONF", "unavailable"],
  ["NOAUTH", "unavailable"],
  ["WRONGPASS", "unavailable"],
  ["NOPERM", "unavailable"],
  ["DENIED", "unavailable"],
]);

/** Whether it was the server that refused who called. */
export function isRefused(error: unknown): boolean {
  return ["NOAUTH", "WRONGPASS", "NOPERM", "DENIED"].includes(replyWord(error) ?? "") || /invalid (username-)?password/i.test(words(error));
}

/** Whether the script has to be sent whole. */
export function isUnknownScript(error: unknown): boolean {
  return replyWord(error) === "NOSCRIPT";
}

/** Whether another server of the cluster has the key by now. */
export function isElsewhere(error: unknown): boolean {
  return ["MOVED", "ASK"].includes(replyWord(error) ?? "");
}

/** Whether trying again may help: the connection is gone, or the server is not ready. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ThreadkeepError) return error.code === "transient";
  // Somebody's mistake, which will be there the next time too.
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const word = replyWord(error);
  return word === undefined || SOON.has(word);
}

/** The error for the keep's caller. */
export function redisTrouble(error: unknown, what: string): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  const word = replyWord(error) ?? "";
  const full = word === "MISCONF" && /no space|full/i.test(words(error));
  const code = full ? "quota" : (CODES.get(word) ?? (mayPass(error) ? "transient" : "storage"));
  return trouble(code, what, error);
}
