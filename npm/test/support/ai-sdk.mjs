// The AI SDK's own code around a model that follows a script: a chat as `useChat` has it, and answers in the model's own pieces.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AbstractChat, convertToModelMessages, stepCountIs, streamText } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { installed } from "./installed.mjs";

export const { ChatStore, branchingTransport, chatStore, fromModelMessages, toModelMessages, trimSteps } = await import(
  pathToFileURL(join(installed, "dist/frameworks/ai-sdk.js")).href
);

// Its advice is for people.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** What `useChat` is made of, with a state that no framework watches. */
export class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) {
    const state = {
      status: "ready",
      error: undefined,
      messages: [...messages],
      pushMessage(message) {
        this.messages = [...this.messages, message];
      },
      popMessage() {
        this.messages = this.messages.slice(0, -1);
      },
      replaceMessage(index, message) {
        this.messages = [...this.messages.slice(0, index), structuredClone(message), ...this.messages.slice(index + 1)];
      },
      snapshot: (thing) => structuredClone(thing),
    };
    super({ ...init, state });
  }
}

const usage = { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 5, text: 5, reasoning: 0 } };

/** One answer of the model: `{ text, reasoning, calls: [{ id, name, input }], sources, fail, hang }`. */
export function answer({ text, reasoning, calls = [], sources = [], fail, metadata }) {
  const parts = [{ type: "stream-start", warnings: [] }];
  if (reasoning !== undefined)
    parts.push(
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: reasoning },
      { type: "reasoning-end", id: "r", providerMetadata: { mock: { signature: "s1g" } } },
    );
  if (text !== undefined) {
    parts.push({ type: "text-start", id: "t" });
    for (const delta of text.match(/.{1,5}/gs) ?? []) parts.push({ type: "text-delta", id: "t", delta });
    if (fail === undefined) parts.push({ type: "text-end", id: "t" });
  }
  for (const source of sources) parts.push({ type: "source", sourceType: "url", ...source });
  for (const { id, name, input, ...more } of calls) {
    const json = JSON.stringify(input);
    parts.push({ type: "tool-input-start", id, toolName: name }, { type: "tool-input-delta", id, delta: json }, { type: "tool-input-end", id });
    parts.push({ type: "tool-call", toolCallId: id, toolName: name, input: json, ...more });
  }
  if (fail !== undefined) parts.push({ type: "error", error: fail });
  else
    parts.push({
      type: "finish",
      finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: "x" },
      usage,
      ...(metadata && { providerMetadata: metadata }),
    });
  return parts;
}

/** A model that gives these answers in turn; each may be a function of the call. */
export function scripted(...answers) {
  let next = 0;
  return new MockLanguageModelV4({
    doStream: async (options) => {
      const given = answers[next++];
      if (given === undefined) throw new Error(`the script has only ${answers.length} answers`);
      const made = typeof given === "function" ? await given(options) : given;
      return { stream: made instanceof ReadableStream ? made : simulateReadableStream({ chunks: answer(made), initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}

/** A transport that does what a route of a server does: `streamText(…).toUIMessageStream()`. */
export function serving(model, { tools, stopWhen = stepCountIs(5), ui = {}, ...more } = {}) {
  return {
    requests: [],
    async sendMessages(options) {
      this.requests.push(structuredClone({ trigger: options.trigger, messageId: options.messageId, messages: options.messages }));
      const messages = await convertToModelMessages(options.messages, { tools });
      const result = streamText({ model, messages, tools, stopWhen, abortSignal: options.abortSignal, maxRetries: 0, onError() {}, ...more });
      return result.toUIMessageStream({ originalMessages: options.messages, onError: (error) => String(error?.message ?? error), ...ui });
    },
    async reconnectToStream() {
      return null;
    },
  };
}

/** A counter of ids. */
export function counter(prefix) {
  let next = 0;
  return () => `${prefix}${++next}`;
}

/** The texts of UI messages. */
export function said(messages) {
  return messages.map(({ parts }) =>
    parts
      .filter(({ type }) => type === "text")
      .map(({ text }) => text)
      .join("|"),
  );
}

/** As JSON carries it. */
export function plain(value) {
  return JSON.parse(JSON.stringify(value));
}
