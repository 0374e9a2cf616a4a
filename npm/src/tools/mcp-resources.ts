// Conversations and memory files as MCP resources: their addresses, the list with its pages, and what reading one gives. A conversation is
// Markdown, a stretch of it at a time.

import {
  ErrorCode,
  McpError,
  type ListResourcesResult,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
} from "@modelcontextprotocol/sdk/types.js";
import type { Threadkeep } from "../threadkeep.js";
import type { Measure } from "./bound.js";
import { leafOf } from "./conversations.js";
import type { MemoryFiles } from "./files.js";
import { memoryPath } from "./path.js";
import { date, entries, short, TITLE, wording } from "./render.js";
import { ToolFailure } from "./schema.js";
import { goesOn } from "./tool.js";

/** Where resources come from. @internal */
export interface Sources {
  keep: Threadkeep;
  files: MemoryFiles;
  measure: Measure;
}

const PAGE = 100;
const TRANSCRIPT = "threadkeep://transcript/";
const MEMORY = "threadkeep://memory/";
/** The error code of the protocol for a resource that is not there. */
const NOT_FOUND = -32002;

/** The templates. @internal */
export const TEMPLATES: ResourceTemplate[] = [
  {
    uriTemplate: `${TRANSCRIPT}{id}{?from}`,
    name: "conversation",
    title: "A conversation",
    description: "The messages of a conversation as Markdown, from the message `from` (0 without it) on; its end says how to go on.",
    mimeType: "text/markdown",
  },
  { uriTemplate: `${MEMORY}{+path}`, name: "memory-file", title: "A memory file", description: "A note of the model's, as text.", mimeType: "text/plain" },
];

/** The address of a conversation. @internal */
export function transcriptUri(id: string): string {
  return TRANSCRIPT + encodeURIComponent(id);
}

/** The address of a memory file. @internal */
export function fileUri(path: string): string {
  return MEMORY + path.slice("/memories/".length).split("/").map(encodeURIComponent).join("/");
}

/** One page of all resources: memory files first, then conversations, the one that changed last first. @internal */
export async function listed({ keep, files }: Sources, cursor: string | undefined): Promise<ListResourcesResult> {
  const notes = (await files.list()).map(
    (file): Resource => ({
      uri: fileUri(file.path),
      name: file.path,
      title: file.path,
      mimeType: "text/plain",
      size: file.bytes,
      annotations: { lastModified: new Date(file.modified).toISOString() },
    }),
  );
  const conversations = (await keep.transcripts()).map(({ id, title, messages, updatedAt, createdAt }): Resource => {
    const changed = date(updatedAt ?? createdAt);
    return {
      uri: transcriptUri(id),
      name: short(title || id, TITLE),
      title: short(title || id, TITLE),
      description: `A conversation of ${messages} ${messages === 1 ? "message" : "messages"}`,
      mimeType: "text/markdown",
      ...(changed === undefined ? {} : { annotations: { lastModified: changed } }),
    };
  });
  const all = [...notes, ...conversations];
  const begin = cursor === undefined ? 0 : all.findIndex(({ uri }) => uri === cursor) + 1;
  if (cursor !== undefined && begin === 0)
    throw new McpError(ErrorCode.InvalidParams, "What this cursor stands at is not there any more: list again without it");
  const resources = all.slice(begin, begin + PAGE);
  const last = resources.at(-1);
  return { resources, ...(last !== undefined && begin + PAGE < all.length ? { nextCursor: last.uri } : {}) };
}

/** What is at an address. @internal */
export async function read(sources: Sources, uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
  if (uri.startsWith(MEMORY)) {
    const path = parsed(() => memoryPath(`/memories/${decodeURIComponent(uri.slice(MEMORY.length))}`), uri);
    const text = await sources.files.read(path);
    if (text === undefined) throw missing(uri);
    return { contents: [{ uri, mimeType: "text/plain", text }] };
  }
  const [, encoded, from] = /^threadkeep:\/\/transcript\/([^?#]+)(?:\?from=(\d{1,9}))?$/.exec(uri) ?? [];
  if (encoded === undefined) throw missing(uri);
  const id = parsed(() => decodeURIComponent(encoded), uri);
  return { contents: [{ uri, mimeType: "text/markdown", text: await markdown(sources, id, Number(from ?? 0), uri, signal) }] };
}

/** A stretch of a conversation as Markdown. @internal */
export async function markdown({ keep, measure }: Sources, id: string, from: number, uri: string, signal?: AbortSignal): Promise<string> {
  const leaf = await leafOf(keep, id).catch((error: unknown) => {
    throw error instanceof ToolFailure ? missing(uri) : error;
  });
  const all = entries(await keep.chain(leaf));
  const transcript = all[0]?.node.transcript ?? id;
  const title = (await keep.transcripts()).find((info) => info.id === transcript)?.title ?? id;
  let text = `# ${short(title.replaceAll("\n", " "), TITLE)}\n`;
  let left = measure.most;
  let at = from;
  for (const entry of all.slice(from)) {
    goesOn({ signal });
    const when = date(entry.node.createdAt);
    const heading = `\n## ${short(entry.message.role, 40)}${when === undefined ? "" : ` · ${when}`}\n\n`;
    const words = wording(entry.message, false);
    const { text: part, to } = await measure.cut(words, 0, Math.max(40, Math.floor(measure.most / 2)));
    const note =
      to < words.length
        ? `\n[The first ${to} of ${words.length} characters: read_message with node ${JSON.stringify(entry.node.id)} and index ${entry.index} shows all.]`
        : "";
    const section = `${heading}${part}${note}\n`;
    left -= await measure.tokens(section);
    if (left < 0 && at > from) break;
    text += section;
    at += 1;
  }
  return at < all.length ? `${text}\n[Messages ${at} to ${all.length - 1} are at ${transcriptUri(transcript)}?from=${at}]\n` : text;
}

function parsed<T>(parse: () => T, uri: string): T {
  try {
    return parse();
  } catch {
    throw missing(uri);
  }
}

function missing(uri: string): McpError {
  return new McpError(NOT_FOUND, `There is no resource ${JSON.stringify(uri.slice(0, 200))}`, { uri: uri.slice(0, 600) });
}
