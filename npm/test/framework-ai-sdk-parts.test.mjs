// Every part of a UI message in every state, stored and loaded; histories that grow, branch and are told again, at random.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { validateUIMessages } from "ai";
import { chatStore, plain, said } from "./support/ai-sdk.mjs";
import { memory, rejects } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { Thread } = await import(pathToFileURL(join(installed, "dist/frameworks/shared/ui/thread.js")).href);

const meta = (name) => ({ mock: { [name]: [1, { deep: true }] } });
const approval = (more) => ({ id: "ap", requestReason: "sure?", signature: "sig", ...more });

/** The states of a call. */
function states(head) {
  const tool = (id, more) => ({ ...head, toolCallId: id, callProviderMetadata: meta("call"), ...more });
  return [
    tool("t1", { state: "input-streaming", input: { to: "Os" }, rawInput: '{"to":"Os' }),
    tool("t2", { state: "input-available", input: { town: "Oslo" } }),
    tool("t3", { state: "approval-requested", input: { town: "Oslo" }, approval: approval() }),
    tool("t4", { state: "approval-responded", input: { town: "Oslo" }, approval: approval({ approved: true, reason: "ok" }) }),
    tool("t5", {
      state: "output-available",
      input: { town: "Oslo" },
      output: { sky: "clear", more: [null, 1.5, "ä€𝄞"] },
      resultProviderMetadata: meta("result"),
      approval: approval({ approved: true }),
    }),
    tool("t6", { state: "output-available", input: {}, output: "text" }),
    tool("t7", { state: "output-available", input: { a: 1 }, output: null }),
    tool("t8", { state: "output-available", input: { a: 1 }, output: { half: 1 }, preliminary: true }),
    tool("t9", { state: "output-error", input: { a: 1 }, errorText: "no such town" }),
    tool("t10", { state: "output-error", rawInput: "{broken", errorText: "no JSON" }),
    tool("t11", { state: "output-denied", input: { a: 1 }, approval: approval({ approved: false, reason: "no" }) }),
    tool("t12", { state: "output-available", input: { q: "x" }, output: [{ title: "y" }], providerExecuted: true, title: "Search", toolMetadata: { a: 1 } }),
  ];
}

const assistant = {
  id: "a1",
  role: "assistant",
  metadata: { model: "m", usage: { total: 3 } },
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "First.", state: "done", providerMetadata: meta("signature") },
    { type: "reasoning", id: "r2", text: "", state: "done", providerMetadata: meta("redacted") },
    { type: "text", text: "Let me see.", state: "done", providerMetadata: meta("text") },
    ...states({ type: "tool-weather" }),
    { type: "text", text: "So far." },
    { type: "step-start" },
    { type: "reasoning", text: "Alone.", state: "done" },
    ...states({ type: "dynamic-tool", toolName: "anything" }).map((part) => ({ ...part, toolCallId: `d${part.toolCallId}` })),
    { type: "source-url", sourceId: "s1", url: "https://example.org", title: "Example", providerMetadata: meta("source") },
    { type: "source-document", sourceId: "s2", mediaType: "application/pdf", title: "Doc", filename: "a.pdf" },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw==" },
    { type: "reasoning-file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
    { type: "custom", kind: "mock.thing", providerMetadata: meta("custom") },
    { type: "data-chart", id: "c", data: { points: [[0, 1]] } },
    { type: "data-note", data: "plain" },
    { type: "step-start" },
    { type: "text", text: "", state: "done" },
    { type: "text", text: "The end.", state: "streaming" },
  ],
};

const user = {
  id: "u1",
  role: "user",
  metadata: { from: "ann" },
  parts: [
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw==", filename: "a.png" },
    { type: "text", text: "What is this?" },
    { type: "file", mediaType: "application/pdf", url: "https://example.org/a.pdf" },
    { type: "text", text: "And this?", providerMetadata: meta("text") },
    { type: "data-mood", data: { calm: true } },
    { type: "file", mediaType: "image", url: "https://example.org/b.png", providerReference: { mock: "file-1" } },
  ],
};

