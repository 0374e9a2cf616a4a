// A small server that speaks the OpenAI-compatible wire for tests of the page: it answers from a list of plans, keeps what it was asked,
// and can fail in ways that real servers do. Every text is our own.
import { createServer } from "node:http";

const ALLOW = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-allow-methods": "GET, POST, OPTIONS",
};

/**
 * Starts one. `plan(asked, number)` says what happens with a request for an answer:
 * `{ text }`, `{ pieces, pause }` (milliseconds between pieces), `{ calls: [{ name, arguments }] }`, `{ status, error }`, `{ cut: pieces }`,
 * `{ hold: true }` (goes silent after its pieces); `usage` beside it is what the provider counted. Without a plan it says how many messages it was sent.
 */
export async function serveModel({ key, models = ["tiny-1", "tiny-2"], plan = () => undefined } = {}) {
  const asked = [];
  const bodies = [];
  const heard = [];
  const open = new Set();
  const server = createServer(async (request, response) => {
    heard.push(`${request.method} ${request.url}`);
    if (request.method === "OPTIONS") return response.writeHead(204, ALLOW).end();
    const fail = (status, message) => {
      response.writeHead(status, { ...ALLOW, "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message, code: status } }));
    };
    if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) return fail(401, "That key is not known here.");
    if (request.url.endsWith("/models")) {
      response.writeHead(200, { ...ALLOW, "content-type": "application/json" });
      return response.end(JSON.stringify({ data: models.map((id) => ({ id, context_length: 8192 })) }));
    }
    let body = "";
    for await (const piece of request) body += piece;
    const sent = JSON.parse(body);
    asked.push(sent);
    bodies.push(body);
    const now = plan(sent, asked.length) ?? { text: `I was sent ${sent.messages.length} messages.` };
    if (now.status) return fail(now.status, now.error);
    response.writeHead(200, { ...ALLOW, "content-type": "text/event-stream" });
    open.add(response);
    response.on("close", () => open.delete(response));
    const say = (delta, finish = null) =>
      response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const pieces = now.pieces ?? now.cut ?? (now.text === undefined ? [] : now.text.split(/(?<= )/));
    for (const content of pieces) {
      if (response.destroyed) return;
      say({ role: "assistant", content });
      if (now.pause) await new Promise((resolve) => setTimeout(resolve, now.pause));
    }
    if (now.cut) return response.destroy();
    if (now.hold) return;
    for (const [index, call] of (now.calls ?? []).entries())
      say({
        tool_calls: [
          { index, id: `call_${asked.length}_${index}`, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } },
        ],
      });
    say({}, now.calls ? "tool_calls" : "stop");
    if (now.usage) response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [], usage: now.usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  return {
    address,
    url: `${address}/v1`,
    asked,
    /** The same as the text that came. */
    bodies,
    /** Every request that came, whatever it asks. */
    heard,
    /** How many answers are still being given. */
    open: () => open.size,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
