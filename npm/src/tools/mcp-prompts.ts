// The prompts of the MCP server, and what it completes: arguments of prompts and of resource templates.

import { ErrorCode, McpError, type CompleteRequest, type CompleteResult, type GetPromptResult, type Prompt } from "@modelcontextprotocol/sdk/types.js";
import { leafOf } from "./conversations.js";
import { markdown, TEMPLATES, transcriptUri, type Sources } from "./mcp-resources.js";
import { entries, wording } from "./render.js";

/** The most values that the protocol lets one completion have. */
const MOST = 100;
/** So many messages of a conversation are enough to go on with it. */
const MESSAGES = 30;

const PROMPTS: Prompt[] = [
  {
    name: "recall",
    title: "What do we know about …?",
    description: "Finds what was said and decided about a topic in all conversations, with the places where it stands.",
    arguments: [{ name: "topic", description: "What it is about.", required: true }],
  },
  {
    name: "continue_conversation",
    title: "Go on with a conversation",
    description: "Takes up an earlier conversation where it ended.",
    arguments: [{ name: "conversation", description: "Its id.", required: true }],
  },
];

/** The prompts that the tools of these names can carry out. @internal */
export function promptsFor(names: ReadonlySet<string>): Prompt[] {
  return PROMPTS.filter(({ name }) => name !== "recall" || names.has("search_memory"));
}

/** A prompt with its arguments in it; `names` are those of the tools, without the prefix. @internal */
export async function prompt(
  sources: Sources,
  name: string,
  given: Record<string, string>,
  names: ReadonlySet<string>,
  prefix: string,
): Promise<GetPromptResult> {
  if (!promptsFor(names).some((known) => known.name === name)) throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${JSON.stringify(name)}`);
  const argument = (name: string): string => {
    const value = given[name]?.trim();
    if (value === undefined || value === "") throw new McpError(ErrorCode.InvalidParams, `The argument ${name} is missing`);
    return value;
  };
  if (name === "recall") {
    const topic = argument("topic");
    const facts = names.has("recall_facts") ? `, and look at ${prefix}recall_facts` : "";
    const places = names.has("read_message") ? ` Read the places that matter with ${prefix}read_message.` : "";
    const text = `What do we know about this: ${topic}\n\nSearch my earlier conversations with ${prefix}search_memory, in several wordings${facts}.${places} Tell me what was said and what was decided, what changed over time, and for each point the conversation and date that it comes from. Say what you did not find.`;
    return { description: `What is known about ${topic}`, messages: [{ role: "user", content: { type: "text", text } }] };
  }
  const id = argument("conversation");
  const uri = transcriptUri(id);
  const text = await ending(sources, id, uri);
  const before = names.has("read_conversation") ? ` ${prefix}read_conversation shows what came before.` : "";
  return {
    description: "An earlier conversation, to go on with",
    messages: [
      { role: "user", content: { type: "resource", resource: { uri, mimeType: "text/markdown", text } } },
      {
        role: "user",
        content: { type: "text", text: `This is the end of an earlier conversation of ours. Say in two sentences where we were, then let us go on.${before}` },
      },
    ],
  };
}

/** The end of a conversation, from so far up that all of it fits. */
async function ending(sources: Sources, id: string, uri: string): Promise<string> {
  const { keep, measure } = sources;
  const all = entries(await keep.chain(await leafOf(keep, id)));
  let left = measure.most;
  let from = all.length;
  while (from > 0 && all.length - from < MESSAGES) {
    const entry = all[from - 1];
    left -= entry === undefined ? 0 : Math.min(await measure.tokens(wording(entry.message, false)), measure.most / 2) + 20;
    if (left < 0 && from < all.length) break;
    from -= 1;
  }
  return markdown(sources, id, from, uri);
}

/** Values that begin with, or have in their title, what is written so far. @internal */
export async function completed({ keep, files }: Sources, { ref, argument }: CompleteRequest["params"]): Promise<CompleteResult> {
  const written = argument.value.toLowerCase();
  let values: string[] = [];
  const conversation =
    ref.type === "ref/prompt"
      ? ref.name === "continue_conversation" && argument.name === "conversation"
      : ref.uri === TEMPLATES[0]?.uriTemplate && argument.name === "id";
  if (conversation) {
    const all = await keep.transcripts();
    values = all.filter(({ id, title }) => id.toLowerCase().startsWith(written) || title.toLowerCase().includes(written)).map(({ id }) => id);
  } else if (ref.type === "ref/resource" && ref.uri === TEMPLATES[1]?.uriTemplate && argument.name === "path") {
    const all = (await files.list()).map(({ path }) => path.slice("/memories/".length));
    values = all.filter((path) => path.toLowerCase().startsWith(written));
  }
  return { completion: { values: values.slice(0, MOST), total: values.length, hasMore: values.length > MOST } };
}
