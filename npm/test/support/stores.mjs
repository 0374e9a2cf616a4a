// The stores on databases and servers, of the installed package, and the tales that each of them is told.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Threadkeep, assistant, many, memory, texts, user } from "./expect.mjs";
import { fixture, installed } from "./installed.mjs";

const subpath = (name) => import(pathToFileURL(join(installed, `dist/stores/${name}.js`)).href);

export const { sqliteStore } = await subpath("sqlite");
export const { redisStore } = await subpath("redis");
export const { postgresSetup, postgresStore } = await subpath("postgres");
export const { checkStore } = await subpath("contract");

/** Opens the store that `kind` names, with these options. */
export function openStore({ kind, ...options }) {
  const open = { sqlite: sqliteStore, redis: redisStore, postgres: postgresStore }[kind];
  return open(options);
}

/** The names of the scopes of a store. */
export async function listed(store) {
  const names = [];
  for await (const name of store.scopes.list()) names.push(name);
  return names;
}

/** A change with nothing in it but what is given. */
export function change(parts) {
  return { absent: [], present: [], deletes: [], deleteRanges: [], puts: [], durability: "strict", ...parts };
}

export const bytes = (text) => new TextEncoder().encode(text);

/** The whole contract suite; a store that lacks anything says so. */
export async function contract(open) {
  const { passed, failures } = await checkStore(open);
  assert.deepEqual(failures, []);
  assert.ok(passed.length >= 28, `${passed.length} behaviours`);
}

const FILLER = "and so that it is worth a summary there are quite some more words to it than that alone would take";
const turns = (count) => Array.from({ length: count }, (_, at) => [user(`Step ${at}, ${FILLER}.`), assistant(`Part ${at} is done, ${FILLER}.`)]).flat();

/** Everything that a keep does, on any store; gives what can be compared. */
async function tell(keep) {
  await keep.thread("main").append([{ role: "system", content: "Be brief." }, ...turns(60), ...many(40)]);
  for (let at = 0; at < 110; at += 1) await keep.thread("main").append([user(`single ${at}`)]);
  await keep.thread("main").fork("side", { atIndex: 10 });
  await keep.thread("side").append([user("elsewhere, a heliotrope")]);
  const question = await keep.receive({ messageId: "q", content: "why?", systemPrompt: "brief" });
  await keep.extend(question.id, [assistant("because")]);
  await keep.at("q").alias("sent");
  await keep.receive({ messageId: "r", replyTo: "sent", content: "really?" });
  await keep.memory.remember({ kind: "preference", fact: "likes heliotropes" });
  const report = await keep.import({ name: "conversations.json", data: fixture("claude.json") });
  await keep.import(clearedSession());
  const imported = (await keep.transcripts()).find(({ source }) => source === "claude-code");
  await keep.thread("imported").moveTo(imported.leaf);
  await keep.thread("gone").append([user("to be cleared")]);
  await keep.thread("gone").clear();
  const compacted = await keep.thread("main").compact();
  return { imported: report.conversations ?? report.transcripts ?? report, tokensSaved: compacted.tokensSaved };
}

/** What a keep holds, in a form that does not depend on random ids and times. */
async function look(keep) {
  const hits = await keep.search("heliotrope");
  return {
    main: await keep.thread("main").messages(),
    side: await keep.thread("side").messages(),
    range: texts(await keep.thread("main").messages({ start: 200, end: 205 })),
    prompt: (await keep.thread("main").context({ encoding: "estimate" })).messages.length,
    checkpoints: (await keep.at((await keep.thread("main").head()).id).checkpoints()).length,
    chain: texts((await keep.chain("r")).flatMap((node) => node.messages)),
    facts: (await keep.memory.facts()).map(({ fact }) => fact),
    hits: hits.map(({ message, snippet }) => message?.content ?? snippet),
    gone: await keep.thread("gone").count(),
    heads: (await keep.threads()).map(({ name }) => name),
    stats: Object.fromEntries(Object.entries(await keep.stats()).filter(([name]) => ["transcripts", "messages", "heads"].includes(name))),
    lint: (await keep.lint()).length,
  };
}

