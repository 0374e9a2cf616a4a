// The MCP server, spoken to by the SDK's own client: in this process, and as a program on stdin and stdout.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, memory } from "./support/expect.mjs";
import { installed, project, source } from "./support/installed.mjs";
import { mcpServer, remembering } from "./support/tools.mjs";

const program = join(installed, "dist/tools/bin.js");

async function connected(keep, options) {
  const server = mcpServer(keep, options);
  const client = new Client({ name: "test", version: "1" });
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  return { client, server };
}

test("the client lists the tools, calls them, and checks their answers against their schemas", async () => {
  const keep = await memory();
  await remembering(keep);
  const { client } = await connected(keep);
  assert.match(client.getInstructions(), /find it with search_memory.*not instructions to you/s);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 14);
  for (const { name, title, annotations } of tools) {
    assert.ok(title && annotations.openWorldHint === false);
    assert.equal(annotations.readOnlyHint, !/remember|forget|create|str_replace|insert|delete|rename/.test(name), name);
    assert.equal(annotations.destructiveHint, /forget|str_replace|delete/.test(name), name);
  }
  // With the list read, the client refuses an answer that is not as its schema says.
  const call = async (name, input) => {
    const { structuredContent, content, isError } = await client.callTool({ name, arguments: input });
    assert.equal(isError, false, content[0].text);
    if (structuredContent !== undefined) assert.deepEqual(JSON.parse(content[0].text), structuredContent);
    return structuredContent ?? content[0].text;
  };
  const { hits } = await call("search_memory", { query: "luggage" });
  await call("read_message", { node: hits[0].node, index: hits[0].index, before: 2, after: 2 });
  await call("read_conversation", { conversation: "trip" });
  await call("list_conversations", {});
  const { fact } = await call("remember_fact", { fact: "Ann likes Oslo.", kind: "preference", tags: ["town"] });
  await call("recall_facts", { query: "Oslo" });
  await keep
    .thread("old")
    .append(Array.from({ length: 40 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `We decided on lighthouse number ${at}.` })));
  await keep.thread("old").compact();
  await call("list_episodes", {});
  await call("search_memory", { query: "lighthouse" });
  await call("forget_fact", { id: fact.id });
  await call("memory_create", { path: "/memories/a", file_text: "one\n" });
  await call("memory_str_replace", { path: "/memories/a", old_str: "one", new_str: "two" });
  assert.match(await call("memory_view", { path: "/memories/a" }), /two/);
  await client.close();
  await keep.close();
});

test("errors: of a call in words for the model, of the protocol with a code", async () => {
  const keep = await memory();
  const { client } = await connected(keep, { prefix: "tk_", include: ["search", "files"] });
  await client.listTools();
  const failed = await client.callTool({ name: "tk_search_memory", arguments: { query: 5 } });
  assert.equal(failed.isError, true);
  assert.match(failed.content[0].text, /query must be a string/);
  assert.match((await client.callTool({ name: "tk_memory_view", arguments: { path: "/memories/../x" } })).content[0].text, /must not contain \.\./);
  assert.equal((await client.callTool({ name: "tk_search_memory" })).isError, true);
  await assert.rejects(client.callTool({ name: "search_memory", arguments: { query: "x" } }), /There is no tool "search_memory"/);
  for (const uri of [
    "threadkeep://transcript/nothing",
    "threadkeep://memory/nothing",
    "threadkeep://memory/../x",
    "threadkeep://memory/%2e%2e/x",
    "threadkeep://transcript/%E0%A4%A",
    "file:///etc/passwd",
    "threadkeep://transcript/",
    "x",
  ])
    await assert.rejects(client.readResource({ uri }), (error) => error.code === -32002, uri);
  await assert.rejects(client.getPrompt({ name: "nothing" }), /There is no prompt/);
  await assert.rejects(client.getPrompt({ name: "recall", arguments: {} }), /The argument topic is missing/);
  await assert.rejects(client.getPrompt({ name: "continue_conversation", arguments: { conversation: "nothing" } }), /There is no conversation/);
  await assert.rejects(client.listResources({ cursor: "nothing" }), /list again/);
  assert.throws(() => mcpServer(keep, { colour: "red" }), { code: "bad-request" });
  await keep.close();
  const closed = await client.callTool({ name: "tk_search_memory", arguments: { query: "x" } });
  assert.match(closed.content[0].text, /The memory is closed/);
  await assert.rejects(client.listResources(), /The memory is closed/);
  await client.close();
});

