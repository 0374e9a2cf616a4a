// The history of assistant-ui's threads, held against its own MessageRepository and driven by its own local runtime.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ExportedMessageRepository } from "@assistant-ui/core";
import { AssistantRuntimeImpl, ExternalStoreRuntimeCore, LocalRuntimeCore, MessageRepository } from "@assistant-ui/core/internal";
import { memory, rejects } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { threadHistory, threadList } = await import(pathToFileURL(join(installed, "dist/frameworks/assistant-ui.js")).href);

/** A message of assistant-ui. */
function message(id, role, content, more = {}) {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const createdAt = new Date(1_700_000_000_000);
  if (role === "user") return { id, role, createdAt, content: parts, attachments: [], metadata: { custom: {} }, ...more };
  const metadata = { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], custom: {} };
  return { id, role, createdAt, content: parts, status: { type: "complete", reason: "stop" }, metadata, ...more };
}

const call = (id, result, more) => ({
  type: "tool-call",
  toolCallId: id,
  toolName: "weather",
  args: { town: "Oslo" },
  argsText: '{"town":"Oslo"}',
  ...(result === undefined ? {} : { result }),
  ...more,
});

/** What is loaded, in a repository of assistant-ui's. */
async function loaded(history) {
  const repository = new MessageRepository();
  repository.import(await history.load());
  return repository;
}

function random(seed) {
  let state = seed;
  return (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
}

test("random trees come back into a MessageRepository that equals the one that made them", async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const next = random(seed);
    const keep = await memory({ encoding: "estimate" });
    const [one, two] = [threadHistory(keep, "t"), threadHistory(keep, "t")];
    const made = new MessageRepository();
    const ids = [];
    for (let step = 0; step < 40; step += 1) {
      const history = next(2) === 0 ? one : two;
      const what = ids.length === 0 ? 0 : next(10);
      if (what < 7) {
        const parentId = next(8) === 0 || ids.length === 0 ? null : next(3) > 0 ? made.headId : ids[next(ids.length)];
        const id = `m${step}`;
        const role = next(2) === 0 ? "user" : "assistant";
        const content =
          role === "user" || next(2) === 0
            ? `This is message ${id}, with a few words to it.`
            : [{ type: "reasoning", text: `Think of ${id}` }, call(`k${id}`, { sky: `clear at ${id}` }), { type: "text", text: "So." }];
        const added = message(id, role, content);
        made.addOrUpdateMessage(parentId, added);
        made.switchToBranch(id);
        await history.append({ parentId, message: added });
        ids.push(id);
      } else if (what < 9) {
        const id = ids[next(ids.length)];
        const { parentId, message: old } = made.getMessage(id);
        const changed = {
          ...old,
          metadata: { ...old.metadata, custom: { step } },
          ...(next(2) === 0 ? { content: [...old.content, { type: "text", text: `Added at ${step}.` }] } : {}),
        };
        made.addOrUpdateMessage(parentId, changed);
        await history.update({ parentId, message: changed });
      } else if (ids.length > 3) {
        const [id] = ids.splice(next(ids.length), 1);
        const { parentId, message: gone } = made.getMessage(id);
        made.deleteMessage(id);
        await history.delete([{ parentId, message: gone }]);
        // Where the head goes from a deleted message is the runtime's affair.
        if (made.headId !== null) made.switchToBranch(made.headId);
        const { headId } = await history.load();
        if (headId !== null) made.switchToBranch(headId);
      }
    }
    const exported = made.export();
    const back = await loaded(threadHistory(keep, "t"));
    assert.deepEqual(back.export(), exported, `seed ${seed}`);
    for (const id of ids) assert.deepEqual(back.getBranches(id), made.getBranches(id));
    assert.equal((await keep.transcripts()).length, 1);
    // Into another keep at once, and once more, which adds nothing.
    const other = await memory({ encoding: "estimate" });
    await threadHistory(other, "t").save(exported);
    assert.deepEqual((await loaded(threadHistory(other, "t"))).export(), exported);
    const before = (await other.stats()).messages;
    await threadHistory(other, "t").save(exported);
    assert.equal((await other.stats()).messages, before);
    await Promise.all([keep.close(), other.close()]);
  }
});

