// Rendered payloads against the package's own types of them, and against the parameter types of the providers' own SDKs: each payload
// becomes a literal of both types, and the compiler says whether it is one. The prompts are those of the provider crate's fixtures,
// rendered by that crate itself (`cargo run --example payloads`), so that this needs no build of the wasm. That the one type fits the
// other is tested by `types.test.mjs`.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const source = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const root = resolve(source, "..");
const require = createRequire(join(source, "package.json"));
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
const prompts = join(root, "crates/provider/fixtures/prompts.json");

// Where the types are not what the APIs take:
// - Gemini's `Type` is a TypeScript enum, which no JSON literal is assignable to: `Words` makes its words of it.
// - Ollama types a tool's parameters one level deep and knows neither nested schemas nor most keywords, all of which its server
//   passes on to the model's template: here they are any object.
// - Anthropic's `input` and Gemini's `args` are `unknown`s and records, so that wrong arguments pass; the validator finds them.
// - OpenAI's, Anthropic's and Ollama's requests are the same as the SDKs' arguments; Gemini's differ: `sdk: true` in the prompts.
const head = `
import type OpenAI from "openai";
import type Anthropic from "@anthropic-ai/sdk";
import type { Content, FunctionDeclaration, GenerateContentConfig, GenerateContentParameters, Tool as GeminiTool } from "@google/genai";
import type { ChatRequest, Tool as OllamaTool } from "ollama";

type Words<T> = T extends string ? \`\${T}\` : T extends readonly (infer E)[] ? Words<E>[] : T extends object ? { [K in keyof T]: Words<T[K]> } : T;
type Declared = Omit<GeminiTool, "functionDeclarations"> & { functionDeclarations?: Words<FunctionDeclaration>[] };
type Gemini = Omit<GenerateContentParameters, "contents" | "config"> & {
  contents: Content[];
  config?: Omit<GenerateContentConfig, "tools"> & { tools?: Declared[] };
};
type Described = Omit<OllamaTool, "function"> & { function: Omit<OllamaTool["function"], "parameters"> & { parameters?: object } };
type Ollama = Omit<ChatRequest, "tools"> & { tools?: Described[] };
type OpenAIChat = OpenAI.ChatCompletionCreateParams;
type OpenAIResponses = OpenAI.Responses.ResponseCreateParams;
type Claude = Anthropic.MessageCreateParams;
import type { Payload } from "../../../npm/src/payload.js";
`;

/** The SDKs' types. */
const theirs = {
  "openai-chat": "OpenAIChat",
  "openai-responses": "OpenAIResponses",
  anthropic: "Claude",
  gemini: "Gemini",
  ollama: "Ollama",
};

/** The package's types; those of Gemini's bodies, which are no SDK's argument, stand beside. */
const ours = Object.fromEntries(Object.keys(theirs).map((provider) => [provider, `Payload<"${provider}", { sdk: true }>`]));
const bodies = { gemini: 'Payload<"gemini", { sdk: false }>' };

/** The payloads of prompts by every provider, as the provider crate renders them. */
function rendered(prompts) {
  const cargo = ["run", "--quiet", "--package", "threadkeep-provider", "--example", "payloads", "--", prompts];
  return JSON.parse(execFileSync("cargo", cargo, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 26 }));
}

/** What the compiler says of payloads, in words. */
function said(name, payloads, types) {
  const errors = compile(name, payloads, types);
  return [...errors].map(([n, words]) => `${payloads[n].provider}, ${payloads[n].name}:\n${words}`).join("\n");
}

