// Starts the engine in its worker. What goes wrong where nobody waits for it is thrown once more, where the page hears it.
import init from "./worker.js";

const loud = (error) => setTimeout(() => { throw error; });
addEventListener("unhandledrejection", (event) => loud(event.reason));
init({ module_or_path: new URL("./worker_bg.wasm", import.meta.url) }).catch(loud);
