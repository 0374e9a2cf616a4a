// Starts the engine in its worker, from the same module as the page. What goes wrong where nobody waits for it is thrown once more, where the page hears it.
import init from "./app.js";

const loud = (error) => setTimeout(() => { throw error; });
addEventListener("unhandledrejection", (event) => loud(event.reason));
init({ module_or_path: new URL("./app_bg.wasm", import.meta.url) }).catch(loud);
