// Loading: nothing at import, any source, once; and what happens when the module breaks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inChild } from "./support/installed.mjs";

test("importing reads no wasm, sets no timer, opens nothing", () => {
  const printed = inChild(`
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const seen = [];
    const watch = (object, name) => {
      const original = object[name];
      object[name] = function (...args) {
        // Node's loader reads the package's own modules with it.
        if (name !== "readFile" || !String(args[0]).endsWith(".js")) seen.push(name + " " + String(args[0]).slice(-20));
        return original.apply(this, args);
      };
    };
    for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"]) watch(globalThis, name);
    for (const name of ["compile", "instantiate", "compileStreaming", "instantiateStreaming"]) {
      if (WebAssembly[name]) watch(WebAssembly, name);
    }
    watch(fs.promises, "readFile");
    const Channel = globalThis.BroadcastChannel;
    globalThis.BroadcastChannel = class extends Channel { constructor(name) { seen.push("channel " + name); super(name); } };
    syncBuiltinESMExports();
    const { init, readDepth } = await import("threadkeep");
    const waiting = process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate|Port|Worker/.test(name));
    console.log(JSON.stringify({ seen, waiting }));
    await init();
    console.log(seen.some((name) => name.startsWith("readFile") && name.endsWith("threadkeep_bg.wasm")), readDepth("[depth:1] a").depth);
  `);
  const [imported, initialised] = printed.trim().split("\n");
  assert.deepEqual(JSON.parse(imported), { seen: [], waiting: [] });
  assert.equal(initialised, "true 1", "the watch does see what init does");
});

test("pure functions say that init comes first", () => {
  const printed = inChild(`
    import { init, readDepth, writeDepth, ThreadkeepError } from "threadkeep";
    for (const call of [() => readDepth("a"), () => writeDepth([], 1)]) {
      try { call(); } catch (error) { console.log(error instanceof ThreadkeepError, error.code); }
    }
    await Promise.all([init(), init(), init()]);
    await init("https://example.invalid/other.wasm");
    console.log(readDepth("[depth:3]").depth);
  `);
  assert.equal(printed, "true not-initialised\ntrue not-initialised\n3\n");
});

const SOURCES = {
  bytes: "await readFile(path)",
  "an ArrayBuffer": "new Uint8Array(await readFile(path)).buffer",
  "a promise of bytes": "readFile(path)",
  "a compiled module": "await WebAssembly.compile(await readFile(path))",
  "a response": "new Response(await readFile(path), { headers: { 'content-type': 'application/wasm' } })",
  "a response of another type": "new Response(await readFile(path))",
  "a file URL": "pathToFileURL(path)",
  "a file URL as text": "pathToFileURL(path).href",
  "a data URL": "'data:application/wasm;base64,' + (await readFile(path)).toString('base64')",
};

for (const [what, source] of Object.entries(SOURCES)) {
  test(`init takes ${what}`, () => {
    const printed = inChild(`
      import { readFile } from "node:fs/promises";
      import { fileURLToPath, pathToFileURL } from "node:url";
      import { init, readDepth } from "threadkeep";
      console.warn = () => {};
      const path = fileURLToPath(import.meta.resolve("threadkeep/threadkeep.wasm"));
      await init(${source});
      console.log(readDepth("[depth:3]").depth);
    `);
    assert.equal(printed, "3\n");
  });
}

test("a module that cannot be had is an error, and the next try may succeed", () => {
  const printed = inChild(`
    import { init, Threadkeep, ThreadkeepError } from "threadkeep";
    const notWasm = new TextEncoder().encode("<!doctype html>");
    const other = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
    for (const source of [notWasm, other, new URL("file:///nowhere/threadkeep.wasm"), "data:text/html,nothing"]) {
      try { await init(source); console.log("no error"); }
      catch (error) { console.log(error instanceof ThreadkeepError, error.code, /cannot be loaded: ./.test(error.message)); }
    }
    await init(7).catch((error) => console.log(error.code, error.details.argument));
    const keep = await Threadkeep.open();
    console.log(keep.storage);
  `);
  assert.equal(printed, `${"true init-failed true\n".repeat(4)}bad-request source\nfile\n`);
});

test("init says where the parts of the module come from", () => {
  const printed = inChild(`
    import { readFile } from "node:fs/promises";
    import { fileURLToPath } from "node:url";
    import { Threadkeep, init, validate } from "threadkeep";
    const asked = [];
    const bytes = (file) => readFile(fileURLToPath(import.meta.resolve("threadkeep/" + file)));
    await init(undefined, { part: (file) => { asked.push(file); return file === "prompts.wasm" ? bytes(file) : undefined; } });
    console.log(asked.length);
    console.log((await validate([{ role: "user", content: "hi" }], "anthropic")).ok, asked.sort().join());
    const keep = await Threadkeep.open();
    console.log((await keep.import('{"messages":[{"role":"user","content":"hi"}]}')).messages, asked.sort().join());
  `);
  assert.equal(printed, "0\ntrue prompts.wasm,shared.wasm\n1 archives.wasm,prompts.wasm,shared.wasm\n");
});

