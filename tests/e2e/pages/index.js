// The page that the tests of the npm package drive. It puts the package and what it does with it on `window`.
import * as threadkeep from "./package/dist/index.js";
import { batchSize, content, decision, turnSize } from "./content.js";
import { look, play } from "./session.js";

const { Threadkeep, validate } = threadkeep;

const role = (number) => (number % 2 === 0 ? "user" : "assistant");
const message = (stream, number) => ({ role: role(number), content: content(stream, number) });

/** Writes without end: four streams at once, each from where the store says it ended. Every message is reported the moment the promise that stands for it resolves. */
async function write(name) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const tell = (stream, acknowledged) => window.acknowledge(JSON.stringify({ stream, acknowledged }));

  const single = async () => {
    for (let at = await keep.thread("single").count(); ; at += 1) {
      await keep.thread("single").append([message("single", at)]);
      tell("single", at + 1);
    }
  };
  const batch = async () => {
    for (let at = await keep.thread("batch").count(); ; ) {
      const size = batchSize(at);
      await keep.thread("batch").append(Array.from({ length: size }, (_, index) => message("batch", at + index)));
      at += size;
      tell("batch", at);
    }
  };
  const burst = async () => {
    for (let at = await keep.thread("burst").count(); ; at += 8) {
      const calls = Array.from({ length: 8 }, async (_, index) => {
        await keep.thread("burst").append([message("burst", at + index)]);
        tell("burst", at + index + 1);
      });
      await Promise.all(calls);
    }
  };
  const turns = async () => {
    let turn = 0;
    while ((await keep.node(`turn-${turn}`))?.sealed) turn += 1;
    for (; ; turn += 1) {
      const id = `turn-${turn}`;
      const parent = turn === 0 ? {} : { replyTo: `turn-${turn - 1}` };
      let node = await keep.node(id);
      node ??= await keep.receive({ messageId: id, ...parent, content: content(id, 0) });
      tell(id, node.messages.length);
      for (let at = node.messages.length; at <= turnSize(turn); at += 1) {
        await keep.extend(id, [{ role: "assistant", content: content(id, at) }]);
        tell(id, at + 1);
      }
      await keep.at(id).seal();
      tell("sealed", turn + 1);
    }
  };
  const end = (error) => window.acknowledge(JSON.stringify({ failed: String(error?.stack ?? error) }));
  for (const stream of [single, batch, burst, turns]) stream().catch(end);
}

/** The nodes of a chain that say something: the root of a conversation without a system prompt does not. */
async function chain(keep, leaf) {
  return (await keep.chain(leaf)).filter((node) => node.messages.length > 0);
}

/** Everything that is there, as plain data for the test to look at. */
async function read(name) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const streams = {};
  for (const stream of ["single", "batch", "burst"]) {
    const head = await keep.thread(stream).head();
    const nodes = head === null ? [] : await chain(keep, head.id);
    streams[stream] = {
      texts: (await keep.thread(stream).messages()).map((one) => one.content),
      count: await keep.thread(stream).count(),
      seqs: nodes.map((node) => node.seq),
      roles: nodes.flatMap((node) => node.messages.map((one) => one.role)),
    };
  }
  let last = 0;
  while ((await keep.node(`turn-${last}`)) !== null) last += 1;
  const turns = last === 0 ? [] : await chain(keep, `turn-${last - 1}`);
  const found = {
    streams,
    turns: turns.map(({ id, seq, sealed, messages }) => ({ id, seq, sealed, texts: messages.map((one) => one.content) })),
    lint: await keep.lint(),
    stats: await keep.stats(),
    beginning: keep.beginning,
  };
  await keep.close();
  return found;
}

/** Appends `count` messages to those that are there, and gives what opening found and all that is there then. */
async function appendSome(name, count) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const from = await keep.thread("torn").count();
  for (let at = from; at < from + count; at += 1) await keep.thread("torn").append([message("torn", at)]);
  const found = { beginning: keep.beginning, texts: (await keep.thread("torn").messages()).map((one) => one.content) };
  await keep.close();
  return found;
}

