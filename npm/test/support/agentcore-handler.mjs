// Stands in for the network below the client of Amazon Bedrock AgentCore: a request handler that takes the requests as the SDK has
// serialised and signed them, checks paths, methods, bodies and limits of the service's model, keeps events and records, and fails,
// throttles, stalls and loses answers on demand. For tests and examples.
import { createServer } from "node:http";
import { Readable } from "node:stream";

const ID = "[a-zA-Z0-9][a-zA-Z0-9-_]*";
const LETTERS = /^[a-zA-Z0-9\s._:/=+@-]*$/;
const CREATE = ["actorId", "sessionId", "eventTimestamp", "payload", "branch", "clientToken", "metadata", "extractionMode", "extractionConfig"];

class Fault extends Error {
  constructor(name, status, message = name) {
    super(message);
    Object.assign(this, { name, status });
  }
}

function must(condition, message) {
  if (!condition) throw new Fault("ValidationException", 400, message);
}

function text(value, name, { min = 1, max = 255, pattern } = {}) {
  must(typeof value === "string" && value.length >= min && value.length <= max, `${name} must have ${min} to ${max} characters`);
  if (pattern !== undefined) must(new RegExp(`^(?:${pattern})$`).test(value), `${name} does not match ${pattern}`);
}

function fields(body, known) {
  for (const name of Object.keys(body)) must(known.includes(name), `unexpected field ${name}`);
}

function count(value, name) {
  must(value === undefined || (Number.isInteger(value) && value >= 1 && value <= 100), `${name} must be from 1 to 100`);
}

function words(text) {
  return new Set((text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => word.length > 2).map((word) => word.slice(0, 5)));
}

/** A page of a list, and the token of the next one. */
function paged(list, { maxResults = 20, nextToken }) {
  count(maxResults, "maxResults");
  const from = nextToken === undefined || nextToken === null ? 0 : Number(Buffer.from(nextToken, "base64").toString());
  must(Number.isInteger(from), "nextToken is not one of ours");
  const to = from + maxResults;
  return { page: list.slice(from, to), nextToken: to < list.length ? Buffer.from(String(to)).toString("base64") : undefined };
}

function matches(event, { left, operator, right }) {
  const value = event.metadata?.[left.metadataKey]?.stringValue;
  if (operator === "EXISTS") return value !== undefined;
  if (operator === "NOT_EXISTS") return value === undefined;
  must(operator === "EQUALS_TO", `operator ${operator} is not known`);
  return value === right.metadataValue.stringValue;
}

/**
 * The handler. `behave` may be set: it is given each request ({ operation, body, path }) and may answer with `{ fault: [name, status] }`,
 * `{ stall: true }`, `{ delay: ms }` or `{ lose: true }` (carried out, but the line breaks before the answer). `extract(event)` gives
 * records that the service would extract from an event: { text, namespaces }.
 */
export class AgentCoreHandler {
  events = [];
  records = [];
  requests = [];
  behave = undefined;
  extract = undefined;
  #tokens = new Map();
  #number = 0;
  metadata = { handlerProtocol: "http/1.1" };

  async handle(request, { abortSignal } = {}) {
    if (abortSignal?.aborted) throw Object.assign(new Error("Request aborted"), { name: "AbortError" });
    const seen = this.#read(request);
    this.requests.push(seen);
    let lose = false;
    try {
      const behaviour = this.behave?.(seen);
      if (behaviour?.delay !== undefined) await new Promise((resolve) => setTimeout(resolve, behaviour.delay));
      if (behaviour?.stall)
        await new Promise((_, reject) => {
          // Somebody still waits on the line.
          const alive = setInterval(() => undefined, 1000);
          abortSignal?.addEventListener("abort", () => {
            clearInterval(alive);
            reject(Object.assign(new Error("Request aborted"), { name: "AbortError" }));
          });
        });
      if (behaviour?.fault) throw new Fault(...behaviour.fault);
      lose = behaviour?.lose === true;
      must(/^AWS4-HMAC-SHA256 .*\/bedrock-agentcore\/aws4_request/.test(request.headers["authorization"] ?? ""), "the request is not signed");
      const [status, answer] = this.#carryOut(seen);
      if (lose) throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET", name: "TimeoutError" });
      return this.#response(status, answer);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return this.#response(error.status, { message: error.message }, { "x-amzn-errortype": error.name });
    }
  }

  updateHttpClientConfig() {}
  httpHandlerConfigs() {
    return {};
  }
  destroy() {}

