// The entries of the installed package, and what each leads to.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { installed } from "./installed.mjs";

export const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));

/** The names under which modules are exported: `.`, `./slim`, … */
export const entries = Object.keys(manifest.exports).filter((name) => typeof manifest.exports[name] === "object");

/** The file of an entry, from the package's folder. */
export function fileOf(entry) {
  return manifest.exports[entry].default.slice(2);
}

/**
 * Bundles an entry for a platform (`browser` or `node`) with all packages of others left out. Gives the modules of ours that it leads to (name
 * and text), the imports that lead out of the package, and the bundle, minified. `besides`: modules that are there already.
 */
export async function graph(entry, platform, besides = new Set()) {
  const start = join(installed, fileOf(entry));
  const name = (path) => relative(installed, path).replaceAll("\\", "/");
  const others = [];
  const watch = {
    name: "watch",
    setup({ onResolve }) {
      onResolve({ filter: /.*/ }, ({ path, kind, resolveDir }) => {
        if (kind === "entry-point") return undefined;
        if (path.startsWith(".")) return besides.has(name(join(resolveDir, path))) ? { path, external: true, sideEffects: false } : undefined;
        if (path.startsWith("#")) return undefined;
        others.push({ path, kind });
        return { path, external: true };
      });
    },
  };
  const options = { bundle: true, write: false, metafile: true, minify: true, format: "esm", target: "es2022", logLevel: "silent" };
  const { metafile, outputFiles } = await build({ ...options, entryPoints: [start], platform, plugins: [watch], absWorkingDir: installed });
  const modules = new Map(Object.keys(metafile.inputs).map((path) => [path, readFileSync(join(installed, path), "utf8")]));
  return { modules, others, code: outputFiles[0].contents };
}
