// assistant-ui's history of a thread on a keep: its tree of messages with parents, versions and a head, as a transcript.

import type {
  ExportedMessageRepository,
  ExportedMessageRepositoryItem,
  GenericThreadHistoryAdapter,
  MessageFormatAdapter,
  MessageFormatItem,
  MessageFormatRepository,
  ThreadHistoryAdapter,
  ThreadMessage,
} from "@assistant-ui/core";
import * as check from "../../check.js";
import { badArgument, ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { MessageInput } from "../../message.js";
import { appendAfter, TRIES } from "../shared/append.js";
import { Queues } from "../shared/queues.js";
import { plain, same } from "../shared/json.js";
import type { Ui } from "../shared/ui/types.js";
import { pack } from "./pack.js";
import { FIELD, readTree, type Item, type Ride, type Tree } from "./tree.js";
import { fromUi, revive, say, toUi } from "./words.js";

/** The format of assistant-ui's own messages. */
const OWN = "assistant-ui";

/** Which thread: its id, or what knows it once there is one (`aui.threadListItem`). */
export type ThreadRef = string | { getState(): { remoteId?: string | undefined }; initialize(): Promise<{ remoteId: string }> };

/** Options of {@link threadHistory}. */
export interface ThreadHistoryOptions {
  /** What the names of the keep's threads begin with; nothing without it, so that a thread's id is its name. */
  prefix?: string;
}

/** A message as it is to be stored. */
interface Stored {
  id: string;
  parentId: string | null;
  format: string;
  content: unknown;
  run?: unknown;
  /** The id that it had before. */
  was?: string;
}

/**
 * The history of one thread. Each message of assistant-ui is a chain of nodes below its parent's, what it says are messages of ours;
 * an update is another version, or more of the same. Methods reject with a {@link ThreadkeepError}; what they did is durable then.
 */
export class ThreadHistory implements ThreadHistoryAdapter {
  readonly #keep: Threadkeep;
  readonly #thread: ThreadRef | (() => ThreadRef);
  readonly #prefix: string;
  readonly #queues = new Queues();
  /** Threads as they were read; what is put behind a message needs no more than that message's place. */
  readonly #trees = new Map<string, Tree>();

  /** @internal */
  constructor(keep: Threadkeep, thread: ThreadRef | (() => ThreadRef), options?: ThreadHistoryOptions) {
    this.#keep = keep;
    this.#thread = thread;
    this.#prefix = (check.options(options, "options", { prefix: check.text }) as ThreadHistoryOptions).prefix ?? "";
    if (typeof thread === "string") check.id(thread, "thread");
    else if (typeof thread !== "function" && !check.isObject(thread)) throw badArgument("thread", "must be an id, or what has `getState` and `initialize`");
  }

  /** All branches, and the message at the end of the one that is shown. What others wrote into the transcript comes along. */
  readonly load = async (): Promise<ExportedMessageRepository> => {
    const { headId, items } = await this.#load(OWN);
    const messages = items.map((item): ExportedMessageRepositoryItem => {
      const { parentId, run } = item;
      return {
        message: ownMessage(item),
        parentId,
        ...(run === undefined ? {} : { runConfig: run as NonNullable<ExportedMessageRepositoryItem["runConfig"]> }),
      };
    });
    return { headId, messages };
  };

  /** Stores a message below its parent; one that is there already is stored anew. */
  readonly append = async (item: ExportedMessageRepositoryItem): Promise<void> => this.#store(await this.#context(), own(item), true);

  /** Stores another version of a message. The branch that is shown stays. */
  readonly update = async (item: ExportedMessageRepositoryItem): Promise<void> => this.#store(await this.#context(), own(item), false);

  /** Deletes messages, for good; what followed each follows its parent then. */
  readonly delete = async (items: ExportedMessageRepositoryItem[]): Promise<void> =>
    this.#delete(
      await this.#known(),
      items.map(({ message }) => message.id),
    );

  /** The same history for messages of another format, such as the AI SDK's. Messages that are stored in others are translated where that can be. */
  withFormat<M, S extends Record<string, unknown>>(format: MessageFormatAdapter<M, S>): GenericThreadHistoryAdapter<M> {
    let pinned: string | undefined;
    const pin = (): void => {
      const thread = this.#ref();
      pinned = typeof thread === "string" ? thread : thread.getState().remoteId;
    };
    const where = async (): Promise<string> => (pinned === undefined ? this.#context() : check.id(this.#prefix + pinned, "thread"));
    const formatted = (item: MessageFormatItem<M>): Stored => ({
      id: format.getId(item.message),
      parentId: item.parentId,
      format: format.format,
      content: json(format.encode(item)),
    });
    return {
      pin,
      load: async (): Promise<MessageFormatRepository<M>> => {
        pin();
        const { headId, items } = await this.#load(format.format);
        return {
          headId,
          messages: items.map(({ id, parentId, content }) => format.decode({ id, parent_id: parentId, format: format.format, content: content as S })),
        };
      },
      append: async (item) => this.#store(await where(), formatted(item), true),
      update: async (item, localMessageId) => this.#store(await where(), { ...formatted(item), was: localMessageId }, false),
      delete: async (items) =>
        this.#delete(
          pinned === undefined ? await this.#known() : this.#prefix + pinned,
          items.map(({ message }) => format.getId(message)),
        ),
    };
  }

  /**
   * Stores a whole thread as `MessageRepository.export()` gives it (or `thread.export()` of a runtime): what is new is added, what changed becomes another
   * version, what is not in it stays. The thread shows its head then.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * await history.save(runtime.thread.export());
   * ```
   */
  readonly save = async (repository: ExportedMessageRepository): Promise<void> => {
    const context = await this.#context();
    const items = repository.messages.map(own);
    await this.#queues.run(context, async () => {
      // What is there already is compared with one reading: a thread is saved again and again as it grows.
      const before = await this.#read(context);
      for (const item of items) if (before === undefined || stored(before, item) === undefined) await this.#put(context, item, true);
      const tree = await this.#read(context);
      const head = tree?.get(repository.headId ?? items.at(-1)?.id ?? "")?.nodes.at(-1);
      if (head !== undefined && head !== tree?.leaf) await this.#keep.thread(context).moveTo(head);
      this.#trees.delete(context);
    });
  };

  async #store(context: string, item: Stored, shown: boolean): Promise<void> {
    await this.#queues.run(context, () => this.#put(context, item, shown));
  }

  /** The messages that can be had in a format, parents first; those below one that cannot hang at the next above. */
  async #load(format: string): Promise<{ headId: string | null; items: Item[] }> {
    const context = await this.#known();
    const tree = context === undefined ? undefined : await this.#queues.run(context, () => this.#read(context));
    if (tree === undefined) return { headId: null, items: [] };
    const parents = new Map<string | null, string | null>([[null, null]]);
    const items: Item[] = [];
    for (const item of tree.all()) {
      const content = inFormat(item, format);
      const parentId = parents.get(item.parentId) ?? null;
      parents.set(item.id, content === undefined ? parentId : item.id);
      if (content !== undefined) items.push({ ...item, parentId, content });
    }
    return { headId: parents.get(tree.head()) ?? null, items };
  }

  async #context(): Promise<string> {
    const thread = this.#ref();
    const id = typeof thread === "string" ? thread : (thread.getState().remoteId ?? (await thread.initialize()).remoteId);
    return check.id(this.#prefix + check.id(id, "thread"), "thread");
  }

  /** The thread's head, if there is a thread yet. */
  async #known(): Promise<string | undefined> {
    const thread = this.#ref();
    const id = typeof thread === "string" ? thread : thread.getState().remoteId;
    return id === undefined ? undefined : this.#prefix + id;
  }

  #ref(): ThreadRef {
    return typeof this.#thread === "function" ? this.#thread() : this.#thread;
  }

  async #read(context: string): Promise<Tree | undefined> {
    const tree = await readTree(this.#keep, context);
    if (tree === undefined) this.#trees.delete(context);
    else this.#trees.set(context, tree);
    return tree;
  }

  /** Stores a message, and has the thread show it (`shown`) or what it showed before. */
  async #put(context: string, item: Stored, shown: boolean): Promise<void> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      try {
        if (await this.#try(context, item, shown, tries > 0)) return;
      } catch (error) {
        // What was remembered may have been deleted by somebody else.
        if (tries > 0 || !(error instanceof ThreadkeepError && error.code === "missing-node")) throw error;
      }
    }
    throw new ThreadkeepError("conflict", "other writers of this thread were always first", { thread: context });
  }

  async #try(context: string, item: Stored, shown: boolean, anew: boolean): Promise<boolean> {
    const remembered = anew ? undefined : this.#trees.get(context);
    const enough =
      remembered !== undefined && remembered.get(item.was ?? item.id) === undefined && (item.parentId === null || remembered.get(item.parentId) !== undefined);
    const tree = enough ? remembered : await this.#read(context);
    const known = tree?.get(item.was ?? item.id);
    const parent = item.parentId === null ? undefined : tree?.get(item.parentId);
    const said = say(item.content);
    // A parent that was not stored (a runtime leaves out what waits for its user) may come yet: till then it hangs at what is shown.
    const parentId = parent?.id ?? item.parentId;
    const lost = item.parentId !== null && parent === undefined;
    const there = tree && stored(tree, item);
    if (there !== undefined) {
      const end = there.nodes.at(-1) as string;
      if (shown && tree?.leaf !== end) await this.#keep.thread(context).moveTo(end);
      this.#trees.delete(context);
      return true;
    }
    // An answer that goes on, or of which only something else is said, goes on where it was; anything else stands beside.
    const grows = known !== undefined && known.format !== null && known.parentId === parentId && startsAlike(said, known.said);
    const rest = grows ? said.slice(spoken(known.said).length) : said;
    const messages: MessageInput[] = rest.length > 0 ? [...rest] : [{ role: "note", content: "", include_in_context: false }];
    const ride: Ride = {
      id: item.id,
      parent: parentId,
      format: item.format,
      content: pack(item.content, grows ? [...known.said, ...messages] : messages),
      ...(item.run === undefined ? {} : { run: item.run }),
      covers: messages.length,
      ...(grows ? { grows: true as const } : {}),
      ...(item.was === undefined || item.was === item.id ? {} : { was: item.was }),
    };
    messages[0] = { ...messages[0], [FIELD]: ride } as unknown as MessageInput;
    const behind = grows ? known.nodes.at(-1) : (parent?.nodes.at(-1) ?? (lost ? tree?.leaf : undefined) ?? tree?.root);
    const head = tree === undefined ? null : ((await this.#keep.thread(context).head())?.id ?? null);
    const made = await appendAfter(this.#keep, context, behind, head, messages);
    if (made === undefined) return false;
    const leaf = (made.at(-1) as { id: string }).id;
    // An update of what stands further up does not change what is shown.
    const stays = !shown && known !== undefined && head !== null && tree?.owner(head) !== known.id;
    if (stays) await this.#keep.thread(context).moveTo(head);
    if (tree === undefined || known !== undefined || lost) this.#trees.delete(context);
    else {
      tree.put({
        ...item,
        parentId,
        createdAt: made[0]?.createdAt ?? null,
        nodes: made.map(({ id }) => id),
        said: messages,
        starts: [(made[0] as { id: string }).id],
      });
      tree.leaf = stays ? head : leaf;
    }
    return true;
  }

  async #delete(context: string | undefined, ids: readonly string[]): Promise<void> {
    if (context === undefined) return;
    await this.#queues.run(context, async () => {
      for (const id of ids) await this.#remove(context, id);
    });
  }

  async #remove(context: string, id: string): Promise<void> {
    const tree = await this.#read(context);
    const item = tree?.get(id);
    if (tree === undefined || item === undefined) return;
    const head = tree.head();
    // What follows is written anew below the parent, then the message goes with all that stood below it.
    const open = [...tree.children(item.id)].reverse();
    const followers: Item[] = [];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      followers.push(tree.get(at) as Item);
      open.push(...[...tree.children(at)].reverse());
    }
    const ends = new Map<string | null, string | undefined>([[item.id, tree.get(item.parentId ?? "")?.nodes.at(-1) ?? tree.root]]);
    let at = tree.leaf;
    for (const follower of followers) {
      const said = follower.format === null ? say(follower.content) : follower.said;
      const content = follower.format === null ? json(follower.content) : follower.content;
      const messages = said.map((message) => ({ ...message }) as MessageInput);
      const ride: Ride = {
        id: follower.id,
        parent: follower.parentId === item.id ? item.parentId : follower.parentId,
        format: follower.format ?? "ai-sdk",
        content: pack(content, messages),
        ...(follower.run === undefined ? {} : { run: follower.run }),
        covers: messages.length,
      };
      messages[0] = { ...messages[0], [FIELD]: ride } as unknown as MessageInput;
      const made = await appendAfter(this.#keep, context, ends.get(follower.parentId), at, messages);
      if (made === undefined) throw new ThreadkeepError("conflict", "somebody else wrote while a message was deleted: try again", { thread: context });
      at = (made.at(-1) as { id: string }).id;
      ends.set(follower.id, at);
    }
    // Other heads (forks, say) that point at what was written anew go along.
    for (const { name: other, node } of await this.#keep.threads()) {
      const end = ends.get(tree.owner(node) ?? "");
      if (other !== context && end !== undefined && tree.owner(node) !== item.id) await this.#keep.thread(other).moveTo(end);
    }
    for (const start of item.starts) if ((await this.#keep.node(start)) !== null) await this.#keep.at(start).deleteBranch();
    const after = await this.#read(context);
    const shown = head === null || head === item.id ? item.parentId : head;
    const node = shown === null ? undefined : after?.get(shown)?.nodes.at(-1);
    if (node !== undefined && node !== after?.leaf) await this.#keep.thread(context).moveTo(node);
    this.#trees.delete(context);
  }
}

/**
 * The history of a thread of assistant-ui in a keep, for `useLocalRuntime` and all other runtimes that take a
 * `ThreadHistoryAdapter`: every branch is kept, with all of its messages' versions, and what is said can be searched, budgeted and compacted.
 *
 * @param thread the thread's id, or what knows it once there is one, such as `() => aui.threadListItem`
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```tsx
 * const history = useMemo(() => threadHistory(keep, "thread-1"), [keep]);
 * const runtime = useLocalRuntime(model, { adapters: { history } });
 * ```
 */
export function threadHistory(keep: Threadkeep, thread: ThreadRef | (() => ThreadRef), options?: ThreadHistoryOptions): ThreadHistory {
  return new ThreadHistory(keep, thread, options);
}

function own({ message, parentId, runConfig }: ExportedMessageRepositoryItem): Stored {
  return {
    id: check.id(message?.id, "message.id"),
    parentId,
    format: OWN,
    content: json(message),
    ...(runConfig === undefined ? {} : { run: json(runConfig) }),
  };
}

function json(value: unknown): unknown {
  try {
    return plain(value);
  } catch (error) {
    throw badArgument("message", `cannot be written as JSON: ${(error as Error).message}`, error);
  }
}

/** A message's content in a format; `undefined` where it cannot be had in that. */
function inFormat({ format, content, id }: Item, wanted: string): unknown {
  if (format === wanted || wanted === OWN) return content;
  // What the AI SDK's formats store is its message without the id.
  if (!/^ai-sdk\b/.test(wanted)) return undefined;
  const ui = toUi(content);
  if (ui === undefined) return undefined;
  const { id: _, ...rest } = { ...ui, id };
  return rest;
}

/** The message that a tree has under an item's id, if it is the same below the same parent. */
function stored(tree: Tree, item: Stored): Item | undefined {
  const known = tree.get(item.was ?? item.id);
  const parentId = item.parentId === null ? null : (tree.get(item.parentId)?.id ?? item.parentId);
  return known !== undefined && known.id === item.id && known.parentId === parentId && isThere(known, item) ? known : undefined;
}

/** Whether a message is stored as it is. What others wrote is, as long as it is as it was loaded. */
function isThere(known: Item, item: Stored): boolean {
  if (known.format === item.format) return same(known.content, item.content) && same(known.run, item.run);
  if (known.format !== null) return false;
  if (item.format === OWN) return same(json(ownMessage(known)), item.content);
  const { id: _, ...rest } = (item.content ?? {}) as Record<string, unknown>;
  return same(inFormat(known, item.format), rest);
}

/** A message as assistant-ui's own. */
function ownMessage({ id, format, content, createdAt }: Item): ThreadMessage {
  const ui = format === null ? (content as Ui) : (toUi(content) ?? { id, role: "assistant", parts: [] });
  const message = format === OWN ? (revive(content) as ThreadMessage) : fromUi(ui, id, new Date(createdAt ?? 0));
  return message.id === id ? message : { ...message, id };
}

/** Whether messages begin with others. */
function startsAlike(messages: readonly MessageInput[], before: readonly MessageInput[]): boolean {
  return spoken(before).every((message, at) => same(message, messages[at]));
}

/** Messages without the notes of what changed. */
function spoken(messages: readonly MessageInput[]): MessageInput[] {
  return messages.filter(({ role }) => role !== "note");
}
