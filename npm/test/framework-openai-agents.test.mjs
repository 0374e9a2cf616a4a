// Sessions of @openai/agents in a keep: items come back exactly, any order of operations answers as the SDK's own session does,
// messages are proper ones, and nothing that is taken back is lost.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { MemorySession } from "@openai/agents-core";
import { memory, rejects, Threadkeep } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";
import { sharedStore } from "./support/shared-store.mjs";
import { ITEMS, answer, call, result, say, thought } from "./support/agent-items.mjs";

const { ThreadkeepSession, budgetInput } = await import(pathToFileURL(join(installed, "dist/frameworks/openai-agents.js")).href);

/** Numbers that are the same in every run. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("every kind of item comes back exactly, alone and together", async () => {
  const keep = await memory();
  for (const [index, item] of ITEMS.entries()) {
    const session = new ThreadkeepSession(keep, { sessionId: `alone ${index}` });
    await session.addItems([item]);
    assert.deepStrictEqual(await session.getItems(), [item]);
    assert.deepStrictEqual(await session.popItem(), item);
    assert.deepStrictEqual(await session.getItems(), []);
  }
  const together = new ThreadkeepSession(keep, { sessionId: "together" });
  await together.addItems(ITEMS);
  assert.deepStrictEqual(await together.getItems(), ITEMS);
  assert.deepStrictEqual(await new ThreadkeepSession(keep, { sessionId: "together" }).getItems(), ITEMS);
  await keep.close();
});

test("limits", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([say("1"), answer("2"), say("3")]);
  assert.deepStrictEqual(await session.getItems(2), [answer("2"), say("3")]);
  for (const limit of [0, -1, -7]) assert.deepStrictEqual(await session.getItems(limit), []);
  assert.equal((await session.getItems(100)).length, 3);
  assert.equal(await session.getSessionId(), "a");
  assert.match(await new ThreadkeepSession(keep).getSessionId(), /^[0-9a-f-]{36}$/);
  assert.throws(() => new ThreadkeepSession(keep, { id: "a" }), { code: "bad-request" });
  await keep.close();
});

test("items are changed by nobody from outside", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep);
  const item = say("mine");
  await session.addItems([item]);
  item.content = "changed";
  (await session.getItems())[0].content = "changed too";
  assert.deepStrictEqual(await session.getItems(), [say("mine")]);
  await rejects(session.addItems([{ ...say("x"), providerData: { run: () => {} } }]), "bad-request", /function/);
  assert.equal((await session.getItems()).length, 1);
  await keep.close();
});

test("sessions and operations with names of any length and letters", async () => {
  const keep = await memory();
  const names = ["会".repeat(170), `${"会".repeat(169)}x`, "l".repeat(512), `a/b "c" ~ ${"ü".repeat(200)}`, `${"x".repeat(99)}💥`];
  const open = (sessionId) => new ThreadkeepSession(keep, { sessionId });
  const append = (id, text) => ({ operationId: id, transaction: { type: "append_items", items: [say(text)] } });
  for (const name of names) {
    await open(name).addItems([say(name), say("popped")]);
    await open(name).replaceHistoryWithCompaction([say(name), say("another")]);
    await open(name).popItem();
    for (const id of names) for (let time = 0; time < 2; time += 1) await open(name).applyHistoryTransaction(append(id, id));
    await rejects(open(name).applyHistoryTransaction(append(names[0], "other")), "id-taken");
  }
  for (const name of names) {
    assert.deepStrictEqual(await open(name).getItems(), [name, ...names].map(say));
    assert.deepEqual(
      (await open(name).past()).map(({ reason }) => reason),
      ["compaction", "pop"],
    );
  }
  await open(names[0]).erase();
  assert.deepEqual([(await open(names[0]).getItems()).length, (await open(names[1]).getItems()).length], [0, 1 + names.length]);
  await keep.close();
});

test("what is no list of items is refused, and nothing of it stored", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep);
  await session.addItems([say("there")]);
  for (const wrong of [undefined, "words", {}, say("alone"), [say("x"), null], [say("x"), "words"], [7]]) {
    await rejects(session.addItems(wrong), "bad-request", /^items/);
    await rejects(session.replaceHistoryWithCompaction(wrong), "bad-request", /^items/);
  }
  assert.deepStrictEqual(await session.getItems(), [say("there")]);
  await keep.close();
});

test("messages are proper ones: text, calls, results, reasoning", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([
    say("What is the weather in Oslo?"),
    thought("They want Oslo."),
    call("c1", "weather"),
    call("c2", "time"),
    result("c2", "time", "noon"),
    result("c1", "weather", "sun"),
  ]);
  await session.addItems([answer("It is sunny.")]);
  const all = await keep.thread("a").messages();
  assert.deepEqual(
    all.map(({ role }) => role),
    ["user", "assistant", "tool", "tool", "assistant"],
  );
  assert.equal(all[1].reasoning, "They want Oslo.");
  assert.deepEqual(
    all[1].tool_calls.map((it) => [it.id, it.function.name]),
    [
      ["c1", "weather"],
      ["c2", "time"],
    ],
  );
  assert.deepEqual(
    all.slice(2).map(({ content }) => content),
    ["noon", "sun", "It is sunny."],
  );
  assert.equal((await keep.search("sunny"))[0].message.content, "It is sunny.");
  const { payload } = await keep.thread("a").context({ provider: "anthropic", budget: { maxTokens: 1000 } });
  assert.equal(payload.messages[1].content.filter(({ type }) => type === "tool_use").length, 2);
  assert.deepEqual(await keep.lint(), []);
  await keep.close();
});

test("all kinds together make valid prompts for every provider, at every budget", async () => {
  const keep = await memory();
  const { validate } = await import(pathToFileURL(join(installed, "dist/index.js")).href);
  await new ThreadkeepSession(keep, { sessionId: "a" }).addItems([...ITEMS, say("The end?")]);
  for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"])
    for (const maxTokens of [40, 100, 200, 400, 100_000]) {
      const { payload, overBudget } = await keep.thread("a").context({ provider, budget: { maxTokens } });
      assert.equal(overBudget, false);
      assert.deepEqual((await validate(payload, provider)).errors, [], `${provider} at ${maxTokens}`);
    }
  await keep.close();
});

test("a head that others wrote is continued, and what they append is taken in", async () => {
  const keep = await memory();
  await keep.thread("a").append([
    { role: "system", content: "Be brief." },
    { role: "user", content: "hi" },
    { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "c", content: "42" },
  ]);
  const session = new ThreadkeepSession(keep, { thread: "a" });
  assert.deepEqual(
    (await session.getItems()).map(({ type, role, name }) => role ?? `${type} ${name}`),
    ["system", "user", "function_call f", "function_call_result f"],
  );
  await session.addItems([answer("42!")]);
  await keep.thread("a").append([{ role: "user", content: "and?" }]);
  assert.deepStrictEqual((await session.getItems()).at(-1), say("and?"));
  assert.deepStrictEqual(await session.popItem(), say("and?"));
  assert.deepStrictEqual((await session.getItems()).at(-1), answer("42!"));
  assert.equal((await keep.thread("a").messages()).length, 5);
  await keep.close();
});

test("an imported conversation without an empty root is continued, emptied and left whole", async () => {
  const keep = await memory();
  const node = await keep.receive({ messageId: "m1", content: "hello", systemPrompt: "Be brief." });
  await keep.thread("a").moveTo(node.id);
  const session = new ThreadkeepSession(keep, { thread: "a" });
  await session.addItems([answer("hello you")]);
  await session.clearSession();
  assert.deepStrictEqual(await session.getItems(), []);
  assert.equal((await keep.thread("a").context()).messages.length, 0);
  await session.addItems([say("again")]);
  assert.deepStrictEqual(await session.getItems(), [say("again")]);
  const left = await keep.chain((await session.past())[0].leaf);
  assert.deepEqual(
    left.flatMap(({ messages }) => messages.map(({ content }) => content)),
    ["Be brief.", "hello", "hello you"],
  );
  await keep.close();
});

test("what is taken back, replaced and cleared stays, and can be gone back to", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([say("1"), answer("2")]);
  await session.popItem();
  await session.applyHistoryTransaction({
    operationId: "op",
    transaction: { type: "replace_suffix", expectedSuffix: [say("1")], replacement: [say("one"), answer("two")] },
  });
  await session.clearSession();
  assert.deepEqual(await keep.thread("a").messages(), []);
  const past = await session.past();
  assert.deepEqual(
    past.map(({ reason }) => reason),
    ["pop", "transaction", "clear"],
  );
  const texts = await Promise.all(past.map(async ({ leaf }) => (await keep.chain(leaf)).flatMap(({ messages }) => messages.map(({ content }) => content))));
  assert.deepEqual(texts, [["1", "2"], ["1"], ["one", "two"]]);
  await session.moveTo(past[0].leaf);
  assert.deepStrictEqual(await session.getItems(), [say("1"), answer("2")]);
  assert.equal((await keep.thread("a").messages()).length, 2);
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["a"],
  );
  await rejects(session.moveTo("nowhere"), "missing-node");
  assert.ok((await session.erase()) >= 4);
  assert.deepStrictEqual([await session.getItems(), await session.past(), await keep.transcripts()], [[], [], []]);
  await session.addItems([say("anew")]);
  assert.deepStrictEqual(await session.getItems(), [say("anew")]);
  await keep.close();
});

test("a session goes to another conversation, and takes in what others append there", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems(Array.from({ length: 30 }, (_, index) => say(`${index}`)));
  const [other] = await keep.thread("other").append([{ role: "user", content: "elsewhere" }]);
  await session.moveTo(other.id);
  assert.deepStrictEqual(await session.getItems(), [say("elsewhere")]);
  await keep.thread("a").append([{ role: "assistant", content: "yes" }]);
  assert.deepStrictEqual(await session.getItems(), [say("elsewhere"), answer("yes")]);
  assert.equal(await keep.thread("other").count(), 1);
  await session.popItem();
  assert.deepStrictEqual(await session.getItems(), [say("elsewhere")]);
  await keep.close();
});

test("a head that was removed leaves the session empty", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([say("1")]);
  await keep.thread("a").clear();
  assert.deepStrictEqual(await session.getItems(), []);
  await session.addItems([say("2")]);
  assert.deepStrictEqual(await session.getItems(), [say("2")]);
  await keep.close();
});

test("transactions: once, all or nothing, and only what they expect", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  const append = { operationId: "1", transaction: { type: "append_items", items: [say("1"), answer("2")] } };
  await session.applyHistoryTransaction(append);
  await new ThreadkeepSession(keep, { sessionId: "a" }).applyHistoryTransaction(structuredClone(append));
  assert.equal((await session.getItems()).length, 2);
  await rejects(session.applyHistoryTransaction({ ...append, transaction: { type: "append_items", items: [say("3")] } }), "id-taken");
  const replace = (operationId, expectedSuffix, replacement) =>
    session.applyHistoryTransaction({ operationId, transaction: { type: "replace_suffix", expectedSuffix, replacement } });
  await rejects(replace("2", [answer("3")], []), "conflict");
  await rejects(replace("2", [say("0"), say("1"), answer("2")], []), "conflict");
  for (const args of [
    null,
    { operationId: " ", transaction: append.transaction },
    { operationId: "x", transaction: { type: "other" } },
    { operationId: "x", transaction: { type: "append_items", items: [], more: 1 } },
    { operationId: "x", transaction: { type: "append_items" } },
  ])
    await rejects(session.applyHistoryTransaction(args), "bad-request");
  assert.deepStrictEqual(await session.getItems(), [say("1"), answer("2")]);
  await replace("2", [answer("2")], [answer("two")]);
  await replace("2", [answer("2")], [answer("two")]);
  assert.deepStrictEqual(await session.getItems(), [say("1"), answer("two")]);
  await session.clearSession();
  await session.applyHistoryTransaction(append);
  assert.equal((await session.getItems()).length, 2);
  await keep.close();
});

test("the same random operations give the same answers as the SDK's MemorySession", async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const keep = await memory();
    const pick = random(seed);
    const theirs = new MemorySession({ sessionId: "a" });
    const ours = () => new ThreadkeepSession(keep, { sessionId: "a" });
    const some = () => Array.from({ length: pick(4) }, () => structuredClone(ITEMS[pick(ITEMS.length)]));
    let done;
    for (let step = 0; step < 40; step += 1) {
      const chosen = pick(10);
      let act;
      if (chosen < 4) {
        const items = some();
        act = (session) => session.addItems(items);
      } else if (chosen < 6) act = (session) => session.popItem();
      else if (chosen < 7) {
        const limit = pick(6) - 1;
        act = (session) => session.getItems(limit);
      } else if (chosen < 8) {
        const all = await theirs.getItems();
        const args = {
          operationId: `op ${pick(8)}`,
          transaction: { type: "replace_suffix", expectedSuffix: all.slice(all.length - pick(3)), replacement: some() },
        };
        done = args;
        act = (session) => session.applyHistoryTransaction(args);
      } else if (chosen < 9) {
        const args = pick(3) === 0 && done ? done : { operationId: `op ${pick(8)}`, transaction: { type: "append_items", items: some() } };
        act = (session) => session.applyHistoryTransaction(args);
      } else if (pick(3) === 0) act = (session) => session.clearSession();
      else
        act = (session) =>
          session.applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "call_1", replacement: call("call_1", "other") }] });
      const answers = await Promise.all(
        [theirs, ours()].map(async (session) => {
          try {
            return { value: await act(session) };
          } catch {
            return { failed: true };
          }
        }),
      );
      assert.deepStrictEqual(answers[1], answers[0], `seed ${seed}, step ${step}`);
      assert.deepStrictEqual(await ours().getItems(), await theirs.getItems(), `seed ${seed}, step ${step}`);
    }
    // Whatever was done: the head is where the session is, and there are no other heads.
    assert.deepEqual(
      (await keep.threads()).map(({ name }) => name),
      (await keep.thread("a").head()) === null ? [] : ["a"],
    );
    await keep.close();
  }
});

test("several instances on one store: nothing lost, nothing doubled, transactions once", { timeout: 120_000 }, async () => {
  const open = sharedStore();
  const keeps = await Promise.all([1, 2, 3].map(() => Threadkeep.open({ storage: open() })));
  const added = [];
  const popped = [];
  await Promise.all(
    keeps.map(async (keep, who) => {
      const session = new ThreadkeepSession(keep, { sessionId: "shared" });
      for (let step = 0; step < 12; step += 1) {
        const own = [say(`${who}.${step}.a`), answer(`${who}.${step}.b`)];
        added.push(...own.map(textOf));
        await session.addItems(own);
        if (step % 4 === 3) popped.push(textOf(await session.popItem()));
        // All of them try the same operation: one of them does it.
        const both = [say(`op ${step}`)];
        if (who === 0) added.push(`op ${step}`);
        await session.applyHistoryTransaction({ operationId: `op ${step}`, transaction: { type: "append_items", items: both } });
      }
    }),
  );
  const left = (await new ThreadkeepSession(keeps[0], { sessionId: "shared" }).getItems()).map(textOf);
  assert.deepEqual([...left, ...popped].sort(), added.sort());
  for (const who of [0, 1, 2]) {
    const own = left.filter((text) => text.startsWith(`${who}.`));
    const place = (text) => Number(text.split(".")[1]) * 2 + (text.endsWith("b") ? 1 : 0);
    assert.deepEqual(
      own,
      [...own].sort((one, other) => place(one) - place(other)),
      "each writer's own order",
    );
  }
  const head = await keeps[1].thread("shared").head();
  assert.equal((await keeps[1].thread("shared").messages()).length, left.length, head.id);
  assert.deepEqual(
    (await keeps[2].threads()).map(({ name }) => name),
    ["shared"],
  );
  await Promise.all(keeps.map((keep) => keep.close()));
});

test("a writer that stops between its two commits leaves the session as it was", async () => {
  const open = sharedStore();
  const keep = await Threadkeep.open({ storage: open() });
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([say("1")]);
  // What such a writer leaves: its nodes at the head, and no record that they count.
  const [left] = await keep.thread("a").append([{ role: "user", content: "half", openai_agents: { of: 1 } }]);
  const again = new ThreadkeepSession(await Threadkeep.open({ storage: open() }), { sessionId: "a" });
  assert.deepStrictEqual(await again.getItems(), [say("1")]);
  await again.addItems([say("2")]);
  assert.deepStrictEqual(await again.getItems(), [say("1"), say("2")]);
  assert.deepEqual(
    (await again.keep.thread("a").messages()).map(({ content }) => content),
    ["1", "2"],
  );
  assert.notEqual(await again.keep.node(left.id), null);
  await keep.close();
});

test("a writer that stops before a session's first items count leaves it empty", async () => {
  const keep = await memory();
  await keep.thread("a").append([{ role: "user", content: "half", openai_agents: { of: 1, begins: ["a", 0] } }]);
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  assert.deepStrictEqual(await session.getItems(), []);
  await session.addItems([say("1")]);
  assert.deepStrictEqual(await session.getItems(), [say("1")]);
  assert.deepEqual(
    (await keep.thread("a").messages()).map(({ content }) => content),
    ["1"],
  );
  await keep.close();
});

test("a fork of a session's head is a session with the same history", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([say("1"), answer("2")]);
  await keep.thread("a").fork("b");
  const fork = new ThreadkeepSession(keep, { thread: "b" });
  assert.deepStrictEqual(await fork.getItems(), [say("1"), answer("2")]);
  await fork.addItems([say("b")]);
  await session.addItems([say("a")]);
  assert.deepStrictEqual([(await fork.getItems()).at(-1), (await session.getItems()).at(-1)], [say("b"), say("a")]);
  assert.equal((await keep.stats()).messages, 4);
  await keep.close();
});

test("a head that a process left behind in the middle of a change goes, one that may be in use stays", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  await session.addItems([say("1"), answer("2")]);
  const left = [Date.now() - 4_000_000, Date.now()].map((since) => `openai-agents a ${since} x`);
  for (const name of left) {
    await keep.thread(name).moveTo((await keep.thread("a").head()).id);
    await keep.thread(name).append([{ role: "user", content: "half", openai_agents: { of: 1 } }]);
  }
  await session.popItem();
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["a", left[1]],
  );
  assert.deepStrictEqual(await session.getItems(), [say("1")]);
  await keep.close();
});

test("a budget keeps tool groups whole, thoughts with their calls, and the new input", async () => {
  const history = [
    say("old ".repeat(50)),
    thought("hm ".repeat(20)),
    call("c1", "f"),
    result("c1", "f", "42"),
    answer("done"),
    say("next"),
    thought("so"),
    call("c2", "g"),
    result("c2", "g", "43"),
    answer("yes"),
  ];
  const fresh = [say("new")];
  for (let maxTokens = 10; maxTokens < 220; maxTokens += 3) {
    const given = structuredClone(history);
    const input = await budgetInput({ budget: { maxTokens } })(given, structuredClone(fresh));
    assert.deepEqual(input.at(-1), fresh[0]);
    assert.deepEqual(input, [...history, ...fresh].slice(-input.length), `${maxTokens}: a suffix`);
    assert.ok(
      input.slice(0, -1).every((item) => given.includes(item)),
      "the same objects",
    );
    const ids = (type) => input.filter((item) => item.type === type).map(({ callId }) => callId);
    assert.deepEqual(ids("function_call"), ids("function_call_result"));
    assert.equal(input.filter(({ type }) => type === "reasoning").length, ids("function_call").length);
  }
  assert.equal((await budgetInput({ budget: { maxTokens: 5000 } })(history, fresh)).length, history.length + 1);
  assert.equal((await budgetInput({ budget: { maxTokens: 5000 }, reserve: 4993 })(history, fresh)).length, 1);
  await rejects(budgetInput({ budget: { maxTokens: 2 } })(history, fresh), "over-budget");
  // No budget by mistake would be no limit.
  for (const wrong of [{ tokens: 3 }, undefined, {}, { budget: undefined }, { budget: 4000 }, { budget: null }])
    assert.throws(() => budgetInput(wrong), { code: "bad-request" });
  let told;
  await budgetInput({ budget: { maxTokens: 30 }, onTrimmed: (trimmed) => (told = trimmed) })(history, fresh);
  assert.ok(told.ledger.some(({ action }) => action === "dropped"));
});

test("a compaction of OpenAI's is never trimmed away", async () => {
  const compaction = { type: "compaction", encrypted_content: "x".repeat(40) };
  const input = await budgetInput({ budget: { maxTokens: 40 } })([compaction, say("old ".repeat(100)), answer("a")], [say("new")]);
  assert.deepEqual(input, [compaction, answer("a"), say("new")]);
});

function textOf(item) {
  return typeof item.content === "string" ? item.content : item.content[0].text;
}
