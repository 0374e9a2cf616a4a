// Starts the engine in its worker, from the same module as the page. What goes wrong where nobody waits for it is thrown once more, where the page hears it.
import init from "./app.js";

const loud = (error) => setTimeout(() => { throw error; });
addEventListener("unhandledrejection", (event) => loud(event.reason));
init({ module_or_path: new URL("./app_bg.wasm", import.meta.url) }).catch(loud);

// One tab at a time lets the agent answer, so that no message gets two answers. Resolves, once it is this one's turn, to what ends it.
self.turn = () =>
  navigator.locks === undefined
    ? Promise.resolve(() => {})
    : new Promise((begin) => navigator.locks.request("threadkeep.agent", () => new Promise((end) => begin(end))));

// What syncs with other devices, for when it is first asked to.
self.sync = () => import("./sync.js");

// A token vocabulary, unpacked, for the engine: its bytes are fetched when tokens are first counted.
self.vocabulary = async (name) => {
  const answer = await fetch(new URL(`./vocabulary/${name}.gz`, import.meta.url));
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  // Some servers say that it is packed, and then the browser has unpacked it already.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const opened = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(opened).arrayBuffer());
};