/** Compiles literals, one a line, behind the types; gives the compiler's words by the number of the literal. */
function compile(name, literals, types) {
  const folder = join(root, "target/sdk-types", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(source, "node_modules"), join(folder, "node_modules"), "dir");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  const lines = literals.map(({ provider, payload }, n) => `export const p${n}: ${types[provider]} = ${JSON.stringify(payload)};`);
  writeFileSync(join(folder, "payloads.ts"), `${head}${lines.join("\n")}\n`);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
    types: ["node"],
    // What is under test are our literals, not the SDKs' declarations.
    skipLibCheck: true,
    preserveSymlinks: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["payloads.ts"] }));
  const run = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  const before = head.split("\n").length;
  const errors = new Map();
  for (const line of (run.stdout + run.stderr).split("\n").filter((line) => /^\S/.test(line))) {
    const place = /payloads\.ts\((\d+),/.exec(line);
    assert.ok(place !== null && Number(place[1]) >= before, `the compiler says: ${run.stdout}${run.stderr}`);
    const n = Number(place[1]) - before;
    errors.set(n, `${errors.get(n) ?? ""}${line}\n`);
  }
  assert.equal(run.status === 0, errors.size === 0, run.stdout + run.stderr);
  return errors;
}

test("every payload is of its type, and an argument of its provider's SDK", () => {
  const payloads = rendered(prompts);
  assert.equal(payloads.length, JSON.parse(readFileSync(prompts, "utf8")).length * Object.keys(theirs).length);
  assert.equal(said("payloads", payloads, theirs), "");
  assert.equal(said("payloads-ours", payloads, ours), "");
});

test("every body for Gemini is of its type", () => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-sdk-types-"));
  const file = join(folder, "prompts.json");
  const given = JSON.parse(readFileSync(prompts, "utf8")).map((prompt) => ({ ...prompt, options: { ...prompt.options, sdk: false } }));
  writeFileSync(file, JSON.stringify(given));
  const payloads = rendered(file).filter(({ provider }) => provider === "gemini");
  rmSync(folder, { recursive: true });
  assert.equal(payloads.length, given.length);
  assert.equal(said("payloads-bodies", payloads, bodies), "");
});

test("the compiler finds what is wrong", () => {
  const user = { role: "user", content: "u" };
  const wrong = [
    { provider: "openai-chat", payload: { model: "m", messages: [{ role: "critic", content: "x" }] } },
    { provider: "openai-chat", payload: { model: "m", messages: [{ role: "tool", content: "x" }] } },
    {
      provider: "openai-chat",
      payload: { model: "m", messages: [{ role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: {} } }] }] },
    },
    { provider: "openai-responses", payload: { model: "m", input: [{ type: "function_call", name: "f", arguments: "{}" }] } },
    { provider: "openai-responses", payload: { model: "m", input: [], tools: [{ type: "function", name: "f", parameters: {} }] } },
    { provider: "anthropic", payload: { model: "m", messages: [user] } },
    { provider: "anthropic", payload: { model: "m", max_tokens: 1, messages: [{ role: "user", content: [{ type: "image_url", image_url: "x" }] }] } },
    { provider: "anthropic", payload: { model: "m", max_tokens: 1, messages: [{ role: "assistant", content: [{ type: "thinking", thinking: "x" }] }] } },
    { provider: "gemini", payload: { model: "m", contents: [{ role: "user", parts: [{ type: "text", text: "x" }] }] } },
    {
      provider: "gemini",
      payload: { model: "m", contents: [], config: { tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "object" } }] }] } },
    },
    { provider: "gemini", payload: { contents: [], systemInstruction: "x" } },
    { provider: "ollama", payload: { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "x" }] }] } },
    { provider: "ollama", payload: { model: "m", messages: [{ role: "tool", content: "x", tool_call_id: "c" }] } },
  ];
  for (const [name, types] of Object.entries({ mistakes: theirs, "mistakes-ours": ours })) {
    const errors = compile(name, wrong, types);
    // Gemini's words for types are those of an enum, which has no place in ours.
    const found = (literal, n) => errors.has(n) || (types === ours && literal.payload.config !== undefined);
    wrong.forEach((literal, n) => assert.ok(found(literal, n), `${name}: not found: ${JSON.stringify(literal)}`));
  }
});
