// The npm package as a user has it: the packed tarball, unpacked and served beside the tests' own small pages.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "./serve.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));

/** The tarball under test: THREADKEEP_TARBALL, else the one that `cargo xtask pack` made. */
export function tarball() {
  if (process.env.THREADKEEP_TARBALL) return resolve(process.env.THREADKEEP_TARBALL);
  const folder = resolve(here, "../../target/npm");
  const found = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".tgz")) : [];
  if (found.length !== 1) throw new Error(`target/npm holds ${found.length} tarballs: run \`cargo xtask pack\`, or set THREADKEEP_TARBALL`);
  return join(folder, found[0]);
}

/** The package in a folder of its own: where it is served, and `remove`. */
export function unpacked() {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-package-"));
  execFileSync("tar", ["-xzf", tarball(), "-C", folder]);
  return { mounts: { "/package/": join(folder, "package") }, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Serves `pages/` at `/`, the package at `/package/` and other folders where they are wanted; gives the address and `close`. */
export async function servePackage(others = {}) {
  const { mounts, remove } = unpacked();
  const server = await serve({ ...mounts, ...others, "/": join(here, "pages") });
  return { address: server.address, close: () => server.close().finally(remove) };
}

/** An empty folder for a browser's profile or a test's files; `remove` deletes it. */
export function scratch(name) {
  const folder = mkdtempSync(join(tmpdir(), `threadkeep-${name}-`));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }) };
}
