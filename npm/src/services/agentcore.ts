// Amazon Bedrock AgentCore Memory, through its own SDK: a memory service for `hybrid`, and a message store of its own. Events
// are its short-term memory (what was said, by actor and session); records are what it extracts from them, for the long term.

import {
  BedrockAgentCoreClient,
  CreateEventCommand,
  DeleteEventCommand,
  GetMemoryRecordCommand,
  ListEventsCommand,
  ListMemoryRecordsCommand,
  ListSessionsCommand,
  RetrieveMemoryRecordsCommand,
  type Event,
  type MemoryRecord,
  type MemoryRecordSummary,
  type SessionSummary,
} from "@aws-sdk/client-bedrock-agentcore";
import * as check from "../check.js";
import { digest } from "../digest.js";
import { badArgument, ThreadkeepError } from "../errors.js";
import type { Message, MessageInput } from "../message.js";
import { inOrder, messagesOf, metadata, nameOf, nodeOf, ofNode, partOf, payload, type Source } from "./agentcore/wire.js";
import { limited, reasonOf, serviceError } from "./failure.js";
import { remember } from "./recent.js";
import { fitMemories, formatMemories, estimated, quoted, textOf, withMemories } from "./text.js";
import { actor, callOptions, OPTIONS, RECENT, RECORDS, type AgentCoreCall, type AgentCoreOptions, type RecordOptions } from "./agentcore/options.js";
import { cut, groups, inEvents, isUnder, item, onBranch } from "./agentcore/select.js";
import type {
  AddOptions,
  CallOptions,
  FindOptions,
  MemoryBatch,
  MemoryItem,
  MemoryScope,
  MemoryService,
  MessageStore,
  RecentLimits,
  StoreCompaction,
} from "./types.js";

export type { AgentCoreCall, AgentCoreOptions, RecordOptions } from "./agentcore/options.js";
export type * from "./types.js";
export type { ServiceReason } from "./failure.js";

/** What a page may hold. */
const PAGE = 100;
/** What a query may hold. */
const MAX_QUERY = 10_000;
/** Of so many sessions it is remembered when their last message was said. */
const MOST_TIMES = 1000;
/** So many events are deleted at a time. */
const DELETIONS = 4;

/**
 * AgentCore Memory as a memory service and as a message store.
 *
 * @throws ThreadkeepError `bad-request` for an option that is not known or not what it must be
 *
 * @example
 * ```ts
 * const memory = agentcoreMemory({ memoryId: "chats-a1b2c3d4e5", actorId: "user-123", region: "us-west-2" });
 * await memory.append("session-1", [{ role: "user", content: "I prefer pears." }]);
 * const prompt = await memory.getRecent("session-1", { maxTokens: 4_000 });
 * ```
 */
export function agentcoreMemory(options: AgentCoreOptions): AgentCoreMemory {
  const given = check.options(options, "options", OPTIONS);
  if (given["memoryId"] === undefined) throw badArgument("options.memoryId", "is missing");
  return new AgentCoreMemory(given as unknown as AgentCoreOptions);
}

/**
 * AgentCore Memory; {@link agentcoreMemory} makes it. As a message store it has what its events hold: instructions come back as
 * system messages, calls and fields of one's own as they were. Who needs branches, budgets and search over the originals puts
 * it beside a keep, with {@link hybrid}.
 */
export class AgentCoreMemory implements MemoryService, MessageStore {
  readonly name: string;
  /** Events are created under the ids of their messages, so sending them again changes nothing. */
  readonly idempotent = true;
  readonly #options: AgentCoreOptions;
  #made: BedrockAgentCoreClient | undefined;
  readonly #lastTimes = new Map<string, number>();

  /** @internal */
  constructor(options: AgentCoreOptions) {
    this.#options = options;
    this.name = options.name ?? "agentcore";
  }

  // A message store