test("what is said are messages of ours, stored once", async () => {
  const keep = await memory({ encoding: "estimate" });
  const history = threadHistory(keep, "t");
  const long = "A long text that is worth a pointer. ".repeat(20);
  const attachments = [
    { id: "f", type: "image", name: "a.png", status: { type: "complete" }, content: [{ type: "image", image: "data:image/png;base64,iVBORw==" }] },
  ];
  await history.append({ parentId: null, message: message("u", "user", long, { attachments }) });
  await history.append({
    parentId: "u",
    message: message("a", "assistant", [{ type: "text", text: "Let me see." }, call("k", { text: long }), { type: "text", text: "Clear." }]),
    runConfig: { custom: { model: "m" } },
  });
  const all = await keep.thread("t").messages();
  assert.deepEqual(
    all.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"],
  );
  assert.equal(all[0].content[1].image_url.url, "data:image/png;base64,iVBORw==");
  assert.equal(JSON.stringify(all).split("worth a pointer").length - 1, 40);
  assert.deepEqual(await keep.lint(), []);
  assert.equal((await keep.search("clear"))[0].message.content, "Clear.");
  const { messages, headId } = await history.load();
  assert.equal(headId, "a");
  assert.deepEqual(messages[0].message, message("u", "user", long, { attachments }));
  assert.deepEqual(messages[1].runConfig, { custom: { model: "m" } });
  await keep.close();
});

test("an update keeps the branch that is shown; a text that grew is more of the same, another is another version", async () => {
  const keep = await memory({ encoding: "estimate" });
  const history = threadHistory(keep, "t");
  const paused = message("a", "assistant", [call("k")], { status: { type: "requires-action", reason: "interrupt" } });
  await history.append({ parentId: null, message: message("u", "user", "The weather?") });
  await history.update({ parentId: "u", message: paused }); // an upsert
  assert.equal((await history.load()).headId, "a");
  const done = message("a", "assistant", [call("k", "clear"), { type: "text", text: "Clear." }]);
  await history.update({ parentId: "u", message: done });
  assert.deepEqual(
    (await keep.thread("t").messages()).map(({ role, content }) => [role, content]),
    [
      ["user", "The weather?"],
      ["assistant", null],
      ["tool", "clear"],
      ["assistant", "Clear."],
    ],
  );
  await history.append({ parentId: "a", message: message("u2", "user", "And then?") });
  const said = message("a", "assistant", [{ type: "text", text: "Rain, rather." }]);
  await history.update({ parentId: "u", message: said });
  const { headId, messages } = await history.load();
  assert.deepEqual(
    [headId, messages.map(({ parentId, message: { id } }) => [parentId, id])],
    [
      "u2",
      [
        [null, "u"],
        ["u", "a"],
        ["a", "u2"],
      ],
    ],
  );
  assert.deepEqual(messages[1].message, said);
  assert.equal((await keep.thread("t").messages()).at(-1).content, "And then?");
  await history.delete([{ parentId: "u", message: said }]);
  assert.deepEqual(
    (await history.load()).messages.map(({ parentId, message: { id } }) => [parentId, id]),
    [
      [null, "u"],
      ["u", "u2"],
    ],
  );
  assert.ok(!(await keep.export().text()).includes("Rain, rather"));
  assert.ok(!(await keep.export().text()).includes('"clear"'));
  // A head of somebody else's goes along with what it points at.
  await history.append({ parentId: "u2", message: message("a2", "assistant", "Then it clears.") });
  await keep.thread("t").fork("side");
  await history.delete([{ parentId: "u", message: message("u2", "user", "And then?") }]);
  assert.equal((await keep.thread("side").messages()).at(-1).content, "Then it clears.");
  assert.deepEqual(
    (await history.load()).messages.map(({ parentId, message: { id } }) => [parentId, id]),
    [
      [null, "u"],
      ["u", "a2"],
    ],
  );
  await keep.close();
});

/** assistant-ui's own runtime with a model that follows a script. */
async function running(history, ...answers) {
  let next = 0;
  const chatModel = {
    async *run({ messages, abortSignal }) {
      const answer = answers[next++];
      yield* typeof answer === "function" ? answer({ messages, abortSignal }) : [{ content: [{ type: "text", text: answer }] }];
    },
  };
  const core = new LocalRuntimeCore({ adapters: { chatModel, history } }, undefined);
  const runtime = new AssistantRuntimeImpl(core);
  await core.threads.getMainThreadRuntimeCore().__internal_load();
  return runtime.thread;
}

