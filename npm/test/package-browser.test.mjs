// The installed package in a page without a bundler, under a strict policy: importing does nothing, and `init` takes every form of the module.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { buildSync } from "esbuild";
import { serve } from "../../tests/e2e/support/serve.mjs";
import { launch } from "./support/browser.mjs";
import { installed, project } from "./support/installed.mjs";

const options = { timeout: 60_000 };
let browser, site;

before(async () => {
  browser = await launch();
  site = await serve({ "/package/": installed });
});

after(async () => {
  await browser?.close();
  await site?.close();
});

/** Calls a function in a new page; it gets what `from` exports, and the address of the module. */
async function inPage(from, call, argument) {
  const page = await browser.newPage();
  try {
    const requests = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    // There is no such page; what matters is that it has no script.
    await page.goto(`${site.address}package/examples/empty`);
    requests.length = 0;
    const code = `(async () => { const all = await import("/package/dist/${from}.js"); return await (${call})(all, ${JSON.stringify(argument)}); })()`;
    return { value: await page.evaluate(code), requests };
  } finally {
    await page.close();
  }
}

const WASM = "/package/wasm/threadkeep_bg.wasm";
const FORMS = {
  nothing: "undefined",
  "a relative address": `"../wasm/threadkeep_bg.wasm"`,
  "an address": "new URL(wasm, location.href).href",
  "a URL": "new URL(wasm, location.href)",
  bytes: "new Uint8Array(await (await fetch(wasm)).arrayBuffer())",
  "an ArrayBuffer": "await (await fetch(wasm)).arrayBuffer()",
  "a response": "await fetch(wasm)",
  "a promise of a response": "fetch(wasm)",
  "a response of another type": "new Response(await (await fetch(wasm)).arrayBuffer())",
  "a module": "await WebAssembly.compileStreaming(fetch(wasm))",
  "a promise of a module": "WebAssembly.compileStreaming(fetch(wasm))",
};

for (const [what, form] of Object.entries(FORMS)) {
  test(`init takes ${what}`, options, async () => {
    for (const from of what === "nothing" ? ["index"] : ["index", "slim"]) {
      const call = `async ({ init, readDepth }, wasm) => { await init(${form}); return [readDepth("[depth:3] a").depth]; }`;
      const { value, requests } = await inPage(from, call, WASM);
      assert.equal(value[0], 3, from);
      assert.equal(requests.filter((path) => path.endsWith(".wasm")).join(), WASM, "asked for once, and no part yet");
    }
  });
}

test("the slim entry in a page: without a source it says so, with one it works", options, async () => {
  const call = `async ({ Threadkeep, init }, wasm) => {
    const error = await Threadkeep.open().catch((error) => error);
    await init(wasm, { part: (file) => new URL(file.endsWith(".gz") ? "/package/vocabulary/" + file : "/package/wasm/" + file, location.href) });
    const keep = await Threadkeep.open({ name: "slim" });
    await keep.thread("log").append([{ role: "user", content: "hi" }]);
    const { tokens } = await keep.thread("log").context();
    await keep.close();
    return [error.code, error.message, tokens, keep.storage];
  }`;
  const { value } = await inPage("slim", call, WASM);
  assert.deepEqual([value[0], value[2], value[3]], ["init-failed", 8, "indexeddb"]);
  assert.match(value[1], /init\(source, \{ part \}\)/);
});

test("what is no module is an error in a page too, and the next try may succeed", options, async () => {
  const call = `async ({ ThreadkeepError, init, readDepth }, wasm) => {
    const codes = [];
    for (const source of ["/package/nowhere.wasm", "/package/package.json", new Uint8Array(3), fetch("/package/nowhere.wasm"), 7])
      await init(source).catch((error) => codes.push(error instanceof ThreadkeepError && error.code));
    await init(wasm);
    return [codes, readDepth("[depth:2]").depth];
  }`;
  const { value } = await inPage("index", call, WASM);
  assert.deepEqual(value, [["init-failed", "init-failed", "init-failed", "init-failed", "bad-request"], 2]);
});

