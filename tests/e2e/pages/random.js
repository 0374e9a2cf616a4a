// The page of the tests with random calls. On IndexedDB it works in two tabs: in itself and in one that it opens, whose window it can
// reach into. On OPFS a worker does the same work (random-worker.js).
import * as threadkeep from "/package/dist/index.js";
import { memoryTools } from "/package/dist/tools/tools.js";
import { program } from "/program/random-program.mjs";
import { scopedProgram } from "/program/scoped-program.mjs";

const OPTIONS = { encoding: "estimate" };

/** Another tab with this page. */
async function openTab() {
  const tab = window.open(location.href);
  if (tab === null) throw new Error("the browser opens no second tab");
  while (tab.threadkeep === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  return tab;
}

/** The random program in two tabs: every second keep is the other tab's, with the package as that tab has loaded it. */
async function onIndexedDb({ name, ...options }) {
  const packages = [threadkeep, (await openTab()).threadkeep];
  const open = (at) => packages[at % packages.length].Threadkeep.open({ ...OPTIONS, name, storage: "indexeddb" });
  // An agent works with a keep of its own tab only.
  const createAgent = (given) => packages.find(({ Threadkeep }) => given.keep instanceof Threadkeep).createAgent(given);
  const fresh = () => threadkeep.Threadkeep.open({ ...OPTIONS, storage: "memory" });
  return program({ package: { ...threadkeep, createAgent }, open, fresh, mates: 3, ...options });
}

/** Every record of a database, as a line of text that begins with its key. */
async function rawOf(name) {
  const done = (request) =>
    new Promise((resolve, reject) => Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => reject(request.error) }));
  const database = await done(indexedDB.open(name));
  const lines = [];
  for (const store of database.objectStoreNames) {
    const records = database.transaction(store).objectStore(store);
    const [keys, values] = [await done(records.getAllKeys()), await done(database.transaction(store).objectStore(store).getAll())];
    lines.push(...keys.map((key, at) => `${key} ${ArrayBuffer.isView(values[at]) ? new TextDecoder("latin1").decode(values[at]) : ""}`));
  }
  database.close();
  return lines;
}

/** The random program in three scopes of one database at once. */
async function scopesOnIndexedDb({ name, ...options }) {
  const storage = { name, storage: "indexeddb" };
  const open = (scope) => threadkeep.Threadkeep.open({ ...OPTIONS, ...storage, ...(scope === undefined ? {} : { scope }) });
  const fresh = () => threadkeep.Threadkeep.open({ ...OPTIONS, storage: "memory" });
  return scopedProgram({ package: { ...threadkeep, memoryTools }, open, raw: () => rawOf(name), storage, fresh, mates: 2, ...options });
}

/** The random program in a worker, where OPFS is: one tab at a time has the store. */
function onOpfs(options) {
  const worker = new Worker("./random-worker.js", { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data: { counts, error } }) => (error === undefined ? resolve(counts) : reject(new Error(error)));
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage(options);
  });
}

const scopesOnOpfs = (options) => onOpfs({ ...options, scoped: true });

Object.assign(window, { threadkeep, onIndexedDb, onOpfs, scopesOnIndexedDb, scopesOnOpfs });
document.documentElement.dataset.loaded = "";
