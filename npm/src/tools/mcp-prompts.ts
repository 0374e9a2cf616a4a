// The prompts of the MCP server, and what it completes: arguments of prompts and of resource templates.

import { ErrorCode, McpError, type CompleteRequest, type CompleteResult, type GetPromptResult, type Prompt } from "@modelcontextprotocol/sdk/types.js";
import { leafOf } from "./conversations.js";
import { markdown, TEMPLATES, transcriptUri, type Sources } from "./mcp-resources.js";

/** The most values that the protocol lets one completion have. */
const MOST = 100;

/** The prompts. @internal */
export const PROMPTS: Prompt[] = [
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

/** A prompt with its arguments in it. @internal */
export async function prompt(sources: Sources, name: string, given: Record<string, string>, prefix: string): Promise<GetPromptResult> {
  const argument = (name: string): string => {
    const value = given[name]?.trim();
    if (value === undefined || value === "") throw new McpError(ErrorCode.InvalidParams, `The argument ${name} is missing`);
    return value;
  };
  if (name === "recall") {
    const topic = argument("topic");
    const text = `What do we know about this: ${topic}\n\nSearch my earlier conversations with ${prefix}search_memory, in several wordings, and look at ${prefix}recall_facts. Read the places that matter with ${prefix}read_message. Tell me what was said and what was decided, what changed over time, and for each point the conversation and date that it comes from. Say what you did not find.`;
    return { description: `What is known about ${topic}`, messages: [{ role: "user", content: { type: "text", text } }] };
  }
  if (name === "continue_conversation") {
    const id = argument("conversation");
    const uri = transcriptUri(id);
    const leaf = await leafOf(sources.keep, id);
    const total = (await sources.keep.chain(leaf)).reduce((sum, node) => sum + node.messages.length, 0);
    const text = await markdown(sources, id, Math.max(0, total - 30), uri);
    return {
      description: "An earlier conversation, to go on with",
      messages: [
        { role: "user", content: { type: "resource", resource: { uri, mimeType: "text/markdown", text } } },
        { role: "user", content: { type: "text", text: `This is the end of an earlier conversation of ours. Say in two sentences where we were, then let us go on. ${prefix}read_conversation shows what came before.` } },
      ],
    };
  }
  throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${JSON.stringify(name)}`);
}

/** Values that begin with, or have in their title, what is written so far. @internal */
export async function completed({ keep, files }: Sources, { ref, argument }: CompleteRequest["params"]): Promise<CompleteResult> {
  const written = argument.value.toLowerCase();
  let values: string[] = [];
  const conversation = ref.type === "ref/prompt" ? ref.name === "continue_conversation" && argument.name === "conversation" : ref.uri === TEMPLATES[0]?.uriTemplate && argument.name === "id";
  if (conversation) {
    const all = await keep.transcripts();
    values = all.filter(({ id, title }) => id.toLowerCase().startsWith(written) || title.toLowerCase().includes(written)).map(({ id }) => id);
  } else if (ref.type === "ref/resource" && ref.uri === TEMPLATES[1]?.uriTemplate && argument.name === "path") {
    const all = (await files.list()).map(({ path }) => path.slice("/memories/".length));
    values = all.filter((path) => path.toLowerCase().startsWith(written));
  }
  return { completion: { values: values.slice(0, MOST), total: values.length, hasMore: values.length > MOST } };
}