test("all parts in all states come back as they were", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const messages = [
    { id: "s1", role: "system", parts: [{ type: "text", text: "Be brief." }] },
    user,
    assistant,
    { id: "u2", role: "user", parts: [] },
    { id: "a2", role: "assistant", parts: [] },
    { id: "u3", role: "user", parts: [{ type: "text", text: "" }] },
  ];
  assert.deepEqual((await chats.save({ chatId: "c", messages })).branched, false);
  const loaded = await chats.load("c");
  assert.deepEqual(loaded, messages);
  await validateUIMessages({ messages: loaded.filter(({ parts }) => parts.length > 0) });
  assert.deepEqual(await chatStore(keep).load("c"), messages);
  assert.deepEqual((await chats.save({ chatId: "c", messages: loaded })).added, 0);
  assert.deepEqual((await chatStore(keep).save({ chatId: "c", messages })).added, 0);
  // A whole archive, and back.
  const other = await memory({ encoding: "estimate" });
  await other.import(await keep.export().text());
  assert.deepEqual(await chatStore(other).load("c"), messages);
  await Promise.all([keep.close(), other.close()]);
});

test("one message at a time, each of its versions", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  for (let count = 1; count <= assistant.parts.length; count += 1) {
    const messages = [user, { ...assistant, parts: assistant.parts.slice(0, count) }];
    await chats.save({ chatId: "c", messages });
    assert.deepEqual(await chats.load("c"), messages);
  }
  assert.equal((await keep.transcripts())[0].branches, 1);
  const texts = (await keep.thread("c").messages()).filter(({ role }) => role === "assistant").map(({ content }) => content);
  assert.ok(texts.flat().length > 4);
  await keep.close();
});

test("a call through all its states is one call and one result", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const call = { type: "tool-weather", toolCallId: "k" };
  const input = { town: "Oslo" };
  const path = [
    { ...call, state: "input-streaming" },
    { ...call, state: "input-streaming", input: { to: 1 }, rawInput: '{"to":1' },
    { ...call, state: "input-available", input },
    { ...call, state: "approval-requested", input, approval: { id: "x" } },
    { ...call, state: "approval-responded", input, approval: { id: "x", approved: true } },
    { ...call, state: "output-available", input, output: { sky: "?" }, preliminary: true, approval: { id: "x", approved: true } },
    { ...call, state: "output-available", input, output: { sky: "clear" }, approval: { id: "x", approved: true } },
  ];
  for (const part of path) {
    const messages = [user, { id: "a", role: "assistant", parts: [{ type: "step-start" }, part] }];
    await chats.save({ chatId: "c", messages });
    assert.deepEqual(await chats.load("c"), messages, part.state);
  }
  const all = (await keep.thread("c").messages()).filter((message) => message.include_in_context !== false).slice(1);
  assert.deepEqual(
    all.map(({ role, content }) => [role, content]),
    [
      ["assistant", null],
      ["tool", '{"sky":"clear"}'],
    ],
  );
  assert.deepEqual(await keep.lint(), []);
  assert.equal((await keep.transcripts())[0].branches, 1);
  await keep.close();
});

test("metadata and outputs of older messages change without a branch", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const text = (id, role, said) => ({ id, role, parts: [{ type: "text", text: said }] });
  const open = { id: "a1", role: "assistant", parts: [{ type: "tool-x", toolCallId: "k", state: "input-available", input: {} }] };
  await chats.save({ chatId: "c", messages: [text("u1", "user", "1"), open, text("u2", "user", "2"), text("a2", "assistant", "two")] });
  const done = { ...open, metadata: { liked: true }, parts: [{ ...open.parts[0], state: "output-available", output: 7 }] };
  const messages = [text("u1", "user", "1"), done, text("u2", "user", "2"), { ...text("a2", "assistant", "two"), metadata: { liked: false } }];
  assert.equal((await chats.save({ chatId: "c", messages })).branched, false);
  assert.deepEqual(await chats.load("c"), messages);
  // Taken back, and from a branch that does not know of it.
  const back = [messages[0], { ...done, metadata: undefined }, text("u2", "user", "two, rather")];
  assert.equal((await chats.save({ chatId: "c", messages: back })).branched, true);
  assert.deepEqual(await chats.load("c"), plain(back));
  const [first] = await chats.branches("c", "u2");
  assert.deepEqual(await chats.select("c", first.node), messages);
  await keep.close();
});

