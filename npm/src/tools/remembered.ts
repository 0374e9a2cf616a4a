// What is remembered beyond conversations, as tools: facts to recall, remember and forget, and episodes.

import type { Threadkeep } from "../threadkeep.js";
import type { Episode, Fact, FactKind, MemorySource } from "../generated/memory.js";
import { NOBODY } from "../options.js";
import { fitting, type Measure } from "./bound.js";
import { date, short } from "./render.js";
import { ToolFailure, type JsonSchema } from "./schema.js";
import { CONVERSATION, CURSOR, MORE, transcriptOf } from "./search.js";
import type { ToolSpec } from "./tool.js";

const KINDS = ["preference", "decision", "constraint", "other"] as const;
const ORIGINS = ["import", "tool", "model", "user"] as const;
const PAGE = 20;
const ENVELOPE = 60;
const SOURCES = 3;
const TAGS: JsonSchema = { type: "array", items: { type: "string", minLength: 1, maxLength: 60 }, maxItems: 10, description: "A few words to find it by." };
const SOURCE: JsonSchema = {
  type: "array",
  description: "Messages that it came from, for read_message.",
  items: { type: "object", properties: { node: { type: "string" }, index: { type: "integer" } }, required: ["node", "index"] },
};
const QUERY: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: 1000,
  description: "What it should be about: the best come first. Without it, the newest.",
};
const LIMIT: JsonSchema = { type: "integer", minimum: 1, maximum: 100, description: `How many at most; ${PAGE} without it.` };
const TAG: JsonSchema = { type: "string", minLength: 1, maxLength: 60, description: "Only those with this tag." };

const FACT: JsonSchema = {
  type: "object",
  properties: {
    id: { type: "string" },
    fact: { type: "string" },
    kind: { type: "string", enum: [...KINDS] },
    tags: { type: "array", items: { type: "string" } },
    confidence: { type: "number" },
    origin: { type: "string", enum: [...ORIGINS], description: "Who said it." },
    date: { type: "string" },
    pinned: { type: "boolean" },
    conversation: { type: "string" },
    sources: SOURCE,
  },
  required: ["id", "fact", "kind"],
};

interface Wanted {
  query?: string;
  tag?: string;
  conversation?: string;
  limit?: number;
  cursor?: string;
}

/** The tools for facts. @internal */
export function factTools(keep: Threadkeep, measure: Measure): ToolSpec[] {
  return [
    {
      name: "recall_facts",
      title: "Recall facts",
      description: "Gives remembered facts: the user's preferences, decisions and constraints. Use it when they matter for what you are about to do.",
      group: "facts",
      readOnly: true,
      inputSchema: {
        type: "object",
        properties: {
          query: QUERY,
          tag: TAG,
          conversation: { ...CONVERSATION, description: "Only what came from this conversation." },
          limit: LIMIT,
          cursor: CURSOR,
        },
        additionalProperties: false,
      },
      outputSchema: { type: "object", properties: { facts: { type: "array", items: FACT }, more: MORE }, required: ["facts"] },
      run: async (input) => {
        const wanted = input as Wanted;
        const filter = await filterOf(keep, wanted);
        const { query } = wanted;
        const all =
          query === undefined
            ? (await keep.memory.facts(filter)).reverse()
            : (await keep.memory.retrieve({ ...filter, query, facts: 1000, episodes: 0 })).facts;
        const { items, more } = await page(all, wanted, shownFact, measure);
        return { facts: items, ...more };
      },
    },
    {
      name: "remember_fact",
      title: "Remember a fact",
      description:
        "Remembers a fact for later conversations: one sentence that stands on its own. What contradicts it is kept and no longer used, unless the user said it. Remember what the user wants, decided or ruled out, not what is in this conversation only.",
      group: "facts",
      readOnly: false,
      idempotent: true,
      inputSchema: {
        type: "object",
        properties: {
          fact: { type: "string", minLength: 1, maxLength: 2000, description: "One sentence that can be understood without this conversation." },
          kind: { type: "string", enum: [...KINDS], description: "What kind of fact; other without it." },
          tags: TAGS,
          salience: { type: "number", minimum: 0, maximum: 1, description: "How much it matters, from 0 to 1; 0.5 without it." },
        },
        required: ["fact"],
        additionalProperties: false,
      },
      outputSchema: {
        type: "object",
        properties: {
          fact: FACT,
          superseded: { type: "array", description: "Facts that it contradicts, which are no longer used.", items: FACT },
          overruledBy: { ...FACT, description: "What the user said, which it contradicts: this still holds." },
        },
        required: ["fact"],
      },
      run: async (input) => {
        const { fact, kind, tags, salience } = input as { fact: string; kind?: FactKind; tags?: string[]; salience?: number };
        const kept = await keep.memory.remember({
          fact,
          // The model calls this: its words are not yet the user's.
          origin: "model",
          ...(kind === undefined ? {} : { kind }),
          ...(tags === undefined ? {} : { tags: tags.slice(0, 10).map((tag) => short(tag, 60)) }),
          ...(salience === undefined ? {} : { salience }),
        });
        const all = await keep.memory.facts({ agent: NOBODY, superseded: true });
        const superseded = all.filter(({ supersededBy }) => supersededBy === kept.id);
        const stronger = all.find(({ id }) => id === kept.supersededBy);
        const share = Math.floor(measure.most / 7);
        const others = await Promise.all(superseded.slice(-4).map((fact) => shownFact(fact, measure, share)));
        return {
          fact: await shownFact(kept, measure, share),
          ...(others.length === 0 ? {} : { superseded: others }),
          ...(stronger && { overruledBy: await shownFact(stronger, measure, share) }),
        };
      },
    },
    {
      name: "forget_fact",
      title: "Forget a fact",
      description: "Deletes a remembered fact for good, when the user asks for it or it is wrong. A fact that merely changed is remembered anew instead.",
      group: "facts",
      readOnly: false,
      destructive: true,
      idempotent: true,
      inputSchema: {
        type: "object",
        properties: { id: { type: "string", minLength: 1, maxLength: 512, description: "Its id, as recall_facts gives it." } },
        required: ["id"],
        additionalProperties: false,
      },
      outputSchema: { type: "object", properties: { forgotten: { type: "string" } }, required: ["forgotten"] },
      run: async (input) => {
        const { id } = input as { id: string };
        // What is no fact, or an agent's own, is not deleted through this.
        const known = (await keep.memory.facts({ agent: NOBODY, superseded: true })).find((fact) => fact.id === id);
        if (known === undefined || !(await keep.memory.forget(id)))
          throw new ToolFailure(`There is no fact with the id ${JSON.stringify(id.slice(0, 80))}. recall_facts gives ids.`);
        return { forgotten: short(known.fact, 300) };
      },
    },
  ];
}

