/// <reference types="node" />
// `threadkeep check`: the prompts of case files against those that were approved, which a lock file remembers.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import process from "node:process";
import type { Context } from "../generated/context.js";
import { ThreadkeepError } from "../errors.js";
import { replayCase } from "../prompts.js";
import { find, type Which } from "./files.js";
import { Trouble } from "./place.js";
import { beginning, count, dye, print } from "./print.js";

const LOCK = "threadkeep.lock";
const ENDING = ".case.json";
const CASES: Which = {
  file: (name) => name.endsWith(ENDING),
  folder: (name) => !name.startsWith(".") && name !== "node_modules",
};
/** How many lines of a ledger are shown. */
const SHOWN = 8;

/** What the lock remembers of a prompt. */
interface Approved {
  tokens: number;
  /** The tokens that there is room for; `null` where nothing limits them. */
  limit: number | null;
  /** The SHA-256 of the request's body as JSON text. */
  prompt: string;
  /** The case of the same conversation before this one, and how much both requests have in common from the beginning on: what a cache can serve. */
  begins: { as: string; messages: number; characters: number } | null;
  /** A line for each message: what was done, by which rule, and its tokens before and after. */
  ledger: string[];
}

/** The lock file. */
interface Lock {
  threadkeepLock: 1;
  /** By the files' paths from the lock on. */
  cases: Record<string, Approved>;
}

/** What of a case file is read here; `replayCase` checks the rest. */
interface Case {
  transcript: string;
  log: unknown[];
  context: Pick<Context, "payload" | "ledger" | "budget" | "overBudget" | "tokens">;
  body: object | null;
}

/** A case file as it is now. */
interface Checked {
  path: string;
  read: Case;
  /** What is wrong with it apart from the lock. */
  faults: string[];
  /** The file with the prompt that is made now, where that is another one. */
  rebuilt: string | undefined;
}

/**
 * Checks the case files at and below the paths, or of the working folder. With `update` it approves them: it writes the lock, and what a case's prompt
 * has become into its file.
 *
 * @throws Trouble where a prompt changed, is over its budget or shares less with the one before it
 */
export async function checkCases(paths: readonly string[], update: boolean, json: boolean): Promise<void> {
  const found = await find(paths.length === 0 ? ["."] : paths, CASES);
  const files = [...new Set(found.map(({ path }) => fromHere(path)))].sort();
  if (files.length === 0) throw new Trouble(`there is no file *${ENDING} here: keep.requests.caseFile(id) gives the text of one`);
  const cases = await Promise.all(files.map(one));
  const lock = await lockIn(LOCK);
  const now: Record<string, Approved> = {};
  const before = beforeEach(cases);
  for (const one of cases) {
    const is = approved(one.read, before.get(one));
    now[one.path] = is;
    one.faults.push(...overBudget(one.read), ...(update ? [] : differences(lock.cases[one.path], is)));
  }
  // With paths, the others are not looked at.
  const gone = paths.length > 0 ? [] : Object.keys(lock.cases).filter((path) => !(path in now));
  if (update) {
    for (const { path, rebuilt } of cases) if (rebuilt !== undefined) await writeFile(path, rebuilt);
    const all = Object.entries({ ...lock.cases, ...now }).filter(([path]) => !gone.includes(path));
    const sorted = Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeFile(LOCK, `${JSON.stringify({ threadkeepLock: 1, cases: sorted } satisfies Lock, null, 1)}\n`);
  }
  const faults = cases.map(({ path, faults }) => ({ path, faults }));
  if (!update) faults.push(...gone.map((path) => ({ path, faults: ["is not there any more"] })));
  if (json)
    print(JSON.stringify({ cases: faults.map(({ path, faults }) => ({ path, tokens: now[path]?.tokens ?? null, limit: now[path]?.limit ?? null, faults })) }));
  else for (const { path, faults: all } of faults) for (const fault of all) print(`${dye("red", path)} ${fault}`);
  const wrong = faults.filter(({ faults }) => faults.length > 0).length;
  if (wrong > 0)
    throw new Trouble(`${wrong} of ${count(faults.length, "case")} failed.${update ? "" : " threadkeep check --update approves what is new or changed."}`);
  if (!json) print(`${count(cases.length, "prompt")}, ${update ? "approved" : "all as approved"}.`);
}

/** A path from the working folder on, as the lock has it on every system. */
function fromHere(path: string): string {
  return relative(process.cwd(), resolve(path)).replaceAll(sep, "/");
}

