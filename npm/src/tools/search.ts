// The search as a tool with pages: hits with the conversation that each belongs to, and how to read on there.

import type { Threadkeep } from "../threadkeep.js";
import { reasonOf, SEARCH_ARGUMENTS, SEARCH_WORDS } from "../tool.js";
import { NOBODY, type SearchOptions } from "../options.js";
import type { SearchHit } from "../generated/search.js";
import { fitting, type Measure } from "./bound.js";
import { date, short, TITLE } from "./render.js";
import { ToolFailure, type JsonSchema } from "./schema.js";
import { goesOn, type ToolCallOptions, type ToolSpec } from "./tool.js";

const KINDS = ["message", "summary", "episode", "fact"] as const;
/** The search itself gives no more. */
const DEEPEST = 1000;
const PAGE = 8;

/** What a cursor is, in every tool. @internal */
export const CURSOR: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: 700,
  description: "To read on: what the answer before this one gave, with the same other arguments.",
};
/** Where an answer goes on. @internal */
export const MORE: JsonSchema = { type: "string", description: "The cursor to read on; without it, this is all." };

/** Which conversation, in every tool. @internal */
export const CONVERSATION: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: 512,
  description: "The id of a conversation as search_memory and list_conversations give it, or its name.",
};

/** The transcript that `given` names: a head's, itself, or that of a node; words for the model where there is none. @internal */
export async function transcriptOf(keep: Threadkeep, given: string): Promise<string> {
  const head = await keep.thread(given).head();
  if (head !== null) return head.transcript;
  if ((await keep.transcripts()).some(({ id }) => id === given)) return given;
  const node = await keep.node(given);
  if (node === null) throw new ToolFailure(`There is no conversation ${JSON.stringify(given.slice(0, 80))}. list_conversations gives the ids of all.`);
  return node.transcript;
}

/** The titles of conversations, by id. @internal */
export async function titles(keep: Threadkeep): Promise<Map<string, string>> {
  return new Map((await keep.transcripts()).map(({ id, title }) => [id, title]));
}

/** The tool. @internal */
export function searchTool(keep: Threadkeep, measure: Measure): ToolSpec {
  const { role, since, until, ...rest } = SEARCH_ARGUMENTS.properties;
  return {
    name: "search_memory",
    title: "Search conversations",
    description: `${SEARCH_WORDS} read_message and read_conversation show what stands around a hit.`,
    group: "search",
    readOnly: true,
    inputSchema: {
      ...SEARCH_ARGUMENTS,
      required: [...SEARCH_ARGUMENTS.required],
      properties: {
        ...rest,
        role: { ...role, enum: [...role.enum] },
        kind: { type: "string", enum: [...KINDS], description: "Only messages, summaries of conversations, episodes, or facts." },
        conversation: CONVERSATION,
        since,
        until,
        cursor: CURSOR,
      },
    },
    outputSchema: {
      type: "object",
      properties: {
        hits: {
          type: "array",
          description: "The best first.",
          items: {
            type: "object",
            properties: {
              kind: { type: "string", enum: [...KINDS] },
              conversation: { type: "string" },
              title: { type: "string" },
              node: { type: "string", description: "For read_message, with index." },
              index: { type: "integer" },
              id: { type: "string", description: "Of a fact, an episode or a summary." },
              role: { type: "string" },
              date: { type: "string" },
              text: { type: "string", description: "The stretch that shows why it was found." },
              why: {
                type: "object",
                description: "The words of the query that it has (words) or only its neighbours have (context), and whether time and meaning fit.",
                properties: {
                  words: { type: "array", items: { type: "string" } },
                  context: { type: "array", items: { type: "string" } },
                  time: { type: "boolean" },
                  meaning: { type: "number" },
                },
              },
            },
            required: ["kind", "text"],
          },
        },
        more: MORE,
      },
      required: ["hits"],
    },
    run: async (input, options) => {
      const {
        query,
        limit = PAGE,
        role,
        kind,
        conversation,
        since,
        until,
        cursor = "0",
      } = input as {
        query: string;
        limit?: number;
        role?: string;
        kind?: (typeof KINDS)[number];
        conversation?: string;
        since?: string;
        until?: string;
        cursor?: string;
      };
      if (query.trim() === "")
        throw new ToolFailure("query must be a text that is not empty: the words to look for. list_conversations gives all conversations.");
      if (!/^\d{1,4}$/.test(cursor)) throw new ToolFailure("This cursor is none that search_memory gave.");
      const from = Number(cursor);
      const asked: SearchOptions = {
        ...(role === undefined ? {} : { role }),
        ...(kind === undefined ? {} : { kind }),
        ...(since === undefined ? {} : { since: day(since, "since") }),
        ...(until === undefined ? {} : { until: day(until, "until") }),
        ...(conversation === undefined ? {} : { transcript: await transcriptOf(keep, conversation) }),
      };
      await indexed(keep, query, options);
      goesOn(options);
      const found = await keep.search(query, { ...asked, agent: NOBODY, limit: Math.min(DEEPEST, from + limit + 1) });
      const page = found.slice(from, from + limit);
      if (page.length === 0) return { hits: [] };
      const named = await titles(keep);
      const hits = await fitting(
        page.map((hit) => shown(hit, named)),
        measure,
        measure.most - 60,
      );
      const next = from + hits.length;
      return { hits, ...(next < found.length && next < DEEPEST ? { more: String(next) } : {}) };
    },
  };
}

/** Brings the index up to date piece by piece, so that it can be told how far it is, and be ended. */
async function indexed(keep: Threadkeep, query: string, options: ToolCallOptions): Promise<void> {
  for (;;) {
    goesOn(options);
    const { indexed, messages } = await keep.searchIndex.progress();
    if (indexed >= messages) return;
    options.onProgress?.(indexed, messages, "Indexing messages");
    await keep.search(query, { limit: 1, wait: false, vectors: false });
    // What does not get on is left to the search itself, which says why.
    if ((await keep.searchIndex.progress()).indexed <= indexed) return;
  }
}

function shown({ kind, id, role, createdAt, transcript, node, index, snippet, why }: SearchHit, named: ReadonlyMap<string, string>): object {
  const when = date(createdAt);
  const title = transcript === null ? undefined : named.get(transcript);
  return {
    kind,
    ...(transcript === null ? {} : { conversation: transcript }),
    ...(title === undefined ? {} : { title: short(title, TITLE) }),
    ...(node === null ? {} : { node, index }),
    ...(id === null ? {} : { id }),
    ...(kind === "message" ? { role: short(role, 40) } : {}),
    ...(when === undefined ? {} : { date: when }),
    text: short(snippet, 600),
    why: reasonOf(why),
  };
}

/** A date of a model's in milliseconds. @internal */
export function day(text: string, name: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new ToolFailure(`${name} must be a date such as 2025-03-01, it is ${JSON.stringify(text.slice(0, 80))}.`);
  return time;
}