test("where nothing may be compiled at run time, compiled modules are all that a keep needs", () => {
  const printed = inChild(`
    import { readFile } from "node:fs/promises";
    import { fileURLToPath } from "node:url";
    import { Threadkeep, init } from "threadkeep/slim";
    const bytes = (file) => readFile(fileURLToPath(import.meta.resolve("threadkeep/" + file)));
    const files = ["threadkeep", "agent", "archives", "manage", "prompts", "search", "shared"].map((name) => name + ".wasm");
    const modules = new Map(await Promise.all(files.map(async (file) => [file, new WebAssembly.Module(await bytes(file))])));
    for (const name of ["compile", "compileStreaming", "Module"])
      if (name === "Module") WebAssembly.Module = new Proxy(WebAssembly.Module, { construct() { throw new Error("not here"); } });
      else WebAssembly[name] = () => Promise.reject(new Error("not here"));
    await init(modules.get("threadkeep.wasm"), { part: (file) => modules.get(file) ?? bytes(file) });
    const keep = await Threadkeep.open({ storage: "memory" });
    const main = keep.thread("main");
    await main.append([{ role: "user", content: "Two gulls nest here." }]);
    console.log((await main.context()).messages.length, (await keep.search("gulls")).length, (await keep.export().text()).length > 50);
    console.log((await keep.import('{"messages":[{"role":"user","content":"hi"}]}')).messages, (await keep.mailbox("a").send({ to: "b", content: "hi" })).number);
    console.log(await main.clear(), await main.count());
  `);
  assert.equal(printed, "1 1 true\n1 1\n1 0\n");
});

test("what is asked after a deletion never comes before it, though the deletion must load its part first", () => {
  const printed = inChild(`
    import { Threadkeep } from "threadkeep";
    const keep = await Threadkeep.open({ storage: "memory" });
    const say = (name, content) => keep.thread(name).append([{ role: "user", content }]);
    await Promise.all([say("a", "old"), say("b", "old")]);
    await Promise.all([keep.thread("a").clear(), say("a", "new"), say("b", "newer"), keep.thread("b").clear(), say("c", "alone")]);
    const texts = await Promise.all(["a", "b", "c"].map(async (name) => (await keep.thread(name).messages()).map(({ content }) => content).join()));
    console.log(texts.join(" | "));
  `);
  assert.equal(printed, "new |  | alone\n");
});

test("a deletion that waits for its part is carried out before the keep closes", () => {
  const printed = inChild(`
    import { mkdtempSync } from "node:fs";
    import { Threadkeep } from "threadkeep";
    import { fileStore } from "threadkeep/file";
    const path = mkdtempSync(process.env.THREADKEEP_HOME + "/closing-");
    const open = () => Threadkeep.open({ storage: fileStore({ folder: path }) });
    const keep = await open();
    await keep.thread("a").append([{ role: "user", content: "old" }]);
    const asked = [keep.thread("a").clear(), keep.thread("b").append([{ role: "user", content: "last" }])];
    await keep.close();
    console.log((await Promise.allSettled(asked)).map(({ status }) => status).join());
    console.log(await keep.thread("a").count().catch((error) => error.code));
    const again = await open();
    console.log(await again.thread("a").count(), await again.thread("b").count());
    await again.close();
  `);
  assert.equal(printed, "fulfilled,fulfilled\nclosed\n0 1\n");
});

test("a part that cannot be had, or is of another build, is an error with its reason, and the next try may work", () => {
  const printed = inChild(`
    import { readFile } from "node:fs/promises";
    import { fileURLToPath } from "node:url";
    import { Threadkeep, ThreadkeepError, init } from "threadkeep";
    const own = await readFile(fileURLToPath(import.meta.resolve("threadkeep/prompts.wasm")));
    const other = Uint8Array.from(own);
    other[other.length - 1] ^= 1;
    const sources = [new URL("file:///nowhere.wasm"), new Uint8Array(9), other, 7, undefined];
    await init(undefined, { part: (file) => (file === "prompts.wasm" ? sources.shift() : undefined) });
    const keep = await Threadkeep.open();
    await keep.thread("main").append([{ role: "user", content: "hi" }]);
    for (let times = 0; times < 5; times += 1) {
      try { console.log((await keep.thread("main").recent()).length); }
      catch (error) { console.log(error instanceof ThreadkeepError, error.code, /part prompts: .*another build/.test(error.message)); }
    }
    await init(undefined, { part: "prompts.wasm" }).catch((error) => console.log(error.code));
  `);
  assert.equal(printed, "true init-failed false\ntrue init-failed false\ntrue init-failed true\ntrue bad-request false\n1\n");
});

