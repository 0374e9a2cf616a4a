// Numbers from outside: options that become timers, limits and loops' ends, and lengths in files that somebody else wrote.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { Threadkeep, ThreadkeepError, connect, createAgent, memory, user } from "./support/expect.mjs";
import { fileStore, logs, scratch } from "./support/filestore.mjs";
import { installed } from "./support/installed.mjs";
import { MemoryClient, agentcore, hybrid, listService, mem0Memory } from "./support/services.mjs";

const { sessionStore } = await import(pathToFileURL(join(installed, "dist/frameworks/claude-agent-sdk.js")).href);

/** What no wait may be. Timers end at once after 2^31 - 1 milliseconds or more. */
const NO_WAIT = [Number.NaN, Infinity, -Infinity, -1, 1.5, 2 ** 31, 2 ** 32 - 1, 2 ** 53, "5"];

test("an option that becomes a timer is refused where a timer would end at once", async () => {
  const keep = await memory({ encoding: "estimate" });
  const model = () => "yes";
  const client = { add() {}, search() {}, getAll() {}, delete() {} };
  const waits = {
    "connect timeoutMs": (timeoutMs) => connect({ provider: "ollama", baseUrl: "http://127.0.0.1:9", model: "m", timeoutMs }),
    "connect limits.millis": (millis) => connect({ provider: "ollama", baseUrl: "http://127.0.0.1:9", model: "m", limits: { millis } }),
    "agent limits.millis": (millis) => createAgent({ keep, model, limits: { millis } }),
    "mem0 timeout": (timeout) => mem0Memory({ client, timeout }),
    "mem0 settleTime": (settleTime) => mem0Memory({ client, settleTime }),
    "agentcore timeout": (timeout) => agentcore({ timeout }),
    "hybrid timeout": (timeout) => hybrid({ keep, memory: listService(), timeout }),
    "hybrid batchDelay": (batchDelay) => hybrid({ keep, memory: listService(), batchDelay }),
    "compact timeout": (timeout) => keep.thread("main").compact({ timeout, summarize: () => "short" }),
    "session store mirrorDelay": (mirrorDelay) => sessionStore(keep, { mirrorDelay }),
    "followMessages poll": (poll) => keep.mailbox("bob").follow({ poll }),
  };
  for (const [what, call] of Object.entries(waits))
    for (const wait of NO_WAIT)
      await assert.rejects(
        async () => call(wait),
        (error) => error instanceof ThreadkeepError && error.code === "bad-request",
        `${what}: ${wait}`,
      );
  await keep.close();
});

/** A line of a log with a sum that fits it. */
function line(json, seed) {
  return `${crc32(json, seed).toString(16).padStart(8, "0")} ${json}\n`;
}

test("a length in a log that is none is damage, whatever its sum says", { timeout: 60_000 }, async (t) => {
  for (const put of [
    '["k",-30,"00000000"]',
    '["k",1.5,"00000000"]',
    '["k",1e300,"00000000"]',
    '["k",null,"00000000"]',
    '["k","9","00000000"]',
    '["k"]',
    "7",
    '{"length":1}',
  ])
    for (const puts of [`[${put}]`, put]) {
      const folder = scratch(t);
      let keep = await Threadkeep.open({ storage: fileStore({ folder }) });
      await keep.thread("main").append([user("before")]);
      await keep.close();
      const log = join(folder, logs(folder).at(-1));
      const text = readFileSync(log, "utf8");
      const { store } = JSON.parse(text.slice(9, text.indexOf("\n")));
      const n = Math.max(...[...text.matchAll(/^[0-9a-f]{8} \{"n":(\d+)/gm)].map(([, n]) => Number(n)));
      writeFileSync(log, text + line(`{"n":${n + 1},"put":${puts}}`, crc32(store)) + "x".repeat(40) + "\n");
      try {
        keep = await Threadkeep.open({ storage: fileStore({ folder }) });
        assert.equal(await keep.thread("main").count(), 1, puts);
        await keep.close();
      } catch (error) {
        assert.ok(error instanceof ThreadkeepError, `${puts}: ${error.stack}`);
      }
    }
});

const item = (id) => ({ id, memory: `memory ${id}`, metadata: {} });

test("a service that repeats a page for ever is asked no further", { timeout: 30_000 }, async () => {
  let asked = 0;
  const client = {
    add: async () => ({}),
    search: async () => ({ results: [] }),
    delete: async () => ({}),
    getAll: async () => {
      asked += 1;
      assert.ok(asked < 50, "the same page again and again");
      return { results: Array.from({ length: 100 }, (_, at) => item(String(at))), next: "?page=2" };
    },
  };
  const scope = { thread: "ann_1" };
  assert.equal((await mem0Memory({ client }).list(scope)).length, 100);
  assert.equal(await mem0Memory({ client }).remove(scope), 0);
});

test("a redirect takes neither Mem0's key nor texts to another origin", { timeout: 30_000 }, async (t) => {
  const heard = [];
  const serve = async (answer) => {
    const server = createServer(answer);
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => (server.closeAllConnections(), server.close()));
    return `http://127.0.0.1:${server.address().port}`;
  };
  const thief = await serve((request, response) => {
    heard.push(request.url);
    response.writeHead(200, { "content-type": "application/json" }).end('{"results":[]}');
  });
  for (const status of [302, 307]) {
    const host = await serve((request, response) => response.writeHead(status, { location: `${thief}${request.url}` }).end());
    for (const options of [{ apiKey: "m0-secret", host }, { client: new MemoryClient({ apiKey: "m0-secret", host }) }]) {
      const service = mem0Memory({ ...options, timeout: 5_000, settleTime: 0 });
      await assert.rejects(service.search({ thread: "ann_1" }, "secret"), (error) => error instanceof ThreadkeepError && !error.message.includes("secret"));
      await assert.rejects(service.list({ thread: "ann_1" }), ThreadkeepError);
    }
  }
  // Mem0's own client says hello when its user constructs it, before it is handed over. One that is made here does not.
  assert.deepEqual(
    heard.filter((url) => url !== "/v1/ping/"),
    [],
  );
  assert.ok(heard.length <= 2, heard.join());
});

test("a client of one's own is called as it is", async () => {
  const seen = [];
  const client = {
    add: async () => ({}),
    search: async function () {
      seen.push(this === client);
      return { results: [item("a")] };
    },
    getAll: async () => ({ results: [] }),
    delete: async () => ({}),
  };
  assert.equal((await mem0Memory({ client }).search({ thread: "ann_1" }, "pears")).length, 1);
  assert.deepEqual(seen, [true]);
});
