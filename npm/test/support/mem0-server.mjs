// A server with the wire shapes of Mem0's platform, as its client (mem0ai 3) speaks them, for tests and examples. It checks what it is
// sent as strictly as the platform's types say, keeps memories, finds them by their words, and fails, stalls and loses answers on demand.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

const ENTITIES = ["user_id", "agent_id", "app_id", "run_id"];
const ADD = ["messages", "metadata", "infer", "enable_graph", "custom_categories", "custom_instructions", "timestamp", "expiration_date", ...ENTITIES];
const SEARCH = ["query", "output_format", "filters", "top_k", "threshold", "rerank", "fields", "categories", "metadata"];
const LIST = ["filters", "start_date", "end_date", "categories", "latest_only", "show_expired"];

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function must(condition, message, status = 400) {
  if (!condition) throw new Refusal(status, message);
}

function fields(body, known) {
  for (const name of Object.keys(body)) must(known.includes(name), `unexpected field ${name}`);
}

/** The words of a text, without their endings. */
function words(text) {
  return new Set((text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => word.length > 2).map((word) => word.slice(0, 5)));
}

function matches(memory, filters) {
  must(filters !== null && typeof filters === "object" && !Array.isArray(filters), "filters must be an object");
  return Object.entries(filters).every(([name, value]) => {
    if (name === "AND") return value.every((one) => matches(memory, one));
    if (name === "OR") return value.some((one) => matches(memory, one));
    if (name === "metadata") return Object.entries(value).every(([key, wanted]) => memory.metadata?.[key] === wanted);
    must(ENTITIES.includes(name), `unknown filter ${name}`);
    must(typeof value === "string" && value.trim() !== "", `${name} must be a non-empty string`);
    return memory[name] === value;
  });
}

function scoped(filters) {
  const names = JSON.stringify(filters ?? {});
  must(
    ENTITIES.some((name) => names.includes(`"${name}"`)),
    "at least one of user_id, agent_id, app_id, run_id is needed",
  );
}

/**
 * Starts the server on a free port of this machine.
 *
 * `behave` may be set: it is given each request ({ method, path, body }) and may answer with `{ status, body }` (an answer in place of the
 * real one), `{ stall: true }` (none), `{ delay: ms }`, `{ lose: true }` (carried out, but the line breaks before the answer) or
 * `{ drop: true }` (the line breaks at once).
 */
