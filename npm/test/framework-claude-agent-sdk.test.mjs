// The keep as the Claude Agent SDK's session store: entries exactly as they came, whoever writes, and what they say as a
// transcript. Where the SDK's own functions can be driven without its binary, they are.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as sdk from "@anthropic-ai/claude-agent-sdk";
import { memory, rejects, Threadkeep } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";
import { sharedStore } from "./support/shared-store.mjs";
import { AGENT, MAIN, MORE, PROJECT, SESSION, assistant, user, uuidOf } from "./support/claude-sdk/entries.mjs";

const { sessionStore } = await import(pathToFileURL(join(installed, "dist/frameworks/claude-agent-sdk.js")).href);

const key = { projectKey: PROJECT, sessionId: SESSION };
const agent = { ...key, subpath: "subagents/agent-a1b2" };

test("entries come back exactly, in order, and once", async () => {
  const keep = await memory();
  const store = sessionStore(keep, { mirror: "manual" });
  assert.equal(await store.load(key), null);
  const odd = [
    { type: "x", n: 1.5, deep: { a: [null, true, { "": "" }] }, text: 'line\nbreak "quoted" \u2028 \ud83d' },
    { type: "x", n: 1.5 },
    { type: "x", n: 1.5 },
  ];
  await store.append(key, MAIN);
  await store.append(key, odd);
  await store.append(key, []);
  await store.append(key, [...MAIN.slice(1, 3), ...MORE]);
  const expected = [...MAIN, ...odd, ...MORE];
  assert.deepStrictEqual(await store.load(key), expected);
  // Another instance knows nothing beforehand.
  const again = sessionStore(keep, { mirror: "manual" });
  await again.append(key, MORE);
  assert.deepStrictEqual(await again.load(key), expected);
  assert.equal((await again.load(key)).map((entry) => JSON.stringify(entry)).join("\n"), expected.map((entry) => JSON.stringify(entry)).join("\n"));
  await keep.close();
});

test("what is no key and no entry", async () => {
  const keep = await memory();
  const store = sessionStore(keep);
  for (const wrong of [null, {}, { projectKey: "p" }, { ...key, subpath: "" }, { ...key, sessionId: 7 }])
    await rejects(store.append(wrong, MAIN), "bad-request");
  await rejects(store.append(key, "x"), "bad-request");
  await rejects(store.append(key, [MAIN[0], null]), "bad-request", /entries\[1\]/);
  const cycle = { type: "x" };
  cycle.self = cycle;
  for (const wrong of [cycle, { type: "x", big: 1n }])
    await rejects(store.append(key, [MAIN[0], wrong]), "bad-request", /entries\[1\] cannot be written as JSON/);
  assert.equal(await store.load(key), null);
  assert.throws(() => sessionStore(keep, { mirror: "later" }), { code: "bad-request" });
  assert.throws(() => sessionStore(keep, { ttl: 1 }), { code: "bad-request" });
  await keep.close();
});

test("keys that are long, alike or not ASCII stay apart", async () => {
  const keep = await memory();
  const store = sessionStore(keep, { mirror: "manual" });
  const long = "päth/".repeat(200);
  const keys = [
    { projectKey: "a", sessionId: "b" },
    { projectKey: "a", sessionId: "b", subpath: "c" },
    { projectKey: "a/b", sessionId: "c" },
    { projectKey: "a", sessionId: "b/c" },
    { projectKey: "a!b", sessionId: "c" },
    { projectKey: long, sessionId: "s" },
    { projectKey: `${long}x`, sessionId: "s", subpath: long },
  ];
  for (const [index, it] of keys.entries()) await store.append(it, [{ type: "x", index }]);
  for (const [index, it] of keys.entries()) assert.deepEqual(await store.load(it), [{ type: "x", index }]);
  assert.deepEqual(await store.listSubkeys(keys[6]), [long]);
  assert.deepEqual((await store.listSessions("a")).map(({ sessionId }) => sessionId).sort(), ["b", "b/c"]);
  await keep.close();
});

test("summaries are the SDK's, and times go up", async () => {
  const keep = await memory();
  const [ours, theirs] = [sessionStore(keep, { mirror: "manual" }), new sdk.InMemorySessionStore()];
  let before = 0;
  for (const entries of [MAIN, MORE, [{ type: "tag", tag: "urgent" }]]) {
    for (const store of [ours, theirs]) await store.append(key, entries);
    const [{ mtime }] = await ours.listSessions(PROJECT);
    assert.ok(mtime > before && mtime > 1e12 && Number.isInteger(mtime));
    before = mtime;
  }
  await ours.append(agent, AGENT);
  const [[own], [expected]] = await Promise.all([ours.listSessionSummaries(PROJECT), theirs.listSessionSummaries(PROJECT)]);
  assert.deepEqual(own.data, expected.data);
  assert.equal(own.mtime, before);
  await keep.close();
});

