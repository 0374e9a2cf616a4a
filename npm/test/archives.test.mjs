// Archives in and out: every form of data, every importable format, and the way round.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, many, memory, rejects, texts, user } from "./support/expect.mjs";
import { fixture } from "./support/installed.mjs";

const chainTexts = async (keep, id) => texts((await keep.chain(id)).flatMap((node) => node.messages));
const name = "chatgpt.json";
const bytes = fixture(name);

test("ChatGPT: the tree, its branches and the chosen branch", async () => {
  const keep = await memory();
  const report = await keep.import({ name, data: bytes });
  assert.deepEqual(report.formats, ["chatgpt"]);
  assert.deepEqual([report.added, report.updated, report.unchanged, report.skippedCount], [2, 0, 0, 1]);
  assert.equal(report.transcripts.length, 2);
  const [skipped] = report.skipped;
  assert.match(skipped.place, /chatgpt\.json.*No mapping at all/);
  assert.match(skipped.reason, /mapping/);
  assert.equal(skipped.salvaged, false);
  const pear = (await keep.transcripts()).find((transcript) => transcript.title === "Pruning a pear tree");
  assert.deepEqual([pear.source, pear.branches, pear.createdAt], ["chatgpt", 2, 1_727_000_000_000]);
  const said = (await chainTexts(keep, pear.leaf)).filter((text) => text !== "");
  assert.equal(said.length, 4);
  assert.equal(said.at(-1), "Then prune lightly in July; pears forgive 🍐.");
  const fork = (await keep.transcript(pear.id).outline()).rows.find((row) => row.fork !== null).fork;
  assert.equal(fork.count, 2);
  assert.match((await chainTexts(keep, fork.next)).at(-1), /what crosses/);
  const again = await keep.import(bytes);
  assert.deepEqual([again.added, again.updated, again.unchanged, again.messages], [0, 0, 2, 0]);
  await keep.close();
});

test("Claude.ai, Claude Code and OpenAI messages", async () => {
  const keep = await memory();
  const claude = await keep.import({ name: "conversations.json", data: fixture("claude.json") });
  assert.deepEqual([claude.formats, claude.added], [["claude-ai"], 1]);
  const [dough] = await keep.transcripts();
  assert.deepEqual([dough.title, dough.branches], ["Sourdough timing", 2]);
  const rows = (await keep.transcript(dough.id).outline()).rows;
  const other = rows.find((row) => row.fork !== null).fork.previous;
  const thought = (await keep.chain(other)).at(-1).messages[0];
  assert.deepEqual([thought.reasoning, thought.content], ["They may mean the bulk rise.", "Four to six hours at room temperature."]);

  const code = await keep.import({ name: "session.jsonl", data: fixture("claude-code.jsonl") });
  assert.deepEqual([code.formats, code.added, code.skippedCount], [["claude-code"], 1, 0]);
  const chain = (await keep.chain((await keep.transcript(code.transcripts[0]).outline()).leaf)).flatMap((node) => node.messages);
  const call = chain.find((message) => message.tool_calls)?.tool_calls[0];
  assert.equal(call.function.name, "Bash");
  assert.equal(chain.find((message) => message.role === "tool").tool_call_id, call.id);
  assert.deepEqual(await keep.lint(chain.at(-1).id), []);

  const openai = await keep.import({ name: "messages.jsonl", data: fixture("openai.jsonl") });
  assert.deepEqual([openai.formats, openai.added, openai.messages], [["openai-messages"], 2, 7]);
  await keep.close();
});

