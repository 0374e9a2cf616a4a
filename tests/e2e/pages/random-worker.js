// The worker of the tests with random calls: it runs the program on OPFS and says how often each call was made, or what went wrong.
import * as threadkeep from "/package/dist/index.js";
import { opfsStore } from "/package/dist/stores/opfs.js";
import { program } from "/program/random-program.mjs";

const OPTIONS = { encoding: "estimate" };

self.onmessage = async ({ data: { name, ...options } }) => {
  // A small log, so that it is written anew now and then.
  const open = () => threadkeep.Threadkeep.open({ ...OPTIONS, storage: opfsStore({ name, compactBytes: 200_000 }) });
  const fresh = () => threadkeep.Threadkeep.open({ ...OPTIONS, storage: "memory" });
  try {
    postMessage({ counts: await program({ package: threadkeep, open, fresh, mates: 1, ...options }) });
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};
