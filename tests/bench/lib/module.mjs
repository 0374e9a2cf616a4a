// The wasm module with our side of the measurements: taken from THREADKEEP_BENCH_WASM (a folder with
// `threadkeep_tests.js`), or built here with cargo and the wasm-bindgen command line.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const NAME = "threadkeep_tests";

// The first file of that name on PATH, or undefined.
export function onPath(...names) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of names) {
      const file = join(folder, name);
      if (folder && existsSync(file)) return file;
    }
  }
  return undefined;
}

// wasm-bindgen at the version of the workspace: on PATH, or where `cargo xtask setup` puts it.
function bindgen() {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "threadkeep");
  const cached = existsSync(cache)
    ? readdirSync(cache)
        .filter((name) => name.startsWith("wasm-bindgen-"))
        .sort()
        .reverse()
    : [];
  for (const folder of cached) {
    const file = join(cache, folder, "bin", "wasm-bindgen");
    if (existsSync(file)) return file;
  }
  const found = onPath("wasm-bindgen", "wasm-bindgen.exe");
  if (!found) throw new Error("wasm-bindgen is missing: run `cargo xtask setup` first");
  return found;
}

export function module(root) {
  const given = process.env.THREADKEEP_BENCH_WASM;
  if (given) return given;
  const run = (file, args) => execFileSync(file, args, { cwd: root, stdio: ["ignore", 2, 2] });
  const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  run("cargo", ["build", "-q", "-p", "threadkeep-tests", "--lib", "--target", "wasm32-unknown-unknown", "--profile", "wasm"]);
  const out = join(target, "bench-module");
  mkdirSync(out, { recursive: true });
  const built = join(target, "wasm32-unknown-unknown", "wasm", `${NAME}.wasm`);
  run(bindgen(), ["--target", "web", "--no-typescript", "--out-dir", out, built]);
  return out;
}
