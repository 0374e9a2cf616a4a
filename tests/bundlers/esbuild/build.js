import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const common = { absWorkingDir: here, bundle: true, minify: true, outdir: "dist", loader: { ".wasm": "file", ".gz": "file" }, assetNames: "[name]-[hash]" };

await build({ ...common, entryPoints: ["main.js", "worker.js"], format: "esm" });
// A service worker in the classic way.
await build({ ...common, entryPoints: ["service.js"], format: "iife" });
copyFileSync(`${here}index.html`, `${here}dist/index.html`);
