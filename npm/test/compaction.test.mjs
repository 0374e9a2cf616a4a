// Compactions through the package: options, results, models behind a function, the browser's summariser, pending requests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Threadkeep, chromeSummarizer, memory, rejects, user } from "./support/expect.mjs";
import { mapAdapter } from "./support/adapters.mjs";

const FILLER = "and so that it is worth a summary there are quite some more words to it than that alone would take";
const assistant = (content) => ({ role: "assistant", content });

/** Turns `from` to `to`; the first says how to answer. */
function turns(from, to) {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at).flatMap((at) => [
    user(`${at === 1 ? "Always answer in French." : "Go on with the next part."} Step ${at}, ${FILLER}.`),
    assistant(`Part ${at} is done, ${FILLER}.`),
  ]);
}

/** A keep with a conversation of eight turns. Tokens are estimated, so that no vocabulary is loaded. */
async function talked(options = {}) {
  const keep = await memory({ encoding: "estimate", ...options });
  await keep.thread("main").append(turns(1, 8));
  return keep;
}

const ANSWER = JSON.stringify({
  episodic_summary: "Four parts were done.",
  statements: [{ text: "Parts 1 to 4 are done.", sources: [2, 4, 6, 8] }],
  semantic_facts: [{ fact: "Answers are in French.", kind: "preference", confidence: 0.9, sources: [1] }],
});

test("undoCompaction gives prompts the originals again", async () => {
  const keep = await talked();
  const thread = keep.thread("main");
  const whole = await thread.context();
  const { checkpoint } = await thread.compact();
  const short = await thread.context();
  assert.equal(short.checkpoint, checkpoint.id);
  assert.deepEqual(await thread.undoCompaction(), checkpoint);
  assert.deepEqual((await thread.context()).payload, whole.payload);
  assert.deepEqual([await thread.checkpoints(), await thread.undoCompaction(checkpoint.id)], [[], null]);
  assert.deepEqual((await thread.context({ epoch: checkpoint.id })).payload, short.payload);
  assert.ok(checkpoint.episodes.length > 0 && checkpoint.facts.length > 0);
  assert.deepEqual([await keep.memory.episodes(), await keep.memory.facts()], [[], []]);
  await assert.rejects(thread.undoCompaction(7), { code: "bad-request", details: { argument: "checkpoint" } });
  await keep.close();
});

test("compact gives summaryMessages, compactedRange and tokensSaved, and keeps the originals", async () => {
  const keep = await talked();
  const before = await keep.thread("main").messages();
  const done = await keep.thread("main").compact();
  assert.deepEqual(done.compactedRange, { start: 0, end: 8 });
  assert.equal(done.summaryMessages.length, 1);
  assert.match(done.summaryMessages[0].content, /^Previous conversation summary \(8 messages, turns 1 to 4\)/);
  assert.match(done.summaryMessages[0].content, /Always answer in French/);
  assert.ok(done.tokensSaved > 0 && done.tokensSaved === done.tokensBefore - done.tokensAfter);
  assert.deepEqual([done.cost.calls, done.warnings], [1, []]);
  assert.ok(done.cost.inputTokens > done.cost.outputTokens);
  assert.equal(done.checkpoint.summariser, "extractive");
  assert.deepEqual(await keep.thread("main").messages(), before);
  const { messages, checkpoint } = await keep.thread("main").context();
  assert.deepEqual([messages.length, checkpoint], [9, done.checkpoint.id]);
  assert.deepEqual(await keep.thread("main").checkpoints(), [done.checkpoint]);
  assert.deepEqual(
    (await keep.memory.episodes()).map(({ id }) => id),
    done.checkpoint.episodes,
  );
  await keep.close();
});