test("a shorter list takes nothing away; a branch goes on from any message", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const text = (id, role, said = id) => ({ id, role, parts: [{ type: "text", text: said }] });
  const line = [text("u1", "user"), text("a1", "assistant"), text("u2", "user"), text("a2", "assistant")];
  await chats.save({ chatId: "c", messages: line });
  for (let length = 0; length <= 4; length += 1) assert.equal((await chats.save({ chatId: "c", messages: line.slice(0, length) })).added, 0);
  assert.deepEqual(await chats.load("c"), line);
  await chats.save({ chatId: "c", messages: [...line.slice(0, 1), text("a1b", "assistant"), text("u3", "user")] });
  await chats.save({ chatId: "c", messages: [...line.slice(0, 3), text("a2b", "assistant")] });
  assert.deepEqual(said(await chats.load("c")), ["u1", "a1", "u2", "a2b"]);
  assert.deepEqual(
    (await chats.branches("c", "a1")).map(({ message }) => message.id),
    ["a1", "a1b"],
  );
  assert.deepEqual(
    (await chats.branches("c", "a2b")).map(({ message }) => message.id),
    ["a2", "a2b"],
  );
  assert.deepEqual((await chats.branches("c", "u1")).length, 1);
  await chats.save({ chatId: "c", messages: [text("u0", "user")] });
  assert.deepEqual(
    (await chats.branches("c", "u0")).map(({ message }) => message.id),
    ["u1", "u0"],
  );
  await rejects(chats.branches("c", "a2b"), "bad-request");
  await rejects(chats.select("c", "nowhere"), "missing-node");
  assert.equal((await keep.transcripts()).length, 1);
  assert.deepEqual(
    (await chats.list()).map(({ chatId, branches }) => [chatId, branches]),
    [["c", 4]],
  );
  assert.ok((await chats.delete("c")) > 6);
  assert.deepEqual(await chats.load("c"), []);
  assert.equal(await chats.delete("c"), 0);
  await keep.close();
});

/** Numbers that look random and are the same each time. */
function random(seed) {
  let state = seed;
  return (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
}

test("random trees: every list that was ever saved can be found again", async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const next = random(seed);
    const keep = await memory({ encoding: "estimate" });
    const [one, two] = [chatStore(keep), chatStore(keep)];
    const saved = [];
    let shown = [];
    for (let step = 0; step < 30; step += 1) {
      const cut = next(3) === 0 ? next(shown.length + 1) : shown.length;
      const from = saved.length > 0 && next(6) === 0 ? saved[next(saved.length)] : shown;
      shown = from.slice(0, Math.min(cut, from.length));
      for (let count = 1 + next(2); count > 0; count -= 1) {
        const role = shown.length % 2 === 0 ? "user" : "assistant";
        // Edits keep their ids now and then.
        const id = next(4) === 0 ? `${role}${shown.length}` : `${role}${shown.length}-${step}`;
        const parts = [{ type: "text", text: `${id} at ${step}` }];
        if (role === "assistant")
          parts.unshift({ type: "step-start" }, { type: "tool-x", toolCallId: `k${step}`, state: "output-available", input: { step }, output: { step } });
        shown = [...shown, { id, role, parts }];
      }
      await (step % 2 === 0 ? one : two).save({ chatId: "c", messages: shown });
      assert.deepEqual(await two.load("c"), shown, `seed ${seed}, step ${step}`);
      saved.push(shown);
    }
    const before = (await keep.stats()).messages;
    const leaves = new Set();
    for (const list of saved) {
      assert.equal((await one.save({ chatId: "c", messages: list })).added, 0);
      leaves.add(JSON.stringify(list));
    }
    assert.equal((await keep.stats()).messages, before);
    assert.deepEqual(await keep.lint(), []);
    await keep.close();
  }
});

