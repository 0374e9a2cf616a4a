// A process that appends its messages to the head `main` of a keep, and may be killed at any time: started anew, it goes on
// after the last of its messages that is stored. Takes its task as JSON; says how far it is, a number a line.
import { Threadkeep } from "./expect.mjs";
import { openStore } from "./stores.mjs";

const { store, who, messages } = JSON.parse(process.argv[2]);
const options = { ...store, ...(store.kind === "sqlite" ? {} : { onWarning: () => {}, retryTimeout: 60_000 }) };
const storage = await opened();
const tally = { commits: 0, conflicts: 0 };
const commit = storage.commit.bind(storage);
storage.commit = async (change) => {
  tally.commits += 1;
  try {
    return await commit(change);
  } catch (error) {
    if (error.code === "conflict") tally.conflicts += 1;
    throw error;
  }
};
const keep = await Threadkeep.open({ storage });
const say = (what) => new Promise((resolve) => process.stdout.write(`${JSON.stringify(what)}\n`, resolve));

await say({ at: 0 });
// Both begin at once, or one would be done before the other is there.
for await (const order of process.stdin) if (String(order).includes("go")) break;
process.stdin.unref();

const own = (await keep.thread("main").messages()).filter(({ name }) => name === who);
let next = own.length === 0 ? 0 : Number(own.at(-1).content.split(" ")[0]) + 1;
while (next < messages) {
  // Mostly one at a time, now and then some.
  const count = Math.min(messages - next, next % 10 === 9 ? 4 : 1);
  const batch = Array.from({ length: count }, (_, index) => ({ role: "user", name: who, content: `${next + index} of ${who}` }));
  await keep.thread("main").append(batch);
  next += count;
  await say({ at: next });
}
await keep.close();
await say({ done: true, ...tally });

/** A server that has just crashed is not there for a moment. */
async function opened() {
  for (let tries = 0; ; tries += 1) {
    try {
      return await openStore(options);
    } catch (error) {
      if (error.code !== "unavailable" || tries > 300) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
