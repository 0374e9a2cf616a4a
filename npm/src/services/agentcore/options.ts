// What AgentCore's memory is told: options, and what is checked of them.

import type { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import * as check from "../../check.js";
import { badArgument } from "../../errors.js";
import type { CallOptions } from "../types.js";
import { MAX_PAYLOAD } from "./wire.js";

/** Options of {@link agentcoreMemory}. */
export interface AgentCoreOptions {
  /** The memory resource: its id, or its ARN. It is made beforehand, with the strategies that extract records. */
  memoryId: string;
  /** Who the conversations belong to, from the authentication; without it each call says so. */
  actorId?: string | ((thread: string) => string);
  /** The region, for a client that is made here; that of the environment without it. */
  region?: string;
  /** A client of yours. */
  client?: BedrockAgentCoreClient;
  /** How often a call is tried, for a client that is made here; 3 without it. Throttled calls count too. */
  maxAttempts?: number;
  /** `false`: {@link AgentCoreMemory.getRecent} gives events alone. */
  includeLongTermMemories?: boolean;
  /**
   * Where records are looked for, with `{actorId}`, `{sessionId}` and `{memoryStrategyId}` in place of themselves: what the
   * strategies of the memory resource were given. `/actors/{actorId}` without it.
   */
  namespaces?: string | readonly string[];
  /** The strategy whose records are looked for; those of all without it. */
  memoryStrategyId?: string;
  /** How many messages go into one event, 1 without it. A fork in the middle of an event begins after it. */
  messagesPerEvent?: number;
  /** After how many milliseconds a call is given up, its repetitions included, where it does not say; 10,000 without it. */
  timeout?: number;
  /** The name of the service, see {@link MemoryService.name}; `agentcore` without it. */
  name?: string;
}

/** Whose conversation a call is about, and which branch of it. */
export interface AgentCoreCall extends CallOptions {
  /** In place of the configured actor. */
  actorId?: string;
  /** A branch of the session; its first one without it. */
  branch?: string;
  /** With {@link AgentCoreMemory.append}: the event after which a new branch begins. */
  rootEventId?: string;
}

/** What {@link AgentCoreMemory.searchMemories} and {@link AgentCoreMemory.listMemoryRecords} look at. */
export interface RecordOptions {
  /** At most this many; 10 for a search, 100 for a list. */
  maxResults?: number;
  /** In place of the configured namespaces. */
  namespacePrefix?: string;
}

/** The checks of {@link AgentCoreOptions}. @internal */
export const OPTIONS = {
  memoryId: check.id,
  actorId: (value: unknown, argument: string) => (typeof value === "function" ? value : actor(value, argument)),
  region: check.text,
  client: (value: unknown, argument: string) =>
    check.isObject(value) && typeof value["send"] === "function" ? value : fail(argument, "must be a BedrockAgentCoreClient"),
  maxAttempts: check.count,
  includeLongTermMemories: check.flag,
  namespaces: (value: unknown, argument: string) =>
    Array.isArray(value) ? value.map((one, index) => namespace(one, `${argument}[${index}]`)) : namespace(value, argument),
  memoryStrategyId: check.text,
  messagesPerEvent: (value: unknown, argument: string) => (check.count(value, argument, MAX_PAYLOAD / 2) === 0 ? fail(argument, "must not be 0") : value),
  timeout: check.millis,
  name: check.id,
};
/** The checks of limits. @internal */
export const RECENT = { maxMessages: check.count, maxTokens: check.count, includeSystem: check.flag };
/** The checks of {@link RecordOptions}. @internal */
export const RECORDS = { maxResults: check.count, namespacePrefix: namespace };
const any = (value: unknown): unknown => value;
const CALL = { actorId: actor, branch: check.id, rootEventId: check.text, signal: check.signal, timeout: check.millis, limit: any, onAdded: any };

/** The options of a call. `limit` and `onAdded` are a memory service's. @internal */
export function callOptions(call: AgentCoreCall | undefined): AgentCoreCall {
  if (call === undefined) return {};
  if (!check.isObject(call)) throw badArgument("call", "must be an actor's id or an object");
  return check.options(call, "call", CALL) as AgentCoreCall;
}

/** An actor's id. @internal */
export function actor(value: unknown, argument: string): string {
  const given = check.text(value, argument);
  if (!/^[a-zA-Z0-9][a-zA-Z0-9\-_/:]{0,254}$/.test(given))
    throw badArgument(argument, "must be 1 to 255 letters, digits, `-`, `_`, `/` or `:`, a letter or digit first");
  return given;
}

/** An empty one would stand above everybody's records. */
function namespace(value: unknown, argument: string): string {
  return check.text(value, argument) || fail(argument, "must not be empty");
}

function fail(argument: string, message: string): never {
  throw badArgument(argument, message);
}
