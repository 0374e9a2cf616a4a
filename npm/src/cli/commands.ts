/// <reference types="node" />
// The commands of `threadkeep`: each gets what was asked for, prints its result and ends.

import process from "node:process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ImportReport } from "../generated/archive.js";
import type { TranscriptInfo } from "../generated/node.js";
import type { Threadkeep } from "../index.js";
import { SESSION_FORMATS, writeSession } from "../sessions.js";
import { checkCases } from "./check.js";
import { doctor } from "./doctor.js";
import { FORMATS, exported } from "./export.js";
import type { Found } from "./files.js";
import { importAlways, importOnce, type Told } from "./import.js";
import { explained, openPlace, Trouble, type Place } from "./place.js";
import { count, dye, line, print, progress, say, table, when } from "./print.js";
import { serve } from "./serve.js";
import { folderOf, sessions } from "./sessions.js";
import { syncer } from "./sync.js";

/** What a command was called with. */
export interface Call {
  /** The words after its name. */
  words: string[];
  place: Place;
  json: boolean;
  watch: boolean;
  repair: boolean;
  redact: boolean;
  update: boolean;
  devices: boolean;
  limit: number;
  port: number;
  thread: string | undefined;
  format: string | undefined;
  in: string | undefined;
}

/** A command. */
export interface Command {
  /** What comes after its name, for the help. */
  usage: string;
  /** What it does, in one line. */
  about: string;
  run(call: Call): Promise<void>;
}

/** All commands, in the order of the help. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    usage: "[--port N]",
    about: "Open the page on this machine: http://127.0.0.1:4321/",
    run: serveCommand,
  },
  import: {
    usage: "[PATH…] [--watch]",
    about: "Bring in archives and agents' sessions; without a path, all sessions that this machine has",
    run: importCommand,
  },
  search: {
    usage: "WORDS… [--limit N]",
    about: "Find messages, facts and summaries",
    run: searchCommand,
  },
  list: {
    usage: "[--limit N]",
    about: "List threads, newest first",
    run: listCommand,
  },
  show: {
    usage: "THREAD",
    about: "Print a thread, by the beginning of its id or a part of its title",
    run: showCommand,
  },
  stats: {
    usage: "",
    about: "Count threads, messages, tokens and money, by day and model",
    run: statsCommand,
  },
  export: {
    usage: "[FILE] [--thread THREAD] [--format NAME] [--redact]",
    about: `Write everything, or one thread, to a file or to stdout: ${FORMATS.join(", ")}`,
    run: exportCommand,
  },
  sync: {
    usage: "FOLDER|URL [--devices] [--watch]",
    about: "Bring this keep and a folder or WebDAV server to the same state, encrypted; list the devices there",
    run: syncCommand,
  },
  continue: {
    usage: `THREAD --in ${SESSION_FORMATS.join("|")}`,
    about: "Write a thread as a session of that program, for the working folder, and say how to go on with it there",
    run: continueCommand,
  },
  check: {
    usage: "[PATH…] [--update]",
    about: "Compare the prompts of case files with the approved ones in threadkeep.lock; approve them",
    run: ({ words, update, json }) => checkCases(words, update, json),
  },
  doctor: {
    usage: "[--repair]",
    about: "Read everything, and say what is damaged; repair a folder",
    run: ({ place, repair, json }) => doctor(place, repair, json),
  },
};

const MINUTE = 60_000;
/** How many remarks of an import are printed. */
const REMARKS = 10;

/** Opens the keep for as long as `use` takes. */
async function within<T>(place: Place, use: (keep: Threadkeep) => Promise<T>): Promise<T> {
  const keep = await openPlace(place);
  try {
    return await use(keep);
  } finally {
    await keep.close();
  }
}

