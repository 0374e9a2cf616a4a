// What of a keep was sent to a service, remembered in the keep itself. Nodes of a transcript are counted up and a number is never
// used again, so one bit a number says it for every branch at once; what was sent is closed upwards: the parent of a sent node
// was sent too. Beside the bits lie the branches' ends, and a count for each node that is still growing.

import { digest } from "../../digest.js";
import { ThreadkeepError } from "../../errors.js";
import type { Records } from "../../records.js";
import { recordKey, recordRange } from "../../record-keys.js";
import type { StoreRecord } from "../../stores/adapter.js";

/** Nodes whose bits lie in one record. */
const NODES = 4096;
/** How long a part of a key may be, so that a key with two of them is none too long. */
const LONGEST = 300;

/** Where a branch of the session has got to. */
export interface BranchEnd {
  /** The number of its last node that was sent. */
  seq: number;
  /** The conversation that goes on there. */
  context: string;
}

/** What is known of a transcript beside the bits. */
interface Facts {
  /** The conversation under whose name the service knows the transcript; the first of which something was sent. */
  session?: string;
  /** The branches by name; the first has none. */
  branches: Record<string, BranchEnd>;
  /** Nodes that grow, and how many of their messages were sent. */
  growing: Record<string, number>;
}

/** A sending that has begun: after a crash it may have arrived or not. */
export interface Intent {
  /** Who sends. */
  owner: string;
  /** Until when it may still be under way, in milliseconds since 1970. */
  until: number;
  token: string;
  thread: string;
  branch: string;
  /** What it sends: numbers of nodes, how many messages of each were sent then, and whether that is all of it. */
  marks: Mark[];
}

/** That so many messages of a node were sent. */
export interface Mark {
  seq: number;
  messages: number;
  whole: boolean;
}

/** What was sent of one transcript to one service. */
export class Sent {
  readonly #records: Records;
  readonly #service: string;
  readonly #transcript: string;
  #version: string | undefined;
  #facts: Facts = { branches: {}, growing: {} };
  #bits = new Map<number, Uint8Array>();
  #intent: Intent | undefined;
  /** Reading and writing go one after the other: a change begins with what was read last, and ends before anything is read. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(records: Records, service: string, transcript: string) {
    this.#records = records;
    this.#service = service;
    this.#transcript = transcript;
  }

  /** The conversation under whose name the service knows the transcript, once something was sent. */
  get session(): string | undefined {
    return this.#facts.session;
  }

  get branches(): Readonly<Record<string, BranchEnd>> {
    return this.#facts.branches;
  }

  /** A sending that began and is not known to have ended. */
  get intent(): Intent | undefined {
    return this.#intent;
  }

  /** Reads what others may have written since. */
  refresh(): Promise<void> {
    return this.#exclusive(() => this.#refresh());
  }

  async #refresh(): Promise<void> {
    const [[key, value] = []] = await this.#records.scan({ ...recordRange(this.#service, "t", this.#transcript), limit: 1 });
    if (key === this.#version) return;
    this.#version = key;
    this.#bits.clear();
    const stored = value === undefined ? undefined : (read(value) as Facts & { intent?: Intent });
    this.#intent = stored?.intent;
    const { session, branches = {}, growing = {} } = stored ?? ({} as Partial<Facts>);
    this.#facts = { ...(session === undefined ? {} : { session }), branches, growing };
  }

  /** Whether all of a node was sent. */
  async has(seq: number): Promise<boolean> {
    const bits = await this.#page(Math.floor(seq / NODES));
    const at = seq % NODES;
    return (((bits[at >> 3] ?? 0) >> (at & 7)) & 1) === 1;
  }

  /** How many messages of a node were sent that is not sent as a whole. */
  growing(seq: number): number {
    return this.#facts.growing[seq] ?? 0;
  }

  /** Stores that a sending begins. @throws ThreadkeepError `conflict` when somebody else wrote meanwhile */
  begin(intent: Intent): Promise<void> {
    return this.#exclusive(() => this.#store({ session: intent.thread, ...this.#facts }, intent, []));
  }