test("several writers on one store: nothing lost, nothing doubled, each in its own order", { timeout: 120_000 }, async () => {
  const open = sharedStore();
  const keeps = await Promise.all([1, 2, 3].map(() => Threadkeep.open({ storage: open() })));
  const stores = keeps.map((keep) => sessionStore(keep, { mirror: "manual" }));
  await Promise.all(
    stores.map(async (store, who) => {
      for (let step = 0; step < 20; step += 1) {
        const own = { type: "x", uuid: `${who}-${step}`, who, step };
        // Two batches of one caller at once keep their order; what all of them send is stored once.
        await Promise.all([store.append(key, [own, { type: "note", who, step }]), store.append(key, [own, { type: "x", uuid: `all-${step}` }])]);
      }
    }),
  );
  const all = await stores[0].load(key);
  assert.equal(all.length, 3 * 20 * 2 + 20);
  for (const who of [0, 1, 2])
    assert.deepEqual(
      all.filter((it) => it.type === "x" && it.who === who).map(({ step }) => step),
      Array.from({ length: 20 }, (_, step) => step),
    );
  assert.deepEqual(await stores[2].load(key), all);
  // One deletes, another one knows of it and begins anew.
  await stores[0].delete(key);
  await stores[1].append(key, [{ type: "x", uuid: "0-0" }]);
  assert.deepEqual(await stores[2].load(key), [{ type: "x", uuid: "0-0" }]);
  await Promise.all(keeps.map((keep) => keep.close()));
});

test("a session is a transcript: searched, budgeted, compacted; it grows, and nothing is there twice", async () => {
  const keep = await memory();
  const store = sessionStore(keep, { mirror: "manual" });
  await store.append(key, MAIN);
  await store.append(agent, AGENT);
  const place = await store.transcript(key);
  assert.deepEqual(place, { transcript: `claude-code/${SESSION}`, thread: `claude-agent-sdk/${SESSION}`, leaf: `claude-code/${SESSION}/${uuidOf("a2")}` });
  const texts = async () => (await keep.thread(place.thread).messages()).map(({ role }) => role);
  assert.deepEqual(await texts(), ["user", "assistant", "tool", "assistant"]);
  assert.equal((await keep.search("payment", { source: "claude-code" })).length, 1);
  await store.append(key, MORE);
  await store.transcript(key);
  await store.transcript(key);
  assert.deepEqual(await texts(), ["user", "assistant", "tool", "assistant", "user", "assistant"]);
  const [transcript, ...others] = await keep.transcripts();
  assert.deepEqual([transcript.title, transcript.messages, transcript.branches, others.length], ["Flaky checkout", 8, 2, 0]);
  assert.equal((await keep.transcript(transcript.id).outline()).leaf, `claude-code/${SESSION}/${uuidOf("a3")}`, "the main conversation is what a page opens");
  const { payload, overBudget } = await keep.thread(place.thread).context({ provider: "anthropic", budget: { maxTokens: 40 } });
  assert.equal(overBudget, false);
  assert.equal(payload.messages.at(0).content[0].text, "Then wait for the basket.");
  const { checkpoint } = await keep.thread(place.thread).compact({ keepTurns: 1, summarize: async () => '{"statements": ["A sleep made the test flaky."]}' });
  assert.equal(checkpoint.statements[0].text, "A sleep made the test flaky.");
  assert.equal(await store.transcript({ ...key, sessionId: "none" }), null);
  await keep.close();
});

test("what is appended comes into the transcript by itself; a failure is told and loses nothing", async () => {
  const keep = await memory();
  const store = sessionStore(keep, { mirrorDelay: 5 });
  await store.append(key, MAIN);
  await store.flush();
  assert.equal((await keep.transcripts())[0].title, "Flaky checkout");
  const changed = new Promise((resolve) => keep.on("change", resolve));
  await store.append(key, MORE);
  // Only the timer can do it now; the process stays for this one.
  const stay = setInterval(() => {}, 1000);
  await changed;
  await store.flush();
  clearInterval(stay);
  assert.equal((await keep.thread(`claude-agent-sdk/${SESSION}`).messages()).length, 6);
  const told = [];
  keep.import = async () => {
    throw new Error("no");
  };
  const failing = sessionStore(keep, { onMirrorError: (error) => told.push(error.message) });
  await failing.append({ ...key, sessionId: "other" }, [{ type: "x" }]);
  await failing.flush();
  assert.deepEqual(told, ["no"]);
  assert.equal((await failing.load({ ...key, sessionId: "other" })).length, 1);
  await keep.close();
});

test("deleting a session deletes its transcript, deleting a subagent its branch", async () => {
  const keep = await memory();
  const store = sessionStore(keep, { mirror: "manual" });
  await store.append(key, MAIN);
  await store.append(agent, AGENT);
  await store.transcript(key);
  await store.delete(agent);
  assert.equal((await keep.transcripts())[0].messages, 4);
  assert.deepEqual(await store.listSubkeys(key), []);
  await store.append(agent, AGENT);
  await store.delete(key);
  assert.deepEqual([await keep.transcripts(), await store.listSessions(PROJECT), await store.load(agent), await keep.threads()], [[], [], null, []]);
  await store.delete(key);
  await keep.close();
});