async function one(path: string): Promise<Checked> {
  const text = await readFile(path, "utf8");
  const { difference, rebuilt } = await replayCase(text).catch((error: unknown) => {
    throw error instanceof ThreadkeepError ? new Trouble(`${path}: ${error.message}`) : error;
  });
  const faults: string[] = [];
  if (difference?.path === "hash") faults.push("was edited: its hash is of another text");
  else if (difference !== undefined) {
    const { path, recorded, rebuilt } = difference;
    faults.push(`makes another prompt than it has, first at ${path}: ${short(recorded)} in the file, ${short(rebuilt)} now`);
  }
  return { path, read: JSON.parse(rebuilt ?? text) as Case, faults, rebuilt };
}

function short(value: unknown): string {
  return beginning(JSON.stringify(value) ?? "nothing", 80);
}

/** For each case the one of the same conversation before it: that with fewer messages in its log. */
function beforeEach(cases: readonly Checked[]): Map<Checked, Checked> {
  const before = new Map<Checked, Checked>();
  const last = new Map<string, Checked>();
  const ordered = [...cases].sort((a, b) => a.read.log.length - b.read.log.length || (a.path < b.path ? -1 : 1));
  for (const one of ordered) {
    const earlier = last.get(one.read.transcript);
    if (earlier !== undefined) before.set(one, earlier);
    last.set(one.read.transcript, one);
  }
  return before;
}

function approved({ context, body }: Case, before: Checked | undefined): Approved {
  const sent = body ?? context.payload;
  return {
    tokens: context.tokens,
    limit: context.budget.tokens,
    prompt: createHash("sha256").update(JSON.stringify(sent)).digest("hex"),
    begins: before === undefined ? null : { as: before.path, ...inCommon(pieces(before.read.body ?? before.read.context.payload), pieces(sent)) },
    ledger: context.ledger.map(({ action, rule, tokensBefore, tokensAfter }) => `${action} ${rule} ${tokensBefore} ${tokensAfter}`),
  };
}

/** A request's body in the order in which providers cache it: tools, instructions, messages. */
function pieces(body: object): string[] {
  const fields = body as Record<string, unknown>;
  const first = ["tools", "system", "systemInstruction", "instructions"].map((name) => JSON.stringify(fields[name] ?? null));
  const list = fields["messages"] ?? fields["contents"] ?? fields["input"];
  return [...first, ...(Array.isArray(list) ? list.map((message) => JSON.stringify(message)) : [])];
}

function inCommon(a: readonly string[], b: readonly string[]): { messages: number; characters: number } {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return { messages: Math.max(0, at - 4), characters: a.slice(0, at).join("").length };
}

/** That a prompt is over its budget, in words, which nobody can approve. */
function overBudget({ context }: Case): string[] {
  if (!context.overBudget) return [];
  const over = context.tokens - (context.budget.tokens ?? context.tokens);
  return [over > 0 ? `has ${count(context.tokens, "token")}, ${count(over, "token")} over its budget` : "is over its budget of messages or characters"];
}

/** How a prompt differs from the approved one, in words. */
function differences(was: Approved | undefined, is: Approved): string[] {
  if (was === undefined) return ["is new"];
  const faults: string[] = [];
  if (was.prompt !== is.prompt)
    faults.push([`makes another prompt: ${is.tokens} tokens, ${was.tokens} before`, ...ledgerLines(was.ledger, is.ledger)].join("\n"));
  if (was.begins !== null && is.begins !== null && is.begins.as === was.begins.as && is.begins.characters < was.begins.characters)
    faults.push(`begins like ${is.begins.as} for ${is.begins.messages} messages, ${was.begins.messages} before: less comes from a cache`);
  return faults;
}

/** The lines in which two ledgers differ, without those that both begin and end with. */
function ledgerLines(was: readonly string[], is: readonly string[]): string[] {
  let [start, end] = [0, 0];
  const shortest = Math.min(was.length, is.length);
  while (start < shortest && was[start] === is[start]) start += 1;
  while (end < shortest - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  const lines = (ledger: readonly string[], mark: string): string[] => {
    const all = ledger.slice(start, ledger.length - end);
    const shown = all.slice(0, SHOWN).map((line, at) => `  ${mark} ${start + at}: ${line}`);
    return all.length > SHOWN ? [...shown, `  ${mark} and ${all.length - SHOWN} more`] : shown;
  };
  return [...lines(was, "-"), ...lines(is, "+")];
}

async function lockIn(path: string): Promise<Lock> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return { threadkeepLock: 1, cases: {} };
  let lock: Partial<Lock> | undefined;
  try {
    lock = JSON.parse(text) as Partial<Lock>;
  } catch {
    // Said below.
  }
  if (lock?.threadkeepLock !== 1 || typeof lock.cases !== "object")
    throw new Trouble(`${path} is no lock of this version: remove it, and make it anew with --update`);
  return lock as Lock;
}
