// What the tests of the file store share: folders that are thrown away, short commits, and processes that write until they are killed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installed, project } from "./installed.mjs";

/** A module of the installed package, by its path. */
export const module = (path) => import(pathToFileURL(join(installed, "dist", path)).href);
export const { fileStore } = await module("stores/file.js");

const encoder = new TextEncoder();
export const bytes = (text) => encoder.encode(text);
export const text = (value) => (value === undefined || value === null ? undefined : new TextDecoder().decode(value));

/** An empty folder that is deleted after the test. */
export function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-file-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A commit with all its parts; texts become bytes. */
export function commit({ puts = [], ...rest }) {
  const records = (Array.isArray(puts) ? puts : Object.entries(puts)).map(([key, value]) => [key, typeof value === "string" ? bytes(value) : value]);
  return { absent: [], present: [], deletes: [], deleteRanges: [], durability: "strict", ...rest, puts: records };
}

/** Everything in a store, as text by key. */
export async function everything(store) {
  return new Map((await store.scan({ start: "", end: "\x7f", reverse: false })).map(([key, value]) => [key, text(value)]));
}

/** The log files of a folder. */
export const logs = (folder) =>
  readdirSync(folder)
    .filter((name) => name.startsWith("log-"))
    .sort();

/** The text of the one log of a folder. */
export const logText = (folder) => readFileSync(join(folder, logs(folder).at(-1)), "utf8");

/** Runs a module of a user's in a process of its own; `lines` hears of each line it prints. Gives the process and its end. */
export function child(code, lines = () => {}, env = {}) {
  const running = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let rest = "";
  let errors = "";
  running.stdout.setEncoding("utf8").on("data", (piece) => {
    const all = (rest + piece).split("\n");
    rest = all.pop();
    for (const line of all) lines(line);
  });
  running.stderr.setEncoding("utf8").on("data", (piece) => (errors += piece));
  const ended = new Promise((resolve, reject) => running.once("error", reject).once("close", (code, signal) => resolve({ code, signal, errors })));
  return { running, ended };
}

/** Numbers from 0 to 1 that follow from a seed. */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** What a rejected promise rejects with. */
export async function failure(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`it resolved with ${String(value)}`);
}
