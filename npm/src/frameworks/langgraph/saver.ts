// LangGraph's checkpoint saver on a keep. A checkpoint is one record under thread, namespace and id, so that the newest is the last of a
// range; what its channels hold lies beside it (values.ts), and so do the writes of tasks that follow it. The keep's storage is what is durable.

import {
  BaseCheckpointSaver,
  WRITES_IDX_MAP,
  copyCheckpoint,
  getCheckpointId,
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
import { id as checkId, isObject, options as checkOptions, text } from "../../check.js";
import { ThreadkeepError, badArgument } from "../../errors.js";
import type { Records } from "../../records.js";
import { recordKey, recordRange } from "../../record-keys.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { Checkpoints, SHIFT, damaged, type Header } from "./checkpoints.js";
import { namespaceOf, needThread, threadOf } from "./config.js";
import { frame } from "./frame.js";
import { same } from "../shared/json.js";
import { discard } from "../shared/append.js";
import { isMessages, mirror } from "../shared/langchain/mirror.js";
import { ChannelValues, type Place, type Ref, type Typed } from "./values.js";

/** Options of {@link ThreadkeepSaver}. */
export interface SaverOptions {
  /** What turns values into bytes and back; LangGraph's own `JsonPlusSerializer` without it. */
  serde?: SerializerProtocol;
  /** The name under which the records lie in the keep; `langgraph` without it. Savers of different names do not see each other's threads. */
  namespace?: string;
  /**
   * `true`: the channel `messages` of each thread is a conversation of the keep as well, a thread of the same id, which can be shown,
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
  readonly #checkpoints: Checkpoints;
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
    this.#checkpoints = new Checkpoints(this.#records, this.#values, () => this.getNextVersion(undefined));
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
      const stored = id === "" ? await this.#checkpoints.newest(thread, ns) : await this.#checkpoints.stored(thread, ns, id);
      const tuple = stored && (await this.#checkpoints.tuple(stored));
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
    for await (const stored of this.#checkpoints.newestFirst(threadOf(config), config.configurable?.["checkpoint_ns"] as string | undefined, border, limit)) {
      if (wanted && stored.id !== wanted) continue;
      if (filter !== undefined) {
        const metadata = (await this.#values.load([stored.types[1], stored.metadata])) as Record<string, unknown>;
        if (!Object.entries(filter).every(([name, value]) => same(metadata[name], value))) continue;
      }
      const tuple = await this.#checkpoints.tuple(stored);
      if (tuple === undefined) {
        if ((await this.#checkpoints.stored(stored.thread, stored.ns, stored.id)) === undefined) continue;
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
    // Before anything is stored: it is the name of a thread of the keep, too.
    if (this.#channel !== undefined) checkId(thread, "config.configurable.thread_id");
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
      const from = parent === undefined || parent === id ? undefined : await this.#checkpoints.stored(thread, ns, parent);
      const header: Header = {
        ...(parent === undefined ? {} : { parent }),
        types: [checkpointType, metadataType],
        refs: Object.create(null) as Record<string, Ref>,
      };
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
   * Deletes a thread's checkpoints, values and writes, for good, and with `transcripts` its conversation; where another thread ends in
   * that (a fork of yours), only what that does not need.
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
    if (this.#channel !== undefined) await discard(this.#keep, thread);
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
    let at = id === "" ? await this.#checkpoints.newest(thread, ns) : await this.#checkpoints.stored(thread, ns, id);
    while (at?.parent !== undefined && remaining.size > 0) {
      at = await this.#checkpoints.stored(thread, ns, at.parent);
      if (at === undefined) break;
      const writes = await this.#checkpoints.writes(thread, ns, at.id, remaining);
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

  /** Where a channel's value of a version lies already, and whether there is any of that version. */
  async #sameVersion(place: Place, version: number | string, value: unknown): Promise<[ref: Ref | undefined, known: boolean]> {
    const seen = new Set<string>();
    for await (const { refs } of this.#checkpoints.down(place.thread, place.ns, "")) {
      const ref = refs[place.channel];
      if (ref?.v !== version || seen.has(JSON.stringify(ref))) continue;
      seen.add(JSON.stringify(ref));
      if (await this.#values.holds(place, ref, value)) return [ref, true];
    }
    return [undefined, seen.size > 0];
  }
}

function isConflict(error: unknown): boolean {
  return isObject(error) && error["code"] === "conflict";
}

function asIs(value: unknown): unknown {
  return value;
}
