// The Node side of the bridge: keeps that a Python process tells what to do, one JSON line a request and one an answer, in order
// of asking. Started with the installed package's folder and `memory`, `broken` (entries come back
// in the wrong order: the suite must see it), or a folder for stores on the disk.
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [installed, place] = process.argv.slice(2);
const module = (path) => import(pathToFileURL(join(installed, "dist", path)).href);
const { Threadkeep } = await module("index.js");
const { sessionStore } = await module("frameworks/claude-agent-sdk.js");

const opened = [];
const METHODS = new Set(["append", "load", "listSessions", "listSessionSummaries", "delete", "listSubkeys"]);

async function open() {
  let storage = "memory";
  if (place !== "memory" && place !== "broken") {
    const { fileStore } = await module("stores/file.js");
    storage = fileStore({ folder: join(place, String(opened.length)) });
  }
  const keep = await Threadkeep.open({ storage });
  const store = sessionStore(keep, { mirrorDelay: 0 });
  if (place === "broken") {
    const { load } = store;
    store.load = async (key) => (await load.call(store, key))?.reverse() ?? null;
  }
  opened.push({ keep, store });
  return opened.length - 1;
}

async function carryOut({ method, store, args }) {
  if (method === "open") return open();
  if (!METHODS.has(method)) throw new Error(`no method ${method}`);
  return opened[store].store[method](...args);
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { value: (await carryOut(JSON.parse(line))) ?? null };
  } catch (error) {
    answer = { error: `${error.code ?? error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
for (const { keep, store } of opened) {
  await store.flush();
  await keep.close();
}
