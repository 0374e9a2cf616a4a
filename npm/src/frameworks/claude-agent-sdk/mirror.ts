// What sessions say, as transcripts: the lines go through the importer of Claude Code's files, which adds what is new and
// nothing twice. A head of its own points at the end of each session's main conversation.

import type { SessionKey } from "@anthropic-ai/claude-agent-sdk";
import { ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { Streams } from "./streams.js";

/** Where a session is in its keep. */
export interface SessionTranscript {
  /** The transcript's id. */
  transcript: string;
  /** The name of the thread of the main conversation. */
  thread: string;
  /** The node at which it ends. */
  leaf: string;
}

/** Brings sessions into their transcripts, one at a time. */
export class Mirror {
  readonly #keep: Threadkeep;
  readonly #streams: Streams;
  readonly #delay: number;
  readonly #failed: (error: unknown) => void;
  /** Sessions that have something new, by name. */
  readonly #waiting = new Map<string, SessionKey>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(keep: Threadkeep, streams: Streams, delay: number, failed: (error: unknown) => void) {
    this.#keep = keep;
    this.#streams = streams;
    this.#delay = delay;
    this.#failed = failed;
  }

  /** Notes that a session has something new. */
  later({ projectKey, sessionId }: SessionKey): void {
    this.#waiting.set(JSON.stringify([projectKey, sessionId]), { projectKey, sessionId });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.flush(), this.#delay);
    // What is not in its transcript yet is stored; no process must stay for it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Brings all that waits. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const key of all)
      try {
        await this.bring(key);
      } catch (error) {
        if (!(error instanceof ThreadkeepError && error.code === "closed")) this.#failed(error);
      }
    await this.#running;
  }

  /** Brings a session with its subagents. */
  async bring(key: SessionKey): Promise<SessionTranscript | null> {
    return this.#alone(async () => {
      const main = await this.#streams.lines(key);
      // The main one first: it gives the transcript its title.
      await this.#import(key, "", main);
      for (const subpath of await this.#streams.subpaths(key)) await this.#import(key, subpath, await this.#streams.lines({ ...key, subpath }));
      const leaf = await this.#leaf(key, main ?? []);
      if (leaf === null) return null;
      const thread = headOf(key);
      const { id, transcript } = await this.#keep.thread(thread).moveTo(leaf);
      await this.#keep.at(id).choose();
      return { transcript, thread, leaf: id };
    });
  }

  async #import(key: SessionKey, subpath: string, lines: readonly string[] | null): Promise<void> {
    if (lines === null) return;
    // A line names its session in Claude Code's files; where one does not, the key knows.
    const named = lines.map((line) => {
      const entry = JSON.parse(line) as { sessionId?: unknown };
      return typeof entry.sessionId === "string" ? line : JSON.stringify({ ...entry, sessionId: key.sessionId });
    });
    const name = `${key.sessionId}${subpath === "" ? "" : `/${subpath}`}.jsonl`;
    await this.#keep.import({ name, data: `${named.join("\n")}\n` }, { format: "claude-code" });
  }

  /** The node of the last line that has one: several lines can be one message. */
  async #leaf({ sessionId }: SessionKey, lines: readonly string[]): Promise<string | null> {
    for (const line of [...lines].reverse()) {
      const { uuid, isSidechain } = JSON.parse(line) as { uuid?: unknown; isSidechain?: unknown };
      if (typeof uuid !== "string" || isSidechain === true) continue;
      const node = await this.#keep.node(`claude-code/${sessionId}/${uuid}`);
      if (node !== null) return node.id;
    }
    return null;
  }

  /** Deletes a session's transcript, or a subagent's branch, with its entries. */
  async delete(key: SessionKey, entries: () => Promise<void>): Promise<void> {
    await this.#alone(async () => {
      const lines = (await this.#streams.lines(key)) ?? [];
      if (key.subpath === undefined) this.#waiting.delete(JSON.stringify([key.projectKey, key.sessionId]));
      await entries();
      for (const line of lines) {
        const { uuid } = JSON.parse(line) as { uuid?: unknown };
        const node = typeof uuid === "string" ? await this.#keep.node(`claude-code/${key.sessionId}/${uuid}`) : null;
        if (node === null) continue;
        await (key.subpath === undefined ? this.#keep.transcript(node.transcript).delete() : this.#keep.at(node.id).deleteBranch());
        if (key.subpath === undefined) return;
      }
    });
  }

  #alone<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#running.then(run, run);
    this.#running = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }
}

/** The head of a session. */
function headOf({ sessionId }: SessionKey): string {
  return `claude-agent-sdk/${sessionId}`;
}
