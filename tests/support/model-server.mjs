// A server that answers as model providers do, for tests: OpenAI Chat Completions and Responses, Anthropic Messages, Gemini and
// Ollama, streamed or whole, with faults on demand. It knows no model: what it says is what a test told it to say.
//
//   import { startModelServer } from "../support/model-server.mjs";
//   const server = await startModelServer();
//   server.next({ text: "Good day." }, { fault: "status", status: 429, retryAfter: 1 });   // one for each request to come
//   server.always = (request) => ({ text: `You said: ${request.said}` });                   // for requests beyond those
//   const connection = { provider: "openai-chat", baseUrl: server.baseUrl("openai-chat"), model: "test-model" };
//   …
//   server.requests   // what came: [{ method, path, headers, body, text, said, aborted }]
//   await server.close();
//
// An answer: {
//   text?, reasoning?,                    // what is said and thought
//   calls?: [{ name, arguments, id? }],   // arguments: text or a value
//   usage?: { prompt, completion, cached? } | "negative" | "text" | "absurd" | null,   // null: none
//   finish?,                              // the provider's own word; by default that for a stop, or for tool calls
//   pieces?: 4,                           // how many characters of text or arguments each delta has
//   chunk?,                               // how many bytes are written at a time; by default an event
//   delay?: 0,                            // milliseconds between two events
//   stream?: true,                        // false: a whole answer although a stream was asked for
//   fault?, …                             // one of those below
// }
//
// Faults: {
//   "status":    an error of `status` with `message`, `code`, `type`, `retryAfter` (seconds or a date), `retryAfterMs`, `body` (as it stands)
//   "too-long":  the provider's own words for a prompt that does not fit
//   "refuse":    the connection is closed before any answer
//   "cut":       the connection is destroyed in the middle of an event; `after` events (default 2)
//   "end":       the answer ends properly, but in the middle of an event
//   "stall":     silence after `after` events (default 0: after the headers)
//   "silence":   silence before the headers
//   "garbage":   an event that is no JSON, after `after` events (default 1)
//   "html":      a web page with status 200
//   "empty":     status 200 and nothing
//   "error":     an error inside the stream, after `after` events (default 1), with `status`, `message`, `code`, `type`
//   "arguments": the first call's arguments are not valid JSON
//   "index":     all calls bear the index 0 and no id (OpenAI chat)
// }
//
// startModelServer({ port?, key?, cors? }): `key` is asked for as each provider asks for it; `cors: false` answers pages without the
// headers that let them read (like Ollama without OLLAMA_ORIGINS).

import { createServer } from "node:http";

const MODELS = [{ id: "test-model", context: 32768, output: 4096 }, { id: "small-model", context: 2048, output: 512 }];

/** What a server says when nobody told it anything. */
const parrot = (request) => ({ text: `You said: ${request.said}` });

