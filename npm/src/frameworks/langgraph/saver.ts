// LangGraph's checkpoint saver on a keep. A checkpoint is one record under thread, namespace and id, so that the newest is the last of a
// range; what its channels hold lies beside it (values.ts), and so do the writes of tasks that follow it. The keep's storage is what is durable.

import {
  BaseCheckpointSaver,
  TASKS,
  WRITES_IDX_MAP,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isObject, options as checkOptions, text } from "../../check.js";
import { ThreadkeepError, badArgument } from "../../errors.js";
import { recordKey, recordParts, recordRange } from "../../records.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { Records } from "../../types/records.js";
import type { StoreRecord } from "../../types/store.js";
import { frame, unframe } from "./frame.js";
import { same } from "./filter.js";
import { isMessages, mirror } from "../langchain/mirror.js";
import { ChannelValues, type Place, type Ref, type Typed } from "./values.js";

/** Options of {@link ThreadkeepSaver}. */
export interface SaverOptions {
  /** What turns values into bytes and back; LangGraph's own `JsonPlusSerializer` without it. */
  serde?: SerializerProtocol;
  /** The name under which the records lie in the keep; `langgraph` without it. Savers of different names do not see each other's threads. */
  namespace?: string;
  /**
   * `true`: the channel `messages` of each thread is a conversation of the keep as well, under the thread's id as head, which can be shown,
   * searched and compacted; a thread that is forked from an older checkpoint is a branch there. A text names another channel.
   * {@link ThreadkeepSaver.deleteThread | deleteThread} then deletes the conversation, too.
   */
  transcripts?: boolean | string;
}

/** What of one channel a walk over a checkpoint's ancestors found. */
export interface ChannelHistory {
  /** Its writes, the oldest first. */
  writes: CheckpointPendingWrite[];
  /** The value on which they build; absent where no ancestor has one. */
  seed?: unknown;
}

/** What a checkpoint's record says beside the two byte strings of checkpoint and metadata. */
interface Header {
  parent?: string;
  /** The serialiser's types of the two. */
  types: [checkpoint: string, metadata: string];
  /** Where the channels' values lie. */
  refs: Record<string, Ref>;
}

/** A checkpoint as it was read. */
interface Stored extends Header {
  thread: string;
  ns: string;
  id: string;
  checkpoint: Uint8Array;
  metadata: Uint8Array;
}

/** Indices of special writes are negative; keys have numbers from 0 on. */
const SHIFT = 16;
/** How many checkpoints a listing reads at once, of one namespace and of each of several. */
const PAGE = 100;
const SMALL_PAGE = 16;

/**
 * A LangGraph checkpointer on a keep: graphs that pause, resume, go back and fork, in whatever the keep is stored in.
 *
 * A checkpoint is durable when `put` resolves. Channels that did not change are not stored again, and a list that only grows is
 * stored in pieces, so that a thread of n messages costs about n log n bytes.
 *
 * @example
 * ```ts
 * const keep = await Threadkeep.open({ name: "my-agent" });
 * const graph = builder.compile({ checkpointer: new ThreadkeepSaver(keep) });
 * await graph.invoke({ messages }, { configurable: { thread_id: "ann" } });
 * ```
 */
export class ThreadkeepSaver extends BaseCheckpointSaver {
  readonly #records: Records;
  readonly #values: ChannelValues;
  readonly #keep: Threadkeep;
  /** The channel whose messages become conversations. */
  readonly #channel: string | undefined;

  /**
   * @param keep an open keep; closing it is the caller's
   * @throws ThreadkeepError `bad-request` for an option that is not known
   */
  constructor(keep: Threadkeep, options?: SaverOptions) {
    const given = checkOptions(options, "options", { serde: asIs, namespace: asIs, transcripts: asIs }) as SaverOptions;
    const { serde, namespace = "langgraph", transcripts = false } = given;
    super(serde);
    this.#keep = keep;
    this.#channel = transcripts === true ? "messages" : transcripts === false ? undefined : text(transcripts, "options.transcripts");
    this.#records = keep.records(namespace);
    this.#values = new ChannelValues(this.#records, () => this.serde);
  }