  /**
   * Appends messages to a session, one event each (or `messagesPerEvent`).
   *
   * @param call another actor than the configured one, or more about the call
   * @throws ThreadkeepError `bad-request`, `cancelled`; `memory-service`: what was created until then stays
   */
  async append(thread: string, messages: readonly MessageInput[], call?: string | AgentCoreCall): Promise<void> {
    const context = check.id(thread, "thread");
    const list = check.messages(messages, "messages") as MessageInput[];
    const { actorId, sessionId, how } = await this.#place({ thread: context }, call);
    const { branch, rootEventId } = how;
    const named = branch === undefined ? undefined : { name: await nameOf(branch), ...(rootEventId === undefined ? {} : { rootEventId }) };
    for (const group of inEvents(list, this.#options.messagesPerEvent ?? 1, payload))
      await this.#send("append", how, (client, abortSignal) =>
        client.send(
          new CreateEventCommand({
            memoryId: this.#options.memoryId,
            actorId,
            sessionId,
            eventTimestamp: this.#time(sessionId, null),
            payload: group.flatMap(payload),
            ...(named === undefined ? {} : { branch: named }),
          }),
          { abortSignal },
        ),
      );
  }

  /**
   * The newest messages of a session. One user message before the newest one quotes the long-term memories that answer it. Memories take a quarter of `maxTokens` at most. Where they cannot be had in time or are throttled, it is the messages
   * alone; where the messages cannot be had, it rejects.
   *
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   */
  async getRecent(thread: string, options?: RecentLimits, call?: string | AgentCoreCall): Promise<Message[]> {
    const { maxMessages = 50, maxTokens, includeSystem } = check.options(options, "options", RECENT) as RecentLimits;
    const all = (await this.getAll(thread, call)).filter(({ role }) => includeSystem !== false || role !== "system");
    const asked = all.filter(({ role }) => role === "user").at(-1);
    const query = (asked === undefined ? "" : textOf(asked)) || "relevant context";
    const wanted = this.#options.includeLongTermMemories !== false && includeSystem !== false && maxMessages > 1;
    const { how } = await this.#place({ thread }, call);
    const found = wanted ? await this.#find("search", { thread }, query, 10, how).catch(passing) : [];
    const room = maxTokens === undefined ? Number.POSITIVE_INFINITY : Math.floor(maxTokens / 4);
    const { text } = await fitMemories(found.map(item), room, formatMemories, (text) => estimated(quoted(text)));
    const left = maxTokens === undefined ? Number.POSITIVE_INFINITY : maxTokens - (text === "" ? 0 : estimated(quoted(text)));
    const newest = cut(all, maxMessages - (text === "" ? 0 : 1), left);
    return text === "" ? newest : withMemories(text, newest);
  }

  /**
   * All messages of a session, oldest first: of its first branch, or of another with what lies before it.
   *
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   */
  async getAll(thread: string, call?: string | AgentCoreCall): Promise<Message[]> {
    const context = check.id(thread, "thread");
    const place = await this.#place({ thread: context }, call);
    const events = inOrder(await this.#events("getAll", place, { includePayloads: true }));
    return onBranch(events, place.how.branch === undefined ? undefined : await nameOf(place.how.branch)).flatMap(messagesOf);
  }

  /** The messages at the indices `start` to `end`, `end` not among them. */
  async getRange(thread: string, start: number, end: number, call?: string | AgentCoreCall): Promise<Message[]> {
    const [from, to] = [check.count(start, "start"), check.count(end, "end")];
    return (await this.getAll(thread, call)).slice(from, Math.max(from, to));
  }

  /** How many messages there are. */
  async getCount(thread: string, call?: string | AgentCoreCall): Promise<number> {
    return (await this.getAll(thread, call)).length;
  }

  /** Does nothing: AgentCore extracts what matters by itself, and keeps events as long as the memory resource says. */
  async compact(thread: string, _options?: object): Promise<StoreCompaction> {
    check.id(thread, "thread");
    return { summaryMessages: [], compactedRange: { start: 0, end: 0 }, tokensSaved: 0 };
  }

  /**
   * Deletes all events of a session, of all its branches. Records that were extracted stay.
   *
   * @returns how many events were deleted
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   */
  async clear(thread: string, call?: string | AgentCoreCall): Promise<number> {
    const place = await this.#place({ thread: check.id(thread, "thread") }, call);
    const events = await this.#events("clear", place, { includePayloads: false });
    await this.#delete("clear", place, events);
    return events.length;
  }

  // Long-term memory

  /**
   * The records that answer `query`, the best first.
   *
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   *
   * @example
   * ```ts
   * const [best] = await memory.searchMemories("session-1", "favourite fruit", { maxResults: 5 });
   * best.content.text; // "The user prefers pears."
   * ```
   */
  async searchMemories(thread: string, query: string, options?: RecordOptions, call?: string | AgentCoreCall): Promise<MemoryRecordSummary[]> {
    const { maxResults = 10, namespacePrefix } = check.options(options, "options", RECORDS) as RecordOptions;
    const { how } = await this.#place({ thread: check.id(thread, "thread") }, call);
    return this.#find("searchMemories", { thread }, check.text(query, "query"), maxResults, how, namespacePrefix);
  }

  /**
   * The records of an actor.
   *
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   */
  async listMemoryRecords(thread: string, options?: RecordOptions, call?: string | AgentCoreCall): Promise<MemoryRecordSummary[]> {
    const { maxResults = 100, namespacePrefix } = check.options(options, "options", RECORDS) as RecordOptions;
    const { how } = await this.#place({ thread: check.id(thread, "thread") }, call);
    return this.#list("listMemoryRecords", { thread }, maxResults, how, namespacePrefix);
  }

  /** One record; `null` where there is none of that id. */
  async getMemoryRecord(memoryRecordId: string, options?: CallOptions): Promise<MemoryRecord | null> {
    const { memoryId } = this.#options;
    try {
      const { memoryRecord } = await this.#send("getMemoryRecord", options, (client, abortSignal) =>
        client.send(new GetMemoryRecordCommand({ memoryId, memoryRecordId: check.text(memoryRecordId, "memoryRecordId") }), { abortSignal }),
      );
      return memoryRecord ?? null;
    } catch (error) {
      if ((error as { details?: { status?: number } }).details?.status === 404) return null;
      throw error;
    }
  }

  /** The sessions of an actor. */
  async listSessions(call?: string | AgentCoreCall): Promise<SessionSummary[]> {
    const { actorId, how } = await this.#place({ thread: "-" }, call);
    const found: SessionSummary[] = [];
    for (let nextToken: string | undefined; ; ) {
      const page = await this.#send("listSessions", how, (client, abortSignal) =>
        client.send(new ListSessionsCommand({ memoryId: this.#options.memoryId, actorId, maxResults: PAGE, nextToken }), { abortSignal }),
      );
      found.push(...(page.sessionSummaries ?? []));
      nextToken = following(page, nextToken);
      if (nextToken === undefined) return found;
    }
  }

  // A memory service

  /** Creates events for messages of a keep, under tokens made of their ids; forks become branches. */
  async add(batch: MemoryBatch, options?: AddOptions): Promise<void> {
    const place = await this.#place(batch, options);
    const name = batch.branch === undefined ? undefined : await nameOf(batch.branch.name);
    const root = batch.branch?.root === undefined ? undefined : await this.#eventOf(batch.branch.root, place);
    for (const [index, group] of inEvents(batch.messages, this.#options.messagesPerEvent ?? 1, ({ message }) => payload(message)).entries()) {
      const last = group.at(-1) as (typeof group)[number];
      const source: Source = { context: batch.thread, node: last.node, part: last.part };
      // Fixed by what is sent, so that a repetition is recognised.
      const clientToken = await digest(`${this.name}\n${place.sessionId}\n${group.map(({ id }) => id).join("\n")}`);
      await this.#send("add", options, (client, abortSignal) =>
        client.send(
          new CreateEventCommand({
            memoryId: this.#options.memoryId,
            actorId: place.actorId,
            sessionId: place.sessionId,
            eventTimestamp: this.#time(place.sessionId, last.createdAt),
            payload: group.flatMap(({ message }) => payload(message)),
            clientToken,
            metadata: metadata(source),
            ...(name === undefined ? {} : { branch: { name, ...(root === undefined || index > 0 ? {} : { rootEventId: root }) } }),
          }),
          { abortSignal },
        ),
      );
      for (const { id } of group) options?.onAdded?.(id);
    }
  }

  /** The records that answer `query`. */
  async search(scope: MemoryScope, query: string, options?: FindOptions): Promise<MemoryItem[]> {
    return (await this.#find("search", scope, query, options?.limit ?? 10, options)).map(item);
  }

  /** The records of the scope's actor. */
  async list(scope: MemoryScope, options?: FindOptions): Promise<MemoryItem[]> {
    return (await this.#list("list", scope, options?.limit ?? Number.POSITIVE_INFINITY, options)).map(item);
  }

  /** Deletes the events of a session, or those that came from nodes that are gone; records that were extracted stay. */
  async remove(scope: MemoryScope, gone?: (node: string) => Promise<boolean>, options?: CallOptions): Promise<number> {
    const place = await this.#place(scope, options);
    const doomed: Event[] = [];
    for (const event of await this.#events("remove", place, { includePayloads: false })) {
      const node = nodeOf(event);
      if (gone === undefined || (node !== undefined && (await gone(node)))) doomed.push(event);
    }
    await this.#delete("remove", place, doomed);
    return doomed.length;
  }

  /** The event that holds a message of a keep. */
  async #eventOf(id: string, place: Place): Promise<string | undefined> {
    const [, node = id, part = "0"] = /^(.*)#(\d+)$/s.exec(id) ?? [];
    const events = await this.#events("add", place, { includePayloads: false, filter: { eventMetadata: [ofNode(node)] } });
    return (events.find((event) => partOf(event) === Number(part)) ?? inOrder(events).at(-1))?.eventId;
  }

  async #events(
    operation: string,
    { actorId, sessionId, how }: Place,
    what: { includePayloads: boolean; filter?: { eventMetadata: ReturnType<typeof ofNode>[] } },
  ): Promise<Event[]> {
    const found: Event[] = [];
    for (let nextToken: string | undefined; ; ) {
      const page = await this.#send(
        operation,
        how,
        (client, abortSignal) =>
          client.send(new ListEventsCommand({ memoryId: this.#options.memoryId, actorId, sessionId, maxResults: PAGE, nextToken, ...what }), { abortSignal }),
        // Of a session without events some say that there is none.
        404,
      );
      found.push(...(page?.events ?? []));
      nextToken = following(page, nextToken);
      if (nextToken === undefined) return found;
    }
  }

  async #delete(operation: string, { actorId, sessionId, how }: Place, events: readonly Event[]): Promise<void> {
    const { memoryId } = this.#options;
    for (const some of groups(events, DELETIONS))
      await Promise.all(
        some.map(({ eventId }) =>
          this.#send(
            operation,
            how,
            (client, abortSignal) => client.send(new DeleteEventCommand({ memoryId, actorId, sessionId, eventId }), { abortSignal }),
            404,
          ),
        ),
      );
  }

  async #find(operation: string, scope: MemoryScope, query: string, limit: number, call?: AgentCoreCall, prefix?: string): Promise<MemoryRecordSummary[]> {
    const { memoryId, memoryStrategyId } = this.#options;
    const most = Math.min(limit, PAGE);
    if (most === 0 || query.trim() === "") return [];
    const searchCriteria = { searchQuery: query.slice(0, MAX_QUERY), topK: most, ...(memoryStrategyId === undefined ? {} : { memoryStrategyId }) };
    const found = new Map<string, MemoryRecordSummary>();
    for (const namespace of await this.#namespaces(scope, call, prefix)) {
      const { memoryRecordSummaries } = await this.#send(operation, call, (client, abortSignal) =>
        client.send(new RetrieveMemoryRecordsCommand({ memoryId, namespace, searchCriteria, maxResults: most }), { abortSignal }),
      );
      for (const record of memoryRecordSummaries ?? []) if (isUnder(record, namespace)) found.set(String(record.memoryRecordId), record);
    }
    return [...found.values()].sort((a, b) => (b.score ?? 0) - (a.score ?? 0)).slice(0, limit);
  }

  async #list(operation: string, scope: MemoryScope, limit: number, call?: AgentCoreCall, prefix?: string): Promise<MemoryRecordSummary[]> {
    const { memoryId, memoryStrategyId } = this.#options;
    const found = new Map<string, MemoryRecordSummary>();
    for (const namespace of await this.#namespaces(scope, call, prefix))
      for (let nextToken: string | undefined; found.size < limit; ) {
        const page = await this.#send(operation, call, (client, abortSignal) =>
          client.send(new ListMemoryRecordsCommand({ memoryId, namespace, memoryStrategyId, maxResults: Math.min(PAGE, limit), nextToken }), { abortSignal }),
        );
        for (const record of page.memoryRecordSummaries ?? []) if (isUnder(record, namespace)) found.set(String(record.memoryRecordId), record);
        nextToken = following(page, nextToken);
        if (nextToken === undefined) break;
      }
    return [...found.values()].slice(0, limit);
  }

