// What a model's server may do: one reader for connections and for functions, no redirects, and limits.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { ThreadkeepError, connect, createAgent, memory } from "./support/expect.mjs";

/** A server that answers each request as `answer(request, response)` says; what it was sent is in `requests`. */
async function serve(answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    requests.push({ url: request.url, headers: request.headers, body });
    answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => (server.closeAllConnections(), server.close()));
  return { requests, origin: `http://127.0.0.1:${server.address().port}` };
}

const sse = (values) => values.map((value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`).join("");
const events = (values) => values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join("");
const chunk = (delta, finish_reason = null) => ({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
const call = (rest) => chunk({ tool_calls: [rest] });

/** Recorded answers, by provider: what servers send, and what of it is stored. */
const RECORDED = {
  "openai-chat": {
    "two calls without an index or an id": [
      sse([
        call({ function: { name: "add", arguments: '{"x":1}' } }),
        call({ function: { name: "add", arguments: '{"y":2}' } }),
        chunk({}, "tool_calls"),
        "[DONE]",
      ]),
      {
        calls: [
          ["add", '{"x":1}'],
          ["add", '{"y":2}'],
        ],
      },
    ],
    "two calls of one index with ids of their own": [
      sse([
        call({ index: 0, id: "a", function: { name: "add", arguments: '{"x":' } }),
        call({ index: 0, function: { arguments: "1}" } }),
        call({ index: 0, id: "b", function: { name: "add", arguments: "{}" } }),
        chunk({}, "tool_calls"),
      ]),
      {
        calls: [
          ["add", '{"x":1}'],
          ["add", "{}"],
        ],
      },
    ],
    "arguments that are an object": [
      sse([call({ id: "a", function: { name: "add", arguments: { x: 1 } } }), chunk({}, "tool_calls")]),
      { calls: [["add", '{"x":1}']] },
    ],
    "content as a list of parts": [
      sse([
        chunk({
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
            { type: "text", text: "Good " },
          ],
        }),
        chunk({ content: [{ type: "text", text: "day." }] }, "stop"),
      ]),
      { text: "Good day.", reasoning: "Hm." },
    ],
    "a whole answer with content as a list": [
      JSON.stringify({
        object: "chat.completion",
        choices: [{ message: { role: "assistant", content: [{ type: "text", text: "Whole." }] }, finish_reason: "stop" }],
      }),
      { text: "Whole." },
    ],
    "a whole answer without a reason to end": [
      JSON.stringify({ object: "chat.completion", choices: [{ message: { role: "assistant", content: "Whole." } }] }),
      { text: "Whole." },
    ],
    "thinking in the text": [sse([chunk({ content: "<think>Hm.</think>Yes." }, "stop")]), { text: "Yes.", reasoning: "Hm." }],
    "a call in the text": [sse([chunk({ content: '<tool_call>{"name": "add", "arguments": {"x": 1}}</tool_call>' }, "stop")]), { calls: [["add", '{"x":1}']] }],
    "a usage in each chunk": [
      sse([
        { ...chunk({ content: "Yes." }), usage: { prompt_tokens: 5, completion_tokens: 1 } },
        { ...chunk({}, "stop"), usage: { prompt_tokens: 5, completion_tokens: 2 } },
      ]),
      { text: "Yes.", usage: [5, 2] },
    ],
    "a refusal": [sse([chunk({ refusal: "No." }, "stop")]), { text: "No." }],
    "a stream that was cut": [sse([chunk({ content: "Half" })]), { failed: "cut-off" }],
    "an error in the stream": [sse([chunk({ content: "Half" }), { error: { message: "No room.", type: "overloaded_error" } }]), { failed: "overloaded" }],
  },
  anthropic: {
    "thinking, text and calls": [
      events([
        {
          type: "message_start",
          message: { type: "message", role: "assistant", content: [], usage: { input_tokens: 7, cache_read_input_tokens: 3, output_tokens: 1 } },
        },
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
        { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
        { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Two sums." } },
        { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t1", name: "add", input: {} } },
        { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"x":1}' } },
        { type: "content_block_start", index: 3, content_block: { type: "tool_use", id: "t2", name: "add", input: {} } },
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
        { type: "message_stop" },
      ]),
      {
        text: "Two sums.",
        reasoning: "Hm.",
        calls: [
          ["add", '{"x":1}'],
          ["add", ""],
        ],
        usage: [10, 9],
      },
    ],
    "a whole message": [
      JSON.stringify({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "Whole." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 2, output_tokens: 3 },
      }),
      { text: "Whole.", usage: [2, 3] },
    ],
    "a stream that was cut": [events([{ type: "message_start", message: { type: "message", content: [] } }]), { failed: "cut-off" }],
  },
  "openai-responses": {
    "a call and its usage": [
      events([
        { type: "response.output_item.added", output_index: 0, item: { type: "function_call", call_id: "c", name: "add", arguments: "" } },
        { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"x":1}' },
        {
          type: "response.completed",
          response: {
            object: "response",
            status: "completed",
            output: [{ type: "function_call", call_id: "c", name: "add", arguments: '{"x":1}' }],
            usage: { input_tokens: 4, output_tokens: 2 },
          },
        },
      ]),
      { calls: [["add", '{"x":1}']], usage: [4, 2] },
    ],
  },
  gemini: {
    "a text": [
      sse([
        { candidates: [{ content: { parts: [{ text: "Good " }] } }] },
        { candidates: [{ content: { parts: [{ text: "day." }] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2 } },
      ]),
      { text: "Good day.", usage: [4, 2] },
    ],
  },
  ollama: {
    "a text": [
      [
        { message: { role: "assistant", content: "Good " }, done: false },
        { message: { role: "assistant", content: "day." }, done: true, done_reason: "stop", prompt_eval_count: 4, eval_count: 2 },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
      { text: "Good day.", usage: [4, 2] },
    ],
  },
};

/** Asks a model for one answer; gives what was stored of it. */
async function stored(model, provider) {
  const keep = await memory({ encoding: "estimate" });
  const agent = createAgent({ keep, model, modelName: "m", provider, builtIn: [], limits: { steps: 1 }, tools: { add: { execute: () => "done" } } });
  const turn = agent.send("hi");
  let usage;
  for await (const event of turn) if (event.type === "said" && event.promptTokens !== undefined) usage = [event.promptTokens, event.completionTokens];
  const { node } = await turn;
  const said = (await keep.node(node)).messages.find(({ role }) => role === "assistant");
  await keep.close();
  return said === undefined ? {} : { ...said, ids: undefined, tool_calls: said.tool_calls?.map(({ id: _, ...rest }) => rest), usage };
}

const items = (body, type) => {
  if (type === "application/json") return JSON.parse(body);
  const lines =
    type === "text/event-stream"
      ? body
          .split("\n")
          .filter((line) => line.startsWith("data: "))
          .map((line) => line.slice(6))
      : body.split("\n");
  return (async function* () {
    for (const line of lines) if (line !== "" && line !== "[DONE]") yield JSON.parse(line);
  })();
};

for (const [provider, answers] of Object.entries(RECORDED))
  for (const [name, [body, expected]] of Object.entries(answers))
    test(`${provider}, ${name}: a connection and a model's function read the same`, async () => {
      const type = body.startsWith("{") ? (provider === "ollama" ? "application/x-ndjson" : "application/json") : "text/event-stream";
      const { origin } = await serve((_, response) => response.writeHead(200, { "content-type": type }).end(body));
      const readers = {
        connection: connect({ provider, baseUrl: origin, model: "m" }),
        "function with a response": () => new Response(body, { headers: { "content-type": type } }),
        "function with a client's items": () => items(body, type),
      };
      let first;
      for (const [reader, model] of Object.entries(readers)) {
        const { kind, ...said } = await stored(model, provider);
        const calls = said.tool_calls?.map(({ function: { name, arguments: given } }) => [name, given]);
        assert.equal(kind?.code === "limited" ? undefined : kind?.code, expected.failed, reader);
        if (expected.failed !== undefined) continue;
        assert.deepEqual(
          [said.content ?? "", said.reasoning, calls, said.usage],
          [expected.text ?? "", expected.reasoning, expected.calls, expected.usage],
          reader,
        );
        first ??= said;
        assert.deepEqual(said, first, `${reader}: all that is stored`);
      }
    });