test("importing an entry in a page fetches modules and nothing else", options, async () => {
  for (const from of ["index", "slim"]) {
    const call = `async (all) => Object.keys(all).length`;
    const page = await inPage(from, call);
    assert.ok(page.value > 20);
    assert.deepEqual(
      page.requests.filter((path) => !path.endsWith(".js")),
      [],
    );
  }
});

test("bundled from what is required, it wants to be told where its files lie", options, async () => {
  const { outputFiles } = buildSync({
    stdin: { contents: `globalThis.required = require("threadkeep");`, resolveDir: project },
    bundle: true,
    write: false,
    platform: "browser",
    format: "iife",
    logLevel: "silent",
  });
  const page = await browser.newPage();
  try {
    await page.goto(`${site.address}package/examples/empty`);
    await page.evaluate(outputFiles[0].text);
    const said = await page.evaluate(async (wasm) => {
      const { Threadkeep, init } = globalThis.required;
      const { code } = await Threadkeep.open().catch((error) => error);
      await init(wasm, { part: (file) => new URL(file.endsWith(".gz") ? `/package/vocabulary/${file}` : `/package/wasm/${file}`, location.href) });
      const keep = await Threadkeep.open({ name: "required" });
      await keep.thread("log").append([{ role: "user", content: "hi" }]);
      const { tokens } = await keep.thread("log").context();
      await keep.close();
      return [code, tokens, keep.storage];
    }, WASM);
    assert.deepEqual(said, ["init-failed", 8, "indexeddb"]);
  } finally {
    await page.close();
  }
});

/** A server that allows every origin to ask it; what it was asked is in `heard`. */
async function crossOrigin(t, answer) {
  const heard = [];
  const allow = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "*" };
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    if (request.method === "OPTIONS") return response.writeHead(204, allow).end();
    const [status, headers, body = ""] = answer(request);
    response.writeHead(status, { ...allow, ...headers }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  return { heard, origin: `http://127.0.0.1:${server.address().port}` };
}

for (const status of [302, 307])
  test(`in a page, a redirect with ${status} takes neither the key nor the prompt to another origin`, options, async (t) => {
    const thief = await crossOrigin(t, () => [200, { "content-type": "application/json" }, '{"choices":[{"message":{"content":"Thanks."}}]}']);
    const server = await crossOrigin(t, ({ url }) => [status, { location: thief.origin + url }]);
    const call = `async ({ Threadkeep, connect, createAgent }, baseUrl) => {
      const keep = await Threadkeep.open({ storage: "memory", encoding: "estimate" });
      const found = [];
      for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]) {
        const model = connect({ provider, baseUrl, model: "m", apiKey: "sk-test-0123456789" });
        const agent = createAgent({ keep, model, name: provider, builtIn: [] });
        const { outcome, node } = await agent.send("a secret question");
        const failed = (await keep.node(node)).messages.at(-1);
        found.push([outcome, failed.kind.code, failed.kind.reason]);
        found.push(await model.models().then(() => ["listed"], (error) => ["failed", error.code, error.message]));
      }
      // A function of the caller's, with what the documentation says of its \`fetch\`.
      const own = createAgent({ keep, name: "own", builtIn: [], model: ({ payload, signal }) => fetch(baseUrl + "/chat", { method: "POST", body: JSON.stringify(payload), signal, redirect: "manual" }) });
      const { outcome, node } = await own.send("a secret question");
      const failed = (await keep.node(node)).messages.at(-1);
      found.push([outcome, failed.kind.code, failed.kind.reason]);
      await keep.close();
      return found;
    }`;
    const { value } = await inPage("index", call, server.origin);
    assert.equal(value.length, 11);
    for (const [outcome, code, reason] of value) {
      assert.deepEqual([outcome, code], ["failed", "refused"], reason);
      assert.match(reason, /redirects to/);
    }
    assert.equal(server.heard.filter((line) => !line.startsWith("OPTIONS")).length, 11, server.heard.join());
    assert.deepEqual(thief.heard, []);
  });
