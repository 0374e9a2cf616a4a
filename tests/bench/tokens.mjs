// Counting tokens beside the npm tokenizers: `cargo xtask bench tokens`, or `node tokens.mjs [ENCODING]` after `npm ci`. Each
// tokenizer is a process of its own; they take turns on the same messages, and medians are compared. Fresh is text that no
// tokenizer has seen before, warm the same text again and again.
//
// THREADKEEP_BENCH_WASM names the folder of the built module (else it is built), ROUNDS the number of rounds, STARTS that
// of the starts, SIZE the characters of one round of one kind, KINDS those kinds of text that are wanted (all otherwise).

import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { module } from "./lib/module.mjs";
import { names } from "./tokens/counters.mjs";
import { pathological, texts } from "./tokens/texts.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const encoding = process.argv[2] ?? "o200k_base";
const ROUNDS = Number(process.env.ROUNDS ?? 21);
const STARTS = Number(process.env.STARTS ?? 7);
const SIZE = Number(process.env.SIZE ?? 40_000);
// Before these a JavaScript tokenizer's figure doubles from run to run, as the engine compiles it sooner or later.
const WARM_UP = Number(process.env.WARM_UP ?? 8);
const KINDS = process.env.KINDS?.split(",");
const MESSAGE = 2000;
const PEER = "gpt-tokenizer";
const FRESH = { en: 12, code: 12, json: 12, cjk: 13 };
const WARM = { en: 9, code: 9, json: 9, cjk: 1.5 };

process.env.THREADKEEP_BENCH_WASM = module(root);

const median = (figures) => [...figures].sort((a, b) => a - b)[figures.length >> 1];
const say = (words) => process.stderr.write(`${words}\n`);
const rows = [];
const row = (...cells) => rows.push(cells);
const verdict = (holds) => (holds ? "pass" : "missed");

class Counter {
  constructor(name) {
    this.process = fork(join(here, "tokens", "child.mjs"), [name, encoding, root], { serialization: "advanced" });
    this.before = [];
  }

  answer() {
    return new Promise((resolve, reject) => {
      const fail = (code) => reject(new Error(`a tokenizer ended (${code})`));
      this.process.once("exit", fail);
      this.process.once("message", (message) => {
        this.process.off("exit", fail);
        resolve(message);
      });
    });
  }

  // The messages of the turn before come first, untimed.
  time(messages) {
    this.process.send({ before: this.before, texts: messages });
    this.before = messages;
    return this.answer();
  }

  end() {
    this.process.kill();
  }
}

async function start(name) {
  const counter = new Counter(name);
  return { counter, ms: (await counter.answer()).start };
}

say("starting each, several times …");
const starts = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < STARTS; round++) {
  for (const name of names) {
    const { counter, ms } = await start(name);
    starts[name].push(ms);
    counter.end();
  }
}

const counters = Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await start(name)).counter])));
const source = texts(root, 20_260);
say(source.real ? "English and chats are real ones, from shared/data" : "English and chats are this checkout's own prose and code");

// Megabytes of UTF-8 a second, by kind and tokenizer. What a tokenizer counts otherwise than we do is noted.
const odd = new Map();
async function speeds(kind, repeat) {
  const found = Object.fromEntries(names.map((name) => [name, []]));
  const fixed = source.of(kind, SIZE, MESSAGE);
  for (let round = 0; round < ROUNDS + WARM_UP; round++) {
    const messages = repeat ? fixed : source.of(kind, SIZE, MESSAGE);
    const bytes = messages.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    let ours;
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(turn + round) % names.length];
      const { ms, sum } = await counters[name].time(messages);
      if (round >= WARM_UP) found[name].push(bytes / 1000 / ms);
      if (name === "ours") ours = sum;
      else odd.set(`${name} ${kind} ${round} ${repeat}`, sum);
    }
    for (const name of names.slice(1)) {
      const key = `${name} ${kind} ${round} ${repeat}`;
      if (odd.get(key) === ours) odd.delete(key);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(found[name])]));
}

for (const [title, targets, repeat] of [
  ["fresh", FRESH, false],
  ["warm", WARM, true],
]) {
  for (const kind of source.kinds.filter((kind) => !KINDS || KINDS.includes(kind))) {
    say(`${title} ${kind} …`);
    const speed = await speeds(kind, repeat);
    const ratio = speed.ours / speed[PEER];
    const target = targets[kind];
    const all = names.map((name) => speed[name].toFixed(1)).join(" / ");
    row(`${title} ${kind}: ${all} MB/s`, `${ratio.toFixed(1)} × ${PEER}`, target ? `≥ ${target} ×` : "", target ? verdict(ratio >= target) : "");
  }
}

for (const [title, make] of Object.entries(pathological)) {
  say(`${title} …`);
  const times = [];
  const text = [make()];
  for (let round = 0; round < 5; round++) times.push((await counters.ours.time(text)).ms);
  const most = { "1 MB of random letters": 600 }[title] ?? 50;
  row(title, `${median(times).toFixed(1)} ms`, `≤ ${most} ms`, verdict(median(times) <= most));
}
Object.values(counters).forEach((counter) => counter.end());

const first = Object.fromEntries(names.map((name) => [name, median(starts[name])]));
row(
  `start to first count: ${names.map((name) => first[name].toFixed(0)).join(" / ")} ms`,
  `${(first.ours / first[PEER]).toFixed(2)} × ${PEER}`,
  "< 0.5 ×",
  verdict(first.ours < 0.5 * first[PEER]),
);

const ranks = createRequire(import.meta.url)
  .resolve("gpt-tokenizer")
  .replace(/cjs.main\.js$/u, join("esm", "bpeRanks", `${encoding}.js`));
const theirs = gzipSync(readFileSync(ranks), { level: 9 }).length;
const size = readFileSync(join(root, "crates", "tokens", "vocabulary", `${encoding}.gz`)).length;
row(
  `vocabulary, gzipped: ${(size / 1000).toFixed(0)} / ${(theirs / 1000).toFixed(0)} kB`,
  `${(size / theirs).toFixed(2)} × ${PEER}`,
  "≤ 0.75 ×",
  verdict(size <= 0.75 * theirs),
);

const miscounts = new Map();
for (const key of odd.keys()) {
  const [name, kind] = key.split(" ");
  miscounts.set(`${name} ${kind}`, (miscounts.get(`${name} ${kind}`) ?? 0) + 1);
}
for (const [what, times] of miscounts) say(`${what}: another sum than ours in ${times} rounds`);

say(`\n${encoding}; columns: ${names.join(" / ")}`);
for (const cells of rows) console.log(["BENCH", ...cells].join("\t"));
