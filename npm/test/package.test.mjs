// The package as such: what is in it, what it promises, what the checkers of packages say.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { buildSync, transformSync } from "esbuild";
import { VERSION } from "./support/expect.mjs";
import * as everything from "./support/expect.mjs";
import { entries, graph, manifest } from "./support/entries.mjs";
import { inChild, installed, load, source, tarball } from "./support/installed.mjs";

function files(folder, prefix = "") {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const name = `${prefix}${entry.name}`;
    return entry.isDirectory() ? files(join(folder, entry.name), `${name}/`) : [name];
  });
}

/** Runs a checker that comes as a development package. */
function checker(name, bin, ...options) {
  const main = join(source, "node_modules", name, bin);
  return spawnSync(process.execPath, [main, ...options], { cwd: source, encoding: "utf8" });
}

test("the surface is what it says", async () => {
  assert.deepEqual(Object.keys(await load()).sort(), [
    "Agent",
    "Export",
    "INGEST_ORDER",
    "Kernel",
    "Threadkeep",
    "ThreadkeepError",
    "Turn",
    "VERSION",
    "chromeModel",
    "chromeSummarizer",
    "compressHistory",
    "connect",
    "countTokens",
    "createAgent",
    "forAiSdk",
    "init",
    "loadVocabulary",
    "mailText",
    "readDepth",
    "recordKey",
    "recordParts",
    "recordRange",
    "render",
    "replayCase",
    "searchTool",
    "tool",
    "trimMessages",
    "validate",
    "writeDepth",
  ]);
  const methodsOf = (handle) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(handle))
      .filter((name) => name !== "constructor")
      .sort();
  const keep = await everything.Threadkeep.open({ storage: "memory" });
  const thread = keep.thread("main");
  const promised = [
    [
      keep,
      "close thread at transcript mailbox records receive extend node chain threads transcripts roots parties search import export on lint stats deleteAll",
    ],
    [thread, "append messages recent stored count clear head moveTo undo fork strategy setStrategy end"],
    [
      Object.getPrototypeOf(thread),
      "context toolResult compact undoCompaction checkpoints epochs afterResponse compactionRequired requestCompaction clearCompactionRequest toolInteractions search pins smallestBudget forecast comparePolicies compareBranches",
    ],
    [keep.at("node"), "children depth seal alias choose mend history deleteBranch end pin unpin"],
    [keep.transcript("id"), "outline tree rename delete"],
    [keep.mailbox("ann"), "send reply messages message dismiss follow collectDismissed"],
    [keep.memory, "episodes facts remember editFact editEpisode pin forget retrieve"],
    [keep.messageStore, "append getRecent getAll getRange getCount compact clear"],
    [keep.searchIndex, "progress embedMissing"],
    [keep.settings, "get set expire"],
    [keep.requests, "list costs get diff simulate caseFile"],
  ];
  for (const [handle, names] of promised) assert.deepEqual(methodsOf(handle), names.split(" ").sort());
  await keep.close();
});

/** The names of the wasm files and vocabularies, which are no modules. */
const ASSETS = Object.keys(manifest.exports).filter((name) => /\.(wasm|gz)$/.test(name));

test("only what is needed is shipped", () => {
  const shipped = files(installed);
  assert.ok(shipped.includes("README.md"));
  for (const name of shipped)
    assert.match(
      name,
      /^(package\.json|README\.md|LICENSE-(MIT|APACHE)|THIRD-PARTY\.txt|(cjs\/)?dist\/[\w/-]+\.(js|d\.ts)|(cjs\/)?wasm\/(threadkeep|parts)\.js|cjs\/package\.json|wasm\/(threadkeep_bg|agent|archives|contract|manage|prompts|search|shared)\.wasm|examples\/[\w.-]+\.(html|mjs|jsx)|site\/[\w.-]+|vocabulary\/(NOTICE|(o200k|cl100k)_base\.gz))$/,
    );
  assert.ok(shipped.includes("LICENSE-MIT") && shipped.includes("LICENSE-APACHE"));
  // Whose code is compiled in: Snowball's stemmers ask for their notice in every copy.
  const notices = readFileSync(join(installed, "THIRD-PARTY.txt"), "utf8");
  for (const words of [
    /waken_snowball v\d/,
    /Redistributions in binary form must reproduce the above copyright/,
    /serde_json v\d/,
    /wasm-bindgen v\d/,
    /Permission is hereby granted/,
  ])
    assert.match(notices, words);
  assert.equal(manifest.dependencies, undefined);
  assert.equal(manifest.license, "MIT OR Apache-2.0");
  assert.equal(manifest.version, VERSION);
  assert.deepEqual(
    Object.keys(manifest.scripts ?? {}).filter((name) => /install|prepare/.test(name)),
    [],
  );
  for (const name of Object.keys(manifest.peerDependencies)) assert.equal(manifest.peerDependenciesMeta[name]?.optional, true, name);
});

test("every entry has its ES module, its CommonJS module and the types of both", () => {
  for (const [name, entry] of Object.entries(manifest.exports)) {
    if (typeof entry === "string") {
      assert.ok(name === "./package.json" || ASSETS.includes(name), name);
      continue;
    }
    const module = entry.default;
    const types = module.replace(/\.js$/, ".d.ts");
    const common = (path) => path.replace(/^\./, "./cjs");
    assert.deepEqual(entry, { import: { types, default: module }, require: { types: common(types), default: common(module) }, default: module }, name);
    if (name === ".") assert.deepEqual([manifest.types, manifest.main], [common(types), common(module)]);
    else assert.deepEqual(manifest.typesVersions["*"][name.slice(2)], [common(types)], name);
  }
  assert.equal(Object.keys(manifest.typesVersions["*"]).length, entries.length - 1, "no entry that is not there");
  const { type, browser } = JSON.parse(readFileSync(join(installed, "cjs/package.json"), "utf8"));
  assert.deepEqual([type, browser], ["commonjs", Object.fromEntries(Object.values(manifest.imports).map((place) => [place.node, place.default]))]);
});