test("keepRecent and keepTurns say what stays, targetTokens covers more", async () => {
  const keep = await talked();
  const end = async (options) => (await keep.thread("main").compact({ preview: true, ...options })).compactedRange.end;
  assert.equal(await end({}), 8);
  assert.equal(await end({ keepTurns: 6 }), 4);
  assert.equal(await end({ keepRecent: 5 }), 10); // rounded up to whole turns
  assert.equal(await end({ targetTokens: 200 }), 14);
  const { checkpoint } = await keep.thread("main").compact({ keepTurns: 8, preview: true });
  assert.equal(checkpoint, null);
  assert.deepEqual(await keep.thread("main").checkpoints(), []); // previews store nothing
  await keep.close();
});

test("the strategies are summarize, sliding-window and hierarchical", async () => {
  for (const strategy of ["summarize", "sliding-window", "hierarchical"]) {
    const keep = await talked();
    const { checkpoint, summaryMessages, tokensSaved } = await keep.thread("main").compact({ strategy });
    assert.equal(checkpoint.strategy, strategy);
    assert.equal(summaryMessages.length, strategy === "sliding-window" ? 0 : 1);
    assert.ok(tokensSaved > 0);
    assert.equal(await keep.thread("main").count(), 16);
    await keep.close();
  }
});

test("a prompt that ends at a checkpoint's anchor holds the question that is to be answered", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append(turns(1, 4));
  const [asked] = await keep.thread("main").append([user("What is the capital of France?")]);
  await keep.thread("main").append([user("And another question")]);
  const { checkpoint } = await keep.thread("main").compact({ keepTurns: 0 });
  assert.equal(checkpoint.anchor, asked.id);
  const contents = async (at) => (await keep.thread(at).context()).messages.map(({ content }) => content);
  await keep.thread("side").moveTo(asked.id);
  assert.deepEqual((await contents("side")).slice(1), ["What is the capital of France?"]);
  // A second answer to it comes after it.
  await keep.thread("side").append([assistant("Paris")]);
  assert.deepEqual((await contents("side")).slice(1), ["What is the capital of France?", "Paris"]);
  assert.deepEqual((await contents("main")).slice(1), ["And another question"]);
  await keep.close();
});

test("a strategy is chosen for a head, and kept", async () => {
  const storage = mapAdapter();
  const keep = await Threadkeep.open({ storage, encoding: "estimate" });
  await keep.thread("main").append(turns(1, 8));
  assert.equal(await keep.thread("main").strategy(), null);
  await keep.thread("main").setStrategy("sliding-window");
  const again = await Threadkeep.open({ storage, encoding: "estimate" });
  assert.equal(await again.thread("main").strategy(), "sliding-window");
  assert.equal((await again.thread("main").compact({ preview: true })).checkpoint.strategy, "sliding-window");
  assert.equal((await again.thread("main").compact({ strategy: "summarize" })).checkpoint.strategy, "summarize");
  await again.thread("main").setStrategy(null);
  assert.equal(await again.thread("main").strategy(), null);
  await rejects(keep.thread("nobody").setStrategy("summarize"), "missing-thread");
  await rejects(keep.thread("main").setStrategy("forget"), "bad-request", /sliding-window, summarize or hierarchical/);
  await keep.close();
  await again.close();
});

test("each epoch has its prompt, the original one too", async () => {
  const keep = await talked();
  const first = (await keep.thread("main").compact()).checkpoint;
  await keep.thread("main").append(turns(9, 12));
  const second = (await keep.thread("main").compact()).checkpoint;
  assert.equal(second.previous, first.id);
  const epochs = await keep.thread("main").epochs();
  assert.deepEqual(
    epochs.map(({ name }) => name),
    ["original", first.id, second.id],
  );
  assert.deepEqual(epochs[0].messages, { start: 0, end: 16 });
  assert.deepEqual(epochs[1].checkpoint, first);
  const sizes = [];
  for (const { name, leaf } of epochs) sizes.push((await keep.at(leaf).context({ epoch: name })).messages.length);
  assert.deepEqual(sizes, [16, 17, 9]);
  await rejects(keep.thread("main").context({ epoch: "cp_nothing" }), "bad-request");
  await keep.close();
});