/** Starts a server on a free port of this machine (or on `port`). */
export async function startModelServer({ port = 0, key = null, cors = true } = {}) {
  const open = new Set();
  const state = { cors, key, queue: [], always: parrot, requests: [] };
  const server = createServer((request, response) => {
    handle(state, request, response).catch((error) => response.destroy(error));
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  const origin = `http://localhost:${server.address().port}`;
  return {
    /** `http://localhost:port`. */
    origin,
    port: server.address().port,
    /** All requests that came, in their order. */
    requests: state.requests,
    /** Answers for the next requests, one each. */
    next: (...answers) => void state.queue.push(...answers),
    /** What is answered when none of those is left. */
    set always(answer) {
      state.always = answer;
    },
    /** Whether pages may read answers. */
    set cors(allowed) {
      state.cors = allowed;
    },
    /** The `baseUrl` of a connection of this provider. */
    baseUrl: (provider) => origin + ({ gemini: "/v1beta", anthropic: "", ollama: "" }[provider] ?? "/v1"),
    /** Forgets what came and what was to be said. */
    reset: () => {
      state.queue.length = 0;
      state.requests.length = 0;
      state.always = parrot;
    },
    close: () => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function handle(state, incoming, response) {
  const path = new URL(incoming.url, "http://localhost").pathname;
  if (state.cors) {
    response.setHeader("access-control-allow-origin", incoming.headers.origin ?? "*");
    response.setHeader("access-control-allow-headers", incoming.headers["access-control-request-headers"] ?? "*");
    response.setHeader("access-control-allow-methods", "GET, POST, OPTIONS");
    response.setHeader("access-control-expose-headers", "retry-after, retry-after-ms");
  }
  if (incoming.method === "OPTIONS") return void response.writeHead(state.cors ? 204 : 403).end();
  if (!state.cors && incoming.headers.origin) return void response.writeHead(403).end();

  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
  const wire = wireOf(path);
  const body = text === "" ? null : JSON.parse(text);
  const request = { method: incoming.method, path: incoming.url, headers: incoming.headers, body, text, said: said(body), aborted: false };
  response.on("close", () => (request.aborted = !response.writableFinished));
  if (incoming.method === "POST") state.requests.push(request);

  if (state.key !== null && !hasKey(incoming.headers, state.key)) {
    return json(response, 401, wire.error?.({ status: 401, message: "Incorrect API key provided", type: "authentication_error" }) ?? {});
  }
  if (incoming.method === "GET") {
    const list = lists[path];
    if (list) return json(response, 200, list());
    if (path === "/") return void response.end("The model server of the tests is running.");
  }
  if (!wire.events || incoming.method !== "POST") return json(response, 404, { error: { message: `there is nothing at ${path}` } });

  const next = state.queue.length > 0 ? state.queue.shift() : state.always;
  // Gemini says it in the address.
  const asked = path.endsWith(":generateContent") ? { ...body, stream: false } : body;
  await answer(wire, typeof next === "function" ? await next(request) : next, asked, response);
}

async function answer(wire, given, body, response) {
  const say = { text: "", pieces: 4, delay: 0, stream: true, calls: [], ...given };
  say.calls = say.calls.map((call, at) => ({
    id: `call_${at}`,
    ...call,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }));
  if (say.fault === "arguments" && say.calls.length > 0) say.calls[0].arguments = say.calls[0].arguments.replace(/[}\]]*$/, ", oops");
  say.usage = usage(say);
  const model = body?.model ?? "test-model";
  switch (say.fault) {
    case "refuse":
      return void response.destroy();
    case "silence":
      return;
    case "html":
      response.writeHead(200, { "content-type": "text/html" });
      return void response.end("<!doctype html><html><head><title>Welcome to the router</title></head><body></body></html>");
    case "empty":
      return void response.writeHead(200).end();
    case "status":
    case "too-long": {
      const error = say.fault === "too-long" ? wire.tooLong : { status: 500, message: "It went wrong.", ...say };
      const headers = {};
      if (say.retryAfter !== undefined) headers["retry-after"] = String(say.retryAfter);
      if (say.retryAfterMs !== undefined) headers["retry-after-ms"] = String(say.retryAfterMs);
      return json(response, error.status, say.body ?? wire.error(error), headers);
    }
  }
  if (!say.stream || body?.stream === false) return json(response, 200, wire.whole(say, model));

  const events = wire.events(say, model).map(wire.frame);
  const after = say.after ?? { cut: 2, end: 2, garbage: 1, error: 1 }[say.fault] ?? 0;
  const end = wire.frame === line ? "\n" : "\n\n";
  if (say.fault === "garbage") events.splice(after, 0, wire.frame === line ? "{oops\n" : `data: {oops${end}`);
  if (say.fault === "error") {
    events.splice(after, events.length, wire.frame(wire.streamError({ status: 500, message: "It went wrong on the way.", ...say })));
  }
  response.writeHead(200, { "content-type": wire.frame === line ? "application/x-ndjson" : "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  for (const [at, event] of events.entries()) {
    if (response.destroyed) return;
    if (say.fault === "stall" && at === after) return;
    const broken = (say.fault === "cut" || say.fault === "end") && at === after;
    const bytes = Buffer.from(event);
    const part = broken ? bytes.subarray(0, Math.ceil(bytes.length / 2)) : bytes;
    for (let from = 0; from < part.length; from += say.chunk ?? part.length) {
      response.write(part.subarray(from, from + (say.chunk ?? part.length)));
      if (say.chunk) await wait(0);
    }
    if (broken) {
      await wait(20); // so that what was written arrives
      return void (say.fault === "cut" ? response.destroy() : response.end());
    }
    if (say.delay > 0) await wait(say.delay);
  }
  response.end();
}

function usage(say) {
  if (say.usage === null) return null;
  const wrong = { negative: -5, text: "twelve", absurd: 1e18 }[say.usage];
  if (wrong !== undefined) return { prompt: wrong, completion: wrong };
  return { prompt: 10, completion: Math.max(1, Math.ceil(say.text.length / 4)), ...say.usage };
}

function json(response, status, body, headers = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

/** The last thing that the user said, whatever the provider calls it. */
function said(body) {
  const list = body?.messages ?? body?.input ?? body?.contents ?? [];
  if (typeof list === "string") return list;
  const last = list.filter((message) => message.role === "user").at(-1);
  const content = last?.content ?? last?.parts ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

const hasKey = (headers, key) =>
  headers.authorization === `Bearer ${key}` || headers["x-api-key"] === key || headers["x-goog-api-key"] === key;

const pieces = (text, size) => text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
const lists = {
  "/v1/models": () => ({ object: "list", data: MODELS.map(({ id, context }) => ({ id, object: "model", max_model_len: context })) }),
  "/v1beta/models": () => ({
    models: [
      ...MODELS.map(({ id, context, output }) => ({
        name: `models/${id}`, inputTokenLimit: context, outputTokenLimit: output, supportedGenerationMethods: ["generateContent"],
      })),
      { name: "models/embedder", supportedGenerationMethods: ["embedContent"] },
    ],
  }),
  "/api/tags": () => ({ models: MODELS.map(({ id }) => ({ name: id, model: id, size: 1 })) }),
};

// How an event becomes bytes.
const line = (value) => `${JSON.stringify(value)}\n`;
const data = (value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
const named = (value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;

const openaiError = ({ message, code = null, type = "server_error" }) => ({ error: { message, type, param: null, code } });

const chat = {
  frame: data,
  error: openaiError,
  streamError: openaiError,
  tooLong: {
    status: 400, type: "invalid_request_error", code: "context_length_exceeded",
    message: "This model's maximum context length is 2048 tokens. However, your messages resulted in 9000 tokens.",
  },
  usage: ({ prompt, completion, cached }) => ({
    prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion,
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  }),
  events(say, model) {
    const chunk = (delta, finish_reason = null) => ({ id: "chatcmpl-1", object: "chat.completion.chunk", model, choices: [{ index: 0, delta, finish_reason }] });
    const call = (index, rest) => {
      if (say.fault === "index") [index, rest.id] = [0, undefined];
      return chunk({ tool_calls: [{ index, ...rest }] });
    };
    return [
      chunk({ role: "assistant", content: "" }),
      ...pieces(say.reasoning ?? "", say.pieces).map((reasoning_content) => chunk({ reasoning_content })),
      ...pieces(say.text, say.pieces).map((content) => chunk({ content })),
      ...say.calls.flatMap(({ id, name, arguments: given }, at) => [
        call(at, { id, type: "function", function: { name, arguments: "" } }),
        ...pieces(given, say.pieces).map((part) => call(at, { function: { arguments: part } })),
      ]),
      chunk({}, say.finish ?? (say.calls.length > 0 ? "tool_calls" : "stop")),
      ...(say.usage === null ? [] : [{ id: "chatcmpl-1", object: "chat.completion.chunk", model, choices: [], usage: this.usage(say.usage) }]),
      "[DONE]",
    ];
  },
  whole(say, model) {
    const tool_calls = say.calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } }));
    const message = {
      role: "assistant", content: say.text === "" && tool_calls.length > 0 ? null : say.text,
      ...(say.reasoning ? { reasoning_content: say.reasoning } : {}), ...(tool_calls.length > 0 ? { tool_calls } : {}),
    };
    const finish_reason = say.finish ?? (tool_calls.length > 0 ? "tool_calls" : "stop");
    return {
      id: "chatcmpl-1", object: "chat.completion", model, choices: [{ index: 0, message, finish_reason }],
      ...(say.usage === null ? {} : { usage: this.usage(say.usage) }),
    };
  },
};

const responses = {
  frame: named,
  error: openaiError,
  streamError: ({ message, code = "server_error" }) => ({ type: "error", code, message, param: null }),
  tooLong: chat.tooLong,
  whole(say, model) {
    const output = [
      ...(say.reasoning ? [{ id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: say.reasoning }], encrypted_content: "c2VhbGVk" }] : []),
      ...(say.text === "" ? [] : [{ id: "msg_1", type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: say.text, annotations: [] }] }]),
      ...say.calls.map(({ id, name, arguments: given }, at) => ({ id: `fc_${at}`, type: "function_call", status: "completed", call_id: id, name, arguments: given })),
    ];
    const usage = say.usage && {
      input_tokens: say.usage.prompt, output_tokens: say.usage.completion, input_tokens_details: { cached_tokens: say.usage.cached ?? 0 },
    };
    return { id: "resp_1", object: "response", status: "completed", error: null, incomplete_details: null, model, output, usage };
  },
  events(say, model) {
    const response = this.whole(say, model);
    const begun = { ...response, status: "in_progress", output: [], usage: null };
    const items = response.output.flatMap((item, output_index) => {
      const at = { output_index, item_id: item.id };
      const empty = { reasoning: { summary: [] }, message: { content: [] }, function_call: { arguments: "" } }[item.type];
      const parts = {
        reasoning: () => [
          { type: "response.reasoning_summary_part.added", ...at, summary_index: 0, part: { type: "summary_text", text: "" } },
          ...pieces(say.reasoning, say.pieces).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, summary_index: 0, delta })),
        ],
        message: () => pieces(say.text, say.pieces).map((delta) => ({ type: "response.output_text.delta", ...at, content_index: 0, delta })),
        function_call: () => pieces(item.arguments, say.pieces).map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta })),
      }[item.type]();
      return [
        { type: "response.output_item.added", output_index, item: { ...item, ...empty } },
        ...parts,
        { type: "response.output_item.done", output_index, item },
      ];
    });
    return [{ type: "response.created", response: begun }, ...items, { type: "response.completed", response }];
  },
};