test("what others wrote into a transcript is a chat, too, and goes on as one", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep, { prefix: "chat/" });
  const node = await keep.receive({ content: "The weather?", systemPrompt: "Be brief." });
  await keep.extend(node.id, [
    {
      role: "assistant",
      content: "Let me see.",
      reasoning: "Hm.",
      tool_calls: [{ id: "k", type: "function", function: { name: "weather", arguments: '{"town":"Oslo"}' } }],
    },
    { role: "tool", tool_call_id: "k", content: '{"sky":"clear"}' },
    { role: "assistant", content: "Clear." },
  ]);
  await keep.thread("chat/c").moveTo(node.id);
  const loaded = await chats.load("c");
  assert.deepEqual(
    loaded.map(({ role, parts }) => [role, parts.map(({ type, state }) => [type, state].filter(Boolean).join(" "))]),
    [
      ["user", ["text"]],
      ["assistant", ["step-start", "reasoning done", "text done", "dynamic-tool output-available", "step-start", "text done"]],
    ],
  );
  await validateUIMessages({ messages: loaded });
  assert.deepEqual(await chats.save({ chatId: "c", messages: loaded }), { leaf: node.id, added: 0, branched: false });
  const more = [...loaded, { id: "u2", role: "user", parts: [{ type: "text", text: "Thanks" }] }];
  await chats.save({ chatId: "c", messages: more });
  assert.deepEqual(await chats.load("c"), more);
  // Another answer to the first question, which shares its node with the answer that there is.
  const other = [loaded[0], { id: "a2", role: "assistant", parts: [{ type: "text", text: "Rain." }] }];
  await chats.save({ chatId: "c", messages: other });
  assert.deepEqual(said(await chats.load("c")), ["The weather?", "Rain."]);
  assert.equal((await keep.transcripts()).length, 1);
  await keep.close();
});

test("two writers at once on one storage lose nothing and double nothing", async () => {
  const { mapAdapter } = await import("./support/adapters.mjs");
  const adapter = mapAdapter({ pause: () => new Promise((resolve) => setImmediate(resolve)) });
  const keeps = await Promise.all([1, 2, 3].map(() => memory({ encoding: "estimate", storage: adapter })));
  const stores = keeps.map((keep) => chatStore(keep));
  const first = [{ id: "u", role: "user", parts: [{ type: "text", text: "Who?" }] }];
  // The same from all, then an answer from each.
  await Promise.all(stores.map((chats) => chats.save({ chatId: "c", messages: first })));
  assert.equal((await keeps[0].stats()).messages, 1);
  const lists = stores.map((_, at) => [...first, { id: `a${at}`, role: "assistant", parts: [{ type: "text", text: `Me, ${at}.` }] }]);
  await Promise.all(stores.map((chats, at) => chats.save({ chatId: "c", messages: lists[at] })));
  const shown = await stores[0].load("c");
  assert.equal(shown.length, 2);
  const versions = await stores[1].branches("c", shown[1].id);
  assert.deepEqual(versions.map(({ message }) => message.id).sort(), ["a0", "a1", "a2"]);
  assert.equal((await keeps[2].stats()).messages, 4);
  await Promise.all(keeps.map((keep) => keep.close()));
});

test("what is wrong is said; half a character becomes a sign for it", async () => {
  const keep = await memory();
  const chats = chatStore(keep);
  const message = { id: "u", role: "user", parts: [{ type: "text", text: "cut \ud83d" }] };
  await chats.save({ chatId: "c", messages: [message] });
  assert.deepEqual(said(await chats.load("c")), ["cut \ufffd"]);
  assert.equal((await chats.save({ chatId: "c", messages: [message] })).added, 0);
  const wrong = [
    {},
    { chatId: "c" },
    { chatId: "", messages: [] },
    { chatId: "c", messages: [{}] },
    { chatId: "c", messages: [{ ...message, role: "tool" }] },
    { chatId: "c", messages: [{ ...message, parts: [{}] }] },
    { chatId: "c", messages: [], more: 1 },
  ];
  for (const options of wrong) await rejects(chats.save(options), "bad-request");
  await rejects(chats.save({ chatId: "c", messages: [{ ...message, metadata: 1n }] }), "bad-request");
  assert.throws(() => chatStore(keep, { head: 1 }), { code: "bad-request" });
  await keep.close();
});