export async function startMem0({ apiKey = "m0-test-key" } = {}) {
  const state = { memories: [], requests: [], behave: undefined, stalled: 0 };
  let made = 0;

  const routes = [
    ["GET", /^\/v1\/ping\/$/, () => ({ status: "ok", org_id: "org-1", project_id: "project-1", user_email: "tester@example.org" })],
    [
      "POST",
      /^\/v3\/memories\/add\/$/,
      ({ body }) => {
        fields(body, ADD);
        must(Array.isArray(body.messages) && body.messages.length > 0, "messages must be a non-empty list");
        for (const message of body.messages) {
          fields(message, ["role", "content"]);
          must(["user", "assistant"].includes(message.role), `role ${message.role} is not known`);
          must(typeof message.content === "string" && message.content.trim() !== "", "content must be a non-empty string");
        }
        const owners = ENTITIES.filter((name) => body[name] !== undefined);
        must(owners.length > 0, "at least one of user_id, agent_id, app_id, run_id is needed");
        for (const name of owners) must(/^\S+$/.test(body[name]), `${name} must have no spaces`);
        must(body.infer === undefined || typeof body.infer === "boolean", "infer must be true or false");
        const said =
          body.infer === false ? (message) => message.content : (message) => `${message.role === "user" ? "User" : "Assistant"} said: ${message.content}`;
        for (const message of body.messages) {
          const at = new Date(Date.UTC(2026, 0, 1) + made++ * 1000).toISOString();
          state.memories.push({
            id: randomUUID(),
            memory: said(message),
            ...Object.fromEntries(owners.map((name) => [name, body[name]])),
            metadata: body.metadata ?? null,
            categories: ["misc"],
            created_at: at,
            updated_at: at,
          });
        }
        return { message: "Memory processing has been queued for background execution", status: "PENDING", event_id: randomUUID() };
      },
    ],
    [
      "POST",
      /^\/v3\/memories\/search\/$/,
      ({ body }) => {
        fields(body, SEARCH);
        must(typeof body.query === "string" && body.query !== "", "query must be a non-empty string");
        must(body.output_format === "v1.1", "output_format must be v1.1");
        must(body.top_k === undefined || (Number.isInteger(body.top_k) && body.top_k >= 1 && body.top_k <= 1000), "top_k must be from 1 to 1000");
        scoped(body.filters);
        const asked = words(body.query);
        const results = state.memories
          .filter((memory) => matches(memory, body.filters))
          .map((memory) => ({ ...memory, score: [...words(memory.memory)].filter((word) => asked.has(word)).length / Math.max(asked.size, 1) }))
          .filter(({ score }) => score > (body.threshold ?? 0))
          .sort((a, b) => b.score - a.score)
          .slice(0, body.top_k ?? 20);
        return { results };
      },
    ],
    [
      "POST",
      /^\/v3\/memories\/$/,
      ({ body, query }) => {
        fields(body, LIST);
        scoped(body.filters);
        const [page, size] = [Number(query.get("page") ?? 1), Number(query.get("page_size") ?? 100)];
        must(page >= 1 && size >= 1 && size <= 100, "page_size must be from 1 to 100");
        const all = state.memories.filter((memory) => matches(memory, body.filters));
        const results = all.slice((page - 1) * size, page * size);
        return { count: all.length, next: page * size < all.length ? `?page=${page + 1}` : null, previous: null, results };
      },
    ],
    [
      "DELETE",
      /^\/v1\/memories\/([^/]+)\/$/,
      ({ match }) => {
        const at = state.memories.findIndex(({ id }) => id === decodeURIComponent(match[1]));
        must(at !== -1, "Memory not found!", 404);
        state.memories.splice(at, 1);
        return { message: "Memory deleted successfully!" };
      },
    ],
  ];

  async function answer(request) {
    const url = new URL(request.url, "http://localhost");
    let text = "";
    for await (const piece of request) text += piece;
    must(request.headers.authorization === `Token ${apiKey}`, "Invalid API key", 401);
    const found = routes.find(([method, path]) => method === request.method && path.test(url.pathname));
    must(found !== undefined, `no such place: ${request.method} ${url.pathname}`, 404);
    if (request.method === "POST") must(request.headers["content-type"] === "application/json", "content-type must be application/json");
    const seen = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      body: text === "" ? undefined : JSON.parse(text),
      match: found[1].exec(url.pathname),
    };
    state.requests.push(seen);
    const behaviour = url.pathname === "/v1/ping/" ? undefined : state.behave?.(seen);
    if (behaviour?.delay !== undefined) await new Promise((resolve) => setTimeout(resolve, behaviour.delay));
    if (behaviour?.stall || behaviour?.drop) return behaviour;
    if (behaviour?.status !== undefined) throw new Refusal(behaviour.status, behaviour.body ?? "as asked");
    return { ...behaviour, data: found[2](seen) };
  }

  const server = createServer((request, response) => {
    answer(request)
      .then(({ stall, drop, lose, data }) => {
        if (stall) {
          state.stalled += 1;
          response.on("close", () => (state.stalled -= 1));
        } else if (drop || lose) request.socket.destroy();
        else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(data));
      })
      .catch((error) => {
        response.writeHead(error.status ?? 500, { "content-type": "application/json" }).end(JSON.stringify({ error: error.message }));
      });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.address().port}`,
    apiKey,
    /** The texts that were sent to be remembered, in the order in which they arrived. */
    told: () => state.memories.map(({ memory }) => memory.replace(/^(User|Assistant) said: /, "")),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