test("a read-only server has no tool that writes", async () => {
  const keep = await memory();
  const { client } = await connected(keep, { readOnly: true, resources: false, prompts: false });
  const { tools } = await client.listTools();
  assert.ok(tools.length === 7 && tools.every(({ annotations }) => annotations.readOnlyHint));
  await assert.rejects(client.callTool({ name: "remember_fact", arguments: { fact: "x" } }), /There is no tool/);
  assert.deepEqual(Object.keys(client.getServerCapabilities()), ["tools"]);
  await client.close();
  await keep.close();
});

test("conversations and memory files are resources: listed in pages, completed, and read a stretch at a time", async () => {
  const keep = await memory();
  await remembering(keep);
  for (let at = 0; at < 120; at += 1) await keep.thread(`c${at}`).append([{ role: "user", content: `subject ${at}` }]);
  await keep.import(JSON.stringify([{ id: "a/b?c#d %é", title: "an odd id", mapping: MAPPING }]), { format: "chatgpt" });
  await keep.thread("long").append(Array.from({ length: 100 }, (_, at) => ({ role: "user", content: `line ${at} ${"word ".repeat(60)}` })));
  const { client } = await connected(keep, { maxTokens: 2000 });
  await client.callTool({ name: "memory_create", arguments: { path: "/memories/ünï/a b.md", file_text: "a note" } });
  const all = [];
  let cursor;
  do {
    const page = await client.listResources(cursor === undefined ? {} : { cursor });
    all.push(...page.resources);
    cursor = page.nextCursor;
  } while (cursor);
  assert.equal(all.length, 125);
  assert.equal(new Set(all.map(({ uri }) => uri)).size, 125);
  const note = all.find(({ uri }) => uri.startsWith("threadkeep://memory/"));
  assert.deepEqual([note.name, note.size], ["/memories/ünï/a b.md", 6]);
  assert.equal((await client.readResource({ uri: note.uri })).contents[0].text, "a note");
  const trip = all.find(({ name }) => /luggage/.test(name));
  const { contents } = await client.readResource({ uri: trip.uri });
  assert.equal(contents[0].mimeType, "text/markdown");
  assert.match(contents[0].text, /^# .*luggage.*\n\n## system[^]*## tool · \S+Z\n\nfound in Bergen\n/);
  const strange = all.find(({ name }) => name === "an odd id");
  const odd = (await keep.transcripts()).find(({ title }) => title === "an odd id");
  assert.match(odd.id, /^chatgpt\/.*[?#%é]/);
  assert.equal(strange.uri, `threadkeep://transcript/${encodeURIComponent(odd.id)}`);
  assert.match((await client.readResource({ uri: strange.uri })).contents[0].text, /# an odd id\n\n## user[^]*a question from elsewhere/);
  let uri = all.find(({ name }) => /^line 0/.test(name)).uri;
  const lines = [];
  while (uri !== undefined) {
    const [{ text }] = (await client.readResource({ uri })).contents;
    assert.ok(text.length < 10_000);
    lines.push(...text.matchAll(/^line (\d+) /gm));
    uri = /are at (\S+)\]\n$/.exec(text)?.[1];
  }
  assert.deepEqual(
    lines.map(([, number]) => Number(number)),
    Array.from({ length: 100 }, (_, at) => at),
  );
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ["threadkeep://transcript/{id}{?from}", "threadkeep://memory/{+path}"],
  );
  const complete = async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion;
  const [conversations, files] = resourceTemplates.map(({ uriTemplate }) => ({ type: "ref/resource", uri: uriTemplate }));
  assert.deepEqual((await complete(conversations, "id", "chatgpt/a")).values, [odd.id]);
  const many = await complete(conversations, "id", "subject");
  assert.deepEqual([many.values.length, many.total, many.hasMore], [100, 120, true]);
  assert.deepEqual((await complete(files, "path", "ün")).values, ["ünï/a b.md"]);
  assert.deepEqual((await complete({ type: "ref/prompt", name: "continue_conversation" }, "conversation", "LUGGAGE")).values.length, 1);
  assert.deepEqual((await complete({ type: "ref/prompt", name: "recall" }, "topic", "x")).values, []);
  await client.close();
  await keep.close();
});

const MAPPING = {
  root: { id: "root", message: null, parent: null, children: ["m"] },
  m: {
    id: "m",
    parent: "root",
    children: [],
    message: { id: "m", author: { role: "user" }, create_time: 1_700_000_000, content: { content_type: "text", parts: ["a question from elsewhere"] } },
  },
};

test("prompts begin with what they are about", async () => {
  const keep = await memory();
  await remembering(keep);
  const { client } = await connected(keep, { prefix: "tk_" });
  assert.deepEqual(
    (await client.listPrompts()).prompts.map(({ name }) => name),
    ["recall", "continue_conversation"],
  );
  const recall = await client.getPrompt({ name: "recall", arguments: { topic: "the luggage" } });
  assert.match(recall.messages[0].content.text, /about this: the luggage\n.*tk_search_memory/s);
  const { messages } = await client.getPrompt({ name: "continue_conversation", arguments: { conversation: "recipes" } });
  assert.match(messages[0].content.resource.text, /aquafaba/);
  // Of a long one its end, whole.
  await keep.thread("long").append(Array.from({ length: 200 }, (_, at) => ({ role: "user", content: `line ${at} ${"word ".repeat(200)}` })));
  const end = (await client.getPrompt({ name: "continue_conversation", arguments: { conversation: "long" } })).messages[0].content.resource.text;
  assert.match(end, /line 199 [^]*word \n$/);
  assert.ok(/line 190 /.test(end) && !/line 100 /.test(end));
  await client.close();
  const { client: few } = await connected(keep, { include: ["files"] });
  assert.deepEqual(
    (await few.listPrompts()).prompts.map(({ name }) => name),
    ["continue_conversation"],
  );
  await assert.rejects(few.getPrompt({ name: "recall", arguments: { topic: "x" } }), /There is no prompt/);
  assert.ok(
    !/read_conversation/.test((await few.getPrompt({ name: "continue_conversation", arguments: { conversation: "recipes" } })).messages[1].content.text),
  );
  await few.close();
  await keep.close();
});

test("a client hears that conversations changed, once for many changes, and of those that it watches", { timeout: 60_000 }, async () => {
  const keep = await memory();
  await remembering(keep);
  const { client, server } = await connected(keep);
  const heard = { lists: 0, updated: [] };
  let resolve;
  const next = () => new Promise((wake) => (resolve = wake));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void ((heard.lists += 1), resolve?.()));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.updated.push(params.uri));
  const { transcript } = await keep.thread("trip").head();
  const uri = `threadkeep://transcript/${transcript}`;
  await client.subscribeResource({ uri });
  let told = next();
  for (let at = 0; at < 50; at += 1) await keep.thread("recipes").append([{ role: "user", content: `more ${at}` }]);
  await told;
  told = next();
  await keep.thread("trip").append([{ role: "user", content: "and now?" }]);
  await told;
  assert.ok(heard.lists < 51, `${heard.lists} notices for 51 changes`);
  while (heard.updated.length === 0) await new Promise((wake) => setTimeout(wake, 5));
  assert.deepEqual([...new Set(heard.updated)], [uri]);
  await client.unsubscribeResource({ uri });
  const note = "threadkeep://memory/a%20b.md";
  await client.subscribeResource({ uri: note });
  heard.updated.length = 0;
  told = next();
  await client.callTool({ name: "memory_create", arguments: { path: "/memories/a b.md", file_text: "new" } });
  await told;
  while (heard.updated.length === 0) await new Promise((wake) => setTimeout(wake, 5));
  assert.deepEqual(heard.updated, [note]);
  await server.close();
  await keep.thread("trip").append([{ role: "user", content: "nobody listens" }]);
  await keep.close();
});