/** Resolves when the program is told to end. */
function told(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

async function serveCommand({ port, json }: Call): Promise<void> {
  const { address, close } = await serve(port);
  print(json ? JSON.stringify({ address }) : `Threadkeep is at ${dye("cyan", address)} (Ctrl-C ends it)`);
  if (!json) say("The page keeps its own threads, in your browser. Drop archives on it to bring them in.");
  await once(told(), "abort");
  await close();
}

async function continueCommand({ words, place, in: program, json }: Call): Promise<void> {
  const what = words.join(" ");
  if (what === "") throw new Trouble("which thread? threadkeep list shows them");
  const format = SESSION_FORMATS.find((one) => one === program);
  if (format === undefined) throw new Trouble(`in which program? threadkeep continue THREAD --in ${SESSION_FORMATS.join("|")}`);
  await within(place, async (keep) => {
    const { id, leaf } = meant(await keep.transcripts(), what);
    const { file, text, resume, left } = await writeSession(keep, { format, leaf: leaf ?? id, cwd: process.cwd() });
    const path = join(folderOf(format), file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: "wx" });
    if (json) return print(JSON.stringify({ path, resume, left }));
    say(`Written: ${path}`);
    if (left > 0) say(`${count(left, "message")} left out: instructions, or results of calls that nobody made`);
    print(resume);
  });
}

async function syncCommand({ words, place, devices, watch, json }: Call): Promise<void> {
  await within(place, async (keep) => {
    const tell = await syncer(keep, words[0], devices, json);
    await tell();
    if (!watch) return;
    say("Syncing every minute (Ctrl-C ends it)");
    const signal = told();
    while (await sleep(MINUTE, true, { signal }).catch(() => false)) await tell().catch((error: unknown) => say(explained(error, "").words));
  });
}

async function importCommand({ words, place, json, watch }: Call): Promise<void> {
  let paths = words;
  if (paths.length === 0) {
    const found = sessions();
    if (found.length === 0) throw new Trouble("no sessions of Claude Code, Codex, Gemini CLI or pi were found: name a file or folder");
    for (const { program, folder } of found) say(`${program}: ${folder}`);
    paths = found.map(({ folder }) => folder);
  }
  await within(place, async (keep) => {
    const tells: Told = { progress, done: (report, files) => imported(report, files, json) };
    if (!watch) return importOnce(keep, paths, tells);
    say("Watching for changes (Ctrl-C ends it)");
    return importAlways(keep, paths, tells, told());
  });
}

function imported(report: ImportReport, files: readonly Found[], json: boolean): void {
  if (json) {
    print(JSON.stringify({ files: files.map(({ path }) => path), ...report }));
    return;
  }
  for (const { place, reason } of report.skipped.slice(0, REMARKS)) say(`${dye("yellow", place)}: ${reason}`);
  if (report.skippedCount > REMARKS) say(`and ${report.skippedCount - REMARKS} more remarks: --json has them`);
  if (files.length === 0) {
    print("Nothing is new.");
    return;
  }
  const { added, updated, unchanged, messages } = report;
  print(`${count(files.length, "file")}: ${count(added, "thread")} added, ${updated} updated, ${unchanged} unchanged; ${count(messages, "message")} stored.`);
}

async function searchCommand({ words, place, json, limit }: Call): Promise<void> {
  const query = words.join(" ");
  if (query === "") throw new Trouble("what shall be searched for? threadkeep search WORDS…");
  await within(place, async (keep) => {
    const hits = await keep.search(query, { limit, wait: true });
    if (json) return print(JSON.stringify(hits));
    const titles = new Map((await keep.transcripts()).map(({ id, title }) => [id, title]));
    for (const { transcript, role, kind, createdAt, snippet, highlights } of hits) {
      const title = transcript === null ? "" : (titles.get(transcript) ?? "");
      print([dye("bold", title || kind), dye("gray", [when(createdAt), role].filter(Boolean).join(" "))].join("  "));
      print(`  ${marked(snippet, highlights)}\n`);
    }
    say(count(hits.length, "hit"));
  });
}

/** A snippet on one line, with what was found in bold. */
function marked(snippet: string, highlights: readonly (readonly [number, number])[]): string {
  let out = "";
  let at = 0;
  for (const [start, end] of highlights) {
    out += snippet.slice(at, start) + dye(["bold", "yellow"], snippet.slice(start, end));
    at = end;
  }
  return (out + snippet.slice(at)).replace(/\s+/g, " ");
}

