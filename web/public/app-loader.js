// Starts the page. A file of its own, because the content policy allows no inline script.
import init from "./app.js";

init({ module_or_path: new URL("./app_bg.wasm", import.meta.url) }).catch((error) => {
  const splash = document.getElementById("splash");
  if (!splash) return;
  const note = document.createElement("p");
  note.className = "splash-note";
  note.textContent =
    "Threadkeep could not start: " + (error && error.message ? error.message : error) +
    ". It needs a browser of the last two years with WebAssembly. Reload to try again.";
  splash.replaceChildren(note);
});

// Files that come before the page is there wait for it; the browser would leave for those that are dropped.
let bring;
const early = [];
const come = (found) => (bring ? bring(found) : early.push(found));
const over = (event) => event.preventDefault();
const drop = (event) => {
  event.preventDefault();
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  come({ entries, files: [...event.dataTransfer.files] });
};
addEventListener("dragover", over);
addEventListener("drop", drop);
/** The page is there: it is given what has come and, from now on, what other programs open with it. */
self.takeFiles = (take) => {
  removeEventListener("dragover", over);
  removeEventListener("drop", drop);
  bring = take;
  for (const found of early.splice(0)) bring(found);
};

// The browser's own summariser, for the dialog that asks whether there is one.
self.summarizer = () => import("./summarizer.js");
// The browser's own model, for conversations.
self.languageModel = () => import("./language-model.js");
// What seals keys, for when one is kept or unlocked.
self.vault = () => import("./vault.js");
// What takes secrets out of a thread and makes a page of it, for the dialog that shares one.
self.share = () => import("./share.js");

// A panic is a trap of the module. A page that no longer answers says so, with what little still works.
const stopped = (error) => {
  if (error instanceof WebAssembly.RuntimeError) document.body.setAttribute("data-stopped", "");
};
addEventListener("error", (event) => stopped(event.error));
addEventListener("unhandledrejection", (event) => stopped(event.reason));

// The chosen colours, before the first paint of the page.
try {
  document.documentElement.dataset.theme = localStorage.getItem("threadkeep.theme") || "auto";
} catch {
  // Storage is switched off: the system's colours do.
}

// What makes the page an app: it works without a network, opens files, takes what is shared.
import("./installed.js").then(({ install }) => install(come)).catch((error) => console.warn("The page is not stored for use without a network:", error));