test("a server whose `onclose` is somebody else's lets go of the keep all the same", { timeout: 60_000 }, async () => {
  const keep = await memory();
  let listening = 0;
  const on = keep.on.bind(keep);
  keep.on = (...given) => {
    const stop = on(...given);
    listening += 1;
    return () => ((listening -= 1), stop());
  };
  const { client, server } = await connected(keep);
  let closed = false;
  server.onclose = () => void (closed = true);
  assert.equal(listening, 1);
  await client.close();
  assert.ok(closed);
  await keep.thread("trip").append([{ role: "user", content: "nobody listens" }]);
  while (listening > 0) await new Promise((wake) => setTimeout(wake, 5));
  await keep.close();
});

test("a long search tells how far it is, and ends when the client cancels it", { timeout: 60_000 }, async () => {
  let slow = false;
  const storage = mapAdapter({ pause: () => (slow ? new Promise((resolve) => setTimeout(resolve, 10)) : undefined) });
  const keep = await Threadkeep.open({ storage, cacheBytes: 0 });
  for (let at = 0; at < 30; at += 1)
    await keep.thread(`c${at}`).append(Array.from({ length: 200 }, (_, index) => ({ role: "user", content: `penguin ${at} ${index}` })));
  const { client } = await connected(keep);
  slow = true;
  const controller = new AbortController();
  const first = [];
  const going = client.callTool({ name: "search_memory", arguments: { query: "penguin" } }, undefined, {
    signal: controller.signal,
    onprogress: (progress) => (first.push(progress), controller.abort("enough")),
  });
  await assert.rejects(going, /enough/);
  assert.equal(first[0].total, 6000);
  slow = false;
  assert.ok((await keep.searchIndex.progress()).indexed < 6000, "what was cancelled did not index the rest");
  const heard = [];
  const { structuredContent } = await client.callTool({ name: "search_memory", arguments: { query: "penguin" } }, undefined, {
    onprogress: (progress) => heard.push(progress),
  });
  assert.equal(structuredContent.hits.length, 8);
  assert.ok(heard.length >= 1 && heard.every(({ progress }, at) => at === 0 || progress > heard[at - 1].progress), JSON.stringify(heard));
  await client.close();
  await keep.close();
});

