// The worker of the OPFS tests: it holds stores by name, and does with them what the page asks for.
import { Threadkeep } from "/package/dist/index.js";
import { checkStore } from "/package/dist/stores/contract.js";
import { opfsStore } from "/package/dist/stores/opfs.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const stores = new Map();
const commit = ({ puts = {}, ...rest }) => ({
  absent: [],
  present: [],
  deletes: [],
  deleteRanges: [],
  durability: "strict",
  ...rest,
  puts: Object.entries(puts).map(([key, value]) => [key, encoder.encode(value)]),
});
const textAt = (at) => `{"at":${at},"text":"größer"}\n`.repeat(1 + ((at * 7919) % 97));

const calls = {
  contract: (name) => checkStore(() => opfsStore({ name })),
  async open(name, options = {}) {
    const store = opfsStore({ name, ...options });
    const found = await store.open();
    stores.set(name, store);
    return found;
  },
  commit: (name, parts) => stores.get(name).commit(commit(parts)),
  async all(name) {
    return (await stores.get(name).scan({ start: "", end: "\x7f", reverse: false })).map(([key, value]) => [key, decoder.decode(value)]);
  },
  async bytes(name, length) {
    const large = new Uint8Array(length).map((_, at) => (at * 2_654_435_761) >>> 13);
    await stores.get(name).commit({ ...commit({}), puts: [["large", large]] });
    const found = await stores.get(name).get("large");
    return found.length === length && found.every((byte, at) => byte === large[at]);
  },
  async close(name) {
    await stores.get(name).close();
    stores.delete(name);
  },
  /** A whole keep: says what it found and how many messages there are, after adding some. */
  async keep(name, adding) {
    const keep = await Threadkeep.open({ storage: opfsStore({ name }), encoding: "estimate" });
    await keep.thread("main").append(Array.from({ length: adding }, (_, at) => ({ role: "user", content: `message ${at}` })));
    const found = { storage: keep.storage, beginning: keep.beginning, count: await keep.thread("main").count(), lint: await keep.lint() };
    await keep.close();
    return found;
  },
  /** Commits on and on, and tells of each that was acknowledged. */
  async write(name, lanes) {
    const store = opfsStore({ name, compactBytes: 30_000, cacheBytes: 10_000 });
    const last = await store.get("last");
    const before = last === undefined ? 0 : Number(decoder.decode(last));
    let at = before;
    const lane = async () => {
      for (;;) {
        const mine = ++at;
        const puts = { [`seq/${String(mine).padStart(8, "0")}`]: textAt(mine), last: String(mine) };
        await store.commit(commit({ absent: [`seq/${String(mine).padStart(8, "0")}`], deletes: [`seq/${String(mine - 40).padStart(8, "0")}`], puts }));
        postMessage({ told: { acknowledged: mine } });
      }
    };
    for (let count = 0; count < lanes; count += 1) lane().catch(({ code, message }) => postMessage({ told: { failed: `${code}: ${message}` } }));
    return before;
  },
  /** What `write` has left: the last number, and the numbers that are there with the wrong value. */
  async look(name) {
    const found = new Map(await calls.all(name));
    const last = Number(found.get("last") ?? 0);
    found.delete("last");
    return {
      last,
      numbers: [...found.keys()].map((key) => Number(key.slice(4))),
      wrong: [...found].filter(([key, value]) => value !== textAt(Number(key.slice(4)))).map(([key]) => key),
    };
  },
  /** Changes the bytes of a file below a store that is closed. */
  async spoil(name, file, at, by) {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(`threadkeep-${name}`);
    const handle = await (await folder.getFileHandle(file)).createSyncAccessHandle();
    const byte = new Uint8Array(1);
    const from = at < 0 ? handle.getSize() + at : at;
    handle.read(byte, { at: from });
    if (by === "cut") handle.truncate(from);
    else
      handle.write(
        byte.map((one) => one ^ by),
        { at: from },
      );
    handle.close();
  },
  /** Removes a file of a store that is closed. */
  async remove(name, file) {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(`threadkeep-${name}`);
    await folder.removeEntry(file);
  },
  async files(name) {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(`threadkeep-${name}`);
    const names = [];
    for await (const file of folder.keys()) names.push(file);
    return names.sort();
  },
};

self.onmessage = async ({ data: { id, name, args } }) => {
  try {
    postMessage({ id, answer: await calls[name](...args) });
  } catch (error) {
    postMessage({ id, error: { code: error?.code, message: String(error?.message ?? error) } });
  }
};
