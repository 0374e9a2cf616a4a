// OpenTelemetry: an agent's turns as spans, in the names of the semantic conventions for generative AI, version 1.41.
// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/

import { type Attributes, type Context, type Span, SpanKind, SpanStatusCode, type Tracer, context, trace } from "@opentelemetry/api";
import { type Agent, watched } from "../agent.js";
import * as check from "../check.js";
import { reportUncaught } from "../errors.js";
import type { AgentEvent } from "../generated/agent.js";
import type { ModelUsage, Provider } from "../generated/provider.js";
import type { Threadkeep } from "../threadkeep.js";
import { VERSION } from "../version.js";

/** How an agent is traced. */
export interface TraceOptions {
  /** What makes the spans; that of the global provider, under the name `threadkeep`, without it. */
  tracer?: Tracer;
  /** Whether spans have the arguments and results of tools. They may hold what nobody else is to read, so no without it. */
  content?: boolean;
  /** Below which span a turn is, by the id of its node; below none without it. */
  parent?: (node: string) => Context | undefined;
}

const OPTIONS = { tracer: check.unchecked<Tracer>, content: check.flag, parent: check.callback<unknown> } as const;

/** The conventions' names of providers. */
const PROVIDERS: Readonly<Record<Provider, string>> = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "gcp.gemini",
  ollama: "ollama",
};

type Event<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/**
 * Makes spans of what an agent does from now on. A turn is `invoke_agent`. Below it are `chat` for each request to the model, `execute_tool`
 * for each call of a tool, and `compact` for a compaction. Requests have model, provider and tokens, cached ones too. A failure has the
 * status of an error, and its code as `error.type`.
 *
 * @returns a function that ends it, and the spans that are open
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * import { traceAgent } from "threadkeep/otel";
 *
 * const stop = traceAgent(agent);
 * await agent.send("What colour is the sky?");
 * ```
 */
export function traceAgent(agent: Agent, options?: TraceOptions): () => void {
  const { tracer = trace.getTracer("threadkeep", VERSION), content = false, parent } = check.options(options, "options", OPTIONS) as TraceOptions;
  const turns = new Map<string, TracedTurn>();
  const hear = (event: AgentEvent, keep: Threadkeep): void => {
    if (event.type === "sent") return;
    const { node } = event;
    if (event.type === "began") {
      // One that ended with an error of the store has told nobody.
      turns.get(node)?.end();
      const above = parent?.(node) ?? context.active();
      const attributes = { ...operation("invoke_agent"), "gen_ai.agent.name": agent.name, "threadkeep.node": node, "threadkeep.resumed": event.resumed };
      const turn = new TracedTurn(tracer, tracer.startSpan(`invoke_agent ${agent.name}`, { kind: SpanKind.INTERNAL, attributes }, above), above, content);
      turns.set(node, turn);
      void turn.learn(async (span) => {
        const transcript = (await keep.node(node))?.transcript;
        if (transcript !== undefined) span.setAttribute("gen_ai.conversation.id", transcript);
      });
      return;
    }
    const turn = turns.get(node);
    if (turn === undefined) return;
    if (event.type === "asked") {
      turn.asked(async (span) => {
        const record = (await keep.requests.list(node)).find(({ id }) => id === event.request);
        if (record === undefined) return;
        span.updateName(`chat ${record.model}`);
        span.setAttributes({ "gen_ai.request.model": record.model, "gen_ai.provider.name": PROVIDERS[record.provider], "threadkeep.request": record.id });
      }, event);
    } else turn.heard(event);
    if (event.type === "ended") turns.delete(node);
  };
  const unwatch = watched(agent, (event, keep) => {
    try {
      hear(event, keep);
    } catch (error) {
      reportUncaught(error);
    }
  });
  return () => {
    unwatch();
    for (const turn of turns.values()) turn.end();
    turns.clear();
  };
}

/** The spans of one turn. */
class TracedTurn {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  readonly #content: boolean;
  /** What is open below the turn: the request, the compaction, calls by their ids. */
  readonly #open = new Map<string, Span>();
  /** What is still being found out of a span. It ends after that, with the time at which it was over. */
  readonly #learning = new Map<Span, Promise<void>>();

