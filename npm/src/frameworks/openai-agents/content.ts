// What items contain (text, pictures, sound, files), as content of messages.

import { base64 } from "../../bytes.js";
import { wellFormed } from "../../check.js";

type Part = Record<string, unknown>;

/** The text in a list of parts of any kind, each on lines of its own. */
export function textOf(parts: unknown): string {
  if (typeof parts === "string") return wellFormed(parts);
  if (!Array.isArray(parts)) return "";
  const texts = (parts as Part[]).map((part) => part["text"] ?? part["refusal"] ?? part["transcript"]);
  return wellFormed(texts.filter((text) => typeof text === "string").join("\n\n"));
}

/** What a model said: text where it is nothing but text, else parts. */
export function partsOf(content: unknown): string | Part[] {
  if (!Array.isArray(content) || (content as Part[]).every(({ type }) => type === "output_text")) return textOf(content);
  return (content as Part[]).map(part);
}

/** What a user or the instructions say. */
export function userContent(content: unknown): string | Part[] {
  if (typeof content === "string") return wellFormed(content);
  return Array.isArray(content) ? (content as Part[]).map(part) : "";
}

/** What a tool gave: text where it is nothing but text, else parts. */
export function outputContent(output: unknown): string | Part[] {
  if (typeof output === "string") return wellFormed(output);
  const parts = (Array.isArray(output) ? output : [output]) as Part[];
  if (parts.every((it) => typeof it?.["text"] === "string")) return textOf(parts);
  return parts.map(part);
}

/** A part in our words. Bytes become data URLs, as providers want them; what is behind an id of a provider stays an id. */
function part(given: Part): Part {
  const { type, text, refusal } = given;
  if (typeof refusal === "string") return { type: "refusal", refusal: wellFormed(refusal) };
  if (typeof text === "string") return { type: "text", text: wellFormed(text) };
  if (type === "audio" && typeof given["audio"] === "string")
    return { type: "input_audio", input_audio: { data: given["audio"], format: String(given["format"] ?? "wav") } };
  const picture = given["image"] ?? (type === "computer_screenshot" ? given["data"] : undefined);
  const data = picture ?? given["imageUrl"] ?? given["file"];
  const place = placeOf(data, given);
  if (type === "input_file" || type === "file") {
    const name = given["filename"] ?? (data as Part | undefined)?.["filename"];
    const filename = typeof name === "string" ? { filename: wellFormed(name) } : {};
    return { type: "file", file: { ...(place?.id === undefined ? { file_data: place?.url ?? "" } : { file_id: place.id }), ...filename } };
  }
  if (place?.url !== undefined) return { type: "image_url", image_url: { url: place.url } };
  return { type: "text", text: place?.id === undefined ? `[${String(type)}]` : `[${String(type)} ${wellFormed(place.id)}]` };
}

/** Where a picture or file is: a URL (perhaps with the data in it), or an id of the provider's. */
function placeOf(data: unknown, given: Part): { url?: string; id?: string } | undefined {
  if (typeof data === "string") return { url: wellFormed(data) };
  if (typeof data !== "object" || data === null) return undefined;
  const { id, fileId, url, data: bytes, mediaType } = data as Part;
  if (typeof url === "string") return { url: wellFormed(url) };
  if (typeof id === "string") return { id };
  if (typeof fileId === "string") return { id: fileId };
  const media = String(mediaType ?? given["mediaType"] ?? "application/octet-stream");
  if (bytes instanceof Uint8Array) return { url: `data:${media};base64,${base64(bytes)}` };
  if (typeof bytes === "string") return { url: bytes.startsWith("data:") ? bytes : `data:${media};base64,${bytes}` };
  return undefined;
}