const anthropicError = ({ message, type = "api_error" }) => ({ type: "error", error: { type, message } });

const anthropic = {
  frame: named,
  error: anthropicError,
  streamError: anthropicError,
  tooLong: { status: 400, type: "invalid_request_error", message: "prompt is too long: 9000 tokens > 2048 maximum" },
  blocks: (say) => [
    ...(say.reasoning ? [{ type: "thinking", thinking: say.reasoning, signature: "c2lnbmVk" }] : []),
    ...(say.text === "" ? [] : [{ type: "text", text: say.text }]),
    ...say.calls.map(({ id, name, arguments: given }) => ({ type: "tool_use", id, name, given })),
  ],
  usage: ({ prompt, completion, cached = 0 }) => ({
    input_tokens: typeof prompt === "number" && prompt > cached ? prompt - cached : prompt, cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0, output_tokens: completion,
  }),
  stop: (say) => say.finish ?? (say.calls.length > 0 ? "tool_use" : "end_turn"),
  events(say, model) {
    const usage = say.usage === null ? undefined : this.usage(say.usage);
    const blocks = this.blocks(say).flatMap((block, index) => {
      const delta = (delta) => ({ type: "content_block_delta", index, delta });
      const { given, ...rest } = block;
      const [begin, deltas] = {
        thinking: () => [
          { ...rest, thinking: "", signature: "" },
          [...pieces(block.thinking, say.pieces).map((thinking) => delta({ type: "thinking_delta", thinking })), delta({ type: "signature_delta", signature: block.signature })],
        ],
        text: () => [{ ...rest, text: "" }, pieces(block.text, say.pieces).map((text) => delta({ type: "text_delta", text }))],
        tool_use: () => [{ ...rest, input: {} }, pieces(given, say.pieces).map((partial_json) => delta({ type: "input_json_delta", partial_json }))],
      }[block.type]();
      return [{ type: "content_block_start", index, content_block: begin }, { type: "ping" }, ...deltas, { type: "content_block_stop", index }];
    });
    return [
      { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, usage: usage && { ...usage, output_tokens: 1 } } },
      ...blocks,
      { type: "message_delta", delta: { stop_reason: this.stop(say), stop_sequence: null }, usage: usage && { output_tokens: usage.output_tokens } },
      { type: "message_stop" },
    ];
  },
  whole(say, model) {
    const content = this.blocks(say).map(({ given, ...block }) => (given === undefined ? block : { ...block, input: JSON.parse(given) }));
    return {
      id: "msg_1", type: "message", role: "assistant", model, content, stop_reason: this.stop(say), stop_sequence: null,
      ...(say.usage === null ? {} : { usage: this.usage(say.usage) }),
    };
  },
};

