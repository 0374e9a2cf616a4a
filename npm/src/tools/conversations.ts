// Conversations as tools: the list, one conversation within a token budget, and one message in full with what stands around it. The
// originals are shown, whatever a compaction put in their place.

import type { Threadkeep } from "../threadkeep.js";
import type { TranscriptInfo } from "../generated/node.js";
import { fitting, type Measure } from "./bound.js";
import { date, entries, head, short, TITLE, wording, type Entry } from "./render.js";
import { ToolFailure, type JsonSchema } from "./schema.js";
import { CONVERSATION, CURSOR, MORE, day, transcriptOf } from "./search.js";
import { goesOn, type ToolCallOptions, type ToolSpec } from "./tool.js";

const PAGE = 20;
/** What an answer has beside what it lists, in tokens. */
const ENVELOPE = 100;

const MESSAGE: JsonSchema = {
  type: "object",
  properties: {
    position: { type: "integer", description: "Its place in the branch, from 0." },
    role: { type: "string" },
    date: { type: "string" },
    text: { type: "string" },
    cut: { type: "string", description: "Where this is not all of it: what is shown." },
  },
  required: ["position", "role", "text"],
};

const LABELS: Record<string, JsonSchema> = {
  conversation: { type: "string" },
  title: { type: "string" },
  branch: { type: "string", description: "The branch of the conversation in which the positions are: read_message takes it as conversation." },
};

interface Shown extends ReturnType<typeof head> {
  text: string;
  cut?: string;
}

/** The tools. @internal */
export function conversationTools(keep: Threadkeep, measure: Measure): ToolSpec[] {
  return [listTool(keep, measure), readTool(keep, measure), messageTool(keep, measure)];
}

