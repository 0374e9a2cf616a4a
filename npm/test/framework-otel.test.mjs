// OpenTelemetry: an agent's turns as spans, in the names of the semantic conventions for generative AI.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createAgent, memory } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { traceAgent } = await import(pathToFileURL(join(installed, "dist/frameworks/otel.js")).href);

const USAGE = { prompt_tokens: 120, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 100 }, completion_tokens_details: { reasoning_tokens: 3 } };
const says = (content) => ({ choices: [{ finish_reason: "stop", message: { role: "assistant", content } }], usage: USAGE });
const calls = (name, args) => ({
  choices: [
    {
      finish_reason: "tool_calls",
      message: { role: "assistant", content: null, tool_calls: [{ id: "call-1", type: "function", function: { name, arguments: args } }] },
    },
  ],
  usage: USAGE,
});

/** An agent whose model answers these, with its spans, innermost last. */
async function traced(answers, { options, ...more } = {}) {
  const keep = await memory({ encoding: "estimate" });
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tools = {
    weather: {
      description: "The weather.",
      parameters: { type: "object", properties: { town: { type: "string" } } },
      execute: ({ town }) => `rain in ${town}`,
    },
  };
  const model = () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const agent = createAgent({ keep, name: "lal", modelName: "gpt-4o-mini", model, tools, ...more });
  const stop = traceAgent(agent, { tracer: provider.getTracer("test"), ...options });
  const spans = async () => {
    // What takes a question to know comes a moment later.
    for (let at = 0; at < 100 && !exporter.getFinishedSpans().some(({ name }) => name.startsWith("invoke_agent")); at += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    return exporter.getFinishedSpans();
  };
  return { keep, agent, stop, spans, exporter };
}

const named = (spans, name) => {
  const found = spans.filter((span) => span.name === name);
  assert.ok(found.length > 0, `${name} among ${spans.map((span) => span.name)}`);
  return found[0];
};

test("a turn with a tool call is a tree of spans with model, provider and tokens", async () => {
  const { keep, agent, spans } = await traced([calls("weather", '{"town":"Oslo"}'), says("It rains.")]);
  const { reply } = await agent.send("How is the weather in Oslo?");
  const all = await spans();
  const turn = named(all, "invoke_agent lal");
  const { id, transcript } = await keep.node(reply.messageId);
  assert.equal(turn.kind, SpanKind.INTERNAL);
  assert.equal(turn.status.code, SpanStatusCode.UNSET);
  assert.deepEqual(turn.attributes, {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "lal",
    "gen_ai.conversation.id": transcript,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 240,
    "gen_ai.usage.output_tokens": 14,
    "gen_ai.usage.cache_read.input_tokens": 200,
    "gen_ai.usage.reasoning.output_tokens": 6,
    "threadkeep.node": id,
    "threadkeep.resumed": false,
  });
  const chats = all.filter(({ name }) => name === "chat gpt-4o-mini");
  assert.equal(chats.length, 2);
  for (const chat of chats) {
    assert.equal(chat.kind, SpanKind.CLIENT);
    assert.equal(chat.parentSpanContext.spanId, turn.spanContext().spanId);
    assert.equal(chat.attributes["gen_ai.request.model"], "gpt-4o-mini");
    assert.equal(chat.attributes["gen_ai.provider.name"], "openai");
    assert.equal(chat.attributes["gen_ai.usage.input_tokens"], 120);
    assert.ok(chat.attributes["threadkeep.prompt_tokens"] > 0);
  }
  const tool = named(all, "execute_tool weather");
  assert.equal(tool.parentSpanContext.spanId, turn.spanContext().spanId);
  assert.deepEqual(tool.attributes, {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "weather",
    "gen_ai.tool.call.id": "call-1",
    "gen_ai.tool.type": "function",
  });
  assert.ok(!JSON.stringify(all.map(({ attributes }) => attributes)).includes("Oslo"), "no words of the conversation");
});

test("arguments and results are in the spans if that is wanted, below a span of the caller's", async () => {
  const { agent, spans, exporter } = await traced([calls("weather", '{"town":"Oslo"}'), says("It rains.")], {
    options: { content: true, parent: () => trace.setSpan(context.active(), outer) },
  });
  const outer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer("outer").startSpan("request");
  await agent.send("How is the weather in Oslo?");
  const all = await spans();
  assert.equal(named(all, "invoke_agent lal").parentSpanContext.spanId, outer.spanContext().spanId);
  const tool = named(all, "execute_tool weather");
  assert.equal(tool.attributes["gen_ai.tool.call.arguments"], '{"town":"Oslo"}');
  assert.equal(tool.attributes["gen_ai.tool.call.result"], "rain in Oslo");
});

test("what fails has the status of an error: a tool, a model, a turn", async () => {
  const broken = { weather: { description: "The weather.", parameters: { type: "object" }, execute: () => Promise.reject(new Error("no sky")) } };
  const { agent, spans } = await traced([calls("weather", "{}"), new Error("the model is away")], { tools: broken });
  const { outcome } = await agent.send("How is the weather?");
  assert.equal(outcome, "failed");
  const all = await spans();
  for (const [name, type] of [
    ["execute_tool weather", "tool_error"],
    ["invoke_agent lal", /./],
  ]) {
    const { status, attributes } = named(all, name);
    assert.equal(status.code, SpanStatusCode.ERROR, name);
    assert.match(attributes["error.type"], new RegExp(type));
  }
  assert.ok(all.filter(({ name }) => name.startsWith("chat")).some(({ status }) => status.code === SpanStatusCode.ERROR));
});

test("compactions are spans, too, and after its end nothing is", async () => {
  const long = (at) => says(`${at} ${"and so on with many more words than one would want ".repeat(20)}`);
  const { agent, spans, stop, exporter } = await traced([long(1), long(2), long(3), long(4), says("after")], {
    compaction: { maxContextTokens: 4_000, compactionThreshold: 300, keepTurns: 1 },
  });
  let replyTo;
  for (const at of [1, 2, 3]) replyTo = (await agent.send(`question ${at} ${"with words ".repeat(30)}`, { ...(replyTo && { replyTo }) })).reply;
  const compact = named(await spans(), "compact");
  assert.ok(compact.attributes["threadkeep.tokens_before"] >= compact.attributes["threadkeep.tokens_after"]);
  stop();
  exporter.reset();
  await agent.send("and now?", { replyTo });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(exporter.getFinishedSpans(), []);
  assert.throws(() => traceAgent(agent, { contents: true }), { code: "bad-request" });
});