test("a compaction is due after a response above the early ratio, until it is carried out", async () => {
  const keep = await talked({ compaction: { maxContextTokens: 1000, maxOutputTokens: 100, safetyMargin: 100 } });
  assert.equal(await keep.thread("main").afterResponse({ promptTokens: 640 }), null); // 0.8 of (1000 - 100 - 100)
  assert.equal(await keep.thread("main").afterResponse({ promptTokens: 641 }), "early-ratio");
  assert.equal(await keep.thread("main").afterResponse(), "early-ratio");
  assert.equal(await keep.thread("main").compactionRequired(), "early-ratio");
  await keep.thread("main").compact();
  assert.equal(await keep.thread("main").compactionRequired(), null);
  assert.equal(await keep.thread("main").afterResponse({ promptTokens: 900 }), null); // the same content
  await keep.thread("main").append([user("and now?")]);
  assert.equal(await keep.thread("main").afterResponse({ promptTokens: 900 }), "over-budget");
  await keep.thread("main").clearCompactionRequest();
  assert.equal(await keep.thread("main").compactionRequired(), null);
  await keep.thread("main").requestCompaction();
  assert.equal(await keep.thread("main").compactionRequired(), "manual");
  await rejects(keep.thread("main").afterResponse({ tokens: 3 }), "bad-request");
  await rejects(keep.thread("main").afterResponse({}, { compactionRatio: 2 }), "bad-request");
  await rejects(keep.thread("nobody").compactionRequired(), "missing-node");
  await keep.close();
});

test("the call's figures come before the keep's, the model's and the defaults", async () => {
  const keep = await talked({ compaction: { model: "gpt-4o", safetyMargin: 0 } });
  const due = async (promptTokens, policy) => {
    const reason = await keep.thread("main").afterResponse({ promptTokens }, policy);
    await keep.thread("main").append([assistant("more")]);
    await keep.thread("main").clearCompactionRequest();
    await keep.thread("main").append([assistant("more")]);
    return reason;
  };
  assert.equal(await due(128_000 - 16_384), "early-ratio");
  assert.equal(await due(128_000 - 16_384 + 1), "over-budget");
  assert.equal(await due(121_001, { maxOutputTokens: 7_000, compactionRatio: 1 }), "over-budget");
  assert.equal(await due(121_000, { maxOutputTokens: 7_000, compactionRatio: 1 }), null);
  assert.equal(await due(0, { compactionThreshold: 5 }), "messages"); // a limit of messages
  await keep.close();
});

test("a pending compaction survives a restart", async () => {
  const storage = mapAdapter();
  const keep = await Threadkeep.open({ storage, encoding: "estimate" });
  await keep.thread("main").append(turns(1, 8));
  await keep.thread("main").afterResponse({ promptTokens: 999_999 });
  await keep.close();
  const again = await Threadkeep.open({ storage, encoding: "estimate" });
  assert.equal(await again.thread("main").compactionRequired(), "over-budget");
  await again.thread("main").compact();
  await again.close();
  const third = await Threadkeep.open({ storage, encoding: "estimate" });
  assert.equal(await third.thread("main").afterResponse({ promptTokens: 999_999 }), null);
  await third.close();
});