/** The program, with a client of the SDK at its other end. */
async function launched(args = [], cwd = project) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, ...args], cwd, stderr: "pipe" });
  let words = "";
  transport.stderr.on("data", (chunk) => (words += chunk));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return { client, transport, words: () => words };
}

test("the program serves a client of the SDK on stdin and stdout", { timeout: 60_000 }, async () => {
  const { client } = await launched(["--memory", "--read-only", "--prefix", "tk_"]);
  assert.equal(client.getServerVersion().name, "threadkeep");
  const { tools } = await client.listTools();
  assert.ok(tools.length === 7 && tools.every(({ name, annotations }) => name.startsWith("tk_") && annotations.readOnlyHint));
  const { structuredContent } = await client.callTool({ name: "tk_list_conversations", arguments: {} });
  assert.deepEqual(structuredContent, { conversations: [], total: 0 });
  await client.close();
});

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

/** Runs the program over these lines of input; `signal` is sent after the last answer that is waited for. */
function spoken(args, lines, { signal, answers = 1, cwd = project } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { cwd, stdio: "pipe" });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
      if (signal !== undefined && out.split("\n").length > answers) child.kill(signal);
    });
    child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
    child.on("error", reject);
    child.on("close", (code, by) => resolve({ code, by, out, err }));
    child.stdin.on("error", () => {});
    child.stdin.write(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
    if (signal === undefined) child.stdin.end();
  });
}

test("at the end of its input it answers what it was asked, and ends; only the protocol is on stdout", { timeout: 60_000 }, async () => {
  const calls = Array.from({ length: 20 }, (_, at) => ({
    jsonrpc: "2.0",
    id: at + 1,
    method: "tools/call",
    params: { name: "memory_create", arguments: { path: `/memories/${at}`, file_text: "x" } },
  }));
  const { code, out, err } = await spoken(
    ["--memory"],
    [INITIALIZE, { jsonrpc: "2.0", method: "notifications/initialized" }, "this is no JSON", '{"half":', ...calls],
  );
  assert.equal(code, 0, err);
  const answers = out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    answers
      .filter(({ id, result }) => result && typeof id === "number")
      .map(({ id }) => id)
      .sort((a, b) => a - b),
    Array.from({ length: 21 }, (_, at) => at),
  );
  assert.ok(answers.every(({ jsonrpc }) => jsonrpc === "2.0"));
  assert.equal((await spoken(["--memory"], [])).code, 0);
});

