// A model at the end of a connection: the request is made, sent and read by the engine, over the platform's `fetch`.

import type { Canceller, ModelHandle } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { ThreadkeepError } from "./errors.js";
import { ModelError } from "./model/failure.js";
import { LIMITS } from "./model/limits.js";
import { need, now, run } from "./runtime.js";
import type { Summarize, SummaryRequest } from "./compaction.js";
import type { Connection, ListedModel, Provider } from "./generated/provider.js";
import type { AgentModel, ModelCompletion, ModelFailureCode, ModelPiece, ModelRequest } from "./model/model.js";

/** A model at the end of a connection, for {@link createAgent}. */
export interface ConnectedModel<P extends Provider = Provider> extends AgentModel<P> {
  /** Asks it. Fails with an error whose `code` is a {@link ModelFailureCode}. */
  (request: ModelRequest<P>): Promise<ModelCompletion>;
  readonly modelName: string;
  readonly provider: P;
  /** The same model as a summariser, for `compact`. */
  readonly summarize: Summarize;
  /** The models that the endpoint has; it is asked once. */
  models(): Promise<ListedModel[]>;
}

const FIELDS = {
  provider: check.text,
  baseUrl: check.text,
  model: check.text,
  apiKey: check.text,
  headers: (value: unknown): unknown => value,
  name: check.text,
  maxContextTokens: check.count,
  maxOutputTokens: check.count,
  timeoutMs: check.millis,
  limits: (value: unknown, argument: string): unknown => check.options(value, argument, LIMITS),
};

/**
 * A model at the end of a connection: any OpenAI-compatible endpoint, OpenAI's Responses, Anthropic, Gemini or Ollama. Answers are read as
 * they stream; what passes (429, 5xx) is tried again, as `Retry-After` says. Nothing is sent before it is asked. A redirect is an error:
 * the prompt and the key go to `baseUrl` and nowhere else.
 *
 * @throws ThreadkeepError `bad-request`, here for options that are not known, from the first request for an address that is none
 *
 * @example
 * ```ts
 * const model = connect({ provider: "openai-chat", baseUrl: "http://localhost:11434/v1", model: "llama3.2" });
 * const agent = createAgent({ keep, model });
 * ```
 */
export function connect<P extends Provider>(connection: Connection<P>): ConnectedModel<P> {
  const json = check.toJson(check.options(connection, "connection", FIELDS));
  const { provider, model, maxContextTokens, maxOutputTokens, limits } = connection;
  let opened: Promise<ModelHandle> | undefined;
  const open = (): Promise<ModelHandle> => {
    opened ??= opening(json).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const asked = async (
    request: Pick<ModelRequest, "messages" | "signal"> & Partial<Pick<ModelRequest, "payload" | "tools">>,
    heard: (piece: ModelPiece) => void,
  ): Promise<ModelCompletion> => {
    const handle = await open();
    const { messages, payload, tools, signal } = request;
    const canceller: Canceller = now((wasm) => new wasm.Canceller());
    const cancel = (): void => now(() => canceller.cancel());
    signal.addEventListener("abort", cancel);
    try {
      if (signal.aborted) cancel();
      const hear = (piece: string): void => heard(JSON.parse(piece) as ModelPiece);
      return JSON.parse(
        await run(() => handle.ask(check.json({ messages, payload, tools }, "request"), hear, canceller) as Promise<string>),
      ) as ModelCompletion;
    } catch (error) {
      throw failed(error);
    } finally {
      signal.removeEventListener("abort", cancel);
      now(() => canceller.free());
    }
  };
  const call = (request: ModelRequest<P>): Promise<ModelCompletion> => asked(request, (piece) => request.onDelta(piece));
  const summarize = async ({ messages, signal }: SummaryRequest): Promise<string> => {
    const { message } = await asked({ messages, signal }, () => undefined);
    return typeof message?.content === "string" ? message.content : "";
  };
  const most = maxOutputTokens === undefined ? undefined : { maxOutputTokens };
  const tokens =
    maxContextTokens === undefined ? most : { maxContextTokens, maxOutputTokens: maxOutputTokens ?? Math.floor(maxContextTokens / 4), safetyMargin: 0 };
  return Object.assign(call, {
    modelName: model,
    provider,
    endpoint: { baseUrl: connection.baseUrl, model, ...(maxContextTokens === undefined ? {} : { maxContextTokens }) },
    ...(tokens === undefined ? {} : { tokens }),
    ...(limits === undefined ? {} : { limits }),
    summarize: Object.assign(summarize, { summarizer: model }),
    models: async (): Promise<ListedModel[]> => {
      const handle = await open();
      return JSON.parse(await run(() => handle.models() as Promise<string>)) as ListedModel[];
    },
  });
}

async function opening(json: string): Promise<ModelHandle> {
  await need("agent");
  return run((wasm) => wasm.connect(json) as Promise<ModelHandle>);
}

/** A failure of the model's, which comes as an error of the engine's. */
function failed(error: unknown): unknown {
  if (!(error instanceof ThreadkeepError)) return error;
  return new ModelError(error.code as string as ModelFailureCode, error.message, error);
}
