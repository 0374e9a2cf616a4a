/// <reference types="node" />
// Packages that a program of ours needs and does not bring: they are looked for beside threadkeep and, as with `npx -p threadkeep`,
// in the folder where the program was started.

import { createRequire, register } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Trouble } from "../cli/place.js";

/** The package is in neither place. */
export class PeerMissing extends Trouble {}

/** A loader that finds a package from another place, which `register` hands to it. */
const LOADER = `let from;
export const initialize = (data) => { from = data; };
export const resolve = (name, context, next) =>
  next(name, name === from.name || name.startsWith(from.name + "/") ? { ...context, parentURL: from.url } : context);`;

/**
 * Makes sure that modules of threadkeep can import `module` of the package `name`.
 *
 * @throws PeerMissing with the places where it was looked for
 */
export function findPeer(name: string, module: string): void {
  const beside = dirname(fileURLToPath(import.meta.url));
  if (found(beside, module)) return;
  const working = process.cwd();
  if (!found(working, module)) {
    const places = `It was looked for beside threadkeep (from ${beside}) and in the working folder (${working}).`;
    throw new PeerMissing(`the package ${name} is missing. ${places} To install it: npm install ${name}`);
  }
  register(`data:text/javascript,${encodeURIComponent(LOADER)}`, { data: { name, url: anchor(working) } });
}

function found(folder: string, module: string): boolean {
  try {
    createRequire(anchor(folder)).resolve(module);
    return true;
  } catch {
    return false;
  }
}

/** The URL of a module that would lie in a folder. */
function anchor(folder: string): string {
  return pathToFileURL(join(folder, "peer.js")).href;
}
