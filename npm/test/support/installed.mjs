// The package as a user has it: the packed tarball, installed with npm into a folder outside the source tree of the
// package. Test files run in processes of their own; they share one installation per tarball.
import { createHash } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The folder `npm/` of the repository. */
export const source = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const target = resolve(source, "../target");

/** The tarball under test. */
export const tarball = findTarball();

/** The folder of a user's project that depends on it. */
export const project = install();

/** The installed package's folder. */
export const installed = join(project, "node_modules/threadkeep");

// Where keeps lie that say nothing of it, in this process and in those that inherit its variables.
process.env.THREADKEEP_HOME = mkdtempSync(join(tmpdir(), "threadkeep-home-"));
process.on("exit", () => rmSync(process.env.THREADKEEP_HOME, { recursive: true, force: true }));

/** The installed package, imported the way a user's module would. */
export async function load() {
  return import(pathToFileURL(join(installed, "dist/index.js")).href);
}

/** Runs a module of a user's in a process of its own, in the user's project and with nothing stored; gives what it printed. */
export function inChild(code, { timeout = 60_000, expectFailure = false } = {}) {
  const home = mkdtempSync(join(process.env.THREADKEEP_HOME, "child-"));
  const child = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: project,
    env: { ...process.env, THREADKEEP_HOME: home },
    encoding: "utf8",
    timeout,
  });
  rmSync(home, { recursive: true, force: true });
  if (child.error !== undefined) throw child.error;
  if ((child.status !== 0) !== expectFailure) throw new Error(`the process ended with ${child.status ?? child.signal}:\n${child.stdout}${child.stderr}`);
  return child.stdout + (expectFailure ? child.stderr : "");
}

/** A file of `test/fixtures`. */
export function fixture(name) {
  return readFileSync(join(source, "test/fixtures", name));
}

function findTarball() {
  if (process.env.THREADKEEP_TARBALL) return resolve(process.env.THREADKEEP_TARBALL);
  const folder = join(target, "npm");
  const found = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".tgz")) : [];
  if (found.length !== 1) throw new Error(`target/npm holds ${found.length} tarballs: run \`cargo xtask pack\`, or set THREADKEEP_TARBALL`);
  return join(folder, found[0]);
}

function install() {
  const hash = createHash("sha256").update(readFileSync(tarball)).digest("hex").slice(0, 16);
  const all = join(target, "npm-installed");
  const folder = join(all, hash);
  if (existsSync(folder)) return folder;
  const building = join(all, `${hash}-${process.pid}`);
  mkdirSync(building, { recursive: true });
  writeFileSync(join(building, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--offline", "--loglevel=error"];
  execFileSync(npm, ["install", ...options, tarball], { cwd: building, stdio: ["ignore", "ignore", "inherit"] });
  withPeers(building);
  try {
    renameSync(building, folder);
  } catch (error) {
    // Another test file was first.
    rmSync(building, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  for (const old of readdirSync(all)) if (!old.startsWith(hash)) rmSync(join(all, old), { recursive: true, force: true });
  return folder;
}

/** Gives the project the peers that this folder locks, as a user would install them, and all else that our tests import. */
function withPeers(folder) {
  const { devDependencies } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  for (const name of Object.keys(devDependencies)) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(source, "node_modules", name), link, "junction");
  }
}
