// Vitest for the suite of LangGraph's authors, over the installed package. `framework-langgraph-validation.test.mjs` runs it.
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const installed = process.env.THREADKEEP_INSTALLED;

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  cacheDir: join(installed, "../../.vite"),
  resolve: {
    alias: [
      { find: /^threadkeep$/, replacement: join(installed, "dist/index.js") },
      { find: /^threadkeep\/langgraph$/, replacement: join(installed, "dist/frameworks/langgraph.js") },
      { find: /^threadkeep\/file$/, replacement: join(installed, "dist/stores/file.js") },
    ],
  },
  test: {
    globals: true,
    include: ["validation.spec.mjs"],
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
