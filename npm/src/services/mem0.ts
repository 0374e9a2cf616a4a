// Mem0's platform as a memory service, through its own client (`mem0ai`). In goes what people and models said; Mem0 infers what
// is worth remembering and finds it again. It keeps no conversation: that is the keep's, see `hybrid`.

import * as check from "../check.js";
import { badArgument } from "../errors.js";
import type { Message } from "../message.js";
import { limited, reasonOf, serviceError } from "./failure.js";
import { textOf } from "./text.js";
import type { AddOptions, CallOptions, FindOptions, MemoryBatch, MemoryItem, MemoryScope, MemoryService } from "./types.js";

export type * from "./types.js";
export type { ServiceReason } from "./failure.js";

/** What this needs of a `MemoryClient` of `mem0ai` 3 or newer. */
export interface Mem0Client {
  add(messages: { role: "user" | "assistant"; content: string }[], options?: Record<string, unknown>): Promise<unknown>;
  search(query: string, options?: Record<string, unknown>): Promise<{ results: Mem0Memory[] }>;
  getAll(options?: Record<string, unknown>): Promise<{ results: Mem0Memory[]; next?: string | null }>;
  delete(memoryId: string): Promise<unknown>;
}

/** A memory as the client gives it. */
export interface Mem0Memory {
  id: string;
  memory?: string | undefined;
  score?: number | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  createdAt?: Date | string | undefined;
}

/**
 * Whose memories they are. `user`: a person's, for good. `session`: one conversation's. `agent`: an agent's own knowledge.
 * `org`: shared by all.
 */
export type Mem0Level = "user" | "session" | "agent" | "org";

/** Options of {@link mem0Memory}. */
export interface Mem0Options {
  /**
   * A client of yours. It, or `apiKey`. Requests of `mem0ai`'s own follow no redirect. Any other client decides that itself: it must not
   * follow one, since a redirect takes the key and the texts elsewhere.
   */
  client?: Mem0Client;
  /** The key, for a client that is made when it is first needed. Its telemetry is off, unless the environment's `MEM0_TELEMETRY` says `true`. */
  apiKey?: string;
  /** Where the service is, for that client; Mem0's own without it. */
  host?: string;
  /** Whose memories they are; `user` without it. */
  memoryLevel?: Mem0Level;
  /**
   * The user of a conversation, for the level `user`; without it what stands before the first `_` of the context's id, and of a fork without
   * one what stands there in the session's.
   */
  userId?: string | ((thread: string, session: string) => string);
  /** The agent, for the level `agent`; `threadkeep` without it. */
  agentId?: string;
  /** The organisation, for the level `org`; `default-org` without it. It goes out as `app_id`: Mem0 has no narrower name for all. */
  orgId?: string;
  /** Sent along as `enable_graph` where it is given. Mem0's third version links entities without being told. */
  enableGraph?: boolean;
  /** `false`: messages are remembered as they are, and nothing is inferred. */
  inferMemories?: boolean;
  /** The least score of what a search gives, from 0 to 1; Mem0's own without it. */
  threshold?: number;
  /** After how many milliseconds a call is given up where it does not say; 10,000 without it. */
  timeout?: number;
  /**
   * How many milliseconds Mem0 may take to work off what it was told, before it counts as not told where that is in doubt; 3,000
   * without it.
   */
  settleTime?: number;
  /** The name of the service, see {@link MemoryService.name}; `mem0` without it. */
  name?: string;
}

const LEVELS: readonly Mem0Level[] = ["user", "session", "agent", "org"];
const OPTIONS = {
  client,
  apiKey: check.id,
  host: check.text,
  memoryLevel: (value: unknown, argument: string) => check.oneOf(value, LEVELS, argument),
  userId: (value: unknown, argument: string) => (typeof value === "function" ? value : check.id(value, argument)),
  agentId: check.id,
  orgId: check.id,
  enableGraph: check.flag,
  inferMemories: check.flag,
  threshold,
  timeout: check.millis,
  settleTime: check.millis,
  name: check.id,
};
/** So many memories are deleted at a time. */
const DELETIONS = 4;
/** So many memories are listed at a time. */
const PAGE = 100;
/** What our own fields in a memory's metadata are called. */
const TOKEN = "threadkeep_batch";
const NODE = "threadkeep_node";

/**
 * Mem0 as a memory service.
 *
 * @throws ThreadkeepError `bad-request` for an option that is not known, or with neither a client nor a key
 *
 * @example
 * ```ts
 * const memory = mem0Memory({ apiKey: process.env.MEM0_API_KEY, memoryLevel: "user" });
 * const store = hybrid({ keep, memory });
 * ```
 */
export function mem0Memory(options: Mem0Options): MemoryService {
  const given = check.options(options, "options", OPTIONS) as Mem0Options;
  if ((given.client === undefined) === (given.apiKey === undefined)) throw badArgument("options", "must have either a client or an apiKey");
  return new Mem0(given);
}

