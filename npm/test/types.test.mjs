// The types, seen by a strict TypeScript user: with a bundler, under Node without the DOM, and with mistakes in them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { project, source } from "./support/installed.mjs";

const require = createRequire(join(source, "package.json"));
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");

/** Compiles `code` in the user's project, with packages by the names that it imports; gives what the compiler says. */
function compile(folderName, code, options, extra = {}, packages = {}) {
  const folder = join(project, folderName);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  if (options.types?.includes("node"))
    for (const name of ["@types/node", "undici-types"])
      symlinkSync(dirname(require.resolve(`${name}/package.json`)), join(folder, "node_modules", name), "dir");
  for (const [name, at] of Object.entries(packages)) {
    mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
    symlinkSync(join(source, "node_modules", at), join(folder, "node_modules", name), "dir");
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  writeFileSync(join(folder, "consumer.ts"), code);
  for (const [name, text] of Object.entries(extra)) writeFileSync(join(folder, name), text);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    preserveSymlinks: true,
    ...options,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const run = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  return run.stdout + run.stderr;
}

const consumer = readFileSync(join(source, "test/fixtures/consumer.ts"), "utf8");

test("a bundler's user", () => {
  const said = compile("types-bundler", consumer, {
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2022", "dom", "dom.iterable"],
    types: [],
  });
  assert.equal(said, "");
});

test("a Node user without the DOM's types", () => {
  const said = compile("types-node", consumer, { module: "node16", moduleResolution: "node16", lib: ["es2022"], types: ["node"] });
  assert.equal(said, "");
});

test("the examples of the README are strict TypeScript as they stand", () => {
  const readme = readFileSync(join(project, "node_modules/threadkeep/README.md"), "utf8");
  const given = `import { Kernel, Threadkeep, ThreadkeepError, compressHistory, countTokens, createAgent, mailText, render, tool, trimMessages, validate, writeDepth, type Agent, type Message } from "threadkeep";
    import * as z from "zod";
    declare const agent: Agent, keep: Threadkeep, history: Message[], usage: { prompt_tokens: number }, file: File, openai: any;
    declare function show(...what: unknown[]): void;
    declare function send(payload: object): Promise<unknown>;
    declare function weatherIn(town: string, more: AbortSignal | number): Promise<object>;`;
  const files = {};
  for (const [, name, code] of readme.matchAll(/<!-- example: (.+?) -->\n```js\n(.+?)```/gs)) {
    // The types of its parameters are what a TypeScript user writes there.
    if (name === "a store of your own") continue;
    const model =
      name === "vectors" ? "declare const model: { encode(texts: string[]): Float32Array[] };" : "declare function model(...what: unknown[]): Promise<any>;";
    files[`${name.replaceAll(" ", "-")}.ts`] = code.includes("import {")
      ? `${model}\n${code}`
      : `${given}\n${model}\nexport async function example() {\n${code}}\n`;
  }
  assert.ok(Object.keys(files).length >= 15);
  const said = compile(
    "types-readme",
    "",
    { module: "nodenext", moduleResolution: "nodenext", lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable"], types: [] },
    files,
    { zod: "zod" },
  );
  assert.equal(said, "");
});

test("mistakes are found by the compiler", () => {
  const mistakes = [
    `await keep.thread("main").append([{ content: "no role" }]);`,
    `await keep.thread("main").append("text");`,
    `await keep.thread("main").recent({ max: 1 });`,
    `await keep.receive({ messageId: "m" });`,
    `await keep.import(7);`,
    `await keep.import("", { format: "fax" });`,
    `keep.on("changed", () => {});`,
    `await Threadkeep.open({ storage: "sqlite" });`,
    `await Threadkeep.open({ storage: { get: async () => undefined } });`,
    `const text: string = await keep.node("a");`,
    `(await keep.roots())[0].messages[0].tool_calls;`,
    `const code: ThreadkeepErrorCode = "no-such-code";`,
    `new Threadkeep();`,
    `createAgent({ keep });`,
    `createAgent({ keep, model: () => 7 });`,
    `createAgent({ keep, model: () => "", builtIn: ["shell"] });`,
    `createAgent({ keep, model: ({ payload }) => payload.contents.length.toFixed() });`,
    `tool({ schema: {} as StandardSchema<{ town: string }>, execute: ({ twn }) => twn });`,
    `tool({ schema: {} as StandardSchema<{ town: string }>, execute: ({ town }) => town * 2 });`,
    `await keep.mailbox("a").send({ to: "b" });`,
    `await keep.thread("main").context({ polcy: "stable" });`,
    `await keep.thread("main").context({ provider: "mistral" });`,
    `(await keep.thread("main").context({ provider: "gemini" })).payload.messages.length.toFixed();`,
  ];
  const lines = mistakes.map((mistake) => `  { ${mistake} }`).join("\n");
  const code = `import { Threadkeep, createAgent, tool, type StandardSchema, type ThreadkeepErrorCode } from "threadkeep";\nexport async function f(keep: Threadkeep) {\n${lines}\n}\n`;
  const said = compile("types-mistakes", code, { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"], types: [] });
  const found = new Set([...said.matchAll(/consumer\.ts\((\d+),/g)].map((match) => Number(match[1]) - 3));
  mistakes.forEach((mistake, index) => assert.ok(found.has(index), `not found: ${mistake}\n${said}`));
  assert.equal(found.size, mistakes.length);
});

const CLIENTS = { openai: "openai", "@anthropic-ai/sdk": "@anthropic-ai/sdk", "@google/genai": "@google/genai", ollama: "ollama" };
/** The newest of each: of two of them those that run under Node 20 are older. */
const NEWEST = { ...CLIENTS, openai: "openai-7", "@google/genai": "google-genai-3" };

/** Compiles with the clients' packages. What is under test are our types, not the clients' declarations. */
function withClients(folder, code, packages, options = {}) {
  const bundler = { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom", "dom.iterable"], types: ["node"] };
  return compile(folder, code, { ...bundler, skipLibCheck: true, preserveSymlinks: false, ...options }, {}, packages);
}

for (const [words, packages, options] of [
  ["that run under Node 20", CLIENTS, { exactOptionalPropertyTypes: false }],
  ["that run under Node 20, with exact optional properties", CLIENTS, {}],
  ["that are the newest", NEWEST, { exactOptionalPropertyTypes: false }],
  ["that are the newest, with exact optional properties", NEWEST, {}],
])
  test(`payloads, answers and messages fit the official clients without a cast: those ${words}`, () => {
    const code = readFileSync(join(source, "test/fixtures/clients.ts"), "utf8");
    assert.doesNotMatch(code.replaceAll(/^(import|\/\/) .*$| as const/gm, ""), / as |<any>|: any\b|@ts-/, "a cast");
    assert.equal(withClients("types-clients", code, packages, options), "");
  });

test("a payload that a client does not take is found by the compiler", () => {
  const mistakes = [
    "openai.chat.completions.create((await thread.context()).payload);",
    `openai.chat.completions.create((await thread.context({ provider: "openai-responses", model })).payload);`,
    `openai.responses.create((await thread.context({ model })).payload);`,
    `anthropic.messages.create((await thread.context({ provider: "openai-chat", model })).payload);`,
    `google.models.generateContent((await thread.context({ provider: "gemini", model })).payload);`,
    `google.models.generateContent((await thread.context({ provider: "gemini", render: { sdk: true } })).payload);`,
    `ollama.chat((await thread.context({ provider: "ollama" })).payload);`,
    `for await (const _ of await openai.chat.completions.create((await thread.context({ model })).payload));`,
    `(await openai.chat.completions.create((await thread.context({ model, render: { stream: true } })).payload)).choices;`,
    `createAgent({ keep, provider: "gemini", model: ({ payload }) => google.models.generateContentStream(payload) });`,
    `createAgent({ keep, provider: "anthropic", model: ({ payload }) => openai.chat.completions.create(payload) });`,
    `await thread.context({ model, polcy: "stable" });`,
    `await thread.context({ model, render: { stream: true, steam: true } });`,
  ];
  const code = `
    import type Anthropic from "@anthropic-ai/sdk";
    import type { GoogleGenAI } from "@google/genai";
    import type { Ollama } from "ollama";
    import type OpenAI from "openai";
    import { createAgent, type Thread, type Threadkeep } from "threadkeep";
    declare const keep: Threadkeep, thread: Thread, openai: OpenAI, anthropic: Anthropic, google: GoogleGenAI, ollama: Ollama, model: string;
    ${mistakes.join("\n")}
  `;
  const said = withClients("types-clients-mistakes", code, CLIENTS);
  const found = new Set([...said.matchAll(/consumer\.ts\((\d+),/g)].map((match) => Number(match[1]) - 8));
  assert.deepEqual(
    mistakes.filter((_, at) => !found.has(at)),
    [],
    said,
  );
  assert.equal(found.size, mistakes.length, said);
});

test("the AI SDK's models are models, in TypeScript too", () => {
  const code = `
    import { jsonSchema, streamText, type LanguageModel } from "ai";
    import { createAgent, forAiSdk, type Threadkeep } from "threadkeep";
    export function agents(keep: Threadkeep, model: LanguageModel) {
      createAgent({ keep, model: (request) => streamText({ model, ...forAiSdk(request, jsonSchema) }) });
    }`;
  assert.equal(withClients("types-ai-sdk", code, { ai: "ai" }), "");
});