const geminiError = ({ status, message, code }) => ({ error: { code: status, message, status: code ?? "INTERNAL" } });

const gemini = {
  frame: data,
  error: geminiError,
  streamError: geminiError,
  tooLong: { status: 400, code: "INVALID_ARGUMENT", message: "The input token count (9000) exceeds the maximum number of tokens allowed (2048)." },
  usage: ({ prompt, completion, cached }) => ({
    promptTokenCount: prompt, candidatesTokenCount: completion, totalTokenCount: prompt + completion,
    ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
  }),
  events(say, model) {
    const chunk = (parts, rest = {}) => ({ candidates: [{ content: { role: "model", parts }, index: 0, ...rest }], modelVersion: model });
    const usage = say.usage === null ? {} : { usageMetadata: this.usage(say.usage) };
    // Arguments come whole here; what is not JSON cannot be sent.
    const call = ({ name, arguments: given }, at) => {
      let args;
      try {
        args = JSON.parse(given);
      } catch {
        args = { malformed: given };
      }
      return { functionCall: { name, args }, ...(at === 0 ? { thoughtSignature: "c2lnbmVk" } : {}) };
    };
    return [
      ...pieces(say.reasoning ?? "", say.pieces).map((text) => chunk([{ text, thought: true }])),
      ...pieces(say.text, say.pieces).map((text) => chunk([{ text }])),
      ...(say.calls.length > 0 ? [chunk(say.calls.map(call))] : []),
      { ...chunk([{ text: "" }], { finishReason: say.finish ?? "STOP" }), ...usage },
    ];
  },
  whole(say, model) {
    const events = this.events({ ...say, pieces: 1e6 }, model);
    const parts = events.flatMap((event) => event.candidates[0].content.parts);
    return { ...events.at(-1), candidates: [{ content: { role: "model", parts }, finishReason: say.finish ?? "STOP", index: 0 }] };
  },
};

