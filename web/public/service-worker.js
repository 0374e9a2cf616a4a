// Makes the page an app: it starts and works without a network, and takes what other apps share with it.
//
// `files.js` comes from the build: each file of the page with its SHA-256. A file is stored under its name and that digest, so two
// builds lie side by side, and a new build loads only what has changed. No request but those for these files is touched.
importScripts("./files.js");

const CACHE = "threadkeep";
// What was shared, until the page takes it. Of another name, so that a new build leaves it alone.
const SHARED = "threadkeep-shared";

const scope = new URL("./", location.href);
/** Where a file of this build is stored. */
const key = (name) => `${new URL(name, scope).href}?${encodeURIComponent(self.files[name])}`;
const keys = new Map(Object.keys(self.files).map((name) => [new URL(name, scope).pathname, key(name)]));
keys.set(scope.pathname, key("index.html"));

// Fails as a whole where one file cannot be had or is of another build. The browser tries again later, and goes on with the old build.
async function install() {
  const cache = await caches.open(CACHE);
  for (const name of Object.keys(self.files)) {
    if (await cache.match(key(name))) continue;
    const answer = await fetch(new Request(new URL(name, scope), { cache: "no-cache", integrity: self.files[name] }));
    if (!answer.ok) throw new Error(`${name}: status ${answer.status}`);
    await cache.put(key(name), answer);
  }
}

async function activate() {
  const cache = await caches.open(CACHE);
  const wanted = new Set(keys.values());
  for (const request of await cache.keys()) if (!wanted.has(request.url)) await cache.delete(request);
  await self.clients.claim();
}

/** A file of this build; from the server where the browser has removed it. */
async function stored(request, at) {
  const cache = await caches.open(CACHE);
  return (await cache.match(at)) ?? fetch(request);
}

/** Keeps what was shared, and opens the page, which takes it. */
async function share(request) {
  const cache = await caches.open(SHARED);
  await cache.put(new URL("shared", scope), new Response(await request.formData()));
  return Response.redirect(new URL("./?shared", scope), 303);
}

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(activate()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== scope.origin) return;
  if (request.method === "POST" && url.pathname === `${scope.pathname}shared`) event.respondWith(share(request));
  const at = keys.get(url.pathname);
  if (request.method === "GET" && at !== undefined) event.respondWith(stored(request, at));
});
// The reader has pressed "Restart".
addEventListener("message", (event) => event.data === "take over" && self.skipWaiting());
