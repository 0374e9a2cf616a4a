// The examples of memory services, run as they stand against servers of the services' wire shapes; and the types of their subpaths, seen by
// a strict TypeScript user.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { AgentCoreHandler, serveAgentCore } from "./support/agentcore-handler.mjs";
import { installed, project, source } from "./support/installed.mjs";
import { startMem0 } from "./support/mem0-server.mjs";

/** Runs an example in a folder of the user's project; gives what it printed. */
function run(name, args, env) {
  const folder = join(project, "service-examples");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(installed, "examples", name), join(folder, name));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", name, ...args], { cwd: folder, env: { PATH: process.env.PATH, ...env } });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    child.on("error", reject).on("close", (code) => (code === 0 ? resolve(said) : reject(new Error(`${name} ended with ${code}:\n${said}`))));
  });
}

test("hybrid-mem0.mjs runs as it stands", { timeout: 60_000 }, async (t) => {
  const server = await startMem0();
  const home = join(project, "service-examples", `home-${process.pid}`);
  t.after(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });
  const env = { MEM0_API_KEY: server.apiKey, MEM0_HOST: server.url, THREADKEEP_HOME: home };
  const first = await run("hybrid-mem0.mjs", ["ann_1", "I am allergic to nuts."], env);
  assert.match(first, /^user: I am allergic to nuts\.\n\(\d+ tokens\)\nMem0 was told everything/);
  const second = await run("hybrid-mem0.mjs", ["ann_2", "Which cake can I eat, being allergic?"], env);
  assert.match(second, /^user: \[Quoted from .*\n> Relevant memories from previous conversations:\n> - User said: I am allergic to nuts\./);
  assert.match(second, /user: Which cake can I eat, being allergic\?\n/);
  // Without the service the chat goes on, and the next run makes up for it.
  server.behave = () => ({ status: 503 });
  const third = await run("hybrid-mem0.mjs", ["ann_3", "Hello?"], env);
  assert.match(third, /\(Mem0, search: unavailable\)/);
  assert.match(third, /user: Hello\?\n/);
  assert.match(third, /Mem0 was not told everything\n$/);
  assert.ok(!server.told().includes("Hello?"));
  server.behave = undefined;
  const fourth = await run("hybrid-mem0.mjs", ["ann_4", "Goodbye."], env);
  assert.match(fourth, /Mem0 was told everything/);
  assert.deepEqual(server.told(), ["I am allergic to nuts.", "Which cake can I eat, being allergic?", "Hello?", "Goodbye."]);
});

test("hybrid-agentcore.mjs runs as it stands", { timeout: 60_000 }, async (t) => {
  const handler = new AgentCoreHandler();
  const server = await serveAgentCore(handler);
  const home = join(project, "service-examples", `home-${process.pid}-agentcore`);
  t.after(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });
  handler.remember("The user prefers pears.", "/actors/ann");
  const env = {
    AWS_ENDPOINT_URL: server.url,
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "secret",
    MEMORY_ID: "chats-a1b2c3d4e5",
    THREADKEEP_HOME: home,
  };
  const said = await run("hybrid-agentcore.mjs", ["What fruit do I prefer?"], env);
  assert.equal(
    said,
    [
      "session: Be brief. | What fruit do I prefer? | Noted.",
      "branch: Be brief. | What fruit do I prefer? | I shall remember that.",
      "prompt of 4 messages, 1 memories",
      "",
    ].join("\n"),
  );
});

test("the types of the subpaths: a keep is a message store, and so are a hybrid and AgentCore", { timeout: 120_000 }, () => {
  const folder = join(project, "service-types");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "consumer.ts"),
    `import { Threadkeep } from "threadkeep";
import { hybrid, type Hybrid, type MemoryService, type MessageStore } from "threadkeep/hybrid";
import { mem0Memory } from "threadkeep/mem0";
import { agentcoreMemory, type AgentCoreMemory } from "threadkeep/agentcore";
import { MemoryClient } from "mem0ai";
import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
export async function main(): Promise<void> {
  const keep = await Threadkeep.open();
  const mem0: MemoryService = mem0Memory({ client: new MemoryClient({ apiKey: "x" }) });
  const aws: AgentCoreMemory = agentcoreMemory({ memoryId: "chats-a1b2c3d4e5", client: new BedrockAgentCoreClient({}) });
  const store: Hybrid = hybrid({ keep, memory: aws, onMemoryError: (error, { skipped }) => console.log(error.code, skipped?.length) });
  const stores: MessageStore[] = [keep.messageStore, store, aws];
  for (const one of stores) await one.append("main", [{ role: "user", content: "hi" }]);
  const { payload, memories } = await store.context("main", { provider: "anthropic", memories: 3 });
  console.log(payload.max_tokens, memories[0]?.text, mem0.name);
  // @ts-expect-error: no such strategy
  hybrid({ keep, memory: mem0, syncStrategy: "sometimes" });
  // @ts-expect-error: no such level
  mem0Memory({ apiKey: "x", memoryLevel: "team" });
}
`,
  );
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["es2022", "dom"],
    types: [],
    skipLibCheck: true,
    exactOptionalPropertyTypes: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  const tsc = join(dirname(createRequire(join(source, "package.json")).resolve("typescript/package.json")), "bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  assert.equal(stdout, "");
});