/** A whole keep's story on the store that `open` gives, the same as in memory, again after opening it anew. */
export async function story(open) {
  const inMemory = await memory({ encoding: "estimate" });
  const expected = [await tell(inMemory), await look(inMemory)];
  await inMemory.close();
  assert.ok(expected[1].checkpoints > 0 && expected[1].hits.length > 0 && expected[1].stats.transcripts > 2);

  const keep = await Threadkeep.open({ storage: await open(), encoding: "estimate" });
  const told = await tell(keep);
  const seen = await look(keep);
  assert.deepEqual([{ ...told, imported: undefined }, seen], [{ ...expected[0], imported: undefined }, expected[1]]);
  const exported = await keep.export().text();
  await keep.close();

  const again = await Threadkeep.open({ storage: await open(), encoding: "estimate" });
  assert.equal(await again.export().text(), exported);
  assert.deepEqual(await look(again), expected[1]);
  await again.thread("main").append([user("and on")]);
  assert.equal((await again.thread("main").messages()).at(-1).content, "and on");
  await again.close();
}

/** The first example of a page of the documentation, as code. */
export function exampleOf(page) {
  const text = readFileSync(new URL(`../../../docs/stores/${page}.md`, import.meta.url), "utf8");
  return /```(?:js|ts|javascript)\n([\s\S]*?)```/.exec(text)[1];
}

/** Two commits that each forbid what the other writes: however they meet, one of them wins. */
export async function skew(open) {
  const [first, second] = [await open(), await open()];
  for (let round = 0; round < 40; round += 1) {
    const [left, right] = [`skew/${round}/left`, `skew/${round}/right`];
    const results = await Promise.allSettled([
      first.commit(change({ absent: [left], puts: [[right, bytes("1")]] })),
      second.commit(change({ absent: [right], puts: [[left, bytes("1")]] })),
    ]);
    assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.equal(results.find(({ status }) => status === "rejected").reason.code, "conflict");
  }
  // The same with a range: who still sees the mark has his record removed with it, or comes too late.
  for (let round = 0; round < 40; round += 1) {
    const key = (name) => `range/${round}/${name}`;
    await first.commit(change({ puts: [[key("mark"), bytes("")]] }));
    const results = await Promise.allSettled([
      first.commit(change({ deleteRanges: [[key(""), key("~")]] })),
      second.commit(change({ present: [key("mark")], puts: [[key("record"), bytes("1")]] })),
    ]);
    assert.equal(results[0].status, "fulfilled");
    assert.deepEqual(await first.scan({ start: key(""), end: key("~"), reverse: false }), []);
  }
  await Promise.all([first.close(), second.close()]);
}

/** A long scan shows one state, though another writes all the time. */
export async function wholeScans(open) {
  const [writer, reader] = [await open(), await open()];
  const keys = Array.from({ length: 300 }, (_, index) => `whole/${String(index).padStart(3, "0")}`);
  const write = (round) => writer.commit(change({ durability: "relaxed", puts: keys.map((key) => [key, new Uint8Array(12_000).fill(round)]) }));
  await write(0);
  let writing = true;
  const rounds = (async () => {
    for (let round = 1; writing; round += 1) await write(round % 250);
  })();
  try {
    for (let scan = 0; scan < 10; scan += 1) {
      const found = await reader.scan({ start: "whole/", end: "whole0", reverse: scan % 2 === 1 });
      assert.deepEqual(
        found.map(([key]) => key),
        scan % 2 === 1 ? [...keys].reverse() : keys,
      );
      assert.equal(new Set(found.map(([, value]) => value[value.length - 1])).size, 1);
    }
  } finally {
    writing = false;
    await rounds;
  }
  await Promise.all([writer.close(), reader.close()]);
}