class Mem0 implements MemoryService {
  readonly name: string;
  readonly idempotent = false;
  readonly #options: Mem0Options;
  #made: Promise<Mem0Client> | undefined;

  constructor(options: Mem0Options) {
    this.#options = options;
    this.name = options.name ?? "mem0";
  }

  /** Mem0 knows users and assistants, and infers from what they say. */
  takes(message: Message): boolean {
    return (message.role === "user" || message.role === "assistant") && message.kind?.type !== "summary" && textOf(message).trim() !== "";
  }

  async add(batch: MemoryBatch, options?: AddOptions): Promise<void> {
    const wanted = batch.messages.filter(({ message }) => this.takes(message));
    const last = wanted.at(-1);
    if (last === undefined) return;
    const { enableGraph, inferMemories = true } = this.#options;
    await this.#call("add", options, (client) =>
      client.add(
        wanted.map(({ message }) => ({ role: message.role as "user" | "assistant", content: textOf(message) })),
        {
          ...this.#entity(batch, false),
          infer: inferMemories,
          ...(enableGraph === undefined ? {} : { enableGraph }),
          metadata: {
            thread: batch.thread,
            session: batch.session ?? batch.thread,
            timestamp: new Date(last.createdAt ?? Date.now()).toISOString(),
            ...(batch.branch === undefined ? {} : { branch: batch.branch.name }),
            [NODE]: last.node,
            [TOKEN]: batch.token,
          },
        },
      ),
    );
    for (const { id } of batch.messages) options?.onAdded?.(id);
  }

  async has(scope: MemoryScope, token: string, options?: CallOptions): Promise<boolean> {
    const filters = { AND: [this.#entity(scope, true), { metadata: { [TOKEN]: token } }] };
    const find = async (): Promise<boolean> =>
      (await this.#call("has", options, async (client) => memoriesOf(await client.getAll({ filters, page: 1, pageSize: 1 })))).length > 0;
    if (await find()) return true;
    // It is worked off in the background there.
    const { settleTime = 3_000 } = this.#options;
    if (settleTime === 0) return false;
    await new Promise((resolve) => setTimeout(resolve, settleTime));
    return options?.signal?.aborted !== true && find();
  }

  async search(scope: MemoryScope, query: string, options?: FindOptions): Promise<MemoryItem[]> {
    const limit = options?.limit ?? 10;
    if (limit === 0 || query.trim() === "") return [];
    const { threshold } = this.#options;
    const how = { filters: this.#entity(scope, true), topK: limit, ...(threshold === undefined ? {} : { threshold }) };
    const found = await this.#call("search", options, async (client) => memoriesOf(await client.search(query, how)));
    return found.slice(0, limit).map(item);
  }

  async list(scope: MemoryScope, options?: FindOptions): Promise<MemoryItem[]> {
    const all = await this.#all(scope, options, options?.limit);
    return all.map(item);
  }

  async remove(scope: MemoryScope, gone?: (node: string) => Promise<boolean>, options?: CallOptions): Promise<number> {
    const doomed: string[] = [];
    for (const { id, metadata } of await this.#all(scope, options)) {
      const node = metadata?.[NODE];
      const ours = metadata?.["thread"] === scope.thread || metadata?.["session"] === (scope.session ?? scope.thread);
      if (!ours) continue;
      if (gone === undefined ? metadata?.["thread"] === scope.thread : typeof node === "string" && (await gone(node))) doomed.push(id);
    }
    for (let at = 0; at < doomed.length; at += DELETIONS)
      await Promise.all(doomed.slice(at, at + DELETIONS).map((id) => this.#call("remove", options, (client) => client.delete(id), [404])));
    return doomed.length;
  }

  async #all(scope: MemoryScope, options: CallOptions | undefined, limit = Number.POSITIVE_INFINITY): Promise<Mem0Memory[]> {
    const found = new Map<string, Mem0Memory>();
    for (let page = 1; found.size < limit; page += 1) {
      const how = { filters: this.#entity(scope, true), page, pageSize: Math.min(PAGE, limit) };
      const [memories, next] = await this.#call("list", options, async (client) => {
        const answer = await client.getAll(how);
        return [memoriesOf(answer), answer.next] as const;
      });
      const before = found.size;
      for (const memory of memories) found.set(memory.id, memory);
      // A page without anything new is the last one, whatever the service says: it may repeat a page for ever.
      if (next === undefined || next === null || found.size === before) break;
    }
    return [...found.values()].slice(0, limit);
  }

  /** Whose memories they are: as options of `add`, or (`filter`) in the wire's own words, as filters have them. */
  #entity({ thread, session = thread }: MemoryScope, filter: boolean): Record<string, string> {
    const { memoryLevel = "user", userId, agentId = "threadkeep", orgId = "default-org" } = this.#options;
    const name = { user: ["userId", "user_id"], session: ["runId", "run_id"], agent: ["agentId", "agent_id"], org: ["appId", "app_id"] }[memoryLevel];
    const user = (): string => {
      if (typeof userId === "function") return check.id(userId(thread, session), "userId()");
      const own = thread.includes("_") ? thread : session;
      return userId ?? (own.split("_")[0] || own);
    };
    const value = { user, session: () => session, agent: () => agentId, org: () => orgId }[memoryLevel]();
    return { [name[filter ? 1 : 0] as string]: value };
  }

  /** One call of the client. A status in `fine` is no error. */
  async #call<T>(operation: string, options: CallOptions | undefined, call: (client: Mem0Client) => Promise<T>, fine: readonly number[] = []): Promise<T> {
    const timeout = options?.timeout ?? this.#options.timeout ?? 10_000;
    return limited(this.name, operation, { signal: options?.signal, timeout }, async (signal) => {
      const client = await this.#client();
      try {
        return await call(withSignal(client, signal));
      } catch (error) {
        const status = Number(/^HTTP_(\d+)$/.exec(String((error as { errorCode?: unknown } | null)?.errorCode))?.[1] ?? Number.NaN);
        if (fine.includes(status)) return undefined as T;
        if (error instanceof NoList) throw serviceError(this.name, operation, "unavailable", "what it answered is no list of memories");
        if (Number.isNaN(status)) throw serviceError(this.name, operation, "unavailable", "the service cannot be reached", error);
        throw serviceError(this.name, operation, reasonOf(status), `the service answered ${status}`, error, { status });
      }
    });
  }

  async #client(): Promise<Mem0Client> {
    if (this.#options.client !== undefined) return this.#options.client;
    this.#made ??= make(this.#options);
    try {
      return await this.#made;
    } catch (error) {
      this.#made = undefined;
      throw error;
    }
  }
}

/**
 * A client that is made here says nothing to third parties: Mem0's own asks its server for the account's address and sends that, with
 * what it was called for, to a collector. Who wants that says so in the environment.
 */
async function make({ apiKey, host }: Mem0Options): Promise<Mem0Client> {
  const { MemoryClient } = await import("mem0ai");
  const options = { apiKey: apiKey as string, ...(host === undefined ? {} : { host }) };
  const wanted = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.["MEM0_TELEMETRY"];
  if (wanted !== undefined && wanted !== "false") return new MemoryClient(options) as unknown as Mem0Client;
  const Client = MemoryClient as unknown as new (options: object) => Mem0Client;
  class Quiet extends Client {
    _initializeClient(): Promise<object> {
      return Promise.resolve({ telemetryId: "", organizationId: null, projectId: null });
    }
    _captureEvent(): void {}
  }
  return new Quiet(options);
}

/**
 * The client, whose requests hear a signal and follow no redirect, which would take the key and the texts elsewhere: it has no options
 * for these, but all of them go through one method.
 */
function withSignal(client: Mem0Client, signal: AbortSignal): Mem0Client {
  const inner = client as Mem0Client & { _fetchRawJson?: (url: string, options: object) => Promise<unknown> };
  if (typeof inner._fetchRawJson !== "function") return client;
  return Object.create(client, {
    _fetchRawJson: { value: (url: string, options: object) => inner._fetchRawJson?.(url, { ...options, signal, redirect: "error" }) },
  }) as Mem0Client;
}

/** Thrown where an answer is none of Mem0's. */
class NoList extends Error {}

/** The memories of an answer. Between here and Mem0 there may be somebody who answers something else. */
function memoriesOf(answer: { results: Mem0Memory[] } | null | undefined): Mem0Memory[] {
  const results: unknown = answer?.results;
  if (!Array.isArray(results) || !results.every(check.isObject)) throw new NoList();
  return results as unknown as Mem0Memory[];
}

function item({ id, memory, score, metadata, createdAt }: Mem0Memory): MemoryItem {
  const time = createdAt === undefined ? Number.NaN : new Date(createdAt).getTime();
  return {
    id,
    text: memory ?? "",
    ...(score === undefined ? {} : { score }),
    ...(Number.isNaN(time) ? {} : { createdAt: new Date(time).toISOString() }),
    ...(metadata ? { metadata } : {}),
  };
}

function client(value: unknown, argument: string): unknown {
  if (!check.isObject(value)) throw badArgument(argument, "must be a client of mem0ai");
  for (const name of ["add", "search", "getAll", "delete"])
    if (typeof value[name] !== "function") throw badArgument(argument, `must be a client of mem0ai: it has no ${name}()`);
  return value;
}

function threshold(value: unknown, argument: string): number {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) throw badArgument(argument, "must be a number from 0 to 1");
  return value;
}
