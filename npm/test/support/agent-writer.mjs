// A process that writes to a session which others write to as well, on one SQLite file: a session of the OpenAI Agents SDK (`openai`)
// or of the Claude Agent SDK (`claude`). It says each step that was acknowledged, and may be killed at any time; started
// again with the same name, it goes on, and tries again what it does not know to be done.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { answer, call, result, say } from "./agent-items.mjs";

const [installed, kind, path, who, from, steps] = process.argv.slice(2);
const module = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
const { Threadkeep } = await module("index.js");
const { sqliteStore } = await module("stores/sqlite.js");
const keep = await Threadkeep.open({ storage: await sqliteStore({ path }) });

async function openai() {
  const { ThreadkeepSession } = await module("frameworks/openai-agents.js");
  const session = new ThreadkeepSession(keep, { sessionId: "shared" });
  return async (step) => {
    const name = `${who}.${step}`;
    const items = [say(name), call(name, "f"), result(name, "f", name), answer(name)];
    // Every second step as a transaction, which may be tried again; the others are looked for first.
    if (step % 2 === 0) return session.applyHistoryTransaction({ operationId: name, transaction: { type: "append_items", items } });
    if ((await session.getItems()).some((item) => item.content === name)) return;
    await session.addItems(items);
  };
}

async function claude() {
  const { sessionStore } = await module("frameworks/claude-agent-sdk.js");
  const store = sessionStore(keep, { mirror: "manual" });
  const key = { projectKey: "p", sessionId: "shared" };
  return (step) =>
    store.append(
      key,
      ["a", "b"].map((part) => ({ type: "x", uuid: `${who}.${step}.${part}`, sessionId: "shared" })),
    );
}

const write = await (kind === "openai" ? openai() : claude());
for (let step = Number(from); step < Number(steps); step += 1) {
  await write(step);
  process.stdout.write(`${step}\n`);
}
await keep.close();