test("every form of data gives the same", async () => {
  const file = new File([bytes], name);
  const forms = {
    string: bytes.toString("utf8"),
    Buffer: bytes,
    ArrayBuffer: new Uint8Array(bytes).buffer,
    "a part of a buffer": new Uint8Array([1, 2, ...bytes, 3]).subarray(2, bytes.length + 2),
    Blob: new Blob([bytes]),
    File: file,
    "a list of files": [file],
    "a set of files": new Set([file]),
    named: { name, data: bytes.toString("utf8") },
    "a list of named": [{ name, data: bytes }],
    "a web stream": new Blob([bytes]).stream(),
    "a generator of reused chunks": (async function* () {
      const chunk = new Uint8Array(100);
      for (let at = 0; at < bytes.length; at += 100) {
        const part = bytes.subarray(at, at + 100);
        chunk.set(part);
        yield chunk.subarray(0, part.length);
      }
    })(),
    "a generator of strings": (async function* () {
      for (const line of bytes.toString("utf8").split("\n")) yield `${line}\n`;
    })(),
  };
  let expected;
  for (const [form, data] of Object.entries(forms)) {
    const keep = await memory();
    const report = await keep.import(data);
    assert.deepEqual([report.added, report.skippedCount], [2, 1], form);
    const exported = await keep.export().text();
    expected ??= exported;
    assert.equal(exported, expected, form);
    await keep.close();
  }
});

test("only pieces of a blob are read, and a blob that fails is in the report", async () => {
  const line = `${JSON.stringify({ messages: [user("x".repeat(1_000)), assistant("y")] })}\n`;
  const text = Array.from({ length: 3_000 }, (_, index) => line.replace("xxx", `${index}`)).join("");
  const blob = new Blob([text]);
  let largest = 0;
  const watched = {
    size: blob.size,
    name: "big.jsonl",
    slice(start, end) {
      largest = Math.max(largest, end - start);
      return blob.slice(start, end);
    },
    arrayBuffer: () => assert.fail("the whole is never read at once"),
  };
  const keep = await memory();
  const progress = [];
  const report = await keep.import(watched, { onProgress: (state) => progress.push(state) });
  assert.equal(report.added, 3_000);
  assert.ok(largest < blob.size / 2, `${largest} of ${blob.size} bytes at once`);
  assert.ok(progress.length > 1);
  assert.deepEqual(
    progress.map((state) => state.bytes),
    progress.map((state) => state.bytes).sort((a, b) => a - b),
  );
  const last = progress.at(-1);
  assert.deepEqual([last.bytes, last.totalBytes, last.file, last.conversations], [blob.size, blob.size, "big.jsonl", 3_000]);
  const failing = { size: 10, slice: () => ({ arrayBuffer: () => Promise.reject(new Error("unplugged")) }), arrayBuffer() {} };
  const failed = await keep.import([
    { name: "disk.json", data: failing },
    { name, data: bytes },
  ]);
  assert.equal(failed.added, 2);
  const unread = failed.skipped.find((skip) => skip.place.includes("disk.json"));
  assert.match(unread.reason, /unplugged/);
  await keep.close();
});

test("an import ends when its signal is aborted; what came in stays, and the next one goes on", async () => {
  const line = `${JSON.stringify({ messages: [user("x".repeat(1_000)), assistant("y")] })}\n`;
  const text = Array.from({ length: 3_000 }, (_, index) => line.replace("xxx", `${index}`)).join("");
  const keep = await memory();
  const stop = new AbortController();
  const importing = keep.import(text, { signal: stop.signal, onProgress: ({ conversations }) => conversations > 0 && stop.abort() });
  const report = await importing.then(
    () => assert.fail("it was cancelled"),
    (error) => {
      assert.deepEqual([error.name, error.code], ["ThreadkeepError", "cancelled"]);
      return error.details.report;
    },
  );
  assert.ok(report.added > 0 && report.added < 3_000 && report.stopped, JSON.stringify({ ...report, transcripts: [] }));
  assert.equal((await keep.stats()).transcripts, report.added);
  await rejects(keep.import(text, { signal: AbortSignal.abort() }), "cancelled", /cancelled/);
  await rejects(keep.import(text, { signal: {} }), "bad-request", /^options\.signal/);
  const rest = await keep.import(text);
  assert.deepEqual([rest.added, rest.unchanged, rest.stopped], [3_000 - report.added, report.added, false]);
  await keep.close();
});

