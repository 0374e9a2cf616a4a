// The search as a tool for an agent: its schema, and what answers a model's call. Whatever the model sends, it gets an answer that
// it can read; only what is wrong with the keep itself is thrown.

import * as check from "./check.js";
import { ThreadkeepError, wordsOf } from "./errors.js";
import { NOBODY, SEARCH, type SearchOptions } from "./options.js";
import type { SearchHit, SearchReason } from "./generated/search.js";

/** The search as a tool that a model may call. */
export interface SearchTool {
  /** Its schema, for `tools` of {@link Thread.context}; every provider's form can be made of it. */
  readonly schema: { readonly name: string; readonly description: string; readonly parameters: object };
  /**
   * Answers a call: `args` are the arguments as the model wrote them, JSON text or already read. → JSON text for the tool's
   * message: `{hits: [{kind, role, date, node, text}, …]}`, or `{error}` for arguments that are none.
   *
   * @throws ThreadkeepError `closed`, the storage's codes
   */
  call(args: unknown): Promise<string>;
}

const MOST = 20;
/** How long a model's query may be, in characters. */
const LONGEST = 1_000;
/** What a search is asked, for a model. @internal */
export const SEARCH_ARGUMENTS = {
  type: "object",
  properties: {
    query: {
      type: "string",
      maxLength: LONGEST,
      description: 'What to look for: words in any form; "a phrase" and begin* must be there, -word must not.',
    },
    role: { type: "string", enum: ["user", "assistant", "tool"], description: "Only what was said by these." },
    since: { type: "string", description: "Only from this date on, such as 2025-03-01." },
    until: { type: "string", description: "Only before this date." },
    limit: { type: "integer", minimum: 1, maximum: MOST, description: "How many hits at most; 8 without it." },
  },
  required: ["query"],
  additionalProperties: false,
} as const;

/** What a search is for, in words for a model. @internal */
export const SEARCH_WORDS =
  "Finds earlier messages of the user, of you and of tools, summaries, and remembered facts, by their words. Use it when something was said before that is not in this conversation any more.";

/** What can be searched: a keep, or a thread. */
export interface Searchable {
  /** Finds messages, summaries and what is remembered, the best first. */
  search(query: string, options?: SearchOptions): Promise<SearchHit[]>;
}

/**
 * The search of a keep, or of one thread, as a tool for an agent: its schema, and what answers a model's calls. `options` are fixed, such
 * as the transcript to look in; the model chooses the rest. Without an `agent` it finds no episode or fact of any agent's own.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * const tool = searchTool(keep);
 * const { payload } = await thread.context({ tools: [tool.schema] });
 * // … the model calls `search_memory`:
 * const content = await tool.call(call.function.arguments);
 * await thread.append([{ role: "tool", tool_call_id: call.id, content }]);
 * ```
 */
export function searchTool(where: Searchable, options?: SearchOptions): SearchTool {
  const fixed = check.options(options, "options", SEARCH) as SearchOptions;
  return {
    schema: {
      name: "search_memory",
      description: SEARCH_WORDS,
      parameters: structuredClone(SEARCH_ARGUMENTS),
    },
    async call(args) {
      let asked: { query: string; options: SearchOptions };
      try {
        asked = read(typeof args === "string" ? JSON.parse(args) : args);
      } catch (error) {
        return JSON.stringify({ error: wordsOf(error) });
      }
      try {
        const hits = await where.search(asked.query, { ...asked.options, agent: NOBODY, ...fixed });
        return JSON.stringify({ hits: hits.map(shown) });
      } catch (error) {
        if (error instanceof ThreadkeepError && error.code === "bad-request") return JSON.stringify({ error: error.message });
        throw error;
      }
    },
  };
}

function read(args: unknown): { query: string; options: SearchOptions } {
  if (typeof args !== "object" || args === null || Array.isArray(args)) throw new Error("the arguments must be an object");
  const options: SearchOptions = { limit: 8 };
  let query: string | undefined;
  for (const [name, value] of Object.entries(args as Record<string, unknown>)) {
    // Models fill in what they do not need.
    if (value === null || value === "") continue;
    if (name === "query" && typeof value === "string" && value.length > LONGEST)
      throw new Error(`query has ${value.length} characters, at most ${LONGEST} are allowed: give only the words that matter`);
    if (name === "query" && typeof value === "string") query = value;
    else if (name === "role" && typeof value === "string") options.role = value;
    else if (name === "limit" && typeof value === "number" && value >= 1) options.limit = Math.min(MOST, Math.floor(value));
    else if ((name === "since" || name === "until") && typeof value === "string" && !Number.isNaN(Date.parse(value))) options[name] = Date.parse(value);
    else throw new Error(Object.hasOwn(SEARCH_ARGUMENTS.properties, name) ? `${name} is not what it must be` : `there is no argument ${name}`);
  }
  if (query === undefined) throw new Error("query is missing");
  return { query, options };
}

/** Why a hit was found, without what says nothing. @internal */
export function reasonOf({ words, context, time, meaning }: SearchReason): Partial<SearchReason> {
  return {
    ...(words.length > 0 ? { words } : {}),
    ...(context.length > 0 ? { context } : {}),
    ...(time ? { time } : {}),
    ...(meaning > 0 ? { meaning } : {}),
  };
}

function shown({ kind, role, createdAt, node, snippet, why }: SearchHit): object {
  const date = createdAt === null ? {} : { date: new Date(createdAt).toISOString().slice(0, 10) };
  return { kind, ...(kind === "message" ? { role } : {}), ...date, ...(node === null ? {} : { node }), text: snippet, why: reasonOf(why) };
}
