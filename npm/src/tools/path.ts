// Paths in the `/memories` tree. They are names and no places: nothing outside the tree can be named, whatever a model writes.

import { bytes } from "./bound.js";
import { shown, ToolFailure } from "./schema.js";

/** The root of the tree. */
export const ROOT = "/memories";

/** The most bytes of a path, so that it fits a key whatever it is made of. */
const LONGEST = 256;

/** What a command could not do, in the documented words. */
export class FileFailure extends ToolFailure {}

/**
 * The path in its one form: no slash at its end, none doubled, composed characters.
 *
 * @throws FileFailure for what is no path below `/memories`
 */
export function memoryPath(given: unknown, argument = "path"): string {
  if (typeof given !== "string" || given === "") throw new FileFailure(`Error: ${argument} must be a path that begins with ${ROOT}, it is ${shown(given)}`);
  const bad = (why: string): FileFailure => new FileFailure(`Error: The path ${shown(given)} is not allowed: ${why}`);
  if (/\p{Surrogate}/u.test(given)) throw bad("it contains half of a character pair");
  const path = given.normalize("NFC");
  if (bytes(path) > LONGEST) throw bad(`it has more than ${LONGEST} bytes`);
  if (path !== ROOT && !path.startsWith(`${ROOT}/`)) throw bad(`it must begin with ${ROOT}`);
  // Characters that cannot be seen, or that turn the order of others, would make two paths look alike.
  if (/[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.test(path)) throw bad("it contains control characters");
  if (path.includes("\\")) throw bad("it contains a backslash");
  if (/%(2e|2f|5c|00)/i.test(path)) throw bad("it contains an encoded dot, slash or NUL");
  const names = path.split("/").filter((name) => name !== "");
  for (const name of names) {
    if (name === "." || name === "..") throw bad(`it must not contain ${name}`);
    if (name.trim() !== name) throw bad("its names must not begin or end with a space");
  }
  return `/${names.join("/")}`;
}

/** Whether `path` lies below the directory `folder`. */
export function below(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

/** The directories above a path, without the root. */
export function above(path: string): string[] {
  const names = path.split("/");
  return names.slice(3).map((_, at) => names.slice(0, at + 3).join("/"));
}