  async #namespaces(scope: MemoryScope, call: AgentCoreCall | undefined, prefix: string | undefined): Promise<string[]> {
    const { namespaces = "/actors/{actorId}", memoryStrategyId = "" } = this.#options;
    const { actorId, sessionId } = await this.#place(scope, call);
    const wanted = prefix !== undefined ? [prefix] : typeof namespaces === "string" ? [namespaces] : [...namespaces];
    return wanted.map((one) => one.replaceAll("{actorId}", actorId).replaceAll("{sessionId}", sessionId).replaceAll("{memoryStrategyId}", memoryStrategyId));
  }

  /** Whose conversation is meant, in AgentCore's words. */
  async #place({ thread, session = thread }: MemoryScope, call?: string | AgentCoreCall): Promise<Place> {
    const how = typeof call === "string" ? { actorId: actor(call, "actorId") } : callOptions(call);
    const { actorId: configured } = this.#options;
    const actorId = how.actorId ?? (typeof configured === "function" ? actor(configured(thread), "actorId()") : configured);
    if (actorId === undefined) throw badArgument("actorId", "is missing: none is configured, so each call has to say whose conversation it is");
    return { actorId, sessionId: await nameOf(session), how };
  }

  /** When something was said (or now), later than what was said before it: events of one millisecond keep their order. */
  #time(sessionId: string, createdAt: number | null): Date {
    const time = Math.max(createdAt ?? Date.now(), (this.#lastTimes.get(sessionId) ?? 0) + 1);
    remember(this.#lastTimes, sessionId, time, MOST_TIMES);
    return new Date(time);
  }

  #send<T>(operation: string, options: CallOptions | undefined, call: (client: BedrockAgentCoreClient, signal: AbortSignal) => Promise<T>): Promise<T>;
  #send<T>(
    operation: string,
    options: CallOptions | undefined,
    call: (client: BedrockAgentCoreClient, signal: AbortSignal) => Promise<T>,
    fine: number,
  ): Promise<T | undefined>;
  /** One call, repetitions included. The status `fine` is no error. */
  async #send<T>(
    operation: string,
    options: CallOptions | undefined,
    call: (client: BedrockAgentCoreClient, signal: AbortSignal) => Promise<T>,
    fine?: number,
  ): Promise<T | undefined> {
    const timeout = options?.timeout ?? this.#options.timeout ?? 10_000;
    return limited(this.name, operation, { signal: options?.signal, timeout }, async (signal) => {
      try {
        return await call(this.#client(), signal);
      } catch (error) {
        const { name = "Error", $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
        const status = $metadata?.httpStatusCode;
        if (status !== undefined && status === fine) return undefined;
        if (status === undefined) throw serviceError(this.name, operation, "unavailable", `the service cannot be reached (${name})`, error);
        // 402 is a quota and 409 a conflict that its own words call retryable: both may pass.
        const reason = status === 402 ? "rate-limited" : status === 409 ? "unavailable" : reasonOf(status);
        throw serviceError(this.name, operation, reason, `${name} (${status})`, error, { status });
      }
    });
  }

  #client(): BedrockAgentCoreClient {
    const { client, region, maxAttempts } = this.#options;
    if (client !== undefined) return client;
    this.#made ??= new BedrockAgentCoreClient({ ...(region === undefined ? {} : { region }), ...(maxAttempts === undefined ? {} : { maxAttempts }) });
    return this.#made;
  }
}

interface Place {
  actorId: string;
  sessionId: string;
  how: AgentCoreCall;
}

/** No memories where asking for them may help another time. That they are not allowed, or asked for wrongly, is an error. */
function passing(error: unknown): MemoryRecordSummary[] {
  const reason: unknown = error instanceof ThreadkeepError && error.code === "memory-service" ? error.details["reason"] : undefined;
  if (reason === "timeout" || reason === "rate-limited" || reason === "unavailable") return [];
  throw error;
}

/** The token of the next page; `undefined` after the last one. A token that comes again would bring the same page for ever. */
function following(page: { nextToken?: string | undefined } | undefined, before: string | undefined): string | undefined {
  const token = page?.nextToken ?? undefined;
  return token === before ? undefined : token;
}
