// The types of the AI SDK 7 and 6 and of assistant-ui, as a project of a user's compiles against ours; and a chat on version 6.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { installed, project, source } from "./support/installed.mjs";

const tsc = join(dirname(createRequire(join(source, "package.json")).resolve("typescript/package.json")), "bin/tsc");

/** A project of its own, with these packages under these names. */
function home(name, packages) {
  const folder = join(project, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "node_modules/@assistant-ui"), { recursive: true });
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  // A copy, so that it finds the packages of this project.
  cpSync(installed, join(folder, "node_modules/threadkeep"), { recursive: true });
  for (const [as, from] of Object.entries(packages)) symlinkSync(join(source, "node_modules", from), join(folder, "node_modules", as), "dir");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  return folder;
}

const CHAT = `
import { DefaultChatTransport, ToolLoopAgent, generateText, streamText, tool, type ChatTransport, type LanguageModel, type ModelMessage, type UIMessage } from "ai";
import { Threadkeep, type MessageInput } from "threadkeep";
import { branchingTransport, chatStore, fromModelMessages, toModelMessages, trimSteps, type ChatBranch } from "threadkeep/ai-sdk";
import { z } from "zod";

type Mine = UIMessage<{ model?: string }, { note: { text: string } }, { weather: { input: { town: string }; output: string } }>;
declare const keep: Threadkeep;
declare const model: LanguageModel;
declare const messages: Mine[];

const chats = chatStore<Mine>(keep, { prefix: "chat/" });
const loaded: Mine[] = await chats.load("c");
const { leaf, added, branched }: { leaf: string | null; added: number; branched: boolean } = await chats.save({ chatId: "c", messages });
const versions: ChatBranch<Mine>[] = await chats.branches("c", "m");
const shown: Mine[] = await chats.select("c", versions[0]!.node);
const transport: ChatTransport<Mine> = branchingTransport(new DefaultChatTransport<Mine>({ api: "/api/chat" }), chats, { onError: (error: Error) => console.error(error) });
const plain: ChatTransport<UIMessage> = branchingTransport(new DefaultChatTransport(), keep);
const tools = { weather: tool({ inputSchema: z.object({ town: z.string() }), execute: async ({ town }) => town }) };
const prepareStep = trimSteps({ budget: { maxTokens: 1000 }, policy: "stable", onTrim: ({ tokens }) => console.log(tokens) });
const { text } = await generateText({ model, tools, prompt: "x", prepareStep });
streamText({ model, tools, prompt: "x", prepareStep });
new ToolLoopAgent({ model, tools, prepareStep });
const ours: MessageInput[] = fromModelMessages([{ role: "user", content: "x" }]);
const theirs: ModelMessage[] = toModelMessages(ours);
// @ts-expect-error there is no such option
trimSteps({ budgets: 1 });
// @ts-expect-error no list
await chats.save({ chatId: "c", messages: "x" });
export { added, branched, leaf, loaded, plain, shown, text, theirs, transport };
`;

const THREAD = `
import type { ExportedMessageRepository, RemoteThreadListAdapter, ThreadHistoryAdapter } from "@assistant-ui/core";
import { Threadkeep } from "threadkeep";
import { threadHistory, threadList } from "threadkeep/assistant-ui";
declare const keep: Threadkeep;
const history: ThreadHistoryAdapter = threadHistory(keep, "t");
const lazy: ThreadHistoryAdapter = threadHistory(keep, () => ({ getState: () => ({ remoteId: undefined }), initialize: async () => ({ remoteId: "t" }) }), { prefix: "aui/" });
const threads: RemoteThreadListAdapter = { ...threadList(keep, { title: async () => "x" }), unstable_useAdapters: () => ({ history }) };
const repository: ExportedMessageRepository = await threadHistory(keep, "t").load();
await threadHistory(keep, "t").save(repository);
// @ts-expect-error no thread
threadHistory(keep, 7);
export { lazy, threads };
`;

function compile(folder, code) {
  writeFileSync(join(folder, "user.ts"), code);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
    types: ["node"],
    skipLibCheck: true,
    preserveSymlinks: false,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["user.ts"] }));
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  return stdout + stderr;
}

const common = { zod: "zod", "@types/node": "@types/node" };

for (const [version, name] of [
  [7, "ai"],
  [6, "ai-6"],
])
  test(`the types of version ${version} take ours`, { timeout: 120_000 }, () => {
    assert.equal(compile(home(`types-ai-${version}`, { ...common, ai: name }), CHAT), "");
  });

/** The TypeScript of the page in the docs, as a user has it in a route. */
const ROUTE = `
import { ToolLoopAgent, generateId, streamText, type LanguageModel, type ToolSet, type UIMessage } from "ai";
import { chatStore, trimSteps } from "threadkeep/ai-sdk";
import type { Threadkeep } from "threadkeep";
declare const keep: Threadkeep;
declare const model: LanguageModel;
declare const tools: ToolSet;
declare const instructions: string;
declare const messages: UIMessage[];
declare const chatId: string;
const chats = chatStore(keep);
const result = streamText({ model, prompt: "x" });
`;

for (const [version, name] of [
  [7, "ai"],
  [6, "ai-6"],
])
  test(`the TypeScript in the docs compiles with version ${version}`, { timeout: 120_000 }, () => {
    const page = readFileSync(join(source, "../docs/frameworks/ai-sdk.md"), "utf8");
    const blocks = [...page.matchAll(/```ts\n(.+?)```/gs)].map(([, block], at) => `export async function block${at}() {\n${block}}\n`);
    assert.equal(blocks.length, 2);
    assert.equal(compile(home(`types-docs-ai-${version}`, { ...common, ai: name }), ROUTE + blocks.join("")), "");
  });