/** A commit whose answer gets lost happened once, and is not taken for somebody else's. */
export async function lostAnswers(store, proxy) {
  for (let round = 0; round < 10; round += 1) {
    const key = `lost/${round}`;
    await store.commit(change({ puts: [["lost/count", bytes(String(round))]] }));
    proxy.loseAnswer();
    await store.commit(change({ absent: [key], puts: [[key, bytes("once")]] }));
    assert.equal(proxy.lost(), round + 1, "an answer was lost");
    await assert.rejects(store.commit(change({ absent: [key] })), { code: "conflict", key });
  }
  // What is a conflict stays one, whether its answer gets lost or not.
  proxy.loseAnswer();
  await assert.rejects(store.commit(change({ absent: ["lost/0"], puts: [["lost/no", bytes("")]] })), { code: "conflict", key: "lost/0" });
  assert.equal(await store.get("lost/no"), undefined);
  // Readings are asked for again too.
  proxy.loseAnswer();
  assert.equal(new TextDecoder().decode(await store.get("lost/3")), "once");
  proxy.loseAnswer();
  assert.equal((await store.scan({ start: "lost/0", end: "lost/9~", reverse: false })).length, 10);
}

/** A session of Claude Code in which the result of a call was cleared: a checkpoint that covers no message. */
function clearedSession() {
  const line = (uuid, parentUuid, role, content) => ({ type: role, uuid, parentUuid, sessionId: "cleared", message: { role, content } });
  const lines = [
    line("u", null, "user", "Read it."),
    line("a", "u", "assistant", [{ type: "tool_use", id: "t", name: "Read", input: { file: "t" } }]),
    line("r", "a", "user", [{ type: "tool_result", tool_use_id: "t", content: "what it holds, at length" }]),
    {
      ...{ type: "system", subtype: "microcompact_boundary", uuid: "m", parentUuid: "r", sessionId: "cleared", content: "Context microcompacted" },
      microcompactMetadata: { trigger: "auto", preTokens: 9, compactedToolIds: ["t"] },
    },
    line("z", "m", "assistant", "Read."),
  ];
  return lines.map((one) => JSON.stringify(one)).join("\n");
}

/**
 * Fills a keep with threads as a view in SQL shows them: forks, pins, calls, deletions, a compaction, a cleared result, hidden messages,
 * several pages.
 */
export async function fillThreads(keep) {
  const call = { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
  const main = keep.thread("main");
  await main.append([{ role: "system", content: "Be brief." }, ...turns(20)]);
  await main.append([
    { role: "user", content: "look at this", pinned: true },
    { role: "assistant", content: null, tool_calls: [call] },
    {
      role: "tool",
      tool_call_id: "c1",
      content: [
        { type: "text", text: "two" },
        { type: "image", url: "x" },
        { type: "text", text: "parts" },
      ],
    },
    { role: "assistant", content: "odd: \u0000 and \\u0000 and \\\u0000, ü 漢 and\na line" },
    { role: "assistant", content: "for people", include_in_context: false },
  ]);
  for (let at = 0; at < 110; at += 1) await main.append([user(`single ${at}, ${FILLER}`)]);
  await main.fork("early", { atIndex: 10 });
  await keep.thread("early").append([user("elsewhere")]);
  const [, , pinned] = await keep.chain((await main.head()).id);
  await keep.at(pinned.id).pin();
  await main.compact({ keepTurns: 3 });
  await main.append(turns(2));
  await main.fork("late");
  const asked = await keep.receive({ messageId: "q%/", content: "why?" });
  await keep.extend(asked.id, [assistant("because"), user("really?")]);
  await keep.thread("replies").moveTo("q%/");
  await keep.thread("gone").append([user("to be cleared")]);
  await keep.thread("gone").clear();
}

/** Compares the rows of the view with what the threads say. `columns` are those of the seven after `context`. */
export async function compareThreads(keep, rows) {
  const said = (content) => (Array.isArray(content) ? content.flatMap(({ text }) => text ?? []).join("\n") : (content ?? ""));
  const lossy = (text) => text.replaceAll("\u0000", "\ufffd");
  const expected = [];
  for (const { name } of (await keep.threads()).sort((a, b) => (a.name < b.name ? -1 : 1)))
    for (const { index, id, message, tokens, compacted, compactedRange } of await keep.thread(name).stored())
      expected.push({ context: name, index, id, role: message.role, text: lossy(said(message.content)), tokens, compacted, range: compactedRange ?? null });
  assert.ok(expected.filter(({ compacted }) => compacted).length > 100, "some are compacted");
  assert.equal(expected.find(({ text }) => text === "look at this").compacted, false);
  assert.deepEqual(rows, expected);
}