/** A part of some kind, at its beginning. */
function part(next, count) {
  const provider = next(3) === 0 ? { providerMetadata: meta(`p${count}`) } : {};
  switch (next(8)) {
    case 0:
      return { type: "step-start" };
    case 1:
      return { type: "reasoning", text: next(4) === 0 ? "" : `Think ${count}`, state: next(2) === 0 ? "streaming" : "done", ...provider };
    case 2:
      return { type: "data-x", ...(next(2) === 0 ? { id: `d${count}` } : {}), data: { count } };
    case 3:
      return { type: "source-url", sourceId: `s${count}`, url: `https://example.org/${count}` };
    case 4:
    case 5:
      return {
        ...(next(2) === 0 ? { type: "tool-x" } : { type: "dynamic-tool", toolName: "y" }),
        toolCallId: `k${count}`,
        state: "input-streaming",
        ...(next(3) === 0 ? { providerExecuted: true } : {}),
      };
    default:
      return { type: "text", text: next(5) === 0 ? "" : `Words ${count}`, state: next(2) === 0 ? "streaming" : "done", ...provider };
  }
}

/** The same part a little later. */
function later(old, next, count) {
  if (old.type === "text" || old.type === "reasoning") {
    if (old.state !== "streaming") return next(4) === 0 ? { ...old, providerMetadata: meta(`m${count}`) } : old;
    return { ...old, text: `${old.text} more ${count}`, ...(next(2) === 0 ? { state: "done" } : {}) };
  }
  if (old.type === "data-x") return { ...old, data: { count, was: old.data } };
  const { input = { count }, ...rest } = old;
  switch (old.state) {
    case "input-streaming":
      return next(3) === 0
        ? { ...rest, input: { count }, rawInput: `{"count":${count}` }
        : next(6) === 0
          ? { ...rest, state: "output-error", errorText: `bad ${count}` }
          : { ...rest, state: "input-available", input, rawInput: undefined };
    case "input-available":
      return next(2) === 0
        ? { ...old, state: "approval-requested", approval: { id: `a${count}` } }
        : next(3) === 0
          ? { ...old, state: "output-available", output: { part: count }, preliminary: true }
          : { ...old, state: "output-available", output: next(2) === 0 ? `out ${count}` : { out: count } };
    case "approval-requested":
      return { ...old, state: "approval-responded", approval: { ...old.approval, approved: next(2) === 0 } };
    case "approval-responded":
      return old.approval.approved ? { ...old, state: "output-error", errorText: `failed ${count}` } : { ...old, state: "output-denied" };
    case "output-available":
      return old.preliminary ? { ...old, output: { whole: count }, preliminary: undefined } : { ...old, title: `T${count}` };
    default:
      return old;
  }
}