const texts = (thread) => thread.getState().messages.map(({ content }) => content.map((part) => part.text ?? part.type).join("|"));

async function idle(thread) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (!thread.getState().isRunning) return;
  }
}

test("a thread of the local runtime: sent, regenerated, edited, stopped, deleted, and loaded by another", async () => {
  const keep = await memory({ encoding: "estimate" });
  const history = () => threadHistory(keep, "t");
  const thread = await running(history(), "One.", "Two.", "Three.", async function* ({ abortSignal }) {
    yield { content: [{ type: "text", text: "A long " }] };
    await new Promise((_, reject) => abortSignal.addEventListener("abort", () => reject(abortSignal.reason)));
  });
  thread.append("Count");
  await idle(thread);
  assert.deepEqual(texts(thread), ["Count", "One."]);
  thread.getMessageByIndex(1).reload();
  await idle(thread);
  thread.getMessageByIndex(0).composer.beginEdit();
  thread.getMessageByIndex(0).composer.setText("Count on");
  thread.getMessageByIndex(0).composer.send();
  await idle(thread);
  assert.deepEqual(texts(thread), ["Count on", "Three."]);
  thread.append("Tell me a story");
  while (texts(thread).at(-1) !== "A long ") await new Promise((resolve) => setTimeout(resolve, 5));
  thread.cancelRun();
  await idle(thread);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const exported = thread.export();
  const again = await running(history());
  assert.deepEqual(again.export(), exported);
  assert.deepEqual(texts(again), ["Count on", "Three.", "Tell me a story", "A long "]);
  assert.deepEqual([again.getMessageByIndex(0).getState().branchNumber, again.getMessageByIndex(0).getState().branchCount], [2, 2]);
  again.getMessageByIndex(0).switchToBranch({ position: "previous" });
  assert.deepEqual(texts(again), ["Count", "One."]);
  again.getMessageByIndex(1).switchToBranch({ position: "next" });
  assert.deepEqual(texts(again), ["Count", "Two."]);
  assert.equal(again.getMessageByIndex(1).getState().branchCount, 2);
  assert.equal((await keep.thread("t").messages()).at(-1).kind.code, "cancelled");
  assert.equal((await keep.transcripts())[0].branches, 3);

  again.getMessageByIndex(1).delete();
  for (let tries = 0; tries < 100 && texts(again).includes("Two."); tries += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(!(await keep.export().text()).includes("Two."));
  assert.equal((await running(history())).export().messages.length, exported.messages.length - 1);
  await keep.close();
});

test("a tool that waits for a person: the pause is stored and the same message goes on", async () => {
  const keep = await memory({ encoding: "estimate" });
  const ask = () => [
    {
      content: [{ type: "tool-call", toolCallId: "k", toolName: "confirm", args: {}, argsText: "{}" }],
      status: { type: "requires-action", reason: "tool-calls" },
    },
  ];
  const thread = await running(threadHistory(keep, "t"), ask);
  thread.append("Delete it");
  await idle(thread);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const later = await running(threadHistory(keep, "t"), "Deleted.");
  assert.equal(later.getState().messages.at(-1).status.type, "requires-action");
  later.getMessageByIndex(1).getMessagePartByToolCallId("k").addToolResult({ yes: true });
  await idle(later);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const last = await running(threadHistory(keep, "t"));
  assert.deepEqual(last.export(), later.export());
  assert.deepEqual(
    (await keep.thread("t").messages()).filter((one) => one.include_in_context !== false).map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"],
  );
  assert.deepEqual(await keep.lint(), []);
  await keep.close();
});

/** The AI SDK's messages in a history, as assistant-ui's binding to it stores them. */
const aiSdk = {
  format: "ai-sdk/v6",
  encode: ({ message: { id: _, ...rest } }) => rest,
  decode: ({ id, parent_id, content }) => ({ parentId: parent_id, message: { id, ...content } }),
  getId: ({ id }) => id,
};

test("messages of the AI SDK through withFormat, with another id after a while; each form can read the other", async () => {
  const keep = await memory({ encoding: "estimate" });
  const history = threadHistory(keep, "t");
  const formatted = history.withFormat(aiSdk);
  const user = { id: "u", role: "user", metadata: { a: 1 }, parts: [{ type: "text", text: "The weather?" }] };
  const half = {
    id: "local",
    role: "assistant",
    parts: [{ type: "step-start" }, { type: "tool-weather", toolCallId: "k", state: "input-available", input: { town: "Oslo" } }],
  };
  const whole = {
    id: "remote",
    role: "assistant",
    parts: [
      half.parts[0],
      { ...half.parts[1], state: "output-available", output: { sky: "clear" } },
      { type: "step-start" },
      { type: "text", text: "Clear.", state: "done" },
    ],
  };
  await formatted.append({ parentId: null, message: user });
  await formatted.append({ parentId: "u", message: half });
  await formatted.append({ parentId: "local", message: { id: "u2", role: "user", parts: [{ type: "text", text: "Thanks" }] } });
  await formatted.update({ parentId: "u", message: whole }, "local");
  const repository = await formatted.load();
  assert.deepEqual(
    repository.messages.map(({ parentId, message: { id } }) => [parentId, id]),
    [
      [null, "u"],
      ["u", "remote"],
      ["remote", "u2"],
    ],
  );
  assert.deepEqual(
    repository.messages.slice(0, 2).map(({ message: one }) => one),
    [user, whole],
  );
  assert.equal(repository.headId, "u2");
  await formatted.append({ parentId: "local", message: { id: "u3", role: "user", parts: [{ type: "text", text: "Or" }] } });
  assert.equal((await formatted.load()).messages.at(-1).parentId, "remote");
  // As assistant-ui's own, and its own as the AI SDK's.
  const own = await history.load();
  assert.deepEqual(
    own.messages[1].message.content.map(({ type }) => type),
    ["tool-call", "text"],
  );
  await history.append({ parentId: "u3", message: message("x", "assistant", "Or not.") });
  assert.deepEqual((await formatted.load()).messages.at(-1), {
    parentId: "u3",
    message: { id: "x", role: "assistant", parts: [{ type: "text", text: "Or not." }] },
  });
  await formatted.delete([{ parentId: "u", message: whole }]);
  assert.ok((await formatted.load()).messages.every(({ message: { id } }) => id !== "remote"));
  await keep.close();
});

test("what others wrote is a thread, and goes on as one", async () => {
  const keep = await memory({ encoding: "estimate" });
  const node = await keep.receive({ content: "The weather?", systemPrompt: "Be brief." });
  await keep.extend(node.id, [
    { role: "assistant", content: null, tool_calls: [{ id: "k", type: "function", function: { name: "weather", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "k", content: "clear" },
    { role: "assistant", content: "Clear." },
  ]);
  await keep.thread("t").moveTo(node.id);
  const history = threadHistory(keep, "t");
  const thread = await running(history, "Rain.");
  assert.deepEqual(texts(thread), ["The weather?", "tool-call|Clear."]);
  const before = (await keep.stats()).messages;
  await history.save(thread.export());
  assert.equal((await keep.stats()).messages, before);
  thread.append("Tomorrow?");
  await idle(thread);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const again = await running(threadHistory(keep, "t"));
  assert.deepEqual(texts(again), ["The weather?", "tool-call|Clear.", "Tomorrow?", "Rain."]);
  assert.deepEqual(again.export(), thread.export());
  assert.equal((await keep.transcripts()).length, 1);
  await keep.close();
});

test("a thread that is not there yet is begun with its first message", async () => {
  const keep = await memory({ encoding: "estimate" });
  let remoteId;
  const item = { getState: () => ({ remoteId }), initialize: async () => ({ remoteId: (remoteId ??= "made") }) };
  const history = threadHistory(keep, () => item, { prefix: "aui/" });
  assert.deepEqual(await history.load(), { headId: null, messages: [] });
  await history.append({ parentId: null, message: message("u", "user", "Hi") });
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["aui/made"],
  );
  assert.equal((await history.load()).messages.length, 1);
  await rejects(
    Promise.resolve().then(() => threadHistory(keep, 7)),
    "bad-request",
  );
  await rejects(history.append({ parentId: null, message: { ...message("v", "user", "Hi"), metadata: { custom: { big: 1n } } } }), "bad-request");
  const from = ExportedMessageRepository.fromArray([
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ]);
  await threadHistory(keep, "other").save(from);
  const plain = (value) => JSON.parse(JSON.stringify(value));
  assert.deepEqual(plain((await loaded(threadHistory(keep, "other"))).export().messages), plain(from.messages));
  await keep.close();
});

test("the list of threads: begun, named, put away, deleted", async () => {
  const keep = await memory({ encoding: "estimate" });
  const threads = threadList(keep, { prefix: "aui/" });
  assert.deepEqual(await threads.list(), { threads: [] });
  for (const id of ["one", "two/ü"]) assert.deepEqual(await threads.initialize(id), { remoteId: id, externalId: undefined });
  await threads.initialize("one");
  const history = threadHistory(keep, "one", { prefix: "aui/" });
  const first = message("u", "user", "Will it rain in Oslo tomorrow, or is it going to be one of those clear and cold days?");
  await history.append({ parentId: null, message: first });
  const pieces = [];
  for await (const chunk of await threads.generateTitle("one", [first])) pieces.push(chunk);
  const title = "Will it rain in Oslo tomorrow, or is it going to be one of…";
  assert.deepEqual(
    pieces.map(({ type, textDelta }) => [type, textDelta]),
    [
      ["part-start", undefined],
      ["text-delta", title],
      ["part-finish", undefined],
    ],
  );
  assert.equal((await keep.transcripts())[0].title, title);
  await threads.archive("one");
  await threads.updateCustom("one", { folder: "weather" });
  const told = await threads.fetch("one");
  assert.deepEqual([told.status, told.title, told.custom], ["archived", title, { folder: "weather" }]);
  assert.ok(told.lastMessageAt instanceof Date);
  await threads.unarchive("one");
  await threads.updateCustom("one", undefined);
  await threads.rename("one", "Rain");
  const { threads: listed } = await threads.list();
  assert.deepEqual(listed.map(({ remoteId, status, title, custom }) => [remoteId, status, title, custom]).sort(), [
    ["one", "regular", "Rain", undefined],
    ["two/ü", "regular", undefined, undefined],
  ]);
  assert.deepEqual((await threadList(keep).list()).threads, []);
  await threads.delete("one");
  assert.equal((await keep.transcripts()).length, 0);
  await rejects(threads.fetch("one"), "missing-transcript");
  await rejects(threads.rename("one", "x"), "missing-transcript");
  const silent = await threadList(keep, { prefix: "aui/", title: () => "" }).generateTitle("two/ü", []);
  assert.equal((await silent.getReader().read()).done, true);
  await keep.close();
});

test("three tabs on one storage write at once below the same message: all of it is there, in the right place", async () => {
  const { mapAdapter } = await import("./support/adapters.mjs");
  const storage = mapAdapter({ pause: () => new Promise((resolve) => setImmediate(resolve)) });
  const keeps = await Promise.all([1, 2, 3].map(() => memory({ encoding: "estimate", storage })));
  const histories = keeps.map((keep) => threadHistory(keep, "t"));
  await histories[0].append({ parentId: null, message: message("u", "user", "Who?") });
  await Promise.all(histories.map((history) => history.load()));
  await Promise.all(
    histories.flatMap((history, at) =>
      [0, 1, 2].map((turn) =>
        history.append({
          parentId: turn === 0 ? "u" : `a${at}-${turn - 1}`,
          message: message(`a${at}-${turn}`, "assistant", [{ type: "text", text: `Me, ${at}, ${turn}.` }, call(`k${at}${turn}`, "x")]),
        }),
      ),
    ),
  );
  const { messages } = await threadHistory(keeps[1], "t").load();
  assert.deepEqual(
    messages.map(({ parentId, message: { id } }) => `${parentId} ${id}`).sort(),
    ["null u", ...[0, 1, 2].flatMap((at) => [`u a${at}-0`, `a${at}-0 a${at}-1`, `a${at}-1 a${at}-2`])].sort(),
  );
  assert.equal((await keeps[0].stats()).messages, 1 + 9 * 2);
  assert.deepEqual(await keeps[2].lint(), []);
  await Promise.all(keeps.map((keep) => keep.close()));
});

test("a runtime that keeps its own messages begins with what is loaded, and is saved whole", async () => {
  const keep = await memory({ encoding: "estimate" });
  const history = threadHistory(keep, "t");
  await history.append({ parentId: null, message: message("u", "user", "Count") });
  for (const id of ["a1", "a2"]) await history.append({ parentId: "u", message: message(id, "assistant", `Answer ${id}`) });
  const runtime = (messageRepository) =>
    new AssistantRuntimeImpl(new ExternalStoreRuntimeCore({ messageRepository, setMessages: () => {}, onNew: async () => {} })).thread;
  const thread = runtime(await history.load());
  assert.deepEqual(texts(thread), ["Count", "Answer a2"]);
  const exported = thread.export();
  assert.deepEqual((await loaded(history)).export(), exported);
  await history.save({ ...exported, headId: "a1" });
  assert.deepEqual(texts(runtime(await threadHistory(keep, "t").load())), ["Count", "Answer a1"]);
  assert.equal((await keep.stats()).messages, 3);
  await keep.close();
});

test("a message whose parent was not stored hangs at what is shown, and below its parent when that comes", async () => {
  const keep = await memory({ encoding: "estimate" });
  const history = threadHistory(keep, "t");
  await history.append({ parentId: null, message: message("u1", "user", "One") });
  await history.append({ parentId: "a1", message: message("u2", "user", "Two") });
  await history.append({ parentId: "u2", message: message("a2", "assistant", "Well.") });
  const places = async () => (await history.load()).messages.map(({ parentId, message: { id } }) => `${parentId} ${id}`);
  assert.deepEqual(await places(), ["null u1", "u1 u2", "u2 a2"]);
  await loaded(history);
  await history.append({ parentId: "u1", message: message("a1", "assistant", "Late.") });
  assert.deepEqual(await places(), ["null u1", "u1 a1", "a1 u2", "u2 a2"]);
  assert.deepEqual((await threadHistory(keep, "t").load()).headId, "a2");
  await keep.close();
});

test("what is written goes to the thread that was pinned, whichever is shown by then", async () => {
  const keep = await memory({ encoding: "estimate" });
  let remoteId = "one";
  const formatted = threadHistory(keep, () => ({ getState: () => ({ remoteId }), initialize: async () => ({ remoteId }) })).withFormat(aiSdk);
  formatted.pin();
  remoteId = "two";
  await formatted.append({ parentId: null, message: { id: "u", role: "user", parts: [{ type: "text", text: "Hi" }] } });
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["one"],
  );
  assert.deepEqual((await formatted.load()).messages, []);
  await keep.close();
});

test("a thread that is saved again as it grows is read twice, however long it is, and its head moves only where it must", async (t) => {
  const keep = await memory({ encoding: "estimate" });
  const history = threadHistory(keep, "t");
  const items = Array.from({ length: 60 }, (_, at) => ({
    parentId: at === 0 ? null : `m${at - 1}`,
    message: message(`m${at}`, at % 2 === 0 ? "user" : "assistant", `Words ${at}`),
  }));
  await history.save({ headId: "m58", messages: items.slice(0, 59) });
  const read = t.mock.method(Object.getPrototypeOf(keep.transcript("t")), "tree");
  const moved = t.mock.method(Object.getPrototypeOf(keep.thread("t")), "moveTo");
  await history.save({ headId: "m59", messages: items });
  assert.ok(read.mock.callCount() > 0 && read.mock.callCount() <= 3, `the thread was read ${read.mock.callCount()} times`);
  assert.equal(moved.mock.callCount(), 0);
  // What changed is another version, and what did not is left alone.
  const changed = items.map((item) => (item.message.id === "m7" ? { ...item, message: message("m7", "assistant", "Other words") } : item));
  await history.save({ headId: "m59", messages: changed });
  assert.equal((await keep.stats()).messages, 61);
  const after = await threadHistory(keep, "t").load();
  assert.deepEqual(
    [after.headId, after.messages.length, after.messages.find(({ message: { id } }) => id === "m7").message.content[0].text],
    ["m59", 60, "Other words"],
  );
  await keep.close();
});

test("threads with names of any length and letters are listed", async () => {
  const keep = await memory({ encoding: "estimate" });
  const names = ["会".repeat(170), `${"会".repeat(169)}x`, "short"];
  const threads = threadList(keep);
  for (const name of names) {
    await threads.initialize(name);
    await threadHistory(keep, name).append({ parentId: null, message: message("u", "user", name) });
    await threads.rename(name, name.slice(-3));
  }
  assert.deepEqual((await threads.list()).threads.map(({ remoteId }) => remoteId).sort(), [...names].sort());
  await threads.delete(names[0]);
  assert.deepEqual((await threads.list()).threads.map(({ title }) => title).sort(), [names[1].slice(-3), "ort"].sort());
  await keep.close();
});
