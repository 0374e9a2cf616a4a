// The types of the tools against those of the packages that they are given to, as users of these compile them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { project, source } from "./support/installed.mjs";

const tsc = join(dirname(createRequire(join(source, "package.json")).resolve("typescript/package.json")), "bin/tsc");

const CODE = `
import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { jsonSchema, tool, type ToolSet } from "ai";
import OpenAI from "openai";
import { createAgent, Threadkeep } from "threadkeep";
import { memoryHandlers, memoryTool } from "threadkeep/anthropic-memory";
import { mcpServer } from "threadkeep/mcp";
import { memoryFiles, memoryTools, type MemoryTool } from "threadkeep/tools";
import { hasWebMcp, registerTools } from "threadkeep/webmcp";

const keep = await Threadkeep.open();
const tools: MemoryTool[] = memoryTools(keep, { include: ["search", "memory_view"], encoding: "o200k_base" });

const anthropic = new Anthropic();
const request = { model: "m", max_tokens: 1, messages: [] };
export const final = await anthropic.beta.messages.toolRunner({ ...request, tools: [memoryTool(keep, { cache_control: { type: "ephemeral" } })] });
await anthropic.messages.create({ ...request, tools: [memoryTool(keep)] });
await anthropic.messages.create({ ...request, tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })) });
betaMemoryTool({ ...memoryHandlers(keep), delete: () => "Not here." });
export const answer: { content: string; is_error: boolean } = await memoryTool(keep).answer({});

await new OpenAI().chat.completions.create({
  model: "m",
  messages: [],
  tools: tools.map(({ name, description, inputSchema }) => ({ type: "function", function: { name, description, parameters: { ...inputSchema } } })),
});
export const set: ToolSet = Object.fromEntries(
  tools.map((one) => [one.name, tool({ description: one.description, inputSchema: jsonSchema(one.inputSchema), execute: (input, { abortSignal }) => one.execute(input, { signal: abortSignal }) })]),
);
createAgent({
  keep,
  model: async () => "x",
  tools: Object.fromEntries(tools.map((one) => [one.name, { description: one.description, parameters: one.inputSchema, execute: (input: unknown) => one.execute(input) }])),
});

await mcpServer(keep, { readOnly: true, instructions: "x" }).connect(new StdioServerTransport());
export const files: { path: string; bytes: number; modified: number }[] = await memoryFiles(keep).list();
export const text: string | undefined = await memoryFiles(keep).read("/memories/a");
const unregister = await registerTools(keep, { signal: new AbortController().signal, exposedTo: ["https://example.org"] });
if (hasWebMcp() && unregister !== false) unregister();
export const wrong: string = memoryTools(keep, { include: ["nothing"] });
`;

test("Anthropic's and OpenAI's SDKs, the AI SDK, the MCP SDK and our agent take the tools as they are", { timeout: 120_000 }, () => {
  const folder = join(project, "tools-types");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "user.ts"), CODE);
  // Declarations of the SDKs are theirs to check.
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    lib: ["es2022", "dom", "dom.iterable", "esnext.disposable"],
    types: ["node"],
    skipLibCheck: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["user.ts"] }));
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  const line = CODE.split("\n").findIndex((text) => text.includes("wrong:")) + 1;
  const errors = stdout.split("\n").filter((text) => /^\S.*error TS/.test(text));
  // The last line is wrong twice, so that a compiler that looks at nothing is found out.
  assert.equal(errors.length, 2, stdout);
  assert.ok(
    errors.every((text) => text.includes(`user.ts(${line},`)),
    stdout,
  );
});