test("messages that grow at random, old ones among them, come back as they are after each save", async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const next = random(seed);
    const keep = await memory({ encoding: "estimate" });
    const [one, two] = [chatStore(keep), chatStore(keep)];
    let count = 0;
    let messages = [];
    for (let step = 0; step < 40; step += 1) {
      count += 1;
      const at = next(messages.length + 1);
      const old = messages[at];
      if (old === undefined) {
        const role = next(2) === 0 ? "user" : "assistant";
        messages = [
          ...messages,
          role === "user"
            ? { id: `m${count}`, role, parts: [{ type: "text", text: `Question ${count}` }] }
            : { id: `m${count}`, role, parts: Array.from({ length: next(4) }, () => part(next, ++count)) },
        ];
      } else if (old.role === "user") messages = messages.with(at, { ...old, metadata: { count } });
      else {
        const parts = old.parts.map((each) => (next(2) === 0 ? later(each, next, ++count) : each));
        if (next(2) === 0) parts.push(part(next, ++count));
        messages = messages.with(at, { ...old, parts, ...(next(3) === 0 ? { metadata: { count } } : {}) });
      }
      await (next(2) === 0 ? one : two).save({ chatId: "c", messages });
      const expected = plain(messages);
      assert.deepEqual(await one.load("c"), expected, `seed ${seed}, step ${step}`);
      assert.deepEqual(await chatStore(keep).load("c"), expected, `seed ${seed}, step ${step}`);
    }
    const [{ branches }] = await keep.transcripts();
    assert.equal(branches, 1, `seed ${seed}`);
    // A call has one result at most, and each result its call.
    const all = await keep.thread("c").messages();
    const calls = all.flatMap(({ tool_calls: made }) => (made ?? []).map(({ id }) => id));
    const results = all.filter(({ role }) => role === "tool").map(({ tool_call_id: id }) => id);
    assert.equal(new Set(calls).size, calls.length);
    assert.equal(new Set(results).size, results.length);
    assert.ok(results.every((id) => calls.includes(id)));
    for (const provider of ["openai-chat", "anthropic", "gemini"]) {
      const { warnings } = await keep.thread("c").context({ provider, budget: { maxTokens: 3000 } });
      assert.ok(
        warnings.every(({ kind }) => kind !== "invalid"),
        JSON.stringify(warnings),
      );
    }
    await keep.close();
  }
});

test("a save reads what is new, however long the chat and however often its end was asked again", async (t) => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const answer = (id) => ({
    id,
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "tool-x", toolCallId: `k${id}`, state: "output-available", input: {}, output: { id } },
      { type: "step-start" },
      { type: "text", text: id },
    ],
  });
  const list = Array.from({ length: 400 }, (_, at) =>
    at % 2 === 0 ? { id: `u${at}`, role: "user", parts: [{ type: "text", text: `${at}` }] } : answer(`a${at}`),
  );
  await chats.save({ chatId: "c", messages: list.slice(0, -1) });
  const { mock } = t.mock.method(Thread.prototype, "push");
  const cost = async (messages) => {
    mock.resetCalls();
    const { added } = await chats.save({ chatId: "c", messages });
    if (added > 0) assert.deepEqual(await chats.load("c"), messages);
    return mock.callCount();
  };
  assert.ok((await cost(list)) < 20);
  for (let again = 0; again < 8; again += 1) assert.ok((await cost([...list.slice(0, -1), answer(`again${again}`)])) < 50);
  // An answer that was there already is found among all of them, at the price of reading its chain.
  assert.ok((await cost(list)) < 50);
  assert.equal((await chats.branches("c", "again7")).length, 9);
  await keep.close();
});

test("a chain can be had as it was at any node, whoever wrote it", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const node = await keep.receive({ content: "The weather?" });
  await keep.extend(node.id, [
    { role: "assistant", content: "Let me see.", tool_calls: [{ id: "k", type: "function", function: { name: "weather", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "k", content: "clear" },
  ]);
  await keep.thread("c").moveTo(node.id);
  await keep.thread("c").append([
    { role: "assistant", content: "Clear." },
    { role: "user", content: "Sure?" },
    { role: "assistant", content: "Yes." },
  ]);
  let messages = [...(await chats.load("c")), user, assistant];
  await chats.save({ chatId: "c", messages });
  messages = messages.with(-1, {
    ...assistant,
    metadata: { model: "other" },
    parts: [...assistant.parts.slice(0, -1), { type: "text", text: "The end, more.", state: "done" }],
  });
  await chats.save({ chatId: "c", messages });
  await chats.save({ chatId: "c", messages: [...messages.with(-2, { ...user, metadata: {} }), { ...user, id: "u2" }] });
  const chain = await keep.chain((await keep.thread("c").head()).id);
  const whole = new Thread(chain);
  const before = structuredClone(whole.entries);
  for (let count = 0; count <= chain.length; count += 1) {
    const part = whole.upTo(count);
    assert.deepEqual(part, new Thread(chain.slice(0, count)), `${count} nodes`);
    for (const next of chain.slice(count)) part.push(next);
    assert.deepEqual(part.entries, before);
    assert.deepEqual(whole.entries, before);
  }
  await keep.close();
});
