// Prompts without a store: counting, compressing, rendering, validating. They load the WebAssembly module with its part for
// prompts, and a vocabulary where they count by one, when they are first called.

import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { need, now } from "./runtime.js";
import type { Compressed, CompressOptions, Encoding, Rendered, RenderOptions, Validation } from "./generated/context.js";
import type { CaseReplay } from "./generated/journal.js";
import type { Provider } from "./generated/provider.js";
import type { CodeTurn, MessageInput } from "./message.js";
import type { FormOf, Payload } from "./payload.js";
import { needEncoding } from "./vocabulary.js";

/** A turn of code, as a trace holds it: no message yet. */
export interface TraceTurn extends CodeTurn {
  /** The program's text. */
  program: string;
  /** What the model wrote; the program in a fenced block without it. */
  content?: string;
  [field: string]: unknown;
}

/** What can be counted, trimmed and rendered. */
export type Messages = readonly MessageInput[];

const PROVIDERS: readonly Provider[] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];
const ENCODINGS: readonly Encoding[] = ["o200k_base", "cl100k_base", "estimate"];

/**
 * Counts the tokens of a text, or of messages as a provider is sent them (with the marks around each; what the reply begins
 * with and tools are counted by {@link Thread.context}). What spells a special token counts as the letters it is.
 *
 * @param input a text, or a list of messages
 * @param encoding the vocabulary, loaded when it is first asked for; `o200k_base` without it
 * @param provider whose messages; `openai-chat` without it
 * @returns a whole number from 0 on
 * @throws ThreadkeepError `bad-request`; `init-failed` when the module or the vocabulary cannot be had
 *
 * @example
 * ```ts
 * await countTokens("hello world"); // 2
 * await countTokens([{ role: "user", content: "hello world" }]); // 6
 * ```
 */
export async function countTokens(input: string | Messages, encoding: Encoding = "o200k_base", provider: Provider = "openai-chat"): Promise<number> {
  check.oneOf(encoding, ENCODINGS, "encoding");
  check.oneOf(provider, PROVIDERS, "provider");
  if (typeof input === "string") {
    const text = check.text(input, "input");
    await needEncoding(encoding);
    return now((wasm) => wasm.countText(text, encoding));
  }
  const json = check.json(check.messages(input, "messages"), "messages");
  await needEncoding(encoding);
  return now((wasm) => wasm.countMessages(json, provider, encoding));
}

/**
 * Compresses a history of code turns: old turns become what they defined and printed; the last one, and those that failed,
 * stay whole. The turns that are given stay as they are.
 *
 * @throws ThreadkeepError `bad-request` with the place; `init-failed`
 *
 * @example
 * ```ts
 * const { messages } = await compressHistory([{ program: "(def limit 5)" }, { program: "(return limit)" }]);
 * messages[0].content; // "; Defined: limit = integer, sample: 5"
 * ```
 */
export async function compressHistory(turns: readonly (TraceTurn | Messages[number])[], options?: CompressOptions): Promise<Compressed> {
  if (!Array.isArray(turns)) throw badArgument("turns", "must be a list of code turns or messages");
  const [json, how] = [check.json(turns, "turns"), check.optionsJson(options ?? null)];
  await need("prompts");
  return JSON.parse(now((wasm) => wasm.compressHistory(json, how))) as Compressed;
}

/**
 * Renders messages as the body of a provider's request. The same messages give the same bytes. Whatever they are, the body
 * keeps to the provider's protocol; what had to be changed for that is in the notes.
 *
 * @throws ThreadkeepError `bad-request`, `init-failed`
 *
 * @example
 * ```ts
 * const { payload } = await render([{ role: "user", content: "hi" }], "anthropic", { model: "claude-sonnet-4-5" });
 * payload.max_tokens; // 4096
 * ```
 */
export async function render<P extends Provider, M extends string = never, Stream extends boolean = false, Sdk extends boolean = false>(
  messages: Messages,
  provider: P,
  options?: RenderOptions & { model?: M; stream?: Stream; sdk?: Sdk },
): Promise<Rendered<P, FormOf<M, Stream, Sdk>>> {
  check.oneOf(provider, PROVIDERS, "provider");
  const [json, how] = [check.json(check.messages(messages, "messages"), "messages"), check.optionsJson(options ?? null)];
  await need("prompts");
  return JSON.parse(now((wasm) => wasm.render(json, provider, how))) as Rendered<P, FormOf<M, Stream, Sdk>>;
}

/**
 * Says what a provider would refuse: of messages, or of a request's body, whoever made it. It repairs nothing.
 *
 * @param input a list of messages, or a payload
 * @throws ThreadkeepError `bad-request` for an unknown provider, or for what is neither; `init-failed`
 *
 * @example
 * ```ts
 * const { ok, errors } = await validate([{ role: "tool", tool_call_id: "c", content: "42" }], "openai-chat");
 * errors[0].rule; // "orphan-result"
 * ```
 */
export async function validate(input: readonly object[] | Payload | object, provider: Provider): Promise<Validation> {
  check.oneOf(provider, PROVIDERS, "provider");
  if (typeof input !== "object" || input === null) throw badArgument("input", "must be a list of messages or a payload");
  const json = check.json(input, "input");
  await need("prompts");
  return JSON.parse(now((wasm) => wasm.validate(json, provider))) as Validation;
}

/**
 * Makes the prompt of a case file again, without a keep, and compares it with the one in the file. The first difference has its path and both
 * values. A file whose prompt is the same, but which was changed elsewhere, differs in its `hash`.
 *
 * @param file the text of a case file, of `keep.requests.caseFile`
 * @throws ThreadkeepError `bad-request` for a file that is no case, or of a newer version; `init-failed` when the module or the vocabulary cannot
 * be had
 *
 * @example
 * ```ts
 * const { equal, difference } = await replayCase(await keep.requests.caseFile(id));
 * if (!equal) console.log(difference?.path, difference?.recorded, difference?.rebuilt);
 * ```
 */
export async function replayCase(file: string): Promise<CaseReplay> {
  const text = check.text(file, "file");
  const encoding = check.reading("file", () => (JSON.parse(text) as { options: { encoding?: unknown } }).options.encoding ?? "o200k_base");
  await needEncoding(encoding);
  return JSON.parse(now((wasm) => wasm.replayCase(text))) as CaseReplay;
}
