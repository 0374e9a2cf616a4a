/// <reference types="node" />
// An agent's memory in a folder of JSON Lines files that other programs read and append to: one line a record. The kernel runs on a keep in memory,
// which is read from the files when it opens. Before each operation it takes the lines that others have appended; after it, it appends its own.

import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import path from "node:path";
import { Kernel, Threadkeep, type KernelOptions, type MessageInput, type Provider, type RawTrace } from "../index.js";
import * as check from "../check.js";
import { ThreadkeepError, badArgument, wordsOf } from "../errors.js";

/** Where a {@link MemoryFolder} is, and how its kernel works. */
export interface MemoryFolderOptions<P extends Provider = Provider> extends KernelOptions<P> {
  /** The base folder, `memory` in the working directory without it. The files are in `agents/<agent>` below it. */
  folder?: string;
  /** The agent: a name that can be that of a folder. */
  agent: string;
}

/** A line that is no record. */
export interface SkippedLine {
  /** The file's name, such as `raw_traces.jsonl`. */
  file: string;
  /** What is wrong with it. */
  reason: string;
}

/** What {@link MemoryFolder.sync} did. */
export interface FolderSync {
  /** How many records of others came in. */
  read: number;
  /** Lines of others that are no records. They stay in the file. */
  skipped: SkippedLine[];
}

/** The files that grow, and what of each was read. */
class Lines {
  readonly name: string;
  readonly #path: string;
  #offset = 0;

  constructor(folder: string, name: string) {
    this.name = name;
    this.#path = path.join(folder, name);
  }

