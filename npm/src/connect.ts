// Models at the end of a connection: providers' endpoints, asked with the platform's `fetch`. What is sent, how answers are read and
// when a request is sent again is the engine's.

import type { ModelHandle } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { need, now, run } from "./runtime.js";
import type { AgentModel, ModelCompletion, ModelPiece } from "./types/agent.js";
import type { Summarize } from "./types/compaction.js";
import type { Provider } from "./types/context.js";

/** How to ask a model: where it is, how it is spoken to, and with which key. */
export interface ConnectionOptions<P extends Provider = Provider> {
  /** The form that it speaks; `openai-chat` is also that of Ollama, llama.cpp, vLLM, LM Studio and OpenRouter. */
  provider: P;
  /** The address up to where the provider's own paths begin, such as `https://api.openai.com/v1` or `https://api.anthropic.com`. */
  baseUrl: string;
  /** The model's name. */
  model: string;
  /** The key, where one is needed. It is sent to this address and nowhere else, stored nowhere, and stands in no error. */
  apiKey?: string;
  /** Further headers; they take the place of ours of the same name. */
  headers?: Readonly<Record<string, string>>;
  /** How many tokens the model's context holds, from 1; for about thirty families that is known. */
  maxContextTokens?: number;
  /** How many tokens an answer may take, from 1. */
  maxOutputTokens?: number;
  /** How long nothing may be heard, before the first byte and between two, in milliseconds, from 1; 60,000 without it. */
  timeoutMs?: number;
}

/** A model that an endpoint has. */
export interface ListedModel {
  /** Its name. */
  id: string;
  /** How many tokens its context holds; `null` where the endpoint does not say. */
  maxContextTokens: number | null;
  /** How many tokens an answer may take, likewise. */
  maxOutputTokens: number | null;
}

/** A model at the end of a connection, for {@link createAgent}. */
export interface ConnectedModel<P extends Provider = Provider> extends AgentModel<P> {
  /** The same for {@link CompactOptions.summarize}. */
  summarize: Summarize;
  /**
   * Which models the endpoint has. It is asked once, which also tests the connection.
   *
   * @throws ThreadkeepError a {@link ModelFailureCode}, with words that a person can act on
   */
  models(): Promise<ListedModel[]>;
}

const OPTIONS = {
  provider: check.text,
  baseUrl: check.text,
  model: check.text,
  apiKey: check.text,
  headers: (value: unknown) => value,
  maxContextTokens: check.count,
  maxOutputTokens: check.count,
  timeoutMs: check.count,
};

/**
 * A model of a provider's, or of a server of your own, asked with `fetch`: OpenAI's chat form and Responses, Anthropic, Gemini,
 * Ollama. Answers are read as they stream; tool calls and thoughts that a model writes into its text are found there. What a
 * provider refuses for a while (429, 5xx) is sent again after a pause. Nothing is sent before it is asked for.
 *
 * @throws ThreadkeepError `bad-request` for an option that is not known or missing; what is wrong with their values comes
 * when it is first asked
 *
 * @example
 * ```ts
 * const model = connect({ provider: "openai-chat", baseUrl: "http://localhost:11434/v1", model: "qwen3" });
 * const agent = createAgent({ keep, model });
 * ```
 */
export function connect<P extends Provider>(options: ConnectionOptions<P>): ConnectedModel<P> {
  const given = check.options(options, "options", OPTIONS) as unknown as ConnectionOptions<P>;
  for (const name of ["provider", "baseUrl", "model"] as const) if (given[name] === undefined) throw badArgument(`options.${name}`, "is missing");
  const json = check.optionsJson(given);
  let opened: Promise<ModelHandle> | undefined;
  const open = async (): Promise<ModelHandle> => {
    await need("agent");
    return run((wasm) => wasm.connect(json) as Promise<ModelHandle>);
  };
  const handle = (): Promise<ModelHandle> => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const ask = async (request: object, signal: AbortSignal, hear: (piece: ModelPiece) => void): Promise<ModelCompletion> => {
    const model = await handle();
    signal.throwIfAborted();
    const canceller = now((wasm) => new wasm.Canceller());
    const cancel = (): void => now(() => canceller.cancel());
    signal.addEventListener("abort", cancel);
    try {
      const heard = (piece: string): void => hear(JSON.parse(piece) as ModelPiece);
      return JSON.parse(await run(() => model.ask(JSON.stringify(request), heard, canceller) as Promise<string>)) as ModelCompletion;
    } finally {
      signal.removeEventListener("abort", cancel);
      now(() => canceller.free());
    }
  };
  const { model: modelName, provider, maxContextTokens, maxOutputTokens } = given;
  const tokens = { ...(maxContextTokens === undefined ? {} : { maxContextTokens }), ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) };
  const answer: AgentModel<P> = ({ messages, payload, tools, signal, onDelta }) => ask({ messages, payload, tools }, signal, onDelta);
  const summarize: Summarize = async ({ messages, signal }) => {
    const { message } = await ask({ messages }, signal, () => undefined);
    return (message ?? { content: "" }) as Awaited<ReturnType<Summarize>>;
  };
  const models = async (): Promise<ListedModel[]> => {
    const model = await handle();
    return JSON.parse(await run(() => model.models() as Promise<string>)) as ListedModel[];
  };
  return Object.assign(answer, { modelName, provider, tokens, summarize: Object.assign(summarize, { summarizer: modelName }), models });
}