test("a summariser is a function of the caller; its JSON is read bare, fenced and among words", async () => {
  for (const answer of [ANSWER, `\`\`\`json\n${ANSWER}\n\`\`\``, `Sure: ${ANSWER} Done.`, { content: ANSWER }]) {
    const keep = await talked();
    const asked = [];
    const summarize = async (request) => {
      asked.push(request);
      return answer;
    };
    const done = await keep.thread("main").compact({ summarize, summarizer: "a-model" });
    assert.deepEqual(
      done.checkpoint.statements.map(({ text }) => text),
      ["Parts 1 to 4 are done."],
    );
    assert.equal(done.checkpoint.summariser, "a-model");
    assert.deepEqual(
      done.episodes.map(({ summary }) => summary),
      ["Four parts were done."],
    );
    assert.deepEqual(
      (await keep.memory.facts()).map(({ fact, kind }) => [fact, kind]),
      [["Answers are in French.", "preference"]],
    );
    assert.deepEqual(done.warnings, []);
    const [{ messages, text, words, part, parts, signal }] = asked;
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["system", "user"],
    );
    assert.match(text, /^\[1\] user: Always answer in French\./);
    assert.ok(messages[1].content.includes(text) && words > 0);
    assert.deepEqual([part, parts, asked.length], [0, 1, 1]);
    assert.ok(signal instanceof AbortSignal);
    await keep.close();
  }
});

test("what is longer than the model takes comes in several requests", async () => {
  const keep = await talked();
  const asked = [];
  const summarize = ({ part, parts, messages }) => {
    asked.push(messages.reduce((sum, { content }) => sum + content.length, 0));
    return JSON.stringify({ statements: [`Part ${part + 1} of ${parts}.`] });
  };
  const done = await keep.thread("main").compact({ summarize, inputTokens: 650 });
  assert.ok(asked.length > 1 && asked.every((length) => length / 4 <= 650), `${asked}`);
  assert.equal(done.cost.calls, asked.length);
  assert.equal(done.checkpoint.statements.length, asked.length);
  await keep.close();
});

test("a model that fails, is late, or answers nonsense is replaced by the built-in summariser, with a warning", async () => {
  const call = { id: "c", type: "function", function: { name: "look", arguments: "{}" } };
  const cases = [
    [() => Promise.reject(new Error("no connection")), /no connection/],
    [
      () => {
        throw new Error("no key");
      },
      /no key/,
    ],
    [() => new Promise(() => {}), /longer than 20 ms/],
    [() => "", /is empty/],
    [() => "I cannot do that.", /no JSON object/],
    [() => 42, /neither a text nor a message/],
    [() => ({ role: "assistant", content: null, tool_calls: [call] }), /called a tool/],
    [() => JSON.stringify({ statements: ["many more words than there were ".repeat(60)] }), /would replace/],
  ];
  for (const [summarize, why] of cases) {
    const keep = await talked();
    const strict = await rejects(keep.thread("main").compact({ summarize, timeout: 20, fallback: false }), "summariser-failed");
    assert.match(strict.message, why);
    assert.deepEqual(await keep.thread("main").checkpoints(), []);
    const done = await keep.thread("main").compact({ summarize, timeout: 20 });
    assert.equal(done.warnings.length, 1);
    assert.match(done.warnings[0], why);
    assert.equal(done.checkpoint.summariser, "extractive");
    assert.match(done.summaryMessages[0].content, /Always answer in French/);
    await keep.close();
  }
});

test("a request that is given up hears of it", async () => {
  const keep = await talked();
  let reason;
  const summarize = ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject((reason = signal.reason))));
  await keep.thread("main").compact({ summarize, timeout: 5 });
  assert.equal(reason.name, "TimeoutError");
  await keep.close();
});

test("a compaction is cancelled: nothing is stored, and the request stays pending", async () => {
  const keep = await talked();
  await keep.thread("main").requestCompaction();
  const control = new AbortController();
  let heard = false;
  const summarize = ({ signal }) => {
    signal.addEventListener("abort", () => (heard = true));
    setTimeout(() => control.abort(), 1);
    return new Promise(() => {});
  };
  await rejects(keep.thread("main").compact({ summarize, signal: control.signal }), "cancelled");
  assert.ok(heard);
  assert.deepEqual(await keep.thread("main").checkpoints(), []);
  assert.deepEqual(await keep.memory.episodes(), []);
  assert.equal(await keep.thread("main").compactionRequired(), "manual");
  await rejects(keep.thread("main").compact({ signal: AbortSignal.abort() }), "cancelled");
  // Cancelled when it is done, it is done.
  const late = new AbortController();
  const done = await keep.thread("main").compact({ signal: late.signal });
  late.abort();
  assert.deepEqual(await keep.thread("main").checkpoints(), [done.checkpoint]);
  await keep.close();
});