for (const [version, name, mock] of [
  [7, "ai", "MockLanguageModelV4"],
  [6, "ai-6", "MockLanguageModelV3"],
])
  test(`the route of the docs saves a chat with version ${version}`, { timeout: 60_000 }, () => {
    const page = readFileSync(join(source, "../docs/frameworks/ai-sdk.md"), "utf8");
    const [, route] = /```ts\n(return result[^]+?)```/.exec(page);
    const folder = home(`route-ai-${version}`, { ai: name, zod: "zod" });
    writeFileSync(
      join(folder, "route.mjs"),
      `
import { generateId, streamText } from "ai";
import * as tests from "ai/test";
import { Threadkeep } from "threadkeep";
import { chatStore } from "threadkeep/ai-sdk";
const keep = await Threadkeep.open({ storage: "memory", encoding: "estimate" });
const chats = chatStore(keep);
const Mock = tests.${mock} ?? tests.MockLanguageModelV3;
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const chunks = [{ type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Yes." }, { type: "text-end", id: "t" }, { type: "finish", usage, finishReason: { unified: "stop", raw: undefined } }];
const model = new Mock({ doStream: async () => ({ stream: tests.simulateReadableStream({ chunks }) }) });
const messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "Will it rain?" }] }];
const chatId = "ann";
const route = async () => {
  const result = streamText({ model, prompt: "Will it rain?" });
  ${route}
};
await (await route()).text();
console.log((await chats.load("ann")).map(({ role, parts }) => [role, parts.find(({ type }) => type === "text").text].join(": ")).join(", "));
await keep.close();
`,
    );
    const { stdout, stderr } = spawnSync(process.execPath, ["route.mjs"], { cwd: folder, encoding: "utf8", timeout: 30_000 });
    assert.equal(stdout, "user: Will it rain?, assistant: Yes.\n", stderr);
  });

test("the types of assistant-ui take ours", { timeout: 120_000 }, () => {
  assert.equal(compile(home("types-assistant-ui", { ...common, "@assistant-ui/core": "@assistant-ui/core" }), THREAD), "");
});

test("a chat on version 6: sent, asked again, approved, edited, loaded", { timeout: 60_000 }, () => {
  const folder = home("ai-6", { ai: "ai-6", zod: "zod" });
  writeFileSync(
    join(folder, "chat.mjs"),
    `
import assert from "node:assert/strict";
import { AbstractChat, ToolLoopAgent, convertToModelMessages, lastAssistantMessageIsCompleteWithApprovalResponses, tool, validateUIMessages } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { Threadkeep } from "threadkeep";
import { branchingTransport, trimSteps } from "threadkeep/ai-sdk";
import { z } from "zod";

const keep = await Threadkeep.open({ storage: "memory", encoding: "estimate" });
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const script = [["One."], ["Two."], [{ id: "k", name: "book" }], ["Booked."], ["Three."]];
const model = new MockLanguageModelV3({
  doStream: async () => {
    const [next] = script.shift();
    const call = typeof next === "object";
    const parts = call ? [{ type: "tool-call", toolCallId: next.id, toolName: next.name, input: "{}" }] : [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: next }, { type: "text-end", id: "t" }];
    return { stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", usage, finishReason: { unified: call ? "tool-calls" : "stop", raw: undefined } }] }) };
  },
});
const agent = new ToolLoopAgent({ model, tools: { book: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "done" }) }, prepareStep: trimSteps({ budget: { maxTokens: 1000 }, encoding: "estimate" }) });
let ids = 0;
class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) {
    const state = { status: "ready", messages, pushMessage: (m) => void (state.messages = [...state.messages, m]), popMessage() {}, replaceMessage: (at, m) => void (state.messages = state.messages.with(at, structuredClone(m))), snapshot: structuredClone };
    super({ ...init, state, generateId: () => "i" + ids++, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  }
}
const direct = {
  async sendMessages({ messages, abortSignal }) {
    const result = await agent.stream({ prompt: await convertToModelMessages(messages, { tools: agent.tools }), abortSignal });
    return result.toUIMessageStream({ originalMessages: messages, generateMessageId: () => "a" + ids++ });
  },
  reconnectToStream: async () => null,
};
const transport = branchingTransport(direct, keep);
const chat = new Chat({ id: "c", transport });
const check = async () => {
  await transport.settled();
  const loaded = await transport.chats.load("c");
  assert.deepEqual(loaded, JSON.parse(JSON.stringify(chat.messages)));
  await validateUIMessages({ messages: loaded });
};
await chat.sendMessage({ text: "Count" });
await check();
await chat.regenerate();
await check();
assert.equal((await transport.chats.branches("c", chat.lastMessage.id)).length, 2);
await chat.sendMessage({ text: "Book" });
await check();
await chat.addToolApprovalResponse({ id: chat.lastMessage.parts.at(-1).approval.id, approved: true });
while (chat.status !== "ready" || chat.lastMessage.parts.at(-1).text !== "Booked.") await new Promise((resolve) => setTimeout(resolve, 2));
await check();
await chat.sendMessage({ text: "Count anew", messageId: chat.messages[0].id });
await check();
assert.deepEqual((await transport.chats.branches("c", chat.messages[0].id)).length, 2);
assert.deepEqual(await keep.lint(), []);
await keep.close();
console.log("fine");
`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, ["chat.mjs"], { cwd: folder, encoding: "utf8", timeout: 30_000 });
  assert.equal(stdout, "fine\n", stderr);
});