test("a flood of input ends it with words, and what is no request changes nothing", { timeout: 60_000 }, async () => {
  const strange = [
    '"text"',
    "[]",
    "null",
    "{}",
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":5,"method":"nothing/at/all"}',
    '{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
    "\0\0\0",
    '{"__proto__":{"x":1}}',
  ];
  const odd = await spoken(["--memory"], [INITIALIZE, ...strange, { jsonrpc: "2.0", id: 9, method: "tools/list" }]);
  assert.equal(odd.code, 0, odd.err);
  const answers = odd.out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  assert.equal(answers.find(({ id }) => id === 9).result.tools.length, 14);
  assert.equal(answers.find(({ id }) => id === 5).error.code, -32601);
  const words = odd.err.trimEnd().split("\n");
  assert.ok(
    words.length > 0 && words.every((line) => /^threadkeep-mcp: what came in was not understood: (it is no message of JSON-RPC|.*JSON.*)$/.test(line)),
    odd.err,
  );
  const flood = await spoken(["--memory"], [INITIALIZE, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${"x".repeat(40 << 20)}`]);
  assert.equal(flood.code, 0, flood.err);
  assert.ok(flood.err.length < 2000 && flood.out.length < 5000);
});

test("many large answers that wait for a slow host are no leak to warn of", { timeout: 60_000 }, async () => {
  const { client, words } = await launched(["--memory"]);
  await client.callTool({ name: "memory_create", arguments: { path: "/memories/a", file_text: "x ".repeat(4000) } });
  const view = { name: "memory_view", arguments: { path: "/memories/a" } };
  const answers = await Promise.all(Array.from({ length: 300 }, () => client.callTool(view)));
  assert.ok(answers.every(({ isError }) => !isError));
  await client.close();
  assert.equal(words(), "");
});

test("it ends also when a host that does not read any more wants it to", { timeout: 60_000, skip: process.platform === "win32" }, async () => {
  const child = spawn(process.execPath, [program, "--memory"], { cwd: project, stdio: ["pipe", "pipe", "inherit"] });
  const call = (id, name, given) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: given } });
  const views = Array.from({ length: 1000 }, (_, at) => call(at + 2, "memory_view", { path: "/memories/a" }));
  const lines = [INITIALIZE, call(1, "memory_create", { path: "/memories/a", file_text: "words ".repeat(1500) }), ...views];
  child.stdin.on("error", () => {});
  child.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  let bytes = 0;
  await new Promise((resolve) => {
    child.stdout.on("data", (chunk) => {
      bytes += chunk.length;
      if (bytes < 300_000) return;
      child.stdout.pause();
      resolve();
    });
  });
  const ended = new Promise((resolve) => child.once("exit", (code, by) => resolve([code, by])));
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  child.stdout.destroy();
});

test("it ends cleanly at SIGTERM and SIGINT", { timeout: 60_000, skip: process.platform === "win32" }, async () => {
  for (const signal of ["SIGTERM", "SIGINT"]) {
    const { code, by, err } = await spoken(["--memory"], [INITIALIZE], { signal });
    assert.deepEqual([code, by], [0, null], err);
  }
});

test("what it was told is in its folder the next time, and a second process is told that the folder is taken", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-mcp-"));
  try {
    const { client } = await launched(["--folder", folder, "--name", "ann"]);
    await client.callTool({ name: "memory_create", arguments: { path: "/memories/a.md", file_text: "kept" } });
    const second = spawnSync(process.execPath, [program, "--folder", folder, "--name", "ann"], { encoding: "utf8", input: "" });
    assert.deepEqual([second.status, second.stdout], [1, ""]);
    assert.match(
      second.stderr,
      /^threadkeep-mcp: process \d+ has the folder .* open.* another window of the host: start each with --sqlite FILE instead of --folder, and all share that file\.\n$/s,
    );
    const other = spawnSync(process.execPath, [program, "--folder", folder, "--name", "bob"], { encoding: "utf8", input: "" });
    assert.deepEqual([other.status, other.stderr], [0, ""]);
    await client.close();
    const again = await launched(["--folder", folder, "--name", "ann", "--tools", "files"]);
    const { content } = await again.client.callTool({ name: "memory_view", arguments: { path: "/memories/a.md" } });
    assert.match(content[0].text, /\tkept$/);
    await again.client.close();
    const home = spawnSync(process.execPath, [program, "--folder", "~/at-home"], {
      encoding: "utf8",
      input: "",
      cwd: folder,
      env: { ...process.env, HOME: folder, USERPROFILE: folder },
    });
    assert.deepEqual([home.status, home.stderr], [0, ""]);
    assert.ok(existsSync(join(folder, "at-home")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("two servers share one SQLite file", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-mcp-"));
  try {
    const file = join(folder, "chats.db");
    const [ann, bob] = [await launched(["--sqlite", file]), await launched(["--sqlite", file])];
    await ann.client.callTool({ name: "memory_create", arguments: { path: "/memories/a.md", file_text: "from ann" } });
    const { content } = await bob.client.callTool({ name: "memory_view", arguments: { path: "/memories/a.md" } });
    assert.match(content[0].text, /from ann/);
    const other = await launched(["--sqlite", file, "--name", "notes"]);
    assert.equal((await other.client.callTool({ name: "memory_view", arguments: { path: "/memories/a.md" } })).isError, true, "a name is a table of its own");
    await Promise.all([ann, bob, other].map(({ client }) => client.close()));
    assert.ok(existsSync(file));
    const both = spawnSync(process.execPath, [program, "--sqlite", file, "--memory"], { encoding: "utf8", input: "" });
    assert.deepEqual(
      [both.status, both.stderr],
      [1, "threadkeep-mcp: --sqlite and --memory cannot be used together: choose one place for the conversations\n"],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("what it cannot do is said on stderr", { timeout: 60_000 }, async () => {
  const run = (...args) => spawnSync(process.execPath, [program, ...args], { encoding: "utf8", input: "", cwd: project });
  assert.match(run("--help").stdout, /--read-only/);
  assert.match(run("--version").stdout, /^\d+\.\d+\.\d+\n$/);
  for (const [args, words] of [
    [["--colour"], /Unknown option '--colour'[^]*--help/],
    [["--memory", "--tools", "nothing"], /names "nothing"; there are: search_memory/],
    [["--memory", "--max-tokens", "few"], /must be a whole number/],
    [["--memory", "--max-tokens", "5"], /200 or more/],
    [["--memory", "extra"], /extra/],
  ]) {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stdout], [1, ""], args.join(" "));
    assert.match(stderr, words);
    assert.ok(!/ {4}at /.test(stderr), `no stack for people: ${stderr}`);
  }
});

test("the program finds the SDK beside it or in the working folder, and says where it looked", { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-mcp-"));
  try {
    // As `npx -p threadkeep` has it: threadkeep alone in a folder of npx's, and a project without it.
    const alone = join(folder, "npx/node_modules/threadkeep");
    cpSync(installed, alone, { recursive: true });
    const run = (cwd) =>
      spawnSync(process.execPath, [join(alone, "dist/tools/bin.js"), "--memory"], { encoding: "utf8", cwd, input: `${JSON.stringify(HELLO)}\n` });
    const [without, having] = ["without", "with the SDK #1"].map((name) => join(folder, name));
    mkdirSync(without);
    const missing = run(without);
    assert.equal(missing.status, 1);
    assert.match(missing.stderr, /the package @modelcontextprotocol\/sdk is missing/);
    for (const place of [realpathSync(without), join(realpathSync(alone), "dist")]) assert.ok(missing.stderr.includes(place), missing.stderr);
    assert.match(missing.stderr, /npm install @modelcontextprotocol\/sdk\n$/);
    mkdirSync(join(having, "node_modules/@modelcontextprotocol"), { recursive: true });
    symlinkSync(join(source, "node_modules/@modelcontextprotocol/sdk"), join(having, "node_modules/@modelcontextprotocol/sdk"), "junction");
    const { status, stdout, stderr } = run(having);
    assert.deepEqual([status, stderr], [0, ""]);
    assert.equal(JSON.parse(stdout).result.serverInfo.name, "threadkeep");
    const linked = spawnSync(join(project, "node_modules/.bin/threadkeep-mcp"), ["--version"], { encoding: "utf8" });
    assert.match(linked.stdout, /^\d+\.\d+\.\d+\n$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const HELLO = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

test("the page of the docs runs as it stands", { timeout: 60_000 }, () => {
  const [, code] = /```js\n([^]*?)```/.exec(readFileSync(join(source, "../docs/tools.md"), "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-docs-"));
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", `${code}\nconsole.log(text);\nawait keep.close();`], {
    encoding: "utf8",
    cwd: project,
    env: { ...process.env, THREADKEEP_HOME: folder },
  });
  rmSync(folder, { recursive: true, force: true });
  assert.deepEqual([run.status, run.stdout, run.stderr], [0, '{"hits":[]}\n', ""]);
});

test("the example runs as it stands", { timeout: 60_000 }, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(installed, "examples/mcp-server.mjs")], { encoding: "utf8", cwd: source });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /search_memory/);
  assert.match(stdout, /Bergen/);
});
