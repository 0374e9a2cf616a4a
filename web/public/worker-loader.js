// Starts the engine in its worker. What goes wrong before the engine can speak is said in its place.
import init from "./worker.js";

init({ module_or_path: new URL("./worker_bg.wasm", import.meta.url) }).catch((error) => {
  setTimeout(() => { throw error; });
});
