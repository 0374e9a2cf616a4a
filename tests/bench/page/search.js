// What runs in the browser: fills a keep of the npm package with made-up conversations, has it indexed, and asks.

import { Threadkeep } from "/npm/dist/index.js";
import { speaker } from "./speech.js";

// Messages of one conversation.
const LONG = 50;
let keep;

async function open(name) {
  const start = performance.now();
  keep = await Threadkeep.open({ name });
  return performance.now() - start;
}

// Writes `count` messages from the `first` on; resolves to their characters.
async function fill(first, count) {
  const speech = speaker(1 + first);
  let characters = 0;
  for (let at = first; at < first + count; at += LONG) {
    const messages = Array.from({ length: Math.min(LONG, first + count - at) }, (_, place) => speech.message(place));
    for (const { content } of messages) characters += new TextEncoder().encode(content).length;
    await keep.thread(`conversation ${at / LONG}`).append(messages);
  }
  return characters;
}

// The first search, which indexes what is not indexed.
async function index() {
  const start = performance.now();
  await keep.search("zeppelin");
  const time = performance.now() - start;
  return { time, progress: await keep.searchIndex.progress() };
}

// Asks `count` queries, one after the other: milliseconds for each, and how many found something.
async function ask(count, seed) {
  const speech = speaker(seed);
  const times = [];
  let found = 0;
  for (let at = 0; at < count; at += 1) {
    const query = speech.query();
    const start = performance.now();
    const hits = await keep.search(query);
    times.push(performance.now() - start);
    found += hits.length > 0 ? 1 : 0;
  }
  return { times, found };
}

globalThis.bench = { open, fill, index, ask };
