// Where a session is in its conversation: a record beside the transcript, which names the node at which the session's history
// ends. It moves by compare-and-set, so that each change happens at once or not at all, whoever else writes; the head follows.

import { ThreadkeepError } from "../../errors.js";
import type { Records } from "../../records.js";
import { recordKey, recordRange } from "../../record-keys.js";
import type { Thread } from "../../handles/thread.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { keyPart } from "../shared/keys.js";
import { begins, isOurs } from "./messages.js";

/** The namespace of the records. */
export const NAMESPACE = "openai-agents";

/** A position as it was read. */
export interface Position {
  /** Counts the changes; 0 before the first. */
  version: number;
  /** The node at which the history ends; `null` where there is none. */
  leaf: string | null;
  /** The greatest sequence number in the transcript that the session has seen. What is behind it came later. */
  seq: number;
  /** Where the head points, which follows. */
  head: string | null;
}

/** A history that a session left: it lies on a branch of its own. */
export interface PastHistory {
  /** The node at which it ends: `keep.chain(leaf)` has it. */
  leaf: string;
  /** Why it was left. */
  reason: string;
  /** When, in milliseconds since 1970 (UTC). */
  at: number;
}

/** What is stored with a move. */
export interface Along {
  /** The history that is left. */
  left?: PastHistory | undefined;
  /** The name of the operation that it is, and what it does. */
  operation?: readonly [id: string, what: string] | undefined;
  /** Whether all operations so far are forgotten. */
  forget?: boolean | undefined;
}

/** So often a position is read again where what it led to was gone. */
const TRIES = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The records of the session at one head. */
export class Positions {
  readonly #keep: Threadkeep;
  readonly #records: Records;
  readonly #thread: Thread;

  constructor(keep: Threadkeep, context: string) {
    this.#keep = keep;
    this.#records = keep.records(NAMESPACE);
    this.#thread = keep.thread(context);
  }

  /**
   * Where the session is now. What others appended behind it since, not through a session, is taken in: as far as `end` where that
   * is given, else as far as the head. Throws `missing-node` where `end` is gone.
   */
  async read(end?: string | null): Promise<Position> {
    for (let tried = 0; ; tried += 1)
      try {
        return await this.#read(end ?? undefined);
      } catch (error) {
        // What was at the head a moment ago was a change that lost against another one, and is gone.
        if (!(error instanceof ThreadkeepError && error.code === "missing-node") || tried === TRIES || typeof end === "string") throw error;
      }
  }

  async #read(end: string | undefined): Promise<Position> {
    const [record] = await this.#records.scan(recordRange("at", await this.#name()));
    const at = await this.#thread.head();
    const head = at?.id ?? null;
    if (record === undefined) return { version: 0, ...(await this.#begun(at, 0)), head };
    const { version, leaf, seq } = JSON.parse(decoder.decode(record[1])) as Pick<Position, "version" | "leaf" | "seq">;
    // The head was removed, and with it what only it led to.
    if (at === null) return { version, leaf: null, seq, head };
    if (leaf === null) return { version, ...(await this.#begun(at, version)), head };
    const until = end ?? at.id;
    if (leaf === until) return { version, leaf, seq, head };
    const chain = await this.#keep.chain(until);
    const start = chain.findIndex(({ id }) => id === leaf);
    if (start < 0 && (await this.#keep.node(leaf)) !== null) return { version, leaf, seq, head };
    // The user deleted where it was.
    if (start < 0) return { version, ...(await this.#begun(at, version)), head };
    return { version, ...foreign(chain.slice(start), seq), head };
  }

  /** Where a session begins at a thread that has none: behind all that is there, but for what is about to be its first items. */
  async #begun(head: NodeInfo | null, version: number): Promise<Pick<Position, "leaf" | "seq">> {
    if (head === null) return { leaf: null, seq: 0 };
    const chain = await this.#keep.chain(head.id);
    const first = chain.findIndex(({ messages }) => begins(messages[0], this.#thread.name, version));
    const last = first < 0 ? head : chain[first - 1];
    return last === undefined || (first === 1 && last.messages.length === 0) ? { leaf: null, seq: 0 } : { leaf: last.id, seq: last.seq };
  }

  /** The root of the transcript in which the head is, where there is nothing in it; its id is the transcript's. */
  async emptyRoot(): Promise<string | null> {
    const head = await this.#thread.head();
    const root = head === null ? null : await this.#keep.node(head.transcript);
    return root !== null && root.messages.length === 0 ? root.id : null;
  }

  /**
   * Moves from `position` to `next`, with what belongs to it, or does nothing and gives `false` because somebody else was first.
   */
  async move(position: Position, next: Pick<Position, "leaf" | "seq">, { left, operation, forget }: Along = {}): Promise<boolean> {
    const version = position.version + 1;
    const name = await this.#name();
    const at = recordKey("at", name, version);
    const before = position.version === 0 ? undefined : recordKey("at", name, position.version);
    const done = operation && (await this.#operation(operation[0]));
    const puts: StoreRecord[] = [[at, encoder.encode(JSON.stringify({ version, ...next }))]];
    if (left !== undefined) puts.push([recordKey("past", name, version), encoder.encode(JSON.stringify(left))]);
    if (operation !== undefined && done !== undefined) puts.push([done, encoder.encode(operation[1])]);
    const absent = done === undefined ? [at] : [at, done];
    try {
      const present = before === undefined ? [] : [before];
      const deleteRanges = forget === true ? [rangeOf("op", name)] : [];
      await this.#records.commit({ absent, present, deletes: present, deleteRanges, puts });
      return true;
    } catch (error) {
      if (error instanceof ThreadkeepError && error.code === "conflict") return false;
      throw error;
    }
  }

  /** What was carried out under the name of an operation; `undefined` where nothing was. */
  async operation(id: string): Promise<string | undefined> {
    const done = await this.#records.get(await this.#operation(id));
    return done === undefined ? undefined : decoder.decode(done);
  }

  /** The histories that were left, oldest first. */
  async past(): Promise<PastHistory[]> {
    const records = await this.#records.scan(recordRange("past", await this.#name()));
    return records.map(([, value]) => JSON.parse(decoder.decode(value)) as PastHistory);
  }

  /** Forgets everything that is known of the session. */
  async erase(): Promise<void> {
    const name = await this.#name();
    await this.#records.commit({ deleteRanges: ["at", "op", "past"].map((table) => rangeOf(table, name)) });
  }

  /** Lets the head follow, until it is where the session is. */
  async settle(): Promise<void> {
    for (;;) {
      const { leaf, head } = await this.read();
      const target = leaf ?? (await this.emptyRoot());
      if (target === null || target === head) return;
      await this.#thread.moveTo(target);
    }
  }

  async #operation(id: string): Promise<string> {
    return recordKey("op", await this.#name(), await keyPart(id));
  }

  /** The thread's name as a part of keys, which are shorter than names may be. */
  #name(): Promise<string> {
    return keyPart(this.#thread.name);
  }
}

function rangeOf(...parts: string[]): [start: string, end: string] {
  const { start, end } = recordRange(...parts);
  return [start, end];
}

/** The last of the nodes that were appended later than `seq` below the first one, by nobody who keeps such a position. */
function foreign([first, ...rest]: NodeInfo[], seq: number): Pick<Position, "leaf" | "seq"> {
  const end = rest.findIndex((node) => node.seq <= seq || isOurs(node.messages[0]));
  const last = rest.slice(0, end < 0 ? rest.length : end).at(-1);
  return { leaf: (last ?? first)?.id ?? null, seq: Math.max(seq, last?.seq ?? 0) };
}