test("what is no archive is said and changes nothing", async () => {
  const keep = await memory();
  for (const data of ["", "hello", "{}", "[]", '{"mapping": 3}', new Uint8Array([0, 255, 254]), "[".repeat(10_000), "PK\u0003\u0004 not really"]) {
    const report = await keep.import(data);
    assert.deepEqual([report.added, report.messages], [0, 0]);
    assert.ok(report.skipped.every((skip) => skip.place !== "" && skip.reason !== "" && skip.code !== ""));
    if (data !== "[]") assert.ok(report.skippedCount >= 1, JSON.stringify(data).slice(0, 40));
  }
  assert.equal((await keep.stats()).transcripts, 0);
  const cut = await keep.import({ name, data: bytes.subarray(0, bytes.length - 700) });
  assert.ok(cut.skippedCount >= 1);
  assert.equal((await keep.import(bytes)).added + cut.added, 2);
  await keep.close();
});

test("a listener that throws during the import does not stop it", async () => {
  const keep = await memory();
  const saved = globalThis.reportError;
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  const report = await keep.import(bytes, {
    onProgress() {
      throw new Error("the listener's own");
    },
  });
  if (saved === undefined) delete globalThis.reportError;
  else globalThis.reportError = saved;
  assert.equal(report.added, 2);
  assert.ok(reported.length > 0 && reported.every((words) => words === "the listener's own"));
  await keep.close();
});

test("export, clear, import: everything is as it was", async () => {
  const keep = await memory();
  await keep.import(bytes);
  await keep.import(fixture("claude-code.jsonl"));
  await keep.thread("main").append([{ role: "system", content: "s", x_extra: [1.5, null] }, ...many(120)]);
  await keep.thread("main").fork("side", { atIndex: 5 });
  await keep.thread("side").append([user("elsewhere")]);
  const question = await keep.receive({ messageId: "q", from: "ann", number: 4, content: "why?" });
  await keep.extend(question.id, [assistant("because")]);
  await keep.at("q").alias("sent");
  await keep.transcript(question.transcript).rename("A question");
  const look = async () => ({
    transcripts: (await keep.transcripts()).map(({ id, title, nodes, messages, branches, leaf }) => [id, title, nodes, messages, branches, leaf]).sort(),
    heads: await keep.threads(),
    main: await keep.thread("main").messages(),
    side: await keep.thread("side").messages(),
    node: await keep.node("sent"),
    lint: await keep.lint(),
  });
  const before = await look();
  const exported = await keep.export().text();
  assert.ok(
    exported
      .split("\n")
      .filter(Boolean)
      .every((line) => typeof JSON.parse(line) === "object"),
  );
  await keep.deleteAll();
  assert.equal((await keep.stats()).messages, 0);
  const report = await keep.import(exported);
  assert.deepEqual([report.skippedCount, report.added], [0, before.transcripts.length]);
  assert.deepEqual(await look(), before);
  assert.equal(await keep.export().text(), exported);
  assert.equal((await keep.import(exported)).unchanged, before.transcripts.length);
  await keep.close();
});

test("an export can be taken in every way, and one transcript alone", async () => {
  const keep = await memory();
  await keep.import(bytes);
  const whole = await keep.export().text();
  const blob = await keep.export({ format: "threadkeep" }).blob();
  assert.equal(await blob.text(), whole);
  assert.equal(blob.type, "application/jsonl");
  assert.equal(await new Response(keep.export().stream()).text(), whole);
  let pieces = "";
  for await (const piece of keep.export()) pieces += piece;
  assert.equal(pieces, whole);
  for await (const piece of keep.export()) {
    assert.ok(piece.length > 0);
    break;
  }
  const one = await keep.export({ transcript: "chatgpt/conv-teal" }).text();
  assert.ok(one.length < whole.length);
  const other = await memory();
  assert.equal((await other.import(keep.export())).added, 2);
  assert.equal(await other.export().text(), whole);
  await other.deleteAll();
  await other.import(one);
  assert.deepEqual(
    (await other.transcripts()).map((transcript) => transcript.id),
    ["chatgpt/conv-teal"],
  );
  await keep.close();
  await rejects(new Response(keep.export().stream()).text(), "closed");
  await rejects(keep.export()[Symbol.asyncIterator]().next(), "closed");
  await other.close();
});