  /**
   * Stores that messages were sent, and what else is to be stored with that; a sending that had begun has ended. A power cut may take it
   * back: then the service is asked, or told again what it knows.
   */
  mark(branch: string, context: string, marks: readonly Mark[], more: readonly StoreRecord[] = []): Promise<void> {
    return this.#exclusive(() => this.#mark(branch, context, marks, more));
  }

  async #mark(branch: string, context: string, marks: readonly Mark[], more: readonly StoreRecord[]): Promise<void> {
    const facts: Facts = structuredClone({ session: context, ...this.#facts });
    const changed = new Map<number, Uint8Array>();
    for (const { seq, messages, whole } of marks) {
      facts.branches[branch] = { seq, context };
      if (!whole) {
        facts.growing[seq] = messages;
        continue;
      }
      delete facts.growing[seq];
      const page = Math.floor(seq / NODES);
      const bits = changed.get(page) ?? (await this.#page(page)).slice();
      const at = seq % NODES;
      bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      changed.set(page, bits);
    }
    const puts = [...changed].map(([page, bits]): StoreRecord => [this.#bitsKey(page), bits]);
    await this.#store(facts, undefined, [...puts, ...more], "relaxed");
    for (const [page, bits] of changed) this.#bits.set(page, bits);
  }

  /** Forgets that a sending had begun: it did not arrive. */
  forgetIntent(): Promise<void> {
    return this.#exclusive(async () => {
      if (this.#intent !== undefined) await this.#store(this.#facts, undefined, []);
    });
  }

  /** Deletes everything that is remembered of the transcript. */
  forget(): Promise<void> {
    return this.#exclusive(async () => {
      const ranges = ["t", "s"].map((kind) => recordRange(this.#service, kind, this.#transcript));
      await this.#records.commit({ deleteRanges: ranges.map(({ start, end }) => [start, end]), deletes: [this.#anchor()] });
      await this.#refresh();
    });
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#line.then(work, work);
    this.#line = done.catch(() => undefined);
    return done;
  }

  async #store(facts: Facts, intent: Intent | undefined, puts: readonly StoreRecord[], durability: "strict" | "relaxed" = "strict"): Promise<void> {
    const next = recordKey(this.#service, "t", this.#transcript, this.#version === undefined ? 0 : Number(this.#version.slice(-16)) + 1);
    const value = write({ ...facts, ...(intent === undefined ? {} : { intent }) });
    try {
      await this.#records.commit(
        this.#version === undefined
          ? // The anchor stays, so that only one writer can be the first.
            { absent: [this.#anchor()], puts: [[this.#anchor(), new Uint8Array()], [next, value], ...puts], durability }
          : { present: [this.#version], deletes: [this.#version], puts: [[next, value], ...puts], durability },
      );
    } catch (error) {
      // What is known here is old, whatever went wrong.
      this.#version = "";
      throw error;
    }
    [this.#version, this.#facts, this.#intent] = [next, facts, intent];
  }

  async #page(page: number): Promise<Uint8Array> {
    let bits = this.#bits.get(page);
    if (bits === undefined) {
      bits = (await this.#records.get(this.#bitsKey(page))) ?? new Uint8Array(NODES / 8);
      this.#bits.set(page, bits);
    }
    return bits;
  }

  #bitsKey(page: number): string {
    return recordKey(this.#service, "s", this.#transcript, page);
  }

  #anchor(): string {
    return recordKey(this.#service, "a", this.#transcript);
  }
}

/** Whether somebody else wrote at the same time. */
export function isConflict(error: unknown): boolean {
  return error instanceof ThreadkeepError && error.code === "conflict";
}

/** A value of a record. */
export function write(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** What {@link write} wrote. */
export function read(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** A part of a key for an id of any length: a digest stands for one that is too long. */
export async function keyPart(id: string): Promise<string> {
  return recordKey(id).length <= LONGEST ? id : digest(id);
}
