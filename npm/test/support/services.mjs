// What the tests of memory services share: the subpaths as a user imports them, and services to talk to.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import { AgentCoreHandler } from "./agentcore-handler.mjs";
import { installed } from "./installed.mjs";
import { startMem0 } from "./mem0-server.mjs";

process.env.MEM0_TELEMETRY = "false";
const subpath = (name) => import(pathToFileURL(join(installed, `dist/services/${name}.js`)).href);

export const { hybrid, formatMemories } = await subpath("hybrid");
export const { mem0Memory } = await subpath("mem0");
export const { agentcoreMemory, AgentCoreMemory } = await subpath("agentcore");

/** Mem0's client; loaded only now, since it looks at the environment when it is loaded. */
export const { MemoryClient } = await import("mem0ai");
export const MEMORY_ID = "chats-a1b2c3d4e5";

/** Mem0's own client against a server here. The test closes the server. */
export async function mem0(t, options = {}) {
  const server = await startMem0();
  t.after(() => server.close());
  return { server, memory: mem0Memory({ apiKey: server.apiKey, host: server.url, inferMemories: false, timeout: 20_000, settleTime: 0, ...options }) };
}

/** AWS's own client over a handler. */
export function agentcore(options = {}, { maxAttempts = 1 } = {}) {
  const handler = new AgentCoreHandler();
  const client = new BedrockAgentCoreClient({
    region: "us-west-2",
    credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" },
    requestHandler: handler,
    maxAttempts,
  });
  return { handler, client, memory: agentcoreMemory({ memoryId: MEMORY_ID, actorId: "ann", client, timeout: 20_000, ...options }) };
}

/** A memory service in a list: what it is told, and what it is made to do. */
export function listService({ name = "list", idempotent = false } = {}) {
  const told = [];
  const service = {
    name,
    idempotent,
    told,
    calls: 0,
    before: async () => {},
    memories: [],
    async add({ messages, token, branch, session, thread }, { signal } = {}) {
      service.calls += 1;
      await service.before(messages, signal);
      for (const { id, message, node } of messages)
        if (!idempotent || !told.some((one) => one.id === id)) told.push({ id, node, text: message.content, token, branch, session, thread });
      await service.after?.(messages, signal);
    },
    async has(scope, token) {
      return told.some((one) => one.token === token);
    },
    async search(scope, query, { limit, signal }) {
      await service.searching?.(query, signal);
      return service.memories.slice(0, limit);
    },
    async list() {
      return service.memories;
    },
    async remove(scope, gone) {
      await service.removing?.(scope);
      let count = 0;
      for (const one of [...told])
        if (one.session === scope.session && (gone === undefined || (await gone(one.node)))) {
          told.splice(told.indexOf(one), 1);
          count += 1;
        }
      return count;
    },
  };
  return service;
}
