// LangChain's content blocks in the form that Threadkeep counts and renders. Blocks that have no such form stay as they are.

import { base64 } from "../../../bytes.js";
import { toPlain } from "./codec.js";

type Block = Record<string, unknown>;

/** What a message says: text or parts for `content`, and what the model thought, which has a field of its own. */
export interface Said {
  content: string | Block[];
  reasoning?: string;
}

/** The content of a message of the model's, or of anybody. */
export function contentOf(content: unknown, ofModel: boolean): Said {
  if (typeof content === "string") return { content };
  if (!Array.isArray(content)) return { content: content === undefined || content === null ? "" : JSON.stringify(toPlain(content, "content")) };
  const thoughts: string[] = [];
  const parts: Block[] = [];
  for (const block of content as unknown[]) {
    if (typeof block === "string") parts.push({ type: "text", text: block });
    else if (typeof block === "object" && block !== null) {
      const thought = ofModel ? thoughtOf(block as Block) : undefined;
      if (thought !== undefined) thoughts.push(thought);
      // Calls are in `tool_calls`, whatever the provider repeats of them here.
      else if (!ofModel || !CALLS.has(String((block as Block)["type"]))) parts.push(partOf(block as Block));
    }
  }
  const reasoning = thoughts.filter((text) => text !== "").join("\n");
  return { content: parts, ...(reasoning === "" ? {} : { reasoning }) };
}

const CALLS = new Set(["tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "functionCall", "input_json_delta"]);

function thoughtOf(block: Block): string | undefined {
  switch (block["type"]) {
    case "thinking":
      return textOf(block["thinking"]);
    case "reasoning":
      return (
        textOf(block["reasoning"]) || (Array.isArray(block["summary"]) ? (block["summary"] as Block[]).map((part) => textOf(part?.["text"])).join("\n") : "")
      );
    case "reasoning_content": {
      const inner = block["reasoningText"] ?? block["reasoningContent"];
      return textOf(typeof inner === "object" && inner !== null ? (inner as Block)["text"] : inner);
    }
    case "redacted_thinking":
      return "";
    default:
      return undefined;
  }
}

function partOf(block: Block): Block {
  switch (block["type"]) {
    case "text":
      return { type: "text", text: textOf(block["text"]) };
    case "image_url": {
      const image = block["image_url"];
      return { type: "image_url", image_url: typeof image === "string" ? { url: image } : toPlain(image, "content") };
    }
    case "image": {
      const url = urlOf(block, "image/png");
      return url === undefined ? (toPlain(block, "content") as Block) : { type: "image_url", image_url: { url } };
    }
    case "audio": {
      const data = dataOf(block);
      const kind = mimeOf(block) ?? "audio/wav";
      if (data === undefined) return toPlain(block, "content") as Block;
      return { type: "input_audio", input_audio: { data, format: kind === "audio/mpeg" ? "mp3" : (kind.split("/")[1] ?? "wav") } };
    }
    case "text-plain":
      return typeof block["text"] === "string" ? { type: "text", text: block["text"] } : (toPlain(block, "content") as Block);
    case "file": {
      if (block["source_type"] === "text" && typeof block["text"] === "string") return { type: "text", text: block["text"] };
      const data = dataOf(block);
      const id = block["fileId"] ?? (block["source_type"] === "id" ? block["id"] : undefined);
      const metadata = block["metadata"] as Block | undefined;
      const filename = metadata?.["filename"] ?? metadata?.["name"];
      if (data === undefined && typeof id !== "string") return toPlain(block, "content") as Block;
      return {
        type: "file",
        file: {
          ...(data === undefined ? { file_id: id } : { file_data: `data:${mimeOf(block) ?? "application/octet-stream"};base64,${data}` }),
          ...(typeof filename === "string" ? { filename } : {}),
        },
      };
    }
    default:
      return toPlain(block, "content") as Block;
  }
}

/** The address of a picture: its own, or one that holds its bytes. */
function urlOf(block: Block, kind: string): string | undefined {
  if (typeof block["url"] === "string") return block["url"];
  const data = dataOf(block);
  return data === undefined ? undefined : `data:${mimeOf(block) ?? kind};base64,${data}`;
}

/** The bytes of a block as base64, as LangChain 0.3, LangChain 1 and Anthropic write them. */
function dataOf(block: Block): string | undefined {
  const source = block["source"] as Block | undefined;
  const data = block["data"] ?? (typeof source === "object" && source !== null && source["type"] === "base64" ? source["data"] : undefined);
  if (data instanceof Uint8Array) return base64(data);
  return typeof data === "string" ? data : undefined;
}

function mimeOf(block: Block): string | undefined {
  const kind = block["mimeType"] ?? block["mime_type"] ?? (block["source"] as Block | undefined)?.["media_type"];
  return typeof kind === "string" ? kind : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