test("the SDK's own functions: list, read, rename, tag, fork, subagents, delete", async () => {
  const keep = await memory();
  const dir = process.cwd();
  const options = { dir, sessionStore: sessionStore(keep) };
  // The key that the SDK makes of this folder.
  const projectKey = dir.replace(/[^a-zA-Z0-9]/g, "-");
  const own = { projectKey, sessionId: SESSION };
  await options.sessionStore.append(
    own,
    MAIN.map((entry) => ("cwd" in entry ? { ...entry, cwd: dir } : entry)),
  );
  await options.sessionStore.append({ ...own, subpath: agent.subpath }, AGENT);
  const listed = await sdk.listSessions(options);
  assert.deepEqual(
    listed.map(({ sessionId, customTitle }) => [sessionId, customTitle]),
    [[SESSION, "Flaky checkout"]],
  );
  const messages = await sdk.getSessionMessages(SESSION, options);
  assert.deepEqual(
    messages.map(({ type, uuid }) => [type, uuid]),
    [
      ["user", uuidOf("01")],
      ["assistant", uuidOf("a1")],
      ["user", uuidOf("02")],
      ["assistant", uuidOf("a2")],
    ],
  );
  assert.deepEqual(await sdk.listSubagents(SESSION, options), ["a1b2"]);
  assert.equal((await sdk.getSubagentMessages(SESSION, "a1b2", options)).length, 2);
  await sdk.renameSession(SESSION, "Steady checkout", options);
  await sdk.tagSession(SESSION, "tests", options);
  const info = await sdk.getSessionInfo(SESSION, options);
  assert.deepEqual([info.customTitle, info.tag], ["Steady checkout", "tests"]);
  const fork = await sdk.forkSession(SESSION, { ...options, upToMessageId: uuidOf("02") });
  assert.equal((await sdk.getSessionMessages(fork.sessionId, options)).length, 3);
  await options.sessionStore.flush();
  assert.deepEqual((await keep.transcripts()).map(({ id }) => id).sort(), [SESSION, fork.sessionId].map((id) => `claude-code/${id}`).sort());
  assert.equal((await keep.transcripts()).find(({ id }) => id.endsWith(SESSION)).title, "Steady checkout");
  await sdk.deleteSession(SESSION, options);
  assert.deepEqual(
    (await sdk.listSessions(options)).map(({ sessionId }) => sessionId),
    [fork.sessionId],
  );
  await keep.close();
});

test("the SDK imports a session from its files; a second time adds nothing", async () => {
  const keep = await memory();
  const store = sessionStore(keep);
  const home = mkdtempSync(join(tmpdir(), "threadkeep-claude-"));
  const before = process.env.CLAUDE_CONFIG_DIR;
  process.env.CLAUDE_CONFIG_DIR = home;
  try {
    const dir = join(home, "shop");
    const folder = join(home, "projects", dir.replace(/[^a-zA-Z0-9]/g, "-"));
    mkdirSync(join(folder, SESSION, "subagents"), { recursive: true });
    mkdirSync(dir);
    const lines = (entries) => `${entries.map((entry) => JSON.stringify(entry)).join("\n")}\n`;
    writeFileSync(join(folder, `${SESSION}.jsonl`), lines([...MAIN, ...MORE]));
    writeFileSync(join(folder, SESSION, "subagents", "agent-a1b2.jsonl"), lines(AGENT));
    for (const batchSize of [2, 500]) await sdk.importSessionToStore(SESSION, store, { dir, batchSize });
    const [{ sessionId }] = await sdk.listSessions({ dir, sessionStore: store });
    assert.equal(sessionId, SESSION);
    const stored = (await store.load({ projectKey: folder.split("/").at(-1), sessionId })).filter(({ uuid }) => uuid !== undefined);
    assert.deepStrictEqual(
      stored,
      [...MAIN, ...MORE].filter(({ uuid }) => uuid !== undefined),
    );
    assert.equal((await sdk.getSubagentMessages(SESSION, "a1b2", { dir, sessionStore: store })).length, 2);
    await store.flush();
    assert.equal((await keep.thread(`claude-agent-sdk/${SESSION}`).messages()).length, 6);
  } finally {
    if (before === undefined) delete process.env.CLAUDE_CONFIG_DIR;
    else process.env.CLAUDE_CONFIG_DIR = before;
    rmSync(home, { recursive: true, force: true });
  }
  await keep.close();
});

test("a long session, in pages", async () => {
  const keep = await memory();
  const store = sessionStore(keep, { mirror: "manual" });
  const entries = Array.from({ length: 1500 }, (_, index) => user(String(index), null, `message ${index} ${"x".repeat(1000)}`, index % 60));
  for (let start = 0; start < entries.length; start += 500) await store.append(key, entries.slice(start, start + 500));
  assert.deepStrictEqual(await store.load(key), entries);
  await store.append(key, [assistant("z", null, [], 1)]);
  assert.equal((await sessionStore(keep, { mirror: "manual" }).load(key)).length, 1501);
  await keep.close();
});
