#!/usr/bin/env node
// Makes large archives: the same bytes for the same options, written piece by piece, so that any size can be made.
//
//   node generate.mjs archive FILE [--megabytes 100] [--conversations 1000] [--big 5] [--seed 1]
//   node generate.mjs transcript FILE [--messages 10000] [--seed 1]
import { closeSync, openSync, writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { realpathSync } from "node:fs";
import { Tree } from "./support/chatgpt.mjs";
import { random } from "./support/random.mjs";
import { prose, sentence, title } from "./support/words.mjs";

const MEGABYTE = 1_000_000;

/**
 * Writes a ChatGPT export of `megabytes` in all with `conversations` conversations, of which one is of `big` megabytes and
 * lies in the middle. Gives what is in it, `largest` in bytes.
 */
export function archive(file, { megabytes = 100, conversations = 1000, big = 5, seed = 1 } = {}) {
  const numbers = random(seed);
  const out = openSync(file, "w");
  const sum = { bytes: 0, conversations, messages: 0, largest: 0, titles: [] };
  const write = (text) => (sum.bytes += writeSync(out, text));
  try {
    write("[");
    const rest = megabytes * MEGABYTE - big * MEGABYTE;
    const middle = Math.floor(conversations / 2);
    for (let at = 0; at < conversations; at += 1) {
      const share = (rest - (sum.bytes - (at > middle ? big * MEGABYTE : 0))) / (conversations - at);
      const wanted = at === middle ? big * MEGABYTE : share;
      const tree = conversation(numbers, at, wanted);
      const text = JSON.stringify(tree.json);
      sum.largest = Math.max(sum.largest, Buffer.byteLength(text));
      sum.messages += Object.values(tree.json.mapping).filter((node) => node.message !== null).length;
      sum.titles.push(tree.json.title);
      write(at === 0 ? text : `,\n${text}`);
    }
    write("]");
  } finally {
    closeSync(out);
  }
  return sum;
}

/** A conversation of about `bytes`, with a branch now and then. */
function conversation(numbers, at, bytes) {
  const id = `a11ce000-${String(at).padStart(4, "0")}-4000-8000-000000000000`;
  const tree = new Tree(id, `${at} ${title(numbers)}`, 1_600_000_000 + at * 7200);
  let leaf = tree.start;
  for (let sum = 900; sum < bytes; ) {
    const question = prose(numbers, numbers.between(40, 300));
    const answer = prose(numbers, numbers.between(200, 3000));
    const asked = tree.say(leaf, "user", question);
    if (numbers.next() < 0.05) {
      const other = prose(numbers, 200);
      tree.say(asked, "assistant", other);
      sum += other.length + 650;
    }
    leaf = tree.say(asked, "assistant", answer);
    // What a node's frame takes is about 650 bytes.
    sum += question.length + answer.length + 1300;
  }
  return tree;
}

/** Writes a ChatGPT export of one conversation with `messages` messages that one reads. Gives what is in it. */
export function transcript(file, { messages = 10_000, seed = 1 } = {}) {
  const numbers = random(seed);
  const tree = new Tree("10000000-0000-4000-8000-000000000000", "A long conversation", 1_650_000_000);
  let leaf = tree.start;
  for (let at = 0; at < messages; at += 1) {
    const text = at % 2 === 0 ? `Question ${at}: ${sentence(numbers)}` : `Answer ${at}: ${prose(numbers, numbers.between(40, 900))}`;
    leaf = tree.say(leaf, at % 2 === 0 ? "user" : "assistant", text);
  }
  const out = openSync(file, "w");
  try {
    return {
      bytes: writeSync(out, JSON.stringify([tree.json])),
      conversations: 1,
      messages: messages + 1,
      first: "Question 0:",
      last: `Answer ${messages - 1}:`,
    };
  } finally {
    closeSync(out);
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const number = { type: "string" };
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { megabytes: number, conversations: number, big: number, seed: number, messages: number },
  });
  const [what, file] = positionals;
  const make = { archive, transcript }[what];
  if (make === undefined || file === undefined) {
    console.error("usage: generate.mjs archive|transcript FILE [--megabytes N] [--conversations N] [--big N] [--messages N] [--seed N]");
    process.exit(2);
  }
  const { titles, ...made } = make(file, Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)])));
  console.log(made);
}
