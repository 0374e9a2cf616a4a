// A process whose agent answers the messages of a mailbox on one SQLite file until all are answered. It may be killed at any time.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [installed, path] = process.argv.slice(2);
const module = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
const { Threadkeep, createAgent } = await module("index.js");
const { sqliteStore } = await module("stores/sqlite.js");
const keep = await Threadkeep.open({ storage: await sqliteStore({ path }), encoding: "estimate" });
const model = async ({ messages }) => {
  process.stdout.write("asked\n");
  await new Promise((resolve) => setTimeout(resolve, 60));
  return `answer to ${messages.at(-1).content}`;
};
const agent = createAgent({ keep, model, name: "lal", user: "ann", resume: true });
process.stdout.write("ready\n");
await agent.catchUp();
process.stdout.write("done\n");
await keep.close();