/** The tool for episodes. @internal */
export function episodeTool(keep: Threadkeep, measure: Measure): ToolSpec {
  return {
    name: "list_episodes",
    title: "List episodes",
    description: "Gives summaries of what happened in stretches of earlier conversations, the newest first, or the best for a query first.",
    group: "episodes",
    readOnly: true,
    inputSchema: {
      type: "object",
      properties: {
        query: QUERY,
        tag: TAG,
        conversation: { ...CONVERSATION, description: "Only what happened in this conversation." },
        limit: LIMIT,
        cursor: CURSOR,
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: {
        episodes: {
          type: "array",
          items: {
            type: "object",
            properties: {
              id: { type: "string" },
              summary: { type: "string" },
              date: { type: "string" },
              conversation: { type: "string" },
              tags: { type: "array", items: { type: "string" } },
              sources: SOURCE,
            },
            required: ["id", "summary"],
          },
        },
        more: MORE,
      },
      required: ["episodes"],
    },
    run: async (input) => {
      const wanted = input as Wanted;
      const filter = await filterOf(keep, wanted);
      const { query } = wanted;
      const all =
        query === undefined
          ? (await keep.memory.episodes(filter)).reverse()
          : (await keep.memory.retrieve({ ...filter, query, episodes: 1000, facts: 0 })).episodes;
      const { items, more } = await page(all, wanted, shownEpisode, measure);
      return { episodes: items, ...more };
    },
  };
}

async function filterOf(keep: Threadkeep, { tag, conversation }: Wanted): Promise<{ agent: string; tag?: string; transcript?: string }> {
  return {
    agent: NOBODY,
    ...(tag === undefined ? {} : { tag }),
    ...(conversation === undefined ? {} : { transcript: await transcriptOf(keep, conversation) }),
  };
}

/** A page of a list; the cursor is the id of its last item. */
async function page<T extends { id: string }>(
  all: readonly T[],
  { limit = PAGE, cursor }: Wanted,
  show: (item: T, measure: Measure, share: number) => Promise<{ id: string }>,
  measure: Measure,
): Promise<{ items: object[]; more: { more?: string } }> {
  const begin = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw new ToolFailure("What this cursor stands at is not there any more. Begin again without it.");
  const budget = measure.most - ENVELOPE;
  const shown = await Promise.all(all.slice(begin, begin + limit).map((item) => show(item, measure, Math.floor(budget / 2))));
  const items = await fitting(shown, measure, budget);
  const last = items.at(-1);
  return { items, more: last !== undefined && begin + items.length < all.length ? { more: last.id } : {} };
}

async function shownFact(
  { id, fact, kind, tags, confidence, origin, createdAt, pinned, transcript, sources }: Fact,
  measure: Measure,
  share: number,
): Promise<{ id: string }> {
  const said = { confidence, ...(origin && { origin }), ...(pinned && { pinned }) };
  return { id, fact: await some(fact, measure, share), kind, ...common(createdAt, tags, transcript, sources), ...said } as { id: string };
}

async function shownEpisode({ id, summary, tags, createdAt, transcript, sources }: Episode, measure: Measure, share: number): Promise<{ id: string }> {
  return { id, summary: await some(summary, measure, share), ...common(createdAt, tags, transcript, sources) } as { id: string };
}

/** A text, or its beginning where it would take more than its share of an answer. */
async function some(text: string, measure: Measure, share: number): Promise<string> {
  const { text: part, to } = await measure.cut(text, 0, share);
  return to < text.length ? `${part}…` : text;
}

function common(createdAt: number, tags: string[], conversation: string | undefined, sources: MemorySource[]): object {
  const when = date(createdAt);
  return {
    ...(when === undefined ? {} : { date: when }),
    ...(tags.length === 0 ? {} : { tags: tags.slice(0, 10).map((tag) => short(tag, 60)) }),
    ...(conversation === undefined ? {} : { conversation }),
    ...(sources.length === 0 ? {} : { sources: sources.slice(0, SOURCES).map(({ node, index }) => ({ node, index })) }),
  };
}