  /** The texts of the events, in the order in which they were created. */
  told() {
    return this.events.flatMap(({ payload }) => payload.flatMap(({ conversational }) => (conversational === undefined ? [] : [conversational.content.text])));
  }

  #response(statusCode, body, headers = {}) {
    return {
      response: {
        statusCode,
        headers: { "content-type": "application/json", "x-amzn-requestid": "test", ...headers },
        body: Readable.from([Buffer.from(JSON.stringify(body))]),
      },
    };
  }

  #read({ method, path, body, query }) {
    const routes = [
      ["CreateEvent", "POST", /^\/memories\/([^/]+)\/events$/],
      ["ListEvents", "POST", /^\/memories\/([^/]+)\/actor\/([^/]+)\/sessions\/([^/]+)$/],
      ["DeleteEvent", "DELETE", /^\/memories\/([^/]+)\/actor\/([^/]+)\/sessions\/([^/]+)\/events\/([^/]+)$/],
      ["ListSessions", "POST", /^\/memories\/([^/]+)\/actor\/([^/]+)\/sessions$/],
      ["RetrieveMemoryRecords", "POST", /^\/memories\/([^/]+)\/retrieve$/],
      ["ListMemoryRecords", "POST", /^\/memories\/([^/]+)\/memoryRecords$/],
      ["GetMemoryRecord", "GET", /^\/memories\/([^/]+)\/memoryRecord\/([^/]+)$/],
    ];
    const found = routes.find(([, verb, pattern]) => verb === method && pattern.test(path));
    const params = found?.[2].exec(path).slice(1).map(decodeURIComponent) ?? [];
    const data = body === undefined || body.length === 0 ? undefined : JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body));
    return { operation: found?.[0], method, path, query, params, body: data };
  }

  #carryOut({ operation, params: [memoryId, first, second, third], body, path, method }) {
    if (operation === undefined) throw new Fault("UnknownOperationException", 404, `no such operation: ${method} ${path}`);
    text(memoryId, "memoryId", {
      min: 12,
      max: 2048,
      pattern: "[a-zA-Z][a-zA-Z0-9-_]{0,99}-[a-zA-Z0-9]{10}|arn:aws[a-z-]*:[a-z-]+:[a-z0-9-]*:[0-9]*:memory/.+",
    });
    switch (operation) {
      case "CreateEvent":
        return [201, { event: this.#create(memoryId, body) }];
      case "ListEvents": {
        fields(body, ["includePayloads", "filter", "maxResults", "nextToken"]);
        const { branch, eventMetadata = [] } = body.filter ?? {};
        const events = this.events.filter(
          (event) =>
            event.actorId === first &&
            event.sessionId === second &&
            (branch === undefined || event.branch?.name === branch.name) &&
            eventMetadata.every((one) => matches(event, one)),
        );
        // Newest first, as a reader of the newest would want it: who needs an order makes it.
        const { page, nextToken } = paged([...events].reverse(), body);
        return [200, { events: page.map((event) => (body.includePayloads === false ? { ...event, payload: [] } : event)), nextToken }];
      }
      case "DeleteEvent": {
        const at = this.events.findIndex((event) => event.actorId === first && event.sessionId === second && event.eventId === third);
        if (at === -1) throw new Fault("ResourceNotFoundException", 404);
        this.events.splice(at, 1);
        return [200, { eventId: third }];
      }
      case "ListSessions": {
        const sessions = [...new Set(this.events.filter(({ actorId }) => actorId === first).map(({ sessionId }) => sessionId))];
        const { page, nextToken } = paged(sessions, body);
        return [200, { sessionSummaries: page.map((sessionId) => ({ sessionId, actorId: first, createdAt: 1_767_225_600 })), nextToken }];
      }
      case "RetrieveMemoryRecords": {
        fields(body, ["namespace", "namespacePath", "searchCriteria", "maxResults", "nextToken"]);
        const { searchQuery, topK = 20, memoryStrategyId } = body.searchCriteria ?? {};
        text(searchQuery, "searchQuery", { max: 10_000 });
        count(topK, "topK");
        const asked = words(searchQuery);
        const found = this.#under(body.namespace, memoryStrategyId)
          .map((record) => ({ ...record, score: [...words(record.content.text)].filter((word) => asked.has(word)).length / Math.max(asked.size, 1) }))
          .filter(({ score }) => score > 0)
          .sort((a, b) => b.score - a.score)
          .slice(0, topK);
        const { page, nextToken } = paged(found, body);
        return [200, { memoryRecordSummaries: page, nextToken }];
      }
      case "ListMemoryRecords": {
        fields(body, ["namespace", "namespacePath", "memoryStrategyId", "maxResults", "nextToken", "metadataFilters"]);
        const { page, nextToken } = paged(this.#under(body.namespace, body.memoryStrategyId), body);
        return [200, { memoryRecordSummaries: page, nextToken }];
      }
      case "GetMemoryRecord": {
        const record = this.records.find(({ memoryRecordId }) => memoryRecordId === first);
        if (record === undefined) throw new Fault("ResourceNotFoundException", 404);
        return [200, { memoryRecord: record }];
      }
    }
  }

  /** The records whose namespaces begin with a text: `/actors/ann` finds those of anna, too. */
  #under(namespace, strategy) {
    text(namespace, "namespace", { max: 1024, pattern: "[a-zA-Z0-9/*][a-zA-Z0-9-_/*:]*" });
    return this.records.filter(
      ({ namespaces, memoryStrategyId }) => namespaces.some((one) => one.startsWith(namespace)) && (strategy === undefined || strategy === memoryStrategyId),
    );
  }

  #create(memoryId, body) {
    fields(body, CREATE);
    text(body.actorId, "actorId", { pattern: "[a-zA-Z0-9][a-zA-Z0-9-_/]*(?::[a-zA-Z0-9-_/]+)*[a-zA-Z0-9-_/]*" });
    text(body.sessionId, "sessionId", { max: 100, pattern: ID });
    must(typeof body.eventTimestamp === "number" && body.eventTimestamp > 1e9 && body.eventTimestamp < 1e11, "eventTimestamp must be in seconds since 1970");
    must(Array.isArray(body.payload) && body.payload.length <= 100, "payload must be a list of up to 100 items");
    for (const item of body.payload) {
      const [kind, ...more] = Object.keys(item);
      must(more.length === 0 && ["conversational", "blob", "json"].includes(kind), "an item of a payload has one member");
      if (kind !== "conversational") continue;
      must(["USER", "ASSISTANT", "TOOL", "OTHER"].includes(item.conversational.role), `role ${item.conversational.role} is not known`);
      text(item.conversational.content.text, "text", { max: 100_000 });
    }
    if (body.branch !== undefined) {
      text(body.branch.name, "branch.name", { max: 100, pattern: ID });
      if (body.branch.rootEventId !== undefined) {
        text(body.branch.rootEventId, "branch.rootEventId", { pattern: "[0-9]+#[a-fA-F0-9]+" });
        must(
          this.events.some(({ eventId }) => eventId === body.branch.rootEventId),
          "branch.rootEventId names no event",
        );
      } else
        must(
          this.events.some(({ branch, sessionId }) => sessionId === body.sessionId && branch?.name === body.branch.name),
          `there is no branch ${body.branch.name}`,
        );
    }
    const entries = Object.entries(body.metadata ?? {});
    must(entries.length <= 15, "metadata has at most 15 entries");
    for (const [name, { stringValue }] of entries) {
      must(name.length <= 128 && LETTERS.test(name), "a metadata key has letters that it must not have");
      must(stringValue.length <= 256 && LETTERS.test(stringValue), "a metadata value has letters that it must not have");
    }
    text(body.clientToken, "clientToken", { max: 500 });
    const known = this.#tokens.get(body.clientToken);
    if (known !== undefined) return known;
    const { clientToken, ...rest } = body;
    const event = {
      memoryId,
      ...rest,
      eventId: `${String(1_767_225_600_000 + this.#number++).padStart(16, "0")}#${((this.#number * 2654435761) >>> 0).toString(16).padStart(8, "0")}`,
    };
    this.events.push(event);
    this.#tokens.set(clientToken, event);
    for (const { text, namespaces, strategy = "preferences-0123456789" } of this.extract?.(event) ?? []) this.remember(text, namespaces, strategy);
    return event;
  }

  /** Puts a record there, as if a strategy had extracted it. */
  remember(content, namespaces, memoryStrategyId = "preferences-0123456789") {
    const memoryRecordId = `mem-${String(this.records.length).padStart(36, "0")}`;
    this.records.push({
      memoryRecordId,
      content: { text: content },
      memoryStrategyId,
      namespaces: [namespaces].flat(),
      createdAt: 1_767_225_600 + this.records.length,
    });
    return memoryRecordId;
  }
}

/** The same at the end of a line: a server for clients that are told of it by `AWS_ENDPOINT_URL`. */
export async function serveAgentCore(handler) {
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const body = pieces.length === 0 ? undefined : Buffer.concat(pieces);
    const { response: answer } = await handler.handle({
      method: request.method,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      body,
    });
    response.writeHead(answer.statusCode, answer.headers);
    answer.body.pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