  /**
   * The checkpoint that a config names, or the newest of its thread; `undefined` where there is none.
   *
   * @throws ThreadkeepError `bad-request`; `corrupt`; the storage's codes
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const thread = threadOf(config);
    if (thread === undefined) return undefined;
    const ns = namespaceOf(config);
    const id = getCheckpointId(config);
    for (let before: string | undefined; ; ) {
      const stored = id === "" ? await this.#newest(thread, ns) : await this.#stored(thread, ns, id);
      const tuple = stored && (await this.#tuple(stored));
      if (stored === undefined || tuple !== undefined) return tuple;
      // A value is missing: the thread was deleted meanwhile, or its records are damaged.
      if (before === stored.id) throw damaged(stored);
      before = stored.id;
    }
  }

  /**
   * Checkpoints, the newest first: of a thread's namespace, of a thread, or of all threads.
   *
   * @throws ThreadkeepError `bad-request`; `corrupt`; the storage's codes
   */
  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const { before, limit = Infinity, filter } = options ?? {};
    const wanted = config.configurable?.["checkpoint_id"] as string | undefined;
    const border = before === undefined ? "" : getCheckpointId(before);
    let left = limit;
    if (left <= 0) return;
    for await (const stored of this.#newestFirst(threadOf(config), config.configurable?.["checkpoint_ns"] as string | undefined, border, limit)) {
      if (wanted && stored.id !== wanted) continue;
      if (filter !== undefined) {
        const metadata = (await this.#values.load([stored.types[1], stored.metadata])) as Record<string, unknown>;
        if (!Object.entries(filter).every(([name, value]) => same(metadata[name], value))) continue;
      }
      const tuple = await this.#tuple(stored);
      if (tuple === undefined) {
        if ((await this.#stored(stored.thread, stored.ns, stored.id)) === undefined) continue;
        throw damaged(stored);
      }
      yield tuple;
      left -= 1;
      if (left <= 0) return;
    }
  }

  /**
   * Stores a checkpoint under `checkpoint.id`, as the child of the one that the config names. Of the channels' values, those
   * that `newVersions` names are stored; the others are the parent's.
   *
   * @throws ThreadkeepError `bad-request` where the config names no thread; the storage's codes
   */
  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    const thread = needThread(config);
    const ns = namespaceOf(config);
    const parent = config.configurable?.["checkpoint_id"] as string | undefined;
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const id = rest.id;
    if (typeof id !== "string" || id === "") throw badArgument("checkpoint.id", "must be a non-empty string");
    const [[checkpointType, checkpointBytes], [metadataType, metadataBytes]] = await Promise.all([
      this.serde.dumpsTyped(rest),
      this.serde.dumpsTyped(metadata),
    ]);
    // What was read is a condition of what is written; where it changed meanwhile, it is read again.
    for (let attempt = 0; ; attempt += 1) {
      const from = parent === undefined || parent === id ? undefined : await this.#stored(thread, ns, parent);
      const header: Header = { ...(parent === undefined ? {} : { parent }), types: [checkpointType, metadataType], refs: Object.create(null) as Record<string, Ref> };
      const token = attempt === 0 ? id : `${id}~${attempt}`;
      const puts: StoreRecord[] = [];
      const present = new Set<string>();
      for (const channel of new Set([...Object.keys(values), ...Object.keys(from?.refs ?? {})])) {
        const place = { thread, ns, channel };
        const before = from?.refs[channel];
        const isNew = Object.hasOwn(newVersions, channel);
        const version = rest.channel_versions[channel] ?? newVersions[channel];
        // A channel without a version was never written to: what it holds is its default.
        if (version === undefined) continue;
        if (!isNew && before?.v === version) {
          header.refs[channel] = before;
          for (const key of this.#values.needs(place, before)) present.add(key);
          continue;
        }
        if (!Object.hasOwn(values, channel)) continue;
        if (!isNew && parent === undefined) {
          // A copy of a first checkpoint: what it holds is stored, and its first owner may have shared it with nobody.
          const [carried, known] = await this.#sameVersion(place, version, values[channel]);
          if (!known) continue;
          if (carried !== undefined) {
            header.refs[channel] = carried;
            for (const key of this.#values.needs(place, carried)) present.add(key);
            continue;
          }
        }
        const written = await this.#values.write(place, token, version, values[channel], before);
        header.refs[channel] = written.ref;
        puts.push(...written.puts);
        for (const key of written.needs) present.add(key);
      }
      // A value once stored is never written over: others may refer to it.
      const absent = puts.map(([key]) => key);
      puts.push([recordKey("c", thread, ns, id), frame(header, [checkpointBytes, metadataBytes])]);
      try {
        await this.#records.commit({ absent, present: [...present], puts });
        const messages = this.#channel === undefined || ns !== "" ? undefined : values[this.#channel];
        if (isMessages(messages)) await mirror(this.#keep, thread, messages);
        return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } };
      } catch (error) {
        if (attempt >= 20 || !isConflict(error)) throw error;
      }
    }
  }

  /**
   * Stores what a task wrote after a checkpoint. The first write of a task at an index stays; errors, interrupts and the like are replaced.
   *
   * @throws ThreadkeepError `bad-request` where the config names no thread or no checkpoint; the storage's codes
   */
  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const thread = needThread(config);
    const ns = namespaceOf(config);
    const id = config.configurable?.["checkpoint_id"] as unknown;
    if (typeof id !== "string" || id === "") throw badArgument("config.configurable.checkpoint_id", "must name the checkpoint that is written after");
    const kept = new Map<string, Uint8Array>();
    const replaced = new Map<string, Uint8Array>();
    const typed = await Promise.all(writes.map(async ([, value]) => this.serde.dumpsTyped(value)));
    for (const [at, [channel]] of writes.entries()) {
      const [type, bytes] = typed[at] as Typed;
      const index = WRITES_IDX_MAP[channel] ?? at;
      const key = recordKey("w", thread, ns, id, taskId, index + SHIFT);
      (index < 0 ? replaced : kept).set(key, frame({ channel, type, ...(taskPath === "" ? {} : { path: taskPath }) }, [bytes]));
    }
    while (kept.size + replaced.size > 0) {
      try {
        await this.#records.commit({ absent: [...kept.keys()], puts: [...kept, ...replaced] });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
        // Some were there before, and stay.
        for (const [key] of await this.#records.scan(recordRange("w", thread, ns, id, taskId))) kept.delete(key);
      }
    }
  }

  /**
   * Deletes a thread's checkpoints, values and writes, for good.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   */
  override async deleteThread(threadId: string): Promise<void> {
    const thread = needThread({ configurable: { thread_id: threadId } });
    const deleteRanges = ["c", "b", "w"].map((kind): [string, string] => {
      const { start, end } = recordRange(kind, thread);
      return [start, end];
    });
    this.#values.forget();
    await this.#records.commit({ deleteRanges });
    const head = this.#channel === undefined ? null : await this.#keep.head(thread);
    if (head !== null) await this.#keep.deleteTranscript(head.transcript);
  }

  /**
   * Makes a second thread of a thread, with all its checkpoints and pending writes, in one piece.
   *
   * @throws ThreadkeepError `conflict` where the second thread has some already; `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * await saver.copyThread("ann", "ann, what if");
   * ```
   */
  async copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    const source = needThread({ configurable: { thread_id: sourceThreadId } });
    const target = needThread({ configurable: { thread_id: targetThreadId } });
    const puts: StoreRecord[] = [];
    if ((await this.#records.scan({ ...recordRange("c", target), limit: 1 })).length > 0)
      throw new ThreadkeepError("conflict", `the thread ${target} has checkpoints already`, { thread: target });
    for (const kind of ["c", "b", "w"]) {
      const from = recordRange(kind, source).start;
      const to = recordRange(kind, target).start;
      for (const [key, bytes] of await this.#records.scan(recordRange(kind, source))) puts.push([to + key.slice(from.length), bytes]);
    }
    await this.#records.commit({ absent: puts.map(([key]) => key), puts });
  }

  /**
   * What the ancestors of a checkpoint wrote to some channels, the oldest first, and the value of the nearest ancestor that has one. Reads
   * no values but those.
   *
   * @throws ThreadkeepError `bad-request`; `corrupt`; the storage's codes
   */
  override async getDeltaChannelHistory({ config, channels }: { config: RunnableConfig; channels: string[] }): Promise<Record<string, ChannelHistory>> {
    const found: Record<string, ChannelHistory> = Object.fromEntries(channels.map((channel) => [channel, { writes: [] }]));
    const thread = threadOf(config);
    if (channels.length === 0 || thread === undefined) return found;
    const ns = namespaceOf(config);
    const id = getCheckpointId(config);
    const remaining = new Set(channels);
    let at = id === "" ? await this.#newest(thread, ns) : await this.#stored(thread, ns, id);
    while (at?.parent !== undefined && remaining.size > 0) {
      at = await this.#stored(thread, ns, at.parent);
      if (at === undefined) break;
      const writes = await this.#writes(thread, ns, at.id, remaining);
      for (const write of writes.reverse()) found[write[1]]?.writes.push(write);
      for (const channel of [...remaining]) {
        const ref = at.refs[channel];
        if (ref === undefined) continue;
        const seed = await this.#values.read({ thread, ns, channel }, ref);
        if (seed === undefined) throw damaged(at);
        (found[channel] as ChannelHistory).seed = seed.value;
        remaining.delete(channel);
      }
    }
    for (const channel of channels) found[channel]?.writes.reverse();
    return found;
  }

  async #stored(thread: string, ns: string, id: string): Promise<Stored | undefined> {
    const key = recordKey("c", thread, ns, id);
    const bytes = await this.#records.get(key);
    return bytes === undefined ? undefined : read(key, bytes);
  }

  async #newest(thread: string, ns: string): Promise<Stored | undefined> {
    const [newest] = await this.#records.scan({ ...recordRange("c", thread, ns), limit: 1, reverse: true });
    return newest && read(...newest);
  }

  /** The checkpoints below `border`, the greatest id first, whatever their thread and namespace. */
  async *#newestFirst(thread: string | undefined, ns: string | undefined, border: string, limit: number): AsyncGenerator<Stored> {
    const single = thread !== undefined && ns !== undefined;
    const page = Math.min(limit, single ? PAGE : SMALL_PAGE);
    const places: [string, string][] = [];
    if (single) places.push([thread, ns]);
    else for await (const place of this.#places(thread)) if (ns === undefined || place[1] === ns) places.push(place);
    const rows: { at: Stored; rest: AsyncGenerator<Stored> }[] = [];
    for (const [ofThread, ofNs] of places) {
      const rest = this.#down(ofThread, ofNs, border, page);
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
  async *#down(thread: string, ns: string, border: string, page: number): AsyncGenerator<Stored> {
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
  async #tuple(stored: Stored): Promise<CheckpointTuple | undefined> {
    const { thread, ns, id, parent } = stored;
    const [rest, metadata, pendingWrites, values] = await Promise.all([
      this.#values.load([stored.types[0], stored.checkpoint]) as Promise<Omit<Checkpoint, "channel_values">>,
      this.#values.load([stored.types[1], stored.metadata]) as Promise<CheckpointMetadata>,
      this.#writes(thread, ns, id),
      Promise.all(Object.entries(stored.refs).map(async ([channel, ref]) => [channel, await this.#values.read({ thread, ns, channel }, ref)] as const)),
    ]);
    const checkpoint: Checkpoint = { ...rest, channel_values: {} };
    for (const [channel, held] of values) {
      if (held === undefined) return undefined;
      define(checkpoint.channel_values, channel, held.value);
    }
    if (checkpoint.v < 4 && parent !== undefined) {
      // Before version 4, what was sent to tasks lay in the parent's writes.
      checkpoint.channel_values[TASKS] = (await this.#writes(thread, ns, parent, new Set([TASKS]))).map(([, , value]) => value);
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
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
  async #writes(thread: string, ns: string, id: string, only?: ReadonlySet<string>): Promise<CheckpointPendingWrite[]> {
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

  /** Where a channel's value of a version lies already, and whether there is any of that version. */
  async #sameVersion(place: Place, version: number | string, value: unknown): Promise<[ref: Ref | undefined, known: boolean]> {
    const seen = new Set<string>();
    for await (const { refs } of this.#down(place.thread, place.ns, "", PAGE)) {
      const ref = refs[place.channel];
      if (ref?.v !== version || seen.has(JSON.stringify(ref))) continue;
      seen.add(JSON.stringify(ref));
      if (await this.#values.holds(place, ref, value)) return [ref, true];
    }
    return [undefined, seen.size > 0];
  }
}

function read(key: string, bytes: Uint8Array): Stored {
  const [, thread, ns, id] = recordParts(key) as [string, string, string, string];
  const { header, parts } = unframe<Header>(key, bytes);
  return { ...header, thread, ns, id, checkpoint: parts[0] as Uint8Array, metadata: parts[1] as Uint8Array };
}

/** The thread that a config names; `undefined` where it names none. */
function threadOf(config: RunnableConfig): string | undefined {
  const thread = config.configurable?.["thread_id"] as unknown;
  if (thread === undefined || thread === null) return undefined;
  if (typeof thread !== "string" || thread === "") throw badArgument("config.configurable.thread_id", "must be a non-empty string");
  return thread;
}

function needThread(config: RunnableConfig): string {
  const thread = threadOf(config);
  if (thread === undefined)
    throw badArgument("config.configurable.thread_id", 'is missing: name the thread, as in graph.invoke(input, { configurable: { thread_id: "1" } })');
  return thread;
}

function namespaceOf(config: RunnableConfig): string {
  const ns = (config.configurable?.["checkpoint_ns"] ?? "") as unknown;
  if (typeof ns !== "string") throw badArgument("config.configurable.checkpoint_ns", "must be a string");
  return ns;
}

/** Sets a field, whatever its name: `__proto__` is one, too. */
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function isConflict(error: unknown): boolean {
  return isObject(error) && error["code"] === "conflict";
}

function damaged({ thread, ns, id }: Stored): ThreadkeepError {
  return new ThreadkeepError("corrupt", `a value of the checkpoint ${id} of thread ${thread} is missing`, { thread, ns, checkpoint: id });
}

function asIs(value: unknown): unknown {
  return value;
}
