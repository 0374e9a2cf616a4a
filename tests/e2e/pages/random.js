// The page of the tests with random calls. On IndexedDB it works in two tabs: in itself and in one that it opens, whose window it can
// reach into. On OPFS a worker does the same work (random-worker.js).
import * as threadkeep from "/package/dist/index.js";
import { program } from "/program/random-program.mjs";

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

/** The random program in a worker, where OPFS is: one keep at a time has the store. */
function onOpfs(options) {
  const worker = new Worker("./random-worker.js", { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data: { counts, error } }) => (error === undefined ? resolve(counts) : reject(new Error(error)));
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage(options);
  });
}

Object.assign(window, { threadkeep, onIndexedDb, onOpfs });
document.documentElement.dataset.loaded = "";