function listTool(keep: Threadkeep, measure: Measure): ToolSpec {
  return {
    name: "list_conversations",
    title: "List conversations",
    description: "Lists the conversations that are remembered, the one that changed last first. To find one by what was said in it, use search_memory.",
    group: "conversations",
    readOnly: true,
    inputSchema: {
      type: "object",
      properties: {
        title: { type: "string", minLength: 1, maxLength: 200, description: "Only those with this in their title." },
        since: { type: "string", minLength: 1, maxLength: 40, description: "Only those that changed from this date on, such as 2025-03-01." },
        until: { type: "string", minLength: 1, maxLength: 40, description: "Only those that changed before this date." },
        limit: { type: "integer", minimum: 1, maximum: 100, description: `How many at most; ${PAGE} without it.` },
        cursor: CURSOR,
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: {
        conversations: {
          type: "array",
          items: {
            type: "object",
            properties: {
              id: { type: "string" },
              title: { type: "string" },
              names: { type: "array", items: { type: "string" } },
              source: { type: "string" },
              began: { type: "string" },
              changed: { type: "string" },
              messages: { type: "integer" },
              branches: { type: "integer" },
            },
            required: ["id", "title", "messages", "branches"],
          },
        },
        total: { type: "integer", description: "How many there are in all." },
        more: MORE,
      },
      required: ["conversations", "total"],
    },
    run: async (input) => {
      const { title, since, until, limit = PAGE, cursor } = input as { title?: string; since?: string; until?: string; limit?: number; cursor?: string };
      const part = title?.toLowerCase();
      const [from, to] = [since === undefined ? -Infinity : day(since, "since"), until === undefined ? Infinity : day(until, "until")];
      const all = (await keep.transcripts()).filter(({ title, createdAt, updatedAt }) => {
        const changed = updatedAt ?? createdAt;
        if ((since !== undefined || until !== undefined) && (changed === null || changed < from || changed >= to)) return false;
        return part === undefined || title.toLowerCase().includes(part);
      });
      const begin = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
      if (cursor !== undefined && begin === 0) throw new ToolFailure("What this cursor stands at is not there any more. Begin again without it.");
      const names = new Map<string, string[]>();
      for (const { name, transcript } of await keep.threads()) {
        const own = names.get(transcript);
        if (own === undefined) names.set(transcript, [name]);
        else own.push(name);
      }
      const page = all.slice(begin, begin + limit).map((info) => listed(info, names.get(info.id) ?? []));
      const conversations = await fitting(page, measure, measure.most - ENVELOPE);
      const last = conversations.at(-1);
      return { conversations, total: all.length, ...(last !== undefined && begin + conversations.length < all.length ? { more: last.id } : {}) };
    },
  };
}

function listed({ id, title, source, createdAt, updatedAt, messages, branches }: TranscriptInfo, names: string[]): { id: string } {
  const [began, changed] = [date(createdAt), date(updatedAt)];
  return {
    id,
    title: short(title, TITLE),
    ...(names.length === 0 ? {} : { names: names.filter((name) => name.length <= TITLE).slice(0, 3) }),
    ...(source === "" ? {} : { source: short(source, 40) }),
    ...(began === undefined ? {} : { began }),
    ...(changed === undefined ? {} : { changed }),
    messages,
    branches,
  } as { id: string };
}

function readTool(keep: Threadkeep, measure: Measure): ToolSpec {
  return {
    name: "read_conversation",
    title: "Read a conversation",
    description:
      "Shows the newest messages of a conversation that fit a budget of tokens, and how to read on to earlier ones. Long messages are shown in part: read_message shows all of one.",
    group: "conversations",
    readOnly: true,
    inputSchema: {
      type: "object",
      properties: {
        conversation: { ...CONVERSATION, description: `${CONVERSATION.description ?? ""} The node of a message is the branch that ends with it.` },
        begin: { type: "string", enum: ["end", "start"], description: "Whether to begin with the newest messages (end, as without it) or with the oldest." },
        max_tokens: {
          type: "integer",
          minimum: 100,
          maximum: 1_000_000,
          description: `How many tokens of it at most; ${measure.most} without it, and never more.`,
        },
        cursor: CURSOR,
      },
      required: ["conversation"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: {
        ...LABELS,
        messages: { type: "array", description: "Oldest first.", items: MESSAGE },
        total: { type: "integer", description: "How many messages it has." },
        earlier: { type: "string", description: "The cursor to what comes before." },
        later: { type: "string", description: "The cursor to what comes after." },
      },
      required: ["conversation", "branch", "messages", "total"],
    },
    run: async (input, options) => {
      const {
        conversation,
        begin = "end",
        max_tokens,
        cursor,
      } = input as { conversation: string; begin?: "end" | "start"; max_tokens?: number; cursor?: string };
      const at = await place(keep, conversation, cursor, begin);
      goesOn(options);
      const all = entries(await keep.chain(at.leaf));
      const limited = measure.limited(max_tokens);
      const labels = await labelled(keep, all);
      const cursors = { earlier: `before:${all.length}@${at.leaf}`, later: `after:${all.length}@${at.leaf}` };
      const budget = limited.most - (await limited.json({ ...labels, messages: [], total: all.length, ...cursors }));
      const { shown, from, to } = await stretch(all, at, limited, budget, options);
      return {
        ...labels,
        messages: shown,
        total: all.length,
        ...(from > 0 ? { earlier: `before:${from}@${at.leaf}` } : {}),
        ...(to < all.length ? { later: `after:${to}@${at.leaf}` } : {}),
      };
    },
  };
}

/** A branch, and where to read in it. @internal */
export interface Place {
  leaf: string;
  /** Up to this message, or from it on. */
  way: "before" | "after";
  /** Its position; the end without it. */
  position?: number;
}

async function place(keep: Threadkeep, conversation: string, cursor: string | undefined, begin: "end" | "start"): Promise<Place> {
  const leaf = await leafOf(keep, conversation);
  if (cursor === undefined) return begin === "end" ? { leaf, way: "before" } : { leaf, way: "after", position: 0 };
  const read = /^(before|after):(\d{1,9})@(.+)$/s.exec(cursor);
  const [, way, position, branch] = read ?? [];
  const [named, here] = branch === undefined ? [] : await Promise.all([keep.node(branch), keep.node(leaf)]);
  if (named === undefined || named === null || named.transcript !== here?.transcript)
    throw new ToolFailure("This cursor is none that read_conversation gave for this conversation. Begin again without it.");
  return { leaf: named.id, way: way as "before" | "after", position: Number(position) };
}

/** The end of the branch that a model means: a head's, the chosen one of a transcript, or the node itself. @internal */
export async function leafOf(keep: Threadkeep, conversation: string): Promise<string> {
  const head = await keep.thread(conversation).head();
  if (head !== null) return head.id;
  const transcript = await transcriptOf(keep, conversation);
  if (transcript === conversation) return (await keep.transcript(transcript).outline()).leaf;
  const node = await keep.node(conversation);
  return node?.id ?? (await keep.transcript(transcript).outline()).leaf;
}

/** The messages of a chain that fit, before or after a place; long ones in part. @internal */
export async function stretch(
  all: readonly Entry[],
  { way, position }: Place,
  measure: Measure,
  budget: number,
  options: ToolCallOptions,
): Promise<{ shown: Shown[]; from: number; to: number }> {
  // No message takes all of it, as long as there are others.
  const share = Math.max(40, Math.floor(budget / 3));
  let left = budget;
  const shown: Shown[] = [];
  let from = Math.min(position ?? all.length, all.length);
  let to = from;
  while (way === "before" ? from > 0 : to < all.length) {
    goesOn(options);
    const entry = all[way === "before" ? from - 1 : to];
    if (entry === undefined) break;
    const message = await inPart(entry, measure, share);
    left -= (await measure.json(message)) + 1;
    if (left < 0 && shown.length > 0) break;
    if (way === "before") {
      shown.unshift(message);
      from -= 1;
    } else {
      shown.push(message);
      to += 1;
    }
  }
  return { shown, from, to };
}

/** A message, or so much of it as fits. */
async function inPart(entry: Entry, measure: Measure, budget: number): Promise<Shown> {
  const text = wording(entry.message, false);
  const { text: part, to } = await measure.cut(text, 0, budget);
  if (to >= text.length) return { ...head(entry), text };
  return { ...head(entry), text: part, cut: `the first ${to} of ${text.length} characters; read_message shows all` };
}

async function labelled(keep: Threadkeep, all: readonly Entry[]): Promise<{ conversation: string; title?: string; branch: string }> {
  const conversation = all[0]?.node.transcript ?? "";
  const title = (await keep.transcripts()).find(({ id }) => id === conversation)?.title;
  return { conversation, ...(title === undefined ? {} : { title: short(title, TITLE) }), branch: all.at(-1)?.node.id ?? conversation };
}

function messageTool(keep: Threadkeep, measure: Measure): ToolSpec {
  return {
    name: "read_message",
    title: "Read a message",
    description:
      "Shows one message in full, exactly as it was, page by page where it is long, and the messages around it. It is named by the node and index of a hit of search_memory, or by the branch and position of read_conversation.",
    group: "conversations",
    readOnly: true,
    inputSchema: {
      type: "object",
      properties: {
        node: { type: "string", minLength: 1, maxLength: 512, description: "The node of the message." },
        index: { type: "integer", minimum: 0, description: "Its index in the node; 0 without it." },
        conversation: { ...CONVERSATION, description: "Instead of the node: the branch, or the conversation." },
        position: { type: "integer", minimum: 0, description: "Its position there." },
        before: { type: "integer", minimum: 0, maximum: 20, description: "How many messages before it to show, too; 0 without it." },
        after: { type: "integer", minimum: 0, maximum: 20, description: "How many messages after it to show, too; 0 without it." },
        cursor: CURSOR,
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: {
        ...LABELS,
        messages: { type: "array", description: "Oldest first.", items: MESSAGE },
        total: { type: "integer", description: "How many messages the branch has." },
        more: MORE,
      },
      required: ["conversation", "branch", "messages", "total"],
    },
    run: async (input, options) => {
      const { before = 0, after = 0, cursor = "0" } = input as { before?: number; after?: number; cursor?: string };
      if (!/^\d{1,9}$/.test(cursor)) throw new ToolFailure("This cursor is none that read_message gave.");
      const { all, anchor } = await found(keep, input as Named, after, options);
      const labels = await labelled(keep, all);
      const budget = measure.most - (await measure.json({ ...labels, messages: [], total: all.length, more: cursor })) - 16;
      const { shown, more } = await around(all, anchor, { from: Number(cursor), before, after }, measure, budget, options);
      return { ...labels, messages: shown, total: all.length, ...(more === undefined ? {} : { more: String(more) }) };
    },
  };
}

/** How a message is named. */
interface Named {
  node?: string;
  index?: number;
  conversation?: string;
  position?: number;
}

/** The message that is meant, in its chain. */
async function found(keep: Threadkeep, named: Named, after: number, options: ToolCallOptions): Promise<{ all: Entry[]; anchor: Entry }> {
  const { node, index = 0, conversation, position } = named;
  if (node === undefined) {
    if (conversation === undefined || position === undefined) throw new ToolFailure("Name the message: by node and index, or by conversation and position.");
    const all = entries(await keep.chain(await leafOf(keep, conversation)));
    const anchor = all[position];
    if (anchor === undefined) throw new ToolFailure(`There are ${all.length} messages there: position goes from 0 to ${all.length - 1}.`);
    return { all, anchor };
  }
  const known = await keep.node(node);
  if (known === null) throw new ToolFailure(`There is no message with the node ${JSON.stringify(node.slice(0, 80))}. search_memory gives nodes.`);
  if (index >= known.messages.length)
    throw new ToolFailure(`This node has ${known.messages.length} messages: index goes from 0 to ${known.messages.length - 1}.`);
  goesOn(options);
  // A node in the middle is followed to its newest leaf, for the messages after it.
  const all = entries(await keep.chain(after > 0 ? (await keep.transcript(known.transcript).outline(known.id)).leaf : known.id));
  const anchor = all.find((entry) => entry.node.id === known.id && entry.index === index);
  if (anchor === undefined) throw new ToolFailure("This message cannot be reached from the beginning of its conversation.");
  return { all, anchor };
}

async function around(
  all: readonly Entry[],
  anchor: Entry,
  { from, before, after }: { from: number; before: number; after: number },
  measure: Measure,
  budget: number,
  options: ToolCallOptions,
): Promise<{ shown: Shown[]; more?: number }> {
  const text = wording(anchor.message, true);
  if (from > 0 && from >= text.length) throw new ToolFailure(`This message has ${text.length} characters: there is nothing more.`);
  let left = budget - (await measure.json({ ...head(anchor), text: "", cut: `characters ${text.length} to ${text.length} of ${text.length}` }));
  const { text: part, to } = await measure.cut(text, from, left);
  const whole = from === 0 && to >= text.length;
  const shown: Shown[] = [{ ...head(anchor), text: part, ...(whole ? {} : { cut: `characters ${from} to ${to} of ${text.length}` }) }];
  left -= await measure.json(part);
  // Nearest first, so that what fits is what stands next to it.
  for (let distance = 1; distance <= Math.max(before, after) && from === 0; distance += 1) {
    for (const [wanted, position] of [
      [before, anchor.position - distance],
      [after, anchor.position + distance],
    ] as const) {
      const entry = all[position];
      if (distance > wanted || entry === undefined) continue;
      goesOn(options);
      if (left < 80) continue;
      const message = await inPart(entry, measure, Math.min(left - 60, Math.floor(budget / 4)));
      left -= (await measure.json(message)) + 1;
      if (position < anchor.position) shown.unshift(message);
      else shown.push(message);
    }
  }
  return { shown, ...(to < text.length ? { more: to } : {}) };
}
