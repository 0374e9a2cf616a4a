// The examples and the pages of the docs, run as they stand.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inChild, installed, project, source } from "./support/installed.mjs";

/** Runs an example of the package in the user's project. */
function run(name, args) {
  const folder = join(project, "examples-langgraph");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(installed, "examples", name), join(folder, name));
  const child = spawnSync(process.execPath, [join(folder, name), ...args], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  assert.equal(child.status, 0, child.stdout + child.stderr);
  return child.stdout;
}

test("the example of a graph asks, ends, and goes on", { timeout: 120_000 }, () => {
  const folder = join(project, "examples-langgraph", `graph-${process.pid}`);
  assert.equal(run("langgraph.mjs", [folder]), "asked: Book a train to Bergen?\n");
  assert.equal(
    run("langgraph.mjs", [folder]),
    "still asking: Book a train to Bergen?\nanswer: Done (booked: Bergen).\nremembered: { to: 'Bergen' }\nconversation: user, assistant, tool, assistant\n",
  );
  rmSync(folder, { recursive: true, force: true });
});

test("the example of a history goes on", { timeout: 120_000 }, () => {
  const folder = join(project, "examples-langgraph", `history-${process.pid}`);
  assert.equal(run("langchain.mjs", ["I am Ann.", folder]), "I see.\nhuman: I am Ann.\nai: I see.\n");
  assert.equal(run("langchain.mjs", ["Who am I?", folder]), "I see.\nhuman: I am Ann.\nai: I see.\nhuman: Who am I?\nai: I see.\n");
  rmSync(folder, { recursive: true, force: true });
});

for (const page of ["langgraph", "langchain"])
  test(`the page about ${page} prints what it says`, { timeout: 120_000 }, () => {
    const text = readFileSync(join(source, `../docs/frameworks/${page}.md`), "utf8");
    const code = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, block]) => block).join("\n");
    const promised = [...code.matchAll(/^console\.log\(.*\/\/ (.*)$/gm)].map(([, words]) => words.replace(/:.*/, ""));
    assert.ok(promised.length >= 3);
    assert.deepEqual(inChild(code).trim().split("\n"), promised);
  });

const CONSUMER = `
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { fakeModel } from "@langchain/core/testing";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { Threadkeep, type Message } from "threadkeep";
import { createAgent } from "langchain";
import { ThreadkeepChatMessageHistory, contextMiddleware, fromLangChain, toLangChain, trimLangChain } from "threadkeep/langchain";
import { ThreadkeepSaver, ThreadkeepStore, contextHook, type ContextHookOptions } from "threadkeep/langgraph";

const keep = await Threadkeep.open();
const checkpointer = new ThreadkeepSaver(keep, { transcripts: true });
const store = new ThreadkeepStore(keep);
const options: ContextHookOptions = { keep, budget: { maxTokens: 10 }, memory: false };
const agent = createReactAgent({ llm: fakeModel(), tools: [], checkpointer, store, preModelHook: contextHook(options) });
const graph = new StateGraph(MessagesAnnotation).addNode("trim", contextHook({ budget: { maxTokens: 10 } })).addEdge(START, "trim").compile({ checkpointer, store });
await graph.invoke({ messages: [new HumanMessage("x")] });
await agent.invoke({ messages: [new HumanMessage("x")] });
await createAgent({ model: fakeModel(), tools: [], middleware: [contextMiddleware({ keep, budget: { maxTokens: 10 } })] }).invoke({ messages: "x" });
const history = new ThreadkeepChatMessageHistory(keep, "x", { budget: { maxTokens: 5 } });
new RunnableWithMessageHistory({ runnable: new FakeListChatModel({ responses: [] }), getMessageHistory: () => history, inputMessagesKey: "input" });
await keep.thread("main").append([fromLangChain(new AIMessage("x"))]);
const theirs: BaseMessage[] = (await keep.thread("main").messages()).map((message: Message) => toLangChain(message));
const { messages, tokens } = await trimLangChain(theirs, { budget: { maxTokens: 5 } });
export const text: string = messages[0]?.text + String(tokens);
`;

/** What the compiler says of a user's module. */
function compile(name, code) {
  const folder = join(project, `types-${name}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  writeFileSync(join(folder, "consumer.ts"), code);
  const compilerOptions = { strict: true, noEmit: true, target: "es2022", module: "nodenext", skipLibCheck: true, types: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const run = spawnSync(process.execPath, [join(source, "node_modules/typescript/bin/tsc"), "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  rmSync(folder, { recursive: true, force: true });
  return run.stdout + run.stderr;
}

test("the types fit LangChain's and LangGraph's", { timeout: 120_000 }, () => {
  assert.equal(compile("langgraph", CONSUMER), "");
  const wrong = ["new ThreadkeepSaver(keep, { transcript: true });", "contextHook({ budget: 10 });", 'fromLangChain("x");', "new ThreadkeepStore(store);"];
  const said = compile("langgraph-wrong", `${CONSUMER}${wrong.join("\n")}`);
  for (const [at] of wrong.entries()) assert.match(said, new RegExp(`consumer\\.ts\\(${CONSUMER.split("\n").length + at},`));
});