test("the modules that do something when they are imported are listed, and no others do", () => {
  assert.deepEqual(
    manifest.sideEffects,
    ["./dist/", "./cjs/dist/"].flatMap((folder) => ["index.js", "places.js", "stores/contract.js"].map((name) => folder + name)),
  );
  // A bundler that keeps nothing of an entry but its effects: only the places are left of the main entry, nothing of the slim one.
  const left = (entry) => {
    const { outputFiles } = buildSync({
      stdin: { contents: `import ${JSON.stringify(join(installed, entry))};`, resolveDir: installed },
      bundle: true,
      write: false,
      format: "esm",
      platform: "neutral",
      logLevel: "silent",
    });
    return outputFiles[0].text;
  };
  assert.match(left("dist/index.js"), /o200k_base\.gz/);
  assert.equal(left("dist/slim.js").trim(), "");
});

test("nothing of the main entry leads to Node or to a package of others, and nothing of the slim one to a file", async () => {
  for (const entry of [".", "./slim"]) {
    const { modules, others } = await graph(entry, "browser");
    assert.deepEqual(others, [], `${entry} in a browser`);
    const named = [...modules].filter(([, text]) => transformSync(text).code.includes("import.meta")).map(([name]) => name);
    assert.deepEqual(named, entry === "." ? ["dist/places.js"] : [], `${entry}: who names files`);
    for (const [name, text] of modules) assert.doesNotMatch(text, /\beval\(|new Function\(/, name);
    // Under Node the store of files comes along, later, and with it Node's own modules; never a package of others.
    const under = await graph(entry, "node");
    for (const { path } of under.others) assert.match(path, /^node:/, `${entry} under Node`);
  }
  const places = ["dist/places.js", "dist/stores/contract.js"].map((name) => readFileSync(join(installed, name), "utf8")).join("");
  for (const asset of ASSETS)
    assert.match(places, new RegExp(`new URL\\("[./]+${manifest.exports[asset].slice(1)}", import\\.meta\\.url\\)`), "bundlers can see it");
});

test("only the entries for servers lead to Node's own modules", async () => {
  const servers = ["./file", "./memory-folder", "./postgres", "./redis"];
  for (const entry of entries) {
    const { others } = await graph(entry, "browser");
    assert.equal(
      others.some(({ path }) => path.startsWith("node:")),
      servers.includes(entry),
      entry,
    );
  }
});

test("an entry needs the packages that its name promises, and no others", async () => {
  for (const entry of entries) {
    const { others } = await graph(entry, "node");
    for (const { path, kind } of others) {
      const name = path.startsWith("@") ? path.split("/", 2).join("/") : path.split("/", 1)[0];
      if (path.startsWith("node:")) continue;
      // Peers of mem0ai's own (redis 4) contradict ours, so that npm would install neither: it is loaded when asked for, and no peer.
      if (entry === "./mem0" && name === "mem0ai" && kind === "dynamic-import") continue;
      assert.ok(name in manifest.peerDependencies, `${entry} imports ${path}, which is no peer`);
      assert.ok(["import-statement", "dynamic-import"].includes(kind), `${entry}: ${kind} of ${path}`);
    }
  }
});

test("publint finds nothing", () => {
  const { status, stdout, stderr } = checker("publint", "src/cli.js", "--strict", "--level", "suggestion", tarball);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /All good!/);
});

test("are the types wrong? no", () => {
  const { status, stdout, stderr } = checker(
    "@arethetypeswrong/cli",
    "dist/index.js",
    tarball,
    "--profile",
    "strict",
    "--no-emoji",
    "--format",
    "ascii",
    "--exclude-entrypoints",
    ...ASSETS,
  );
  assert.equal(status, 0, stdout + stderr);
  for (const way of [/node10: OK\s*$/gm, /node16 \(from CJS\): OK \(CJS\)\s*$/gm, /node16 \(from ESM\): OK \(ESM\)\s*$/gm, /bundler: OK\s*$/gm])
    assert.equal(stdout.match(way)?.length, entries.length, `${way}\n${stdout}`);
});

test("what works without a keep brings the places of the files along, through a bundler too", () => {
  const users = { "ai-sdk": "trimSteps", contract: "checkStore", langchain: "trimLangChain", "openai-agents": "budgetInput" };
  for (const [entry, name] of Object.entries(users)) {
    const { outputFiles } = buildSync({
      stdin: { contents: `import { ${name} } from "threadkeep/${entry}"; console.log(${name});`, resolveDir: installed },
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
      packages: "bundle",
      external: ["ai", "@langchain/*", "@openai/*"],
      logLevel: "silent",
    });
    assert.match(outputFiles[0].text, /"\.\.\/wasm\/threadkeep_bg\.wasm", import\.meta\.url/, entry);
  }
  const printed = inChild(`
    import { trimSteps } from "threadkeep/ai-sdk";
    const messages = [{ role: "user", content: "one ".repeat(50) }, { role: "assistant", content: "two" }, { role: "user", content: "three" }];
    const step = await trimSteps({ budget: { maxTokens: 20 } })({ messages, stepNumber: 0 });
    console.log(step.messages.at(-1).content, step.messages.length < 3);
  `);
  assert.equal(printed, "three true\n");
});