test("a summary that would not be smaller is refused, and the history stays as it was", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append([user("a"), assistant("b"), user("c"), assistant("d")]);
  await keep.thread("main").requestCompaction();
  const error = await rejects(keep.thread("main").compact({ keepTurns: 1 }), "summary-refused");
  assert.equal(error.details.reason, "not-smaller");
  assert.deepEqual(await keep.thread("main").checkpoints(), []);
  assert.equal(await keep.thread("main").compactionRequired(), "manual");
  await keep.close();
});

test("whole turns are covered, never a tool group in pieces, never the live turn", async () => {
  const keep = await talked();
  const call = { id: "c1", type: "function", function: { name: "list", arguments: "{}" } };
  await keep
    .thread("main")
    .append([user("list the files"), { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "c1", content: "app.ts" }]);
  const { compactedRange } = await keep.thread("main").compact({ keepTurns: 0 });
  assert.deepEqual(compactedRange, { start: 0, end: 16 });
  const { payload } = await keep.thread("main").context({ provider: "anthropic" });
  assert.equal(payload.messages.at(-1).content[0].type, "tool_result");
  await keep.close();
});

test("branches share a checkpoint exactly when they fork behind what it covers", async () => {
  const keep = await talked();
  await keep.thread("main").fork("late", { atIndex: 12 });
  await keep.thread("main").fork("early", { atIndex: 6 });
  const { checkpoint } = await keep.thread("main").compact();
  assert.deepEqual(await keep.thread("late").checkpoints(), [checkpoint]);
  assert.deepEqual(await keep.thread("early").checkpoints(), []);
  await keep.close();
});

test("what is wrong is named", async () => {
  const keep = await talked();
  await rejects(keep.thread("nobody").compact(), "missing-node");
  await rejects(keep.thread("main").compact({ keep: 3 }), "bad-request", /options\.keep/);
  await rejects(keep.thread("main").compact({ strategy: "forget" }), "bad-request", /strategy/);
  await rejects(keep.thread("main").compact({ summarize: "gpt" }), "bad-request", /options\.summarize/);
  await rejects(keep.thread("main").compact({ keepRecent: 0 }), "bad-request", /keepRecent must be a whole number from 1 on/);
  await rejects(keep.thread("main").compact({ keepTurns: -1 }), "bad-request", /options\.keepTurns/);
  await rejects(keep.thread("main").compact({ provider: "abacus" }), "bad-request", /provider/);
  await rejects(keep.thread("main").compact({ encoding: "abacus" }), "bad-request", /encoding/);
  await rejects(memory({ compaction: { ratio: 1 } }), "bad-request", /options\.compaction\.ratio/);
  await keep.close();
  await rejects(keep.thread("main").compact(), "closed");
});

/** A stand-in for the browser's summariser, after the documented interface: a quota in words, and points as Markdown. */
function standIn({ availability = "available", quota = 60, refuse = false } = {}) {
  const seen = { created: [], texts: [], destroyed: 0, loaded: [] };
  class Summarizer extends EventTarget {
    inputQuota = quota;
    static async availability(options) {
      assert.equal(options.sharedContext, undefined); // `availability` takes the core options only
      return availability;
    }
    static async create(options) {
      options.signal?.throwIfAborted();
      if (refuse) throw new DOMException("A click is needed.", "NotAllowedError");
      seen.created.push(options);
      const monitor = new EventTarget();
      options.monitor?.(monitor);
      if (availability !== "available") for (const loaded of [0, 1]) monitor.dispatchEvent(Object.assign(new Event("downloadprogress"), { loaded }));
      return new Summarizer();
    }
    async measureInputUsage(input, { signal } = {}) {
      signal?.throwIfAborted();
      return input.split(/\s+/).length;
    }
    async summarize(input, { context, signal } = {}) {
      signal?.throwIfAborted();
      assert.equal(typeof context, "string");
      if ((await this.measureInputUsage(input)) > this.inputQuota) throw new DOMException("too much", "QuotaExceededError");
      seen.texts.push(input);
      return `* ${/(Step|Part) \d+/.exec(input)?.[0] ?? "Something"} was spoken of.`;
    }
    destroy() {
      seen.destroyed += 1;
    }
  }
  globalThis.Summarizer = Summarizer;
  return seen;
}

