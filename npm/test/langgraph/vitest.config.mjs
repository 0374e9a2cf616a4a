// Vitest for the suite of LangGraph's authors, over the installed package: under Node, or, where THREADKEEP_BROWSER names a Chromium,
// in that. `framework-langgraph-validation.test.mjs` and `tests/e2e/langgraph.test.mjs` run it and read its report.
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

const installed = process.env.THREADKEEP_INSTALLED;
const browser = process.env.THREADKEEP_BROWSER;
const SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  cacheDir: join(installed, "../../.vite"),
  resolve: {
    alias: [
      { find: /^threadkeep$/, replacement: join(installed, "dist/index.js") },
      { find: /^threadkeep\/langgraph$/, replacement: join(installed, "dist/frameworks/langgraph.js") },
      { find: /^threadkeep\/langchain$/, replacement: join(installed, "dist/frameworks/langchain.js") },
      { find: /^threadkeep\/file$/, replacement: join(installed, "dist/stores/file.js") },
    ],
  },
  server: { fs: { strict: false } },
  optimizeDeps: {
    // All that the specs and the package import, so that Vite finds nothing new while a test is loading.
    include: [
      "@langchain/langgraph-checkpoint",
      "@langchain/langgraph-checkpoint-validation",
      "@langchain/langgraph/web",
      "@langchain/core/chat_history",
      "@langchain/core/messages",
      "@langchain/core/utils/function_calling",
    ],
    // As it was packed: it finds its wasm beside its modules.
    exclude: ["threadkeep", "threadkeep/langchain", "threadkeep/langgraph"],
  },
  test: {
    globals: true,
    include: [process.env.THREADKEEP_SPEC],
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    ...(browser === undefined
      ? {}
      : {
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions: { executablePath: browser, args: SWITCHES } }),
            instances: [{ browser: "chromium" }],
          },
        }),
  },
});