  /** The whole lines that came since the last call. A line without its end is left for the next one. */
  fresh(): string[] {
    let file: number;
    try {
      file = fs.openSync(this.#path, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
    try {
      const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(file).size - this.#offset));
      const got = bytes.subarray(0, fs.readSync(file, bytes, 0, bytes.length, this.#offset));
      const end = got.lastIndexOf(10) + 1;
      this.#offset += end;
      return got
        .toString("utf8", 0, end)
        .split("\n")
        .filter((line) => line.trim() !== "");
    } finally {
      fs.closeSync(file);
    }
  }

  /** Appends lines in one write, which is on the disk when this returns. What others append meanwhile stays unread. */
  append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const file = fs.openSync(this.#path, "a+", 0o600);
    try {
      const { size } = fs.fstatSync(file);
      const last = Buffer.alloc(1);
      // Somebody's last line may lack its end.
      const torn = size > 0 && fs.readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 10;
      fs.writeSync(file, `${torn ? "\n" : ""}${lines.join("\n")}\n`);
      fs.fdatasyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }
}

/** The kernel's operations that look at memory or change it. */
const OPERATIONS = [
  "startTurn",
  "ingestUserMessage",
  "ingestToolIntent",
  "ingestToolResult",
  "ingestAssistantResponse",
  "currentTurn",
  "compactionRequired",
  "getRawTail",
  "getTracesForTurns",
  "getWorkingContextMessages",
  "resetWorkingContextSnapshot",
  "getToolInteractions",
  "selectCompactionWindow",
  "compact",
  "retrieve",
  "prepareRequest",
  "afterInvoke",
] as const satisfies readonly (keyof Kernel)[];

/**
 * An agent's memory in a folder: {@link MemoryFolder.kernel} is a {@link Kernel} whose records are lines of files. Other programs may read the
 * files and append lines to them at any time; several programs may have the folder open.
 */
export class MemoryFolder<P extends Provider = "openai-chat"> {
  /** The kernel. Each of its operations sees what others have appended, and is in the files when it resolves. */
  readonly kernel: Kernel<P>;
  /** The keep in memory on which it runs. What you change in it is appended by the next {@link sync}. */
  readonly keep: Threadkeep;
  readonly #agent: string;
  readonly #files: Record<"raw_traces" | "raw_traces_archive" | "episodic" | "semantic", Lines>;
  /** The ids of the records that are in the files, and of those that the keep made of lines of others. */
  readonly #known = new Set<string>();
  readonly #within = new AsyncLocalStorage<true>();
  #last: Promise<unknown> = Promise.resolve();
  #skipped: SkippedLine[] = [];
  #read = 0;

  /** @internal */
  constructor(keep: Threadkeep, folder: string, agent: string, options: KernelOptions<P>) {
    this.keep = keep;
    this.#agent = agent;
    const file = (name: string) => new Lines(folder, `${name}.jsonl`);
    this.#files = {
      raw_traces: file("raw_traces"),
      raw_traces_archive: file("raw_traces_archive"),
      episodic: file("episodic"),
      semantic: file("semantic"),
    };
    this.kernel = new Kernel<P>(keep, agent, options);
    for (const name of OPERATIONS) {
      const operation = this.kernel[name].bind(this.kernel) as (...values: unknown[]) => Promise<unknown>;
      Object.defineProperty(this.kernel, name, {
        value: (...values: unknown[]) => this.#inTurn(() => operation(...values), name === "compact" || name === "prepareRequest"),
      });
    }
  }

  /** Reads the files into the keep, which is empty. @internal */
  async load(): Promise<void> {
    const files = Object.values(this.#files).map((file) => ({ file, lines: file.fresh() }));
    const named = files
      .filter(({ lines }) => lines.length > 0)
      .map(({ file, lines }) => ({ name: `memory/agents/${this.#agent}/${file.name}`, data: lines.join("\n") }));
    for (const { file, lines } of files) for (const line of lines) this.#record(file, line);
    if (named.length > 0) await this.keep.import(named);
    const [transcript] = await this.keep.transcripts();
    if (transcript?.leaf != null) await this.keep.thread(this.#agent).moveTo(transcript.leaf);
    await this.#know();
  }

  /** Takes in what others have appended, and appends what the keep has and the files have not. It tells what came in since the last call. */
  async sync(): Promise<FolderSync> {
    return this.#inTurn(async () => {
      const came = { read: this.#read, skipped: this.#skipped };
      [this.#read, this.#skipped] = [0, []];
      return came;
    }, true);
  }

  /** Waits for the operations before, and closes the keep. */
  async close(): Promise<void> {
    await this.#last.catch(() => {});
    await this.keep.close();
  }

  /** Does `work` after all that came before it, with the lines of others taken in, and appends what came of it. */
  #inTurn<T>(work: () => Promise<T>, records: boolean): Promise<T> {
    // The kernel calls its own operations.
    if (this.#within.getStore()) return work();
    const done = this.#last.then(() =>
      this.#within.run(true, async () => {
        await this.#pull();
        try {
          return await work();
        } finally {
          await this.#push(records);
        }
      }),
    );
    this.#last = done.catch(() => {});
    return done;
  }

  async #pull(): Promise<void> {
    let traces = false;
    for (const file of Object.values(this.#files))
      for (const line of file.fresh()) {
        const record = this.#record(file, line);
        if (record === undefined) continue;
        try {
          if (file === this.#files.semantic) await this.#takeFact(record);
          else if (file !== this.#files.episodic) {
            await this.#takeTrace(record as unknown as RawTrace);
            traces = true;
          } else continue;
          this.#read += 1;
        } catch (error) {
          this.#skipped.push({ file: file.name, reason: `the record ${JSON.stringify(record["id"])} cannot be taken in: ${wordsOf(error)}` });
        }
      }
    // Once for all: it reads the whole history.
    if (traces) await this.#know();
  }

  /** The record that a line is, if it is a new one. */
  #record(file: Lines, line: string): Record<string, unknown> | undefined {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      record = undefined;
    }
    if (!check.isObject(record) || typeof record["id"] !== "string") {
      this.#skipped.push({ file: file.name, reason: `the line ${JSON.stringify(line.slice(0, 60))} is no object with an id` });
      return undefined;
    }
    if (this.#known.has(record["id"])) return undefined;
    this.#known.add(record["id"]);
    return record;
  }

  async #takeFact({ fact, tags, confidence, salience }: Record<string, unknown>): Promise<void> {
    const given = { fact: check.text(fact, "fact"), tags, confidence, salience, agent: this.#agent, origin: "import" };
    const made = await this.keep.memory.remember(JSON.parse(check.json(given, "fact")) as { fact: string });
    this.#known.add(made.id);
  }

  async #takeTrace(trace: RawTrace): Promise<void> {
    await this.keep.thread(this.#agent).append([await this.#message(trace)]);
  }

  /** Notes that all traces of the keep are in the files. */
  async #know(): Promise<void> {
    for (const { id } of await this.#traces()) this.#known.add(id);
  }

  /** The message that a trace records. */
  async #message(trace: RawTrace): Promise<MessageInput> {
    const { trace_type: type, tool_name: name, content = "" } = trace;
    const named = name === undefined ? {} : { name };
    switch (type) {
      case "user":
      case "assistant":
        return { role: type, content };
      case "tool_call": {
        const called = { name: name ?? "", arguments: check.json(trace.tool_args ?? {}, "tool_args") };
        return {
          role: "assistant",
          content: content === "" ? null : content,
          tool_calls: [{ id: trace.tool_call_id ?? trace.id, type: "function", function: called }],
        };
      }
      case "tool_result": {
        const failed = trace.tool_error != null;
        const said: unknown = failed ? trace.tool_error : (trace.tool_result ?? content);
        const pending = (await this.kernel.getToolInteractions()).filter((one) => one.status === "PENDING" && (name === undefined || one.toolName === name));
        const call = trace.tool_call_id ?? pending.at(-1)?.toolCallId ?? trace.id;
        const result = typeof said === "string" ? said : check.json(said, "tool_result");
        return { role: "tool", tool_call_id: call, ...named, content: result, ...(failed ? { is_error: true } : {}) };
      }
      default:
        throw badArgument("trace_type", "must be user, assistant, tool_call or tool_result");
    }
  }

  /** Appends what is new; `records` says whether episodes and facts may be. */
  async #push(records: boolean): Promise<void> {
    this.#append(
      this.#files.raw_traces,
      (await this.#traces()).map((trace) => JSON.stringify(trace)),
    );
    if (!records) return;
    const files = await this.keep.export({ format: "memory" }).files();
    for (const file of [this.#files.episodic, this.#files.semantic])
      for (const [name, text] of Object.entries(files)) if (name.endsWith(`/${file.name}`)) this.#append(file, text.trim().split("\n"));
  }

  #append(file: Lines, lines: readonly string[]): void {
    const fresh = lines.filter((line) => {
      const { id } = JSON.parse(line) as { id: string };
      return !this.#known.has(id) && this.#known.add(id);
    });
    file.append(fresh);
  }

  /** All traces of the thread. */
  async #traces(): Promise<RawTrace[]> {
    return this.#within.run(true, () => this.kernel.getRawTail(0xffff_ffff));
  }
}

/**
 * Opens the folder of an agent's memory, and makes it where there is none: `<folder>/agents/<agent>` with `raw_traces.jsonl`, `episodic.jsonl` and
 * `semantic.jsonl`. Node, Deno and Bun have such folders.
 *
 * @throws ThreadkeepError `bad-request` for wrong options; `unavailable` when the folder cannot be made or read
 * @example
 * ```ts
 * import { memoryFolder } from "threadkeep/memory-folder";
 *
 * const memory = await memoryFolder({ folder: "memory", agent: "mate" });
 * await memory.kernel.ingestUserMessage({ role: "user", content: "What does the log say?" });
 * const { read } = await memory.sync(); // what other programs appended
 * await memory.close();
 * ```
 */
export async function memoryFolder<P extends Provider = "openai-chat">(options: MemoryFolderOptions<P>): Promise<MemoryFolder<P>> {
  if (!check.isObject(options)) throw badArgument("options", "must be an object");
  const { folder = "memory", agent, ...kernel } = options;
  const name = check.id(agent, "options.agent");
  if (/[/\\:\0]/.test(name) || /^\.*$/.test(name)) throw badArgument("options.agent", "must be a name that a folder can have");
  const place = path.resolve(check.exact(folder, "options.folder"), "agents", name);
  try {
    fs.mkdirSync(place, { recursive: true, mode: 0o700 });
    const keep = await Threadkeep.open({ storage: "memory" });
    const memory = new MemoryFolder<P>(keep, place, name, kernel as KernelOptions<P>);
    await memory.load();
    return memory;
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    throw new ThreadkeepError("unavailable", `the folder ${place} cannot be used: ${wordsOf(error)}`, {}, error);
  }
}
