// Checkpoints as they lie in a keep's records, and how they are read: one by its id, the newest of a thread, many from the newest down, and what
// tasks wrote after one.

import {
  TASKS,
  maxChannelVersion,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { ThreadkeepError } from "../../errors.js";
import type { Records } from "../../records.js";
import { recordKey, recordParts, recordRange } from "../../record-keys.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { unframe } from "./frame.js";
import type { ChannelValues, Ref } from "./values.js";

/** What a checkpoint's record says beside the two byte strings of checkpoint and metadata. */
export interface Header {
  parent?: string;
  /** The serialiser's types of the two. */
  types: [checkpoint: string, metadata: string];
  /** Where the channels' values lie. */
  refs: Record<string, Ref>;
}

/** A checkpoint as it was read. */
export interface Stored extends Header {
  thread: string;
  ns: string;
  id: string;
  checkpoint: Uint8Array;
  metadata: Uint8Array;
}

/** Indices of special writes are negative; keys have numbers from 0 on. */
export const SHIFT = 16;
/** How many checkpoints a listing reads at once, of one namespace and of each of several. */
const PAGE = 100;
const SMALL_PAGE = 16;

/** The checkpoints in a keep's records. */
export class Checkpoints {
  readonly #records: Records;
  readonly #values: ChannelValues;
  readonly #firstVersion: () => number;

  constructor(records: Records, values: ChannelValues, firstVersion: () => number) {
    this.#records = records;
    this.#values = values;
    this.#firstVersion = firstVersion;
  }

  /** A checkpoint by its id. */
  async stored(thread: string, ns: string, id: string): Promise<Stored | undefined> {
    const key = recordKey("c", thread, ns, id);
    const bytes = await this.#records.get(key);
    return bytes === undefined ? undefined : read(key, bytes);
  }

  /** The checkpoint of the greatest id. */
  async newest(thread: string, ns: string): Promise<Stored | undefined> {
    const [newest] = await this.#records.scan({ ...recordRange("c", thread, ns), limit: 1, reverse: true });
    return newest && read(...newest);
  }

  /** The checkpoints below `border`, the greatest id first, whatever their thread and namespace. */
  async *newestFirst(thread: string | undefined, ns: string | undefined, border: string, limit: number): AsyncGenerator<Stored> {
    const single = thread !== undefined && ns !== undefined;
    const page = Math.min(limit, single ? PAGE : SMALL_PAGE);
    const places: [string, string][] = [];
    if (single) places.push([thread, ns]);
    else for await (const place of this.#places(thread)) if (ns === undefined || place[1] === ns) places.push(place);
    const rows: { at: Stored; rest: AsyncGenerator<Stored> }[] = [];
    for (const [ofThread, ofNs] of places) {
      const rest = this.down(ofThread, ofNs, border, page);
      const first = await rest.next();
      if (first.done !== true) rows.push({ at: first.value, rest });
    }
    while (rows.length > 0) {
      let newest = 0;
      for (let row = 1; row < rows.length; row += 1) if ((rows[row] as { at: Stored }).at.id > (rows[newest] as { at: Stored }).at.id) newest = row;
      const row = rows[newest] as { at: Stored; rest: AsyncGenerator<Stored> };
      yield row.at;
      const next = await row.rest.next();
      if (next.done === true) rows.splice(newest, 1);
      else row.at = next.value;
    }
  }

  /** The checkpoints of one namespace below `border`, from the greatest id down. */
  async *down(thread: string, ns: string, border: string, page = PAGE): AsyncGenerator<Stored> {
    const range = recordRange("c", thread, ns);
    let end = border === "" ? range.end : recordKey("c", thread, ns, border);
    for (;;) {
      const records = await this.#records.scan({ start: range.start, end, limit: page, reverse: true });
      for (const record of records) yield read(...record);
      if (records.length < page) return;
      end = (records.at(-1) as StoreRecord)[0];
    }
  }

  /** The threads and namespaces that have checkpoints: one record is read of each. */
  async *#places(thread: string | undefined): AsyncGenerator<[thread: string, ns: string]> {
    const range = thread === undefined ? recordRange("c") : recordRange("c", thread);
    let end = range.end;
    for (;;) {
      const [last] = await this.#records.scan({ start: range.start, end, limit: 1, reverse: true });
      if (last === undefined) return;
      const [, ofThread, ofNs] = recordParts(last[0]) as [string, string, string];
      yield [ofThread, ofNs];
      end = recordRange("c", ofThread, ofNs).start;
    }
  }

  /** Everything that belongs to a checkpoint; `undefined` where a value of it is gone. */
  async tuple(stored: Stored): Promise<CheckpointTuple | undefined> {
    const { thread, ns, id, parent } = stored;
    const [rest, metadata, pendingWrites, values] = await Promise.all([
      this.#values.load([stored.types[0], stored.checkpoint]) as Promise<Omit<Checkpoint, "channel_values">>,
      this.#values.load([stored.types[1], stored.metadata]) as Promise<CheckpointMetadata>,
      this.writes(thread, ns, id),
      Promise.all(Object.entries(stored.refs).map(async ([channel, ref]) => [channel, await this.#values.read({ thread, ns, channel }, ref)] as const)),
    ]);
    const checkpoint: Checkpoint = { ...rest, channel_values: {} };
    for (const [channel, held] of values) {
      if (held === undefined) return undefined;
      define(checkpoint.channel_values, channel, held.value);
    }
    if (checkpoint.v < 4 && parent !== undefined) {
      // Before version 4, what was sent to tasks lay in the parent's writes.
      checkpoint.channel_values[TASKS] = (await this.writes(thread, ns, parent, new Set([TASKS]))).map(([, , value]) => value);
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.#firstVersion();
    }
    const configOf = (checkpointId: string) => ({ configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: checkpointId } });
    return {
      config: configOf(id),
      checkpoint,
      metadata,
      pendingWrites,
      ...(parent === undefined ? {} : { parentConfig: configOf(parent) }),
    };
  }

  /** What tasks wrote after a checkpoint, in the order in which a run applies it: by the task's path, its id, the write's place. */
  async writes(thread: string, ns: string, id: string, only?: ReadonlySet<string>): Promise<CheckpointPendingWrite[]> {
    const records = await this.#records.scan(recordRange("w", thread, ns, id));
    const found: { path: string; write: Promise<CheckpointPendingWrite> }[] = [];
    for (const [key, bytes] of records) {
      const { header, parts } = unframe<{ channel: string; type: string; path?: string }>(key, bytes);
      if (only?.has(header.channel) === false) continue;
      const task = recordParts(key)[4] as string;
      const write = this.#values.load([header.type, parts[0] as Uint8Array]).then((value): CheckpointPendingWrite => [task, header.channel, value]);
      // As a key, so that paths are ordered by code point, as tasks are.
      found.push({ path: recordKey(header.path ?? ""), write });
    }
    // The records come by task and place.
    found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
    return Promise.all(found.map(({ write }) => write));
  }
}

function read(key: string, bytes: Uint8Array): Stored {
  const [, thread, ns, id] = recordParts(key) as [string, string, string, string];
  const { header, parts } = unframe<Header>(key, bytes);
  return { ...header, thread, ns, id, checkpoint: parts[0] as Uint8Array, metadata: parts[1] as Uint8Array };
}

/** Sets a field, whatever its name: `__proto__` is one, too. */
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The error for a checkpoint of which a value is gone. */
export function damaged({ thread, ns, id }: Stored): ThreadkeepError {
  return new ThreadkeepError("corrupt", `a value of the checkpoint ${id} of thread ${thread} is missing`, { thread, ns, checkpoint: id });
}
