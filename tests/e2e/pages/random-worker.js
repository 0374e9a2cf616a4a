// The worker of the tests with random calls: it runs the program on OPFS and says how often each call was made, or what went wrong.
import * as threadkeep from "/package/dist/index.js";
import { opfsStore } from "/package/dist/stores/opfs.js";
import { memoryTools } from "/package/dist/tools/tools.js";
import { program } from "/program/random-program.mjs";
import { scopedProgram } from "/program/scoped-program.mjs";

const OPTIONS = { encoding: "estimate" };

self.onmessage = async ({ data: { name, scoped, ...options } }) => {
  // A small log, so that it is written anew now and then.
  const place = () => opfsStore({ name, compactBytes: 200_000 });
  const open = (scope) => threadkeep.Threadkeep.open({ ...OPTIONS, storage: place(), ...(typeof scope === "string" ? { scope } : {}) });
  const fresh = () => threadkeep.Threadkeep.open({ ...OPTIONS, storage: "memory" });
  try {
    const counts =
      scoped === true ? await inScopes({ open, fresh, whole: place(), ...options }) : await program({ package: threadkeep, open, fresh, mates: 1, ...options });
    postMessage({ counts });
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};

async function inScopes({ whole, ...options }) {
  const raw = async () => {
    const found = await whole.scan({ start: "", end: "\x7f", reverse: false });
    return found.map(([key, value]) => `${key} ${new TextDecoder("latin1").decode(value)}`);
  };
  const counts = await scopedProgram({ package: { ...threadkeep, memoryTools }, raw, storage: { storage: whole }, mates: 2, ...options });
  await whole.close();
  return counts;
}
