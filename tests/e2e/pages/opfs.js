// The page of the OPFS tests: `ask(name, ...args)` calls a function of the worker (opfs-worker.js); what the worker tells meanwhile goes to
// `window.told`, if a test has put one there.
import { opfsStore } from "/package/dist/stores/opfs.js";

const worker = new Worker("./opfs-worker.js", { type: "module" });
const waiting = new Map();
let last = 0;

worker.onmessage = ({ data }) => {
  if (data.told !== undefined) return void window.told?.(data.told);
  const { resolve, reject } = waiting.get(data.id);
  waiting.delete(data.id);
  if (data.error === undefined) resolve(data.answer);
  else reject(Object.assign(new Error(data.error.message), data.error));
};
worker.onerror = ({ message }) => window.told?.({ failed: message });

window.ask = (name, ...args) =>
  new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject });
    worker.postMessage({ id: last, name, args });
  });

/** The same as `ask`, but an error comes back as `{ code, message }`. */
window.failure = (name, ...args) =>
  window.ask(name, ...args).then(
    (answer) => ({ answer }),
    ({ code, message }) => ({ code, message }),
  );

/** What a page gets, which is no worker. */
window.outside = () =>
  opfsStore({ name: "outside" })
    .get("a")
    .then(
      () => "opened",
      ({ code, message }) => ({ code, message }),
    );

document.documentElement.dataset.loaded = "";
