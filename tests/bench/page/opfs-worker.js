// Keeps on OPFS and on IndexedDB, and a plain OPFS file, on the same messages and in turns. Gives the raw figures, in milliseconds.

import { Threadkeep } from "/package/dist/index.js";
import { opfsStore } from "/package/dist/stores/opfs.js";
import { entries, generator } from "./messages.js";

const MESSAGES = entries(1000).map(({ message }) => message);
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const WARM = 3;

const open = {
  opfs: async (name) => asStore(await Threadkeep.open({ storage: opfsStore({ name }), encoding: "estimate" })),
  indexeddb: async (name) => asStore(await Threadkeep.open({ name, storage: "indexeddb", encoding: "estimate" })),
};

/** A keep with the methods of the plain file. */
function asStore(keep) {
  const { messageStore } = keep;
  return {
    append: (name, messages) => messageStore.append(name, messages),
    getAll: (name) => messageStore.getAll(name),
    close: () => keep.close(),
  };
}

/** Messages as JSON lines in a file, flushed after each batch. */
async function plain(name) {
  const file = await (await navigator.storage.getDirectory()).getFileHandle(name, { create: true });
  const handle = await file.createSyncAccessHandle();
  let at = handle.getSize();
  return {
    append(context, messages) {
      at += handle.write(encoder.encode(messages.map((message) => `${JSON.stringify(message)}\n`).join("")), { at });
      handle.flush();
    },
    getAll() {
      const bytes = new Uint8Array(handle.getSize());
      handle.read(bytes, { at: 0 });
      return decoder
        .decode(bytes)
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    },
    close: () => handle.close(),
  };
}

/** Shuffles in place, as the other measurements do: who comes after whom must not matter. */
function shuffle(list, next) {
  for (let left = list.length; left > 1; left -= 1) {
    const pick = next(left);
    [list[left - 1], list[pick]] = [list[pick], list[left - 1]];
  }
}

const calls = {
  /** Appends `batches` times `size` messages a round, each batch acknowledged before the next. */
  async appends(name, rounds, batches, size) {
    const stores = [
      ["opfs", await open.opfs(name)],
      ["indexeddb", await open.indexeddb(name)],
      ["plain", await plain(`plain-${name}`)],
    ];
    const times = { opfs: [], indexeddb: [], plain: [] };
    const next = generator(11);
    for (let round = -WARM; round < rounds; round += 1) {
      shuffle(stores, next);
      for (const [kind, store] of stores) {
        const start = performance.now();
        for (let batch = 0; batch < batches; batch += 1)
          await store.append(`round-${round}`, MESSAGES.slice((batch * size) % 1000, ((batch * size) % 1000) + size));
        if (round >= 0) times[kind].push(performance.now() - start);
      }
    }
    for (const [, store] of stores) await store.close();
    return times;
  },
  /** Loads a conversation of 1,000 messages into a keep that has just been opened. */
  async loads(rounds) {
    const kinds = ["opfs", "indexeddb", "plain"];
    const make = { ...open, plain: (name) => plain(`plain-${name}`) };
    for (const kind of kinds) {
      const store = await make[kind]("load");
      for (let at = 0; at < 1000; at += 50) await store.append("c", MESSAGES.slice(at, at + 50));
      await store.close();
    }
    const times = { opfs: [], indexeddb: [], plain: [] };
    const opened = { opfs: [], indexeddb: [], plain: [] };
    const next = generator(12);
    for (let round = -WARM; round < rounds; round += 1) {
      shuffle(kinds, next);
      for (const kind of kinds) {
        const began = performance.now();
        const store = await make[kind]("load");
        const start = performance.now();
        const all = await store.getAll("c");
        const time = performance.now() - start;
        await store.close();
        if (all.length !== 1000 || all[999].content !== MESSAGES[999].content) throw new Error(`${kind} loaded something else`);
        if (round >= 0) {
          times[kind].push(time);
          opened[kind].push(start - began);
        }
      }
    }
    return { times, opened };
  },
};

self.onmessage = async ({ data: { name, args } }) => {
  try {
    postMessage({ answer: await calls[name](...args) });
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};
