// The page as an app: it is stored by its service worker, says when there is a newer one, opens files that the system gives it, and
// takes what other apps share.

/** Begins all that; `come` takes files as `{ entries, files }`. */
export async function install(come) {
  self.launchQueue?.setConsumer(async ({ files = [] }) => {
    const opened = await Promise.all(files.map((handle) => handle.getFile()));
    if (opened.length > 0) come({ entries: [], files: opened });
  });
  await takeShared(come);
  // There is none over a plain connection, and none in some private windows.
  if (navigator.serviceWorker === undefined || navigator.connection?.saveData) return;
  // What loads first has the line for itself.
  if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded));
  const registration = await navigator.serviceWorker.register("./service-worker.js");
  // Browsers that are told to allow none give none.
  if (registration !== undefined) await watch(registration);
}

/** Text that was shared is the draft of a new conversation. Files are imported. */
async function takeShared(come) {
  if (new URLSearchParams(location.search).get("shared") === null) return;
  history.replaceState(null, "", `${location.pathname}${location.hash}`);
  const cache = await caches.open("threadkeep-shared");
  const at = new URL("shared", location.href);
  const answer = await cache.match(at);
  if (answer === undefined) return;
  const form = await answer.formData();
  await cache.delete(at);
  const files = form.getAll("files").filter((file) => file.size > 0);
  const words = ["title", "text", "url"].map((name) => form.get(name)).filter(Boolean);
  if (files.length > 0) come({ entries: [], files });
  else if (words.length > 0) {
    sessionStorage.setItem("threadkeep.draft.new", words.join("\n"));
    location.hash = "#/new";
  }
}

/** Tells the page of each newer build that is stored and waits for its turn: `newer` is set, and an event of that name comes. */
async function watch(registration) {
  let restarting = false;
  const { serviceWorker } = navigator;
  const tell = () => {
    // The first one of all replaces nothing.
    if (!registration.waiting || !serviceWorker.controller) return;
    self.newer = true;
    dispatchEvent(new Event("newer"));
  };
  self.restart = () => {
    restarting = true;
    registration.waiting?.postMessage("take over");
  };
  // Every tab goes on with the newer build, since the parts of the older one are gone. Drafts are kept.
  let had = serviceWorker.controller;
  serviceWorker.addEventListener("controllerchange", () => {
    if (had || restarting) location.reload();
    had = serviceWorker.controller;
  });
  registration.addEventListener("updatefound", () => {
    const coming = registration.installing;
    coming.addEventListener("statechange", () => coming.state === "installed" && tell());
  });
  tell();
}