const ollama = {
  frame: line,
  error: ({ message }) => ({ error: message }),
  streamError: ({ message }) => ({ error: message }),
  tooLong: { status: 400, message: "the input length exceeds the context length" },
  end: (say) => ({
    done: true, done_reason: say.finish ?? "stop", total_duration: 1,
    ...(say.usage === null ? {} : { prompt_eval_count: say.usage.prompt, eval_count: say.usage.completion }),
  }),
  calls: (say) => say.calls.map(({ name, arguments: given }) => {
    let value = given;
    try {
      value = JSON.parse(given);
    } catch {
      // Malformed arguments stay text.
    }
    return { function: { name, arguments: value } };
  }),
  events(say, model) {
    const chunk = (message, rest = { done: false }) => ({ model, created_at: "2026-01-01T00:00:00Z", message: { role: "assistant", content: "", ...message }, ...rest });
    return [
      ...pieces(say.reasoning ?? "", say.pieces).map((thinking) => chunk({ thinking })),
      ...pieces(say.text, say.pieces).map((content) => chunk({ content })),
      ...this.calls(say).map((call) => chunk({ tool_calls: [call] })),
      chunk({}, this.end(say)),
    ];
  },
  whole(say, model) {
    const message = {
      role: "assistant", content: say.text, ...(say.reasoning ? { thinking: say.reasoning } : {}),
      ...(say.calls.length > 0 ? { tool_calls: this.calls(say) } : {}),
    };
    return { model, created_at: "2026-01-01T00:00:00Z", message, ...this.end(say) };
  },
};

function wireOf(path) {
  if (path.endsWith("/chat/completions")) return chat;
  if (path.endsWith("/responses")) return responses;
  if (path.endsWith("/messages")) return anthropic;
  if (/\/models\/[^/]+:(streamG|g)enerateContent$/.test(path)) return gemini;
  if (path === "/api/chat") return ollama;
  return {};
}