  constructor(tracer: Tracer, span: Span, above: Context, content: boolean) {
    this.#tracer = tracer;
    this.#span = span;
    this.#context = trace.setSpan(above, span);
    this.#content = content;
  }

  /** Adds to a span what takes a question to know. */
  learn(find: (span: Span) => Promise<void>, span = this.#span): void {
    // Without the answer the span is the poorer, and no less true.
    this.#learning.set(
      span,
      find(span).catch(() => undefined),
    );
  }

  asked(find: (span: Span) => Promise<void>, { tokens }: Event<"asked">): void {
    const span = this.#begin("chat", "chat", SpanKind.CLIENT, { ...operation("chat"), "threadkeep.prompt_tokens": tokens });
    this.learn(find, span);
  }

  heard(event: Exclude<AgentEvent, Event<"began" | "asked" | "sent">>): void {
    switch (event.type) {
      case "delta":
        if ("retry" in event) this.#open.get("chat")?.addEvent("retry", { attempt: event.attempt, wait_ms: event.wait, reason: event.retry });
        return;
      case "said":
        this.#open.get("chat")?.setAttributes(usage(event));
        this.#end("chat");
        return;
      case "calling": {
        const attributes: Attributes = {
          ...operation("execute_tool"),
          "gen_ai.tool.name": event.name,
          "gen_ai.tool.call.id": event.call,
          "gen_ai.tool.type": "function",
        };
        if (this.#content) attributes["gen_ai.tool.call.arguments"] = event.arguments;
        this.#begin(`call ${event.call}`, `execute_tool ${event.name}`, SpanKind.INTERNAL, attributes);
        return;
      }
      case "called":
        if (this.#content) this.#open.get(`call ${event.call}`)?.setAttribute("gen_ai.tool.call.result", event.result);
        this.#end(`call ${event.call}`, event.isError ? ["tool_error", ""] : undefined);
        return;
      case "compacting":
        this.#begin("compact", "compact", SpanKind.INTERNAL, operation("compact"));
        return;
      case "compacted": {
        const { checkpoint, tokensBefore, tokensAfter, error } = event;
        this.#open.get("compact")?.setAttributes({
          "threadkeep.tokens_before": tokensBefore,
          "threadkeep.tokens_after": tokensAfter,
          ...(checkpoint && { "threadkeep.checkpoint": checkpoint }),
        });
        this.#end("compact", error === undefined ? undefined : ["summariser-failed", error]);
        return;
      }
      case "ended": {
        if (event.usage) this.#span.setAttributes(usage(event.usage));
        this.#span.setAttribute("gen_ai.response.finish_reasons", [event.code]);
        this.end(event.outcome === "answered" ? undefined : [event.code, event.reason ?? ""]);
        return;
      }
    }
  }

  /** Ends the turn and what is open below it. */
  end(failure?: [type: string, words: string]): void {
    for (const name of [...this.#open.keys()]) this.#end(name, failure);
    this.#close(this.#span, failure);
  }

  #begin(name: string, title: string, kind: SpanKind, attributes: Attributes): Span {
    this.#end(name);
    const span = this.#tracer.startSpan(title, { kind, attributes }, this.#context);
    this.#open.set(name, span);
    return span;
  }

  #end(name: string, failure?: [type: string, words: string]): void {
    const span = this.#open.get(name);
    this.#open.delete(name);
    if (span !== undefined) this.#close(span, failure);
  }

  #close(span: Span, failure?: [type: string, words: string]): void {
    if (failure !== undefined) {
      span.setAttribute("error.type", failure[0]);
      span.setStatus({ code: SpanStatusCode.ERROR, ...(failure[1] !== "" && { message: failure[1] }) });
    }
    const over = new Date();
    const learning = this.#learning.get(span);
    this.#learning.delete(span);
    if (learning === undefined) span.end(over);
    else void learning.then(() => span.end(over));
  }
}

function operation(name: string): Attributes {
  return { "gen_ai.operation.name": name };
}

function usage({ promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens }: Partial<ModelUsage>): Attributes {
  const all: Attributes = {
    "gen_ai.usage.input_tokens": promptTokens,
    "gen_ai.usage.output_tokens": completionTokens,
    "gen_ai.usage.cache_read.input_tokens": cachedTokens,
    "gen_ai.usage.cache_creation.input_tokens": cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": reasoningTokens,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
