// Where a session is in its conversation: a record beside the transcript, which names the node at which the session's history
// ends. It moves by compare-and-set, so that each change happens at once or not at all, whoever else writes; the head follows.

import { ThreadkeepError } from "../../errors.js";
import { recordKey, recordRange } from "../../records.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../types/node.js";
import type { Records } from "../../types/records.js";
import type { StoreRecord } from "../../types/store.js";
import { isOurs } from "./messages.js";

/** The namespace of the records. */
export const NAMESPACE = "openai-agents";

/** A place as it was read. */
export interface Place {
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

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The records of the session at one head. */
export class Places {
  readonly #keep: Threadkeep;
  readonly #records: Records;
  readonly #context: string;

  constructor(keep: Threadkeep, context: string) {
    this.#keep = keep;
    this.#records = keep.records(NAMESPACE);
    this.#context = context;
  }

  /** Where the session is now. What others appended at its head since (not through a session) is taken in. */
  async read(): Promise<Place> {
    const [record] = await this.#records.scan(recordRange("at", this.#context));
    const head = await this.#keep.head(this.#context);
    const at = head?.id ?? null;
    if (record === undefined) return { version: 0, leaf: at, seq: head?.seq ?? 0, head: at };
    const { version, leaf, seq } = JSON.parse(decoder.decode(record[1])) as Pick<Place, "version" | "leaf" | "seq">;
    // The head was removed, and with it what only it led to.
    if (head === null) return { version, leaf: null, seq, head: at };
    if (leaf === at) return { version, leaf, seq: Math.max(seq, head.seq), head: at };
    if (await this.#follows(head, leaf, seq)) return { version, leaf: at, seq: Math.max(seq, head.seq), head: at };
    return { version, leaf: leaf === null || (await this.#keep.node(leaf)) !== null ? leaf : at, seq, head: at };
  }

  /**
   * Whether what lies at the head was appended below `leaf`, later, and by nobody who keeps such a place: a session's own nodes
   * count when its record says so.
   */
  async #follows(head: NodeInfo, leaf: string | null, seq: number): Promise<boolean> {
    if (leaf === null) return false;
    const chain = await this.#keep.chain(head.id);
    const next = chain[chain.findIndex(({ id }) => id === leaf) + 1];
    return chain.some(({ id }) => id === leaf) && next !== undefined && next.seq > seq && !isOurs(next.messages[0]);
  }

  /**
   * Moves from `place` to `next`, with what belongs to it, or does nothing and gives `false` because somebody else was first.
   */
  async move(place: Place, next: Pick<Place, "leaf" | "seq">, { left, operation, forget }: Along = {}): Promise<boolean> {
    const version = place.version + 1;
    const at = recordKey("at", this.#context, version);
    const before = place.version === 0 ? undefined : recordKey("at", this.#context, place.version);
    const puts: StoreRecord[] = [[at, encoder.encode(JSON.stringify({ version, ...next }))]];
    if (left !== undefined) puts.push([recordKey("past", this.#context, version), encoder.encode(JSON.stringify(left))]);
    if (operation !== undefined) puts.push([this.#operation(operation[0]), encoder.encode(operation[1])]);
    const absent = operation === undefined ? [at] : [at, this.#operation(operation[0])];
    try {
      const present = before === undefined ? [] : [before];
      const deleteRanges = forget === true ? [rangeOf("op", this.#context)] : [];
      await this.#records.commit({ absent, present, deletes: present, deleteRanges, puts });
      return true;
    } catch (error) {
      if (error instanceof ThreadkeepError && error.code === "conflict") return false;
      throw error;
    }
  }

  /** What was carried out under the name of an operation; `undefined` where nothing was. */
  async operation(id: string): Promise<string | undefined> {
    const done = await this.#records.get(this.#operation(id));
    return done === undefined ? undefined : decoder.decode(done);
  }

  /** The histories that were left, oldest first. */
  async past(): Promise<PastHistory[]> {
    const records = await this.#records.scan(recordRange("past", this.#context));
    return records.map(([, value]) => JSON.parse(decoder.decode(value)) as PastHistory);
  }

  /** Forgets everything that is known of the session. */
  async erase(): Promise<void> {
    await this.#records.commit({ deleteRanges: ["at", "op", "past"].map((table) => rangeOf(table, this.#context)) });
  }

  /** Lets the head follow, until it is where the session is. */
  async settle(): Promise<void> {
    for (;;) {
      const { leaf, head } = await this.read();
      if (leaf === null || leaf === head) return;
      await this.#keep.setHead(this.#context, leaf);
    }
  }

  #operation(id: string): string {
    return recordKey("op", this.#context, id);
  }
}

function rangeOf(...parts: string[]): [start: string, end: string] {
  const { start, end } = recordRange(...parts);
  return [start, end];
}