/** Appends `count` messages, one call each, and notes which events of other tabs come in. */
async function appendMany(name, context, writer, count) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const heard = { local: 0, remote: 0 };
  keep.on("change", (event) => {
    if (event.type === "changed") heard[event.remote ? "remote" : "local"] += event.nodes.length;
  });
  // Both are open and listen before either begins.
  await window.ready(writer);
  for (let at = 0; at < count; at += 1) await keep.thread(context).append([{ role: "user", content: `${writer} ${at}` }]);
  await window.ready(`${writer} done`);
  // What the other wrote last is still on its way.
  for (let tries = 0; tries < 100 && heard.remote < count; tries += 1) await new Promise((next) => setTimeout(next, 50));
  const all = await keep.thread(context).messages();
  const nodes = await chain(keep, (await keep.thread(context).head()).id);
  const answer = {
    heard,
    texts: all.map((one) => one.content),
    seqs: nodes.map((node) => node.seq),
    count: await keep.thread(context).count(),
    lint: await keep.lint(),
  };
  await keep.close();
  return answer;
}

/** Imports an archive, and says how many conversations are in so far. */
async function importArchive(name, address) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const data = await (await fetch(address)).blob();
  const report = await keep.import(data, { onProgress: ({ conversations }) => window.progress?.(conversations) });
  await keep.close();
  return report;
}

/** What is there after an import: the nodes of each transcript, the linter's findings, and everything as text. */
async function imported(name) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const found = {
    transcripts: Object.fromEntries((await keep.transcripts()).map(({ id, nodes }) => [id, nodes])),
    lint: await keep.lint(),
    text: await keep.export().text(),
  };
  await keep.close();
  return found;
}

const COMPACTED = "compacted";
const ESTIMATE = { encoding: "estimate" };

/** Appends and compacts without end: a dozen turns, then a compaction, each reported when it begins and when it is done. */
async function compactOnAndOn(name) {
  const tell = (what) => window.acknowledge(JSON.stringify(what));
  try {
    const keep = await Threadkeep.open({ name, storage: "indexeddb" });
    for (let at = await keep.thread(COMPACTED).count(); ; ) {
      const turns = Array.from({ length: 24 }, (_, index) => ({ role: role(at + index), content: decision(at + index) }));
      await keep.thread(COMPACTED).append(turns);
      at += turns.length;
      tell({ messages: at });
      tell({ begun: true });
      const { checkpoint } = await keep.thread(COMPACTED).compact({ ...ESTIMATE, keepTurns: 2 });
      tell({ checkpoint: checkpoint?.id ?? null });
    }
  } catch (error) {
    tell({ failed: String(error?.stack ?? error) });
  }
}

/** What is there after compactions: messages, checkpoints with what belongs to them, and the prompt. */
async function readCompacted(name) {
  const keep = await Threadkeep.open({ name, storage: "indexeddb" });
  const ids = (all) => all.map(({ id }) => id);
  const checkpoints = await keep.thread(COMPACTED).checkpoints();
  const prompts = [];
  for (const epoch of await keep.thread(COMPACTED).epochs()) {
    const { messages, payload } = await keep.thread(COMPACTED).context({ ...ESTIMATE, epoch: epoch.name });
    prompts.push({ epoch: epoch.name, first: messages[0], errors: (await validate(payload, "openai-chat")).errors });
  }
  const found = {
    beginning: keep.beginning,
    texts: (await keep.thread(COMPACTED).messages()).map((one) => one.content),
    checkpoints,
    anchors: await Promise.all(checkpoints.map(async ({ anchor }) => (await keep.node(anchor)) !== null)),
    episodes: ids(await keep.memory.episodes()),
    facts: ids(await keep.memory.facts()),
    prompts,
    lint: await keep.lint(),
  };
  await keep.close();
  return found;
}

const playSession = (name) => play(threadkeep, name, async (told) => window.acknowledgeTurn?.(told));
const lookAtSession = (name) => look(threadkeep, name);

Object.assign(window, { playSession, lookAtSession, compactOnAndOn, readCompacted, Threadkeep, write, read, appendSome, appendMany, importArchive, imported });
document.documentElement.dataset.loaded = "";
