// `npm run build`: TypeScript into dist/. The wasm and its bindings must lie in wasm/ already, where `cargo xtask pack`
// puts them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
for (const name of ["threadkeep.js", "threadkeep.d.ts", "threadkeep_bg.wasm", "parts.js"]) {
  if (!existsSync(join(here, "wasm", name))) {
    console.error(`npm/wasm/${name} is missing: \`cargo xtask pack\` builds it, and the package with it`);
    process.exit(1);
  }
}
rmSync(join(here, "dist"), { recursive: true, force: true });
const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
const compiled = spawnSync(process.execPath, [join(typescript, "bin/tsc"), "-p", here], { stdio: "inherit" });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);
console.log(`npm/dist: ${readdirSync(join(here, "dist")).length} entries`);