async function listCommand({ place, json, limit }: Call): Promise<void> {
  await within(place, async (keep) => {
    const all = await keep.transcripts();
    const threads = all.slice(0, limit);
    if (json) return print(JSON.stringify(threads));
    const short = shortened(all.map(({ id }) => id));
    print(table(threads.map(({ id, title, source, messages, updatedAt }) => [id.slice(0, short), when(updatedAt), source, messages, line(title, 60)])));
  });
}

/** How many characters tell these ids apart. */
function shortened(ids: readonly string[]): number {
  const longest = Math.max(0, ...ids.map((id) => id.length));
  let length = 8;
  while (length < longest && new Set(ids.map((id) => id.slice(0, length))).size < ids.length) length += 1;
  return length;
}

/** The one thread that is meant. */
function meant(threads: readonly TranscriptInfo[], what: string): TranscriptInfo {
  const found = threads.filter(({ id }) => id.startsWith(what));
  const named = found.length > 0 ? found : threads.filter(({ title }) => title.toLowerCase().includes(what.toLowerCase()));
  const [one, ...more] = named;
  if (one === undefined) throw new Trouble(`no thread has an id that begins with ${what}, or a title with it: threadkeep list shows them`);
  if (more.length > 0) {
    const short = shortened(threads.map(({ id }) => id));
    const some = named.slice(0, 10).map(({ id, title }) => `  ${id.slice(0, short)}  ${line(title, 60)}`);
    throw new Trouble(`${named.length} threads fit ${what}:\n${some.join("\n")}\nName one by the beginning of its id.`);
  }
  return one;
}

async function showCommand({ words, place, json }: Call): Promise<void> {
  const what = words.join(" ");
  if (what === "") throw new Trouble("which thread? threadkeep list shows them");
  await within(place, async (keep) => {
    const { id, title, leaf } = meant(await keep.transcripts(), what);
    const messages = (await keep.chain(leaf ?? id)).flatMap((node) => node.messages);
    if (json) return print(JSON.stringify({ id, title, leaf, messages }));
    print(`${dye("bold", title)}\n`);
    for (const message of messages) {
      print(dye("cyan", message.role));
      const text = typeof message.content === "string" ? message.content : JSON.stringify(message.content);
      if (text !== "" && text !== "null") print(text);
      if ("tool_calls" in message) for (const call of message.tool_calls ?? []) print(dye("gray", JSON.stringify(call)));
      print("");
    }
  });
}

async function statsCommand({ place, json }: Call): Promise<void> {
  await within(place, async (keep) => {
    const [stats, costs] = await Promise.all([keep.stats(), keep.requests.costs(null)]);
    if (json) return print(JSON.stringify({ stats, costs }));
    print(
      table([
        ["threads", stats.transcripts],
        ["messages", stats.messages],
        ["requests", costs.total.requests],
      ]),
    );
    for (const [title, rows] of [
      ["by model", costs.models],
      ["by day", costs.days],
    ] as const) {
      if (rows.length === 0) continue;
      print(`\n${dye("bold", title)}`);
      const heads = ["", "requests", "tokens in", "cached", "out", "dollars"];
      const cells = rows.map(([name, { requests, usage, dollars, unpriced }]) => [
        name,
        requests,
        usage.promptTokens,
        usage.cachedTokens ?? 0,
        usage.completionTokens,
        `${dollars.toFixed(2)}${unpriced > 0 ? ` (${unpriced} without a price)` : ""}`,
      ]);
      print(table([heads, ...cells]));
    }
    say(`Prices of ${costs.pricesOf}.`);
  });
}

async function exportCommand({ words: [file], place, thread, format, redact }: Call): Promise<void> {
  if (format !== undefined && !FORMATS.includes(format)) throw new Trouble(`--format must be one of ${FORMATS.join(", ")}, it is ${format}`);
  await within(place, async (keep) => {
    const transcript = thread === undefined ? undefined : meant(await keep.transcripts(), thread).id;
    await exported(keep, transcript, format, redact, file);
  });
}