test("compactions of a session come in as checkpoints", async () => {
  const line = (id, parentId, role, content) => ({ type: "message", id, parentId, message: { role, content } });
  const lines = [
    { type: "session", version: 3, id: "boat", cwd: "/" },
    line("u1", null, "user", "How far is it?"),
    line("a1", "u1", "assistant", "Nine miles."),
    line("u2", "a1", "user", "Set a course."),
    { type: "compaction", id: "c1", parentId: "u2", summary: "It is nine miles off.", firstKeptEntryId: "u2" },
    line("a2", "c1", "assistant", "North."),
  ];
  const keep = await memory();
  await keep.import(lines.map((it) => JSON.stringify(it)).join("\n"));
  const said = async (options) => texts((await keep.thread("pi/boat/a2").context({ encoding: "estimate", ...options })).messages);
  const now = await said();
  assert.match(now[0], /- It is nine miles off\.$/);
  assert.deepEqual(now.slice(1), ["Set a course.", "North."]);
  assert.deepEqual(await said({ epoch: "original" }), ["How far is it?", "Nine miles.", "Set a course.", "North."]);
  await keep.close();
});

test("other formats are written, the chosen branch or all of them", async () => {
  const keep = await memory();
  await keep.thread("main").append([{ role: "system", content: "be brief" }, user("Which way?"), assistant("North.")]);
  await keep.thread("main").fork("side", { atIndex: 2 });
  await keep.thread("side").append([assistant("South.")]);
  const head = await keep.thread("main").head();
  const openai = keep.export({ format: "openai-messages" });
  const lines = (await openai.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 1);
  assert.deepEqual(texts(lines[0].messages).slice(0, 2), ["be brief", "Which way?"]);
  assert.equal((await openai.blob()).type, "application/jsonl");
  const all = (await keep.export({ format: "openai-messages", branches: true }).text()).trim().split("\n");
  assert.deepEqual(all.map((line) => texts(JSON.parse(line).messages).at(-1)).sort(), ["North.", "South."]);
  const sharegpt = keep.export({ format: "sharegpt", transcript: head.transcript });
  const [conversation] = JSON.parse(await sharegpt.text());
  assert.deepEqual(
    conversation.conversations.map(({ from }) => from),
    ["system", "human", "gpt"],
  );
  assert.equal((await sharegpt.blob()).type, "application/json");
  assert.deepEqual(Object.keys(await sharegpt.files()), ["sharegpt.json"]);
  const markdown = await keep.export({ format: "markdown", branches: true }).blob();
  assert.equal(markdown.type, "text/markdown");
  const text = await markdown.text();
  assert.ok(text.includes("Which way?") && text.includes("North.") && text.includes("South."), text);
  let pieces = "";
  for await (const piece of keep.export({ format: "markdown", branches: true })) pieces += piece;
  assert.equal(pieces, text);
  assert.equal(await new Response(keep.export({ format: "markdown", branches: true }).stream()).text(), text);
  // What was written comes in again.
  const other = await memory();
  assert.equal((await other.import(all.join("\n"))).added, 1);
  const [back] = await other.transcripts();
  assert.equal(back.branches, 2);
  await rejects(keep.export({ format: "markdown", transcript: "nowhere" }).text(), "missing-transcript");
  await rejects(keep.export({ format: "fax" }).text(), "bad-request", /^options\.format/);
  await rejects(keep.export({ format: "toString" }).text(), "bad-request", /^options\.format/);
  await rejects(keep.export({ branches: true }).text(), "bad-request", /^options\.branches/);
  await rejects(keep.export({ format: "memory", branches: false }).text(), "bad-request", /^options\.branches/);
  await rejects(keep.export({ format: "markdown", branches: 1 }).text(), "bad-request", /^options\.branches/);
  await rejects(keep.export({ formats: "markdown" }).text(), "bad-request", /formats/);
  await keep.close();
  await rejects(keep.export({ format: "sharegpt" }).text(), "closed");
  await other.close();
});

