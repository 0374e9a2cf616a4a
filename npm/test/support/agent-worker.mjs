// A process whose agent answers the messages of a mailbox in one store until all are answered. It may be killed at any time.
import { Threadkeep, createAgent } from "./expect.mjs";
import { openStore } from "./stores.mjs";

const keep = await Threadkeep.open({ storage: await openStore(JSON.parse(process.argv[2])), encoding: "estimate" });
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
