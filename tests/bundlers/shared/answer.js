import { sample } from "./sample.js";

/** Answers a page that asks a worker or a service worker for the sample. */
export function answer(Threadkeep) {
  addEventListener("message", (event) => {
    const [port] = event.ports;
    const work = sample(Threadkeep, { name: `sample-${globalThis.constructor.name}` }).then(
      (value) => port.postMessage(value),
      (error) => port.postMessage({ error: `${error.code ?? error.name}: ${error.message}` }),
    );
    event.waitUntil?.(work);
  });
}
