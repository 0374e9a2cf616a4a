// Chrome's built-in LanguageModel (the Prompt API), asked with the messages of a prompt. The one file that knows it, in plain
// JavaScript, so that a page can load it as it is. Nothing leaves the machine. The model takes words only: tools are described to
// it in words, and its calls are read out of what it says.

/**
 * What of the documented interface is used.
 *
 * @typedef {{ role: "system" | "user" | "assistant", content: string }} Prompt
 * @typedef {{ contextWindow?: number, inputQuota?: number, destroy?(): void,
 *   promptStreaming(input: Prompt[], options?: { signal?: AbortSignal }): ReadableStream<string> }} Model
 * @typedef {{ addEventListener(type: "downloadprogress", listener: (event: { loaded: number }) => void): void }} Monitor
 * @typedef {{ availability(options?: object): Promise<string>, create(options?: object): Promise<Model> }} Api
 */

/**
 * What is asked of it, and what comes back.
 *
 * @typedef {{ role: string, content?: unknown, tool_calls?: readonly object[] | null, is_error?: boolean }} Said
 * @typedef {{ function?: { name: string, arguments: string } }} Call
 * @typedef {{ name: string, description?: string | null, parameters: object }} Tool
 * @typedef {{ text: string } | { index: number, name: string, arguments: string }} Piece
 */

/**
 * A model that was opened. `window` is how many of its tokens it holds, where the browser says.
 *
 * @typedef {{ window: number | undefined, destroy(): void,
 *   ask(messages: readonly Said[], tools: readonly Tool[], signal?: AbortSignal): AsyncGenerator<Piece, void, undefined> }} Opened
 */

const [BEGIN, END] = ["<tool_call>", "</tool_call>"];
const ABOUT_TOOLS = `You can call the tools below. To call one, answer with nothing but ${BEGIN}{"name": "…", "arguments": {…}}${END}, once for each call. \
What it gives comes back to you between <tool_response> and </tool_response>; then go on. Where you need no tool, just answer.`;

/** @returns {Api | undefined} */
function api() {
  return /** @type {{ LanguageModel?: Api }} */ (globalThis).LanguageModel;
}

/**
 * `available`, `downloadable` or `downloading`; an empty text where the browser has none.
 *
 * @param {object} [languages] `expectedInputs` and `expectedOutputs`, as the browser's own options
 * @returns {Promise<string>}
 */
export async function availability(languages) {
  const found = await api()?.availability({ ...languages });
  return found === undefined || found === "unavailable" ? "" : found;
}

/**
 * Opens it; rejects with the browser's reason where it does not let it be opened.
 *
 * @param {((loaded: number) => void) | undefined} [tell] hears how much of it is loaded, from 0 to 1, where it must be loaded first
 * @param {{ signal?: AbortSignal, [option: string]: unknown }} [given] options of the browser's own
 * @returns {Promise<Opened | undefined>} `undefined` where the browser has none
 */
export async function open(tell, given) {
  const { signal: opening, ...languages } = given ?? {};
  /** @param {Monitor} model */
  const monitor = (model) => model.addEventListener("downloadprogress", ({ loaded }) => tell?.(loaded));
  // It stays open, empty: so the browser keeps the model ready.
  const first = await api()?.create({ ...languages, monitor, ...(opening === undefined ? {} : { signal: opening }) });
  if (first === undefined) return undefined;
  const window = first.contextWindow ?? first.inputQuota;
  return {
    window: typeof window === "number" && Number.isFinite(window) ? window : undefined,
    destroy: () => first.destroy?.(),
    async *ask(messages, tools, signal) {
      const prompts = prompted(messages, tools);
      const last = /** @type {Prompt} */ (prompts.pop());
      const listens = signal === undefined ? {} : { signal };
      const model = await api()?.create({ ...languages, initialPrompts: prompts, ...listens });
      if (model === undefined) throw new Error("the browser's model is gone");
      try {
        yield* spoken(model.promptStreaming([last], listens), tools.length > 0);
      } finally {
        model.destroy?.();
      }
    },
  };
}

/**
 * The messages as the browser takes them: instructions first, then user and assistant, at the end the user.
 *
 * @param {readonly Said[]} messages
 * @param {readonly Tool[]} tools
 * @returns {Prompt[]}
 */
export function prompted(messages, tools) {
  const of = (/** @type {Said} */ { role }) => role === "system" || role === "developer";
  const first = messages.findIndex((message) => !of(message));
  const begin = first < 0 ? messages.length : first;
  const system = messages.slice(0, begin).map(({ content }) => text(content));
  if (tools.length > 0) {
    const described = tools.map(({ name, description, parameters }) => `${name}: ${description ?? ""} Arguments: ${JSON.stringify(parameters)}`);
    system.push([ABOUT_TOOLS, ...described].join("\n"));
  }
  /** @type {Prompt[]} */
  const made = system.length === 0 ? [] : [{ role: "system", content: system.join("\n\n") }];
  for (const message of messages.slice(begin)) {
    const content = text(message.content);
    if (message.role === "assistant") {
      const all = /** @type {readonly Call[]} */ (message.tool_calls ?? []);
      const calls = all.flatMap(({ function: call }) => (call === undefined ? [] : [call]));
      const written = calls.map((call) => `${BEGIN}{"name": ${JSON.stringify(call.name)}, "arguments": ${call.arguments || "{}"}}${END}`);
      made.push({ role: "assistant", content: [content, ...written].filter((part) => part !== "").join("\n") });
    } else if (message.role === "tool") {
      const failed = message.is_error === true ? "This failed: " : "";
      made.push({ role: "user", content: `<tool_response>${failed}${content}</tool_response>` });
    } else made.push({ role: "user", content });
  }
  if (made.at(-1)?.role !== "user") made.push({ role: "user", content: "Go on." });
  return made;
}

/** @param {unknown} content */
function text(content) {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : `[${part?.type}]`)).join("\n");
}

/**
 * What the model says: its text as it comes, and its calls when all is there.
 *
 * @param {ReadableStream<string>} stream
 * @param {boolean} calls whether it may call
 * @returns {AsyncGenerator<Piece, void, undefined>}
 */
async function* spoken(stream, calls) {
  const reader = stream.getReader();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      held += value;
      if (!calls) {
        yield { text: held };
        held = "";
      } else if (!held.includes(BEGIN)) {
        // What may be the beginning of a mark waits for its rest.
        let keep = Math.min(held.length, BEGIN.length - 1);
        while (!BEGIN.startsWith(held.slice(held.length - keep))) keep -= 1;
        const said = held.slice(0, held.length - keep);
        held = held.slice(held.length - keep);
        if (said !== "") yield { text: said };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
  yield* read(held);
}

/**
 * The end of an answer: text, and calls between their marks (the last mark may be missing).
 *
 * @param {string} held
 * @returns {Generator<Piece, void, undefined>}
 */
function* read(held) {
  const [before = "", ...blocks] = held.split(BEGIN);
  if (before.trim() !== "") yield { text: before };
  let index = 0;
  for (const block of blocks) {
    const [json = "", ...after] = block.split(END);
    const call = parsed(json);
    if (call === undefined) yield { text: BEGIN + json + (after.length > 0 ? END : "") };
    else yield { index: index++, ...call };
    const rest = after.join(END);
    if (rest.trim() !== "") yield { text: rest };
  }
}

/** @param {string} json */
function parsed(json) {
  try {
    const { name, arguments: given, parameters } = JSON.parse(json);
    if (typeof name !== "string" || name === "") return undefined;
    const args = given ?? parameters ?? {};
    return { name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
  } catch {
    return undefined;
  }
}