test("images, audio and video of a trace come back", async () => {
  const media = { images: ["https://example.org/a.png"], audio: ["https://example.org/b.mp3"], video: ["https://example.org/c.mp4"] };
  const trace = {
    id: "rt_1",
    ts: 1.5,
    turn_id: "turn_0001",
    seq: 1,
    trace_type: "user",
    content: "see and hear",
    source_event: "LLMUserMessageReadyEvent",
    media,
  };
  const keep = await memory();
  const report = await keep.import({ name: "memory/agents/mate/raw_traces.jsonl", data: JSON.stringify(trace) + "\n" });
  assert.deepEqual([report.formats, report.messages], [["memory"], 1]);
  const [{ leaf }] = await keep.transcripts();
  const [message] = (await keep.chain(leaf)).flatMap((node) => node.messages);
  assert.deepEqual(
    message.content.map(({ type }) => type),
    ["text", "image_url", "audio_url", "video_url"],
  );
  const files = await keep.export({ format: "memory" }).files();
  const [, text] = Object.entries(files).find(([path]) => path.endsWith("/raw_traces.jsonl"));
  assert.deepEqual(JSON.parse(text).media, media);
  await keep.close();
});

test("an agent's memory is written as its files and comes in again", async () => {
  const keep = await memory();
  const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"at":"log"}' } };
  await keep.thread("mate").append([user("What does the log say?"), { role: "assistant", content: null, tool_calls: [call] }]);
  await keep.thread("mate").append([{ role: "tool", tool_call_id: "c1", name: "look", content: "All well." }, assistant("All is well.")]);
  const { transcript } = await keep.thread("mate").head();
  const fact = await keep.memory.remember({ fact: "The log is kept in ink.", kind: "constraint", transcript });
  await keep.memory.remember({ fact: "Tea is at four." });
  const files = await keep.export({ format: "memory" }).files();
  const folder = `memory/agents/${transcript}`;
  assert.deepEqual(
    Object.keys(files).sort(),
    [`${folder}/raw_traces.jsonl`, `${folder}/semantic.jsonl`, `${folder}/working_context_snapshot.json`, "memory/agents/shared/semantic.jsonl"].sort(),
  );
  const traces = files[`${folder}/raw_traces.jsonl`]
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    traces.map((trace) => trace.trace_type),
    ["user", "tool_call", "tool_result", "assistant"],
  );
  assert.ok(traces.every((trace) => trace.turn_id === "turn_0001"));
  assert.equal(JSON.parse(files[`${folder}/semantic.jsonl`]).id, fact.id);
  const other = await memory();
  const report = await other.import(Object.entries(files).map(([name, data]) => ({ name, data })));
  assert.deepEqual([report.formats, report.added, report.memories], [["memory"], 1, 2]);
  const [agent] = await other.transcripts();
  const chain = (await other.chain(agent.leaf)).flatMap((node) => node.messages);
  assert.deepEqual(
    chain.map((message) => message.role),
    ["user", "assistant", "tool", "assistant"],
  );
  assert.equal(chain[1].tool_calls[0].function.name, "look");
  assert.deepEqual((await other.memory.facts()).map((it) => it.fact).sort(), ["Tea is at four.", "The log is kept in ink."]);
  // All of it in one text, and a second time.
  const again = await other.import({ name: "memory/agents/mate/all.jsonl", data: files[`${folder}/raw_traces.jsonl`] });
  assert.deepEqual([again.formats, again.skippedCount], [["memory"], 0]);
  const same = await other.import(Object.entries(files).map(([name, data]) => ({ name, data })));
  assert.deepEqual([same.added, same.updated, same.memories], [0, 0, 0]);
  await keep.close();
  await other.close();
});