const KEY = "sk-test-0123456789";

for (const status of [301, 302, 303, 307, 308])
  test(`a redirect with ${status} takes neither the key nor the prompt to another origin`, async () => {
    const thief = await serve((_, response) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ choices: [{ message: { content: "Thanks for the key." }, finish_reason: "stop" }] })),
    );
    const server = await serve((_, response) => response.writeHead(status, { location: `${thief.origin}/take?key=${KEY}` }).end());
    for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]) {
      const model = connect({ provider, baseUrl: server.origin, model: "m", apiKey: KEY });
      const { kind } = await stored(model, provider);
      assert.equal(kind.code, "refused", kind.reason);
      assert.ok(kind.reason.includes(`${thief.origin}/take`) && !kind.reason.includes(KEY), kind.reason);
      await assert.rejects(model.models(), (error) => error.code === "refused" && error.message.includes(thief.origin));
      await assert.rejects(
        async () => model.summarize({ messages: [{ role: "user", content: "secret" }], signal: new AbortController().signal }),
        (error) => error.code === "refused",
      );
    }
    assert.deepEqual(thief.requests, []);
    assert.equal(server.requests.length, 15, "nothing is tried again");
    // A function that has not forbidden it is told.
    const post =
      (redirect) =>
      ({ payload, signal }) =>
        fetch(server.origin, { method: "POST", body: JSON.stringify(payload), signal, redirect });
    for (const redirect of ["manual", "follow"]) {
      const { kind } = await stored(post(redirect), "openai-chat");
      assert.equal(kind.code, "refused");
      assert.ok(kind.reason.includes(`${thief.origin}/take`) && !kind.reason.includes(KEY), kind.reason);
    }
  });

