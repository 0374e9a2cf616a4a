// `npm run build`: TypeScript into dist/ (ES modules), and the same once more as CommonJS into cjs/, for `require`. The wasm and
// its bindings must lie in wasm/ already, where `cargo xtask pack` puts them.
//
// cjs/ mirrors the package's layout (cjs/dist, cjs/wasm), so that relative imports stay as they are; the wasm files and the
// vocabularies are there once, and both find them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { addNotices, viewer } from "./viewer/build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const GLUE = ["wasm/threadkeep.js", "wasm/parts.js"];
for (const name of [...GLUE, "wasm/threadkeep.d.ts", "wasm/threadkeep_bg.wasm"]) {
  if (!existsSync(join(here, name))) {
    console.error(`npm/${name} is missing: \`cargo xtask pack\` builds it, and the package with it`);
    process.exit(1);
  }
}
for (const folder of ["dist", "cjs"]) rmSync(join(here, folder), { recursive: true, force: true });

const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
for (const project of [here, join(here, "viewer")]) {
  const compiled = spawnSync(process.execPath, [join(typescript, "bin/tsc"), "-p", project], { stdio: "inherit" });
  if (compiled.status !== 0) process.exit(compiled.status ?? 1);
}
put("dist/share/template.js", `export const TEMPLATE = ${JSON.stringify(viewer())};\n`);
addNotices(here);

// The bindings name the wasm files beside themselves; src/places.ts does that here. Bundlers would copy the files for each who
// says `new URL("…", import.meta.url)`, so that is taken out.
for (const name of GLUE) {
  const path = join(here, name);
  const { code } = transformSync(readFileSync(path, "utf8"), { minify: true, define: { "import.meta.url": '"threadkeep:/"' } });
  writeFileSync(path, code);
}

/** Peers that are ES modules only: for types, a CommonJS module must say that it imports them. A test finds who is missing here. */
const ES_MODULES = /^(import|export)(?: type)? ((?:\{[^{}"]*\}|\*(?: as \w+)?|\w+) from "(?:ai|@anthropic-ai\/claude-agent-sdk|@assistant-ui\/core)(?:\/[^"]*)?");$/gm;

const { imports, bin } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
// Programs are run, not required.
const programs = new Set(Object.values(bin).map((path) => path.replace(/^\.\//, "")));
const modules = files("dist").filter((name) => !programs.has(name));
for (const name of [...modules, ...GLUE]) {
  const text = readFileSync(join(here, name), "utf8");
  put(`cjs/${name}`, name.endsWith(".js") ? commonJs(name, text) : text.replace(ES_MODULES, '$1 type $2 with { "resolution-mode": "import" };'));
}
// `imports` counts in a package's own package.json only: CommonJS requires what Node gets, and bundlers for browsers read `browser`.
const browser = Object.fromEntries(Object.values(imports).map((place) => [place.node, place.default]));
put("cjs/package.json", `${JSON.stringify({ type: "commonjs", browser }, null, 2)}\n`);
console.log(`npm/dist, npm/cjs: ${modules.filter((name) => name.endsWith(".js")).length} modules each`);

/** A module as CommonJS. */
function commonJs(name, text) {
  const usesAddress = text.includes("import.meta.url");
  const { code } = transformSync(text, {
    format: "cjs",
    platform: "node",
    target: "es2022",
    // The name's ending says that a default import of a CommonJS module is all of it, as when Node imports it.
    sourcefile: `${name.slice(0, -3)}.mjs`,
    minify: name.startsWith("wasm/"),
    define: { "import.meta.url": "importMetaUrl" },
  });
  // What is ours is required; what is another's stays an import, which Node can do whichever kind of module it is.
  const place = (path) => (path.startsWith("#") ? relativeTo(name, imports[path].node) : path);
  const required = code.replace(/\bimport\("((?:\.{1,2}\/|#)[^"]+)"\)/g, (_, path) => `Promise.resolve().then(() => require("${place(path)}"))`);
  // Where both are ours, a default export is what is called that.
  const own = required.replace(/__toESM\(require\(("\.{1,2}\/[^"]*")\), 1\)/g, "__toESM(require($1))");
  return `"use strict";\n${usesAddress ? address(name) : ""}${own}`;
}

/** How a module names a file of the package. */
function relativeTo(name, file) {
  const path = relative(dirname(name), file).replaceAll("\\", "/");
  return path.startsWith(".") ? path : `./${path}`;
}

/**
 * The address of the ES module of the same name, beside which the package's other files lie: without a module of Node's, for bundlers. In a
 * browser's bundle there is no such place; then `init` must be told.
 */
function address(name) {
  const twin = `${"../".repeat(name.split("/").length)}${name}`;
  return `const importMetaUrl = new URL(${JSON.stringify(twin)}, (function () {
  if (typeof __filename !== "string") return "threadkeep:/";
  let path = __filename;
  if (/^[a-z]:\\\\|^\\\\\\\\/i.test(path)) path = path.replaceAll("\\\\", "/");
  path = path.replace(/[%?#\\\\\\n\\r\\t]/g, encodeURIComponent);
  return (path.startsWith("//") ? "file:" : path.startsWith("/") ? "file://" : "file:///") + path;
})()).href;
`;
}

function files(folder) {
  return readdirSync(join(here, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    return entry.isDirectory() ? files(name) : [name];
  });
}

function put(name, text) {
  mkdirSync(dirname(join(here, name)), { recursive: true });
  writeFileSync(join(here, name), text);
}
