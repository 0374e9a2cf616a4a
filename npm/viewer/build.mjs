// The page of a shared thread as one text, with a place for the threads: `viewer.html` with its script and its style sheet in it, and their hashes
// in its content policy. The package's build takes it from here. Run as a program, it puts `share.js` and `sync.js`, which are
// `threadkeep/share` and `threadkeep/sync` for the page, into the folder that is named.

import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const NOTICES = "THIRD-PARTY.txt";
const options = { absWorkingDir: here, bundle: true, minify: true, write: false, charset: "utf8", legalComments: "none", target: ["es2022", "safari17"] };

/** The text; the threads go to where it says `THREADS`. */
export function viewer() {
  const script = scripted().outputFiles[0].text;
  // A script may not end the element that holds it.
  if (/<\/script|<!--/i.test(script)) throw new Error("the viewer's script would end its own element");
  const style = buildSync({ ...options, entryPoints: [join(here, "viewer.css")] }).outputFiles[0].text.trim();
  const parts = { "SCRIPT-HASH": hash(script), "STYLE-HASH": hash(style), STYLE: style, SCRIPT: script };
  const page = readFileSync(join(here, "viewer.html"), "utf8").replace(/SCRIPT-HASH|STYLE-HASH|(?<=<style>)STYLE|(?<=<script>)SCRIPT/g, (name) => parts[name]);
  if (page.split("THREADS").length !== 2) throw new Error("the viewer has not one place for its threads");
  return page;
}

/** Adds the licences of what others wrote of the viewer to a folder's notices. */
export function addNotices(folder) {
  const inputs = Object.keys(scripted().metafile.inputs);
  const packages = new Set(inputs.map((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]).filter(Boolean));
  const texts = new Map();
  for (const path of [...packages].sort()) {
    const folder = join(here, path);
    const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} says nothing of its licence`);
    const text = readFileSync(join(folder, file), "utf8").trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} v${version}`]);
  }
  for (const [text, names] of texts) appendFileSync(join(folder, NOTICES), `\n${"=".repeat(80)}\n${names.join("\n")}\n\n${text}\n`);
}

function scripted() {
  return buildSync({ ...options, entryPoints: [join(here, "viewer.ts")], format: "iife", metafile: true });
}

const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2];
  const template = {
    name: "template",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/template\.js$/ }, () => ({ path: "template", namespace: "made" }));
      onLoad({ filter: /.*/, namespace: "made" }, () => ({ contents: `export const TEMPLATE = ${JSON.stringify(viewer())};` }));
    },
  };
  await build({ ...options, write: true, entryPoints: [join(here, "page.ts")], format: "esm", plugins: [template], outfile: join(folder, "share.js") });
  await build({ ...options, write: true, entryPoints: [join(here, "../src/sync/page.ts")], format: "esm", outfile: join(folder, "sync.js") });
  addNotices(folder);
}
