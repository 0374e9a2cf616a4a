// Trimming 10,000 messages, beside LangChain's trimMessages, in one run: `cargo xtask bench trim`, or `node trim.mjs` after
// `npm ci` with THREADKEEP_TARBALL naming the packed package. Prints medians with the targets, and a `BENCH` line a row for
// xtask.
//
// Bare text: neither side has seen the list; LangChain counts with gpt-tokenizer. It asks its counter about the whole rest again
// for every message that it tries, which for 10,000 messages takes many minutes; so this is measured on a tenth of the list
// (what it takes grows with the square). A second row has a counter that remembers each message in the course of a call, so
// that every text is counted once: the best that LangChain's users can do, for information. Known counts: LangChain's counter adds
// up numbers that are stored beside the messages; ours has trimmed the list before, and each round has another budget.
// MESSAGES is the length of the list, ROUNDS the number of rounds.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { AIMessage, HumanMessage, SystemMessage, ToolMessage, trimMessages as theirs } from "@langchain/core/messages";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

const MESSAGES = Number(process.env.MESSAGES ?? 10_000);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const BUDGET = 100_000;

const WORDS = (
  "the tool returns a list of files and the agent reads each one before it decides what to change in the module " +
  "because tests fail where parsing of numbers, dates or names goes wrong; const value = parse(input, { strict: true });"
).split(" ");

/** The same transcript each time: questions, calls with results, answers of 20 to 200 words. */
function transcript(round) {
  let seed = 12345 + round;
  const random = (below) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % below;
  };
  const text = () => Array.from({ length: 20 + random(180) }, () => WORDS[random(WORDS.length)]).join(" ");
  const list = [{ role: "system", content: "You are a careful engineer." }];
  for (let turn = 0; list.length < MESSAGES; turn += 1) {
    const call = { id: `call_${turn}`, type: "function", function: { name: "read", arguments: JSON.stringify({ path: `src/${turn}.ts` }) } };
    list.push({ role: "user", content: text() }, { role: "assistant", content: null, tool_calls: [call] });
    list.push({ role: "tool", tool_call_id: call.id, content: text() }, { role: "assistant", content: text() });
  }
  return list.slice(0, MESSAGES);
}

function langchain(message) {
  switch (message.role) {
    case "system":
      return new SystemMessage(message.content);
    case "user":
      return new HumanMessage(message.content);
    case "tool":
      return new ToolMessage({ content: message.content, tool_call_id: message.tool_call_id });
    default: {
      const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) }));
      return new AIMessage({ content: message.content ?? "", tool_calls: calls });
    }
  }
}

const cost = (message) =>
  4 +
  countTokens(message.content) +
  (message.tool_calls ?? []).reduce((sum, call) => sum + 8 + countTokens(call.name) + countTokens(JSON.stringify(call.args)), 0);
const counting = (messages) => messages.reduce((sum, message) => sum + cost(message), 0);
/** A counter that counts each message once. */
const remembering = () => {
  const counted = new WeakMap();
  return (messages) => {
    let sum = 0;
    for (const message of messages) {
      let tokens = counted.get(message);
      if (tokens === undefined) counted.set(message, (tokens = cost(message)));
      sum += tokens;
    }
    return sum;
  };
};
const known = new WeakMap();
const reading = (messages) => {
  let sum = 0;
  for (const message of messages) sum += known.get(message);
  return sum;
};

const median = (figures) => {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

async function time(times, name, work) {
  const begun = performance.now();
  const result = await work();
  (times[name] ??= []).push(performance.now() - begun);
  return result;
}

const folder = mkdtempSync(join(tmpdir(), "threadkeep-trim-"));
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--offline", "--loglevel=error", process.env.THREADKEEP_TARBALL], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ours = await import(pathToFileURL(join(folder, "node_modules/threadkeep/dist/index.js")).href);
  await ours.loadVocabulary("o200k_base");
  await ours.countTokens("warm");
  countTokens("warm");

  const times = {};
  const options = (counter, maxTokens) => ({ maxTokens, tokenCounter: counter, strategy: "last", includeSystem: true, startOn: "human" });
  for (let round = 0; round < ROUNDS; round += 1) {
    process.stderr.write(`round ${round + 1} of ${ROUNDS} …\n`);
    const list = transcript(round);
    const messages = list.map(langchain);
    const trimmed = await time(times, "ours, once", () => ours.trimMessages(list, { budget: { maxTokens: BUDGET } }));
    const cut = await time(times, "theirs, once", () => theirs(messages, options(remembering(), BUDGET)));
    const [tenth, small] = [MESSAGES / 10, { budget: { maxTokens: BUDGET / 10 } }];
    await time(times, "ours, bare", () => ours.trimMessages(list.slice(1, tenth), small));
    await time(times, "theirs, bare", () => theirs(messages.slice(1, tenth), options(counting, BUDGET / 10)));
    if (trimmed.overBudget || trimmed.tokens < BUDGET * 0.9 || cut.length < trimmed.messages.length * 0.8)
      throw new Error(`the two do not do the same: ${trimmed.messages.length} and ${cut.length} messages`);
    for (const message of messages) known.set(message, cost(message));
    for (let step = 1; step <= 5; step += 1) {
      const budget = BUDGET - step * 1000;
      await time(times, "ours, known", () => ours.trimMessages(list, { budget: { maxTokens: budget } }));
      await time(times, "theirs, known", () => theirs(messages, options(reading, budget)));
      list.push({ role: "user", content: `and ${step}` });
      await time(times, "ours, grown", () => ours.trimMessages(list, { budget: { maxTokens: budget } }));
      list.pop();
      await ours.trimMessages(list, { budget: { maxTokens: budget } });
    }
  }

  const rows = [];
  const row = (measure, value, target = "", verdict = "") => rows.push([measure, value, target, verdict]);
  const ms = (name) => `${median(times[name]).toFixed(2)} ms`;
  for (const [kind, target] of [
    ["bare", 10],
    ["known", 100],
  ]) {
    const ratio = median(times[`theirs, ${kind}`]) / median(times[`ours, ${kind}`]);
    const what = kind === "bare" ? `bare text, ${MESSAGES / 10}` : `counts known, ${MESSAGES}`;
    row(`${what}: ours`, ms(`ours, ${kind}`));
    row(`${what}: @langchain/core`, ms(`theirs, ${kind}`));
    row(`${what}: times faster`, `${ratio.toFixed(1)} ×`, `≥ ${target} ×`, ratio >= target ? "pass" : "missed");
  }
  row(`bare text, ${MESSAGES}: ours`, ms("ours, once"));
  row(`bare text, ${MESSAGES}: @langchain/core, counter that remembers`, ms("theirs, once"));
  row(`bare text, ${MESSAGES}: times faster than that`, `${(median(times["theirs, once"]) / median(times["ours, once"])).toFixed(1)} ×`);
  row("one message more: ours", ms("ours, grown"));
  for (const cells of rows) console.log(cells[0].padEnd(34), cells.slice(1).join("  "));
  for (const cells of rows) console.log(["BENCH", ...cells].join("\t"));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