test("the browser's summariser makes the summary where there is one", async (t) => {
  t.after(() => delete globalThis.Summarizer);
  assert.equal(await chromeSummarizer(), undefined);
  const seen = standIn();
  const summarize = await chromeSummarizer({ expectedInputLanguages: ["en"], outputLanguage: "en" });
  assert.deepEqual([summarize.summarizer, summarize.inputTokens], ["chrome", 1000]);
  const { type, format, length, outputLanguage, sharedContext } = seen.created[0];
  assert.deepEqual([type, format, length, outputLanguage, typeof sharedContext], ["key-points", "plain-text", "long", "en", "string"]);
  const keep = await talked();
  const { checkpoint, warnings, episodes } = await keep.thread("main").compact({ summarize });
  assert.deepEqual([checkpoint.summariser, warnings], ["chrome", []]);
  // Cut to its quota, with nothing left out, and without the numbers that are for other models.
  assert.ok(seen.texts.length > 2);
  const all = seen.texts.join("");
  for (const at of [1, 2, 3, 4]) assert.ok(all.includes(`Step ${at},`) && all.includes(`Part ${at} is done`));
  assert.doesNotMatch(all, /\[\d+\]/);
  assert.ok(checkpoint.statements.every(({ text, sources }) => /^(Step|Part|Something)/.test(text) && sources.length > 0));
  assert.equal(episodes.length, 1);
  summarize.destroy();
  assert.equal(seen.destroyed, 1);
  await keep.close();
});

test("the browser's model is downloaded only where that was asked for", async (t) => {
  t.after(() => delete globalThis.Summarizer);
  standIn({ availability: "unavailable" });
  assert.equal(await chromeSummarizer({ download: true }), undefined);
  const seen = standIn({ availability: "downloadable" });
  assert.equal(await chromeSummarizer(), undefined);
  assert.equal(seen.created.length, 0);
  await chromeSummarizer({ download: true, onProgress: (loaded) => seen.loaded.push(loaded) });
  assert.deepEqual(seen.loaded, [0, 1]);
  standIn({ availability: "downloadable", refuse: true });
  await rejects(chromeSummarizer({ download: true }), "summariser-failed", /NotAllowedError/);
  await rejects(chromeSummarizer({ download: true, signal: AbortSignal.abort() }), "cancelled");
  await rejects(chromeSummarizer({ model: "nano" }), "bad-request");
});

test("the browser's summariser without a limit takes the text whole, and what it refuses falls back", async (t) => {
  t.after(() => delete globalThis.Summarizer);
  const seen = standIn({ quota: Infinity });
  const keep = await talked();
  const summarize = await chromeSummarizer();
  assert.equal(summarize.inputTokens, undefined);
  const { wouldSend, checkpoint, summaryMessages } = await keep.thread("main").compact({ summarize, preview: true });
  assert.equal(seen.texts.length, 0, "a preview asks nobody");
  assert.deepEqual([checkpoint, summaryMessages.length, wouldSend.requests], [null, 0, 1]);
  assert.ok(wouldSend.to !== "" && wouldSend.tokens > 0 && wouldSend.messages > 0, JSON.stringify(wouldSend));
  standIn({ quota: 0 });
  const { warnings } = await keep.thread("main").compact({ summarize: await chromeSummarizer() });
  assert.match(warnings[0], /too much/);
  await keep.close();
});