test("init refuses options that it does not know, and lets no failed request of somebody late end the program", () => {
  const printed = inChild(`
    import { init, readDepth } from "threadkeep";
    for (const options of [{ parts: () => undefined }, 5, null, { part: null }])
      await init(undefined, options).catch((error) => console.log(error.code, error.details.argument));
    await init();
    await init(Promise.reject(new Error("no network")));
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(readDepth("[depth:3]").depth);
  `);
  assert.equal(printed, "bad-request options.parts\nbad-request options\nbad-request options\nbad-request options.part\n3\n");
});

test("in a test runner's DOM, where globals are of another realm than what Node reads, everything loads and stores", () => {
  const printed = inChild(`
    import { createContext, runInContext } from "node:vm";
    const other = createContext({});
    for (const name of ["Uint8Array", "ArrayBuffer"]) globalThis[name] = runInContext(name, other);
    const every = globalThis.setInterval;
    const timers = new Map();
    globalThis.setInterval = (...given) => { timers.set(timers.size + 1, every(...given)); return timers.size; };
    const end = globalThis.clearInterval;
    globalThis.clearInterval = (timer) => end(timers.get(timer) ?? timer);
    const { Threadkeep, countTokens } = await import("threadkeep");
    console.log(await countTokens("hello world"));
    const keep = await Threadkeep.open();
    await keep.thread("main").append([{ role: "user", content: "hi" }]);
    const records = keep.records("notes");
    await records.commit({ puts: [["a", Uint8Array.of(1, 2)]] });
    console.log(keep.storage, await keep.thread("main").count(), [...(await records.get("a"))].join());
    console.log((await keep.import(Buffer.from('{"messages":[{"role":"user","content":"hello"}]}'))).messages, (await keep.search("hello")).length);
    await keep.close();
    const again = await Threadkeep.open();
    console.log(again.beginning, await again.thread("main").count());
    await again.close();
    process.exit();
  `);
  assert.equal(printed, "2\nfile 1 1,2\n1 1\nexisting 1\n");
});

test("a keep that is closed while a part is on its way says so, and nothing breaks", () => {
  const printed = inChild(`
    import { Threadkeep } from "threadkeep";
    const keep = await Threadkeep.open();
    await keep.thread("main").append([{ role: "user", content: "hi" }]);
    const calls = [keep.thread("main").recent(), keep.thread("main").context({ encoding: "estimate" }), keep.import("{}")];
    const ends = calls.map((call) => call.then(() => "answered", (error) => error.code));
    await keep.close();
    for (const end of ends) console.log(await end);
    console.log(await (await Threadkeep.open({ storage: "memory" })).thread("main").count());
  `);
  assert.equal(printed, "closed\nclosed\nclosed\n0\n");
});

test("when the module breaks, everybody who waits is told, and everybody who comes later", () => {
  // All memory that a module may have is taken from it, so that it must fail at the next allocation.
  const printed = inChild(`
    import { pathToFileURL } from "node:url";
    import { Threadkeep } from "threadkeep";
    const glue = await import(new URL("../wasm/threadkeep.js", import.meta.resolve("threadkeep")).href);
    // It answers while the keep is opened, and never again.
    let answer = (found) => found;
    const storage = { get: async () => answer(), scan: async () => answer([]), commit() {}, close() {} };
    const waits = await Threadkeep.open({ storage });
    answer = () => new Promise(() => {});
    const keep = await Threadkeep.open();
    await keep.thread("main").append([{ role: "user", content: "kept" }]);
    const waiting = waits.thread("main").messages();
    const { memory } = await glue.default();
    let step = 16_384;
    while (step > 0) {
      try { memory.grow(step); } catch { step = Math.floor(step / 2); }
    }
    const report = (what) => (error) => console.log(what, error.name, error.code, error.message.includes("bug"));
    const text = "x".repeat(50_000_000);
    await keep.thread("main").append([{ role: "user", content: text }]).catch(report("now"));
    await waiting.catch(report("waiting"));
    await keep.thread("main").messages().catch(report("later"));
    await Threadkeep.open().catch(report("open"));
  `);
  const words = "ThreadkeepError panicked true";
  assert.equal(printed, ["now", "waiting", "later", "open"].map((what) => `${what} ${words}\n`).join(""));
});