/** Sends events for ever. */
const endless = (event, every) => (_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const timer = setInterval(() => response.write(event), every);
  response.on("close", () => clearInterval(timer));
};

test("an answer that never ends ends at a limit, for connections and for functions", async () => {
  const more = sse([chunk({ content: "More and more. " })]);
  const argument = sse([call({ index: 0, id: "a", function: { name: "add", arguments: "0123456789" } })]);
  let count = 0;
  const calls = () => sse([call({ index: count, id: `c${count++}`, function: { name: "add", arguments: "{}" } })]);
  const cases = [
    [endless(more.repeat(20), 1), { bytes: 10_000 }, /10000 bytes \(`limits\.bytes`\)/, "bad-answer"],
    [endless(argument.repeat(20), 1), { argumentBytes: 1000 }, /1000 bytes of arguments/, "bad-answer"],
    [
      (_, response) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).end(Array.from({ length: 9 }, calls).join("") + sse([chunk({}, "tool_calls")])),
      { calls: 8 },
      /8 tool calls/,
      "bad-answer",
    ],
    [endless(more, 20), { millis: 300 }, /`limits\.millis`/, "stalled"],
    [endless(": keep-alive\n\n", 20), { millis: 300 }, /`limits\.millis`/, "stalled"],
  ];
  for (const [answer, limits, words, code] of cases) {
    const { origin } = await serve(answer);
    const models = {
      connection: connect({ provider: "openai-chat", baseUrl: origin, model: "m", limits }),
      fetch: Object.assign(({ signal }) => fetch(origin, { signal, redirect: "manual" }), { limits }),
      client: Object.assign(({ payload, signal }) => new OpenAI({ apiKey: "k", baseURL: origin, maxRetries: 0 }).chat.completions.create(payload, { signal }), {
        limits,
      }),
    };
    for (const [name, model] of Object.entries(models)) {
      const { kind } = await stored(model, "openai-chat");
      assert.equal(kind?.code, code, `${name}: ${JSON.stringify(limits)}: ${kind?.reason}`);
      assert.match(kind.reason, words, name);
    }
  }
});

test("an endless stream of a client, and of one's own pieces, ends at a limit", async () => {
  const pieces = async function* () {
    for (;;) yield { text: "More and more. " };
  };
  const texts = async function* () {
    for (;;) yield "ä".repeat(500);
  };
  for (const model of [pieces, texts]) {
    const { kind } = await stored(
      Object.assign(() => model(), { limits: { bytes: 5000 } }),
      "openai-chat",
    );
    assert.equal(kind.code, "bad-answer");
  }
  const calls = async function* () {
    for (let index = 0; ; index += 1) yield { index, name: "add", arguments: "{}" };
  };
  assert.match((await stored(() => calls(), "openai-chat")).kind.reason, /256 tool calls/);
  const { origin } = await serve(
    endless(
      events([
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "More. ".repeat(100) } },
      ]),
      1,
    ),
  );
  const client = new Anthropic({ apiKey: "k", baseURL: origin, maxRetries: 0 });
  const { kind } = await stored(
    Object.assign(({ payload, signal }) => client.messages.create(payload, { signal }), { limits: { bytes: 20_000 } }),
    "anthropic",
  );
  assert.equal(kind.code, "bad-answer", kind.reason);
});

test("comments that keep a connection open are no answer", async () => {
  const { origin } = await serve(endless(": keep-alive\n\n", 20));
  const { kind } = await stored(connect({ provider: "openai-chat", baseUrl: origin, model: "m", timeoutMs: 200 }), "openai-chat");
  assert.equal(kind.code, "stalled", kind.reason);
});

test("limits that are none are refused by name", async () => {
  const keep = await memory();
  const refused = (limits, argument) => {
    const right = (error) => error instanceof ThreadkeepError && error.code === "bad-request" && error.message.includes(argument);
    assert.throws(() => connect({ provider: "openai-chat", baseUrl: "http://localhost:1", model: "m", limits }), right);
    assert.throws(() => createAgent({ keep, model: Object.assign(() => "", { limits }) }), right);
  };
  refused({ bytes: 0 }, "limits.bytes");
  refused({ calls: 1.5 }, "limits.calls");
  refused({ size: 5 }, "limits.size");
  await keep.close();
});
