// The page of the OPFS bench: all work is done in its worker, where alone OPFS can be read and written at once.

const worker = new Worker("./opfs-worker.js", { type: "module" });

const ask =
  (name) =>
  (...args) =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.error === undefined ? resolve(data.answer) : reject(new Error(data.error)));
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage({ name, args });
    });

globalThis.bench = { appends: ask("appends"), loads: ask("loads") };
