// The example of assistant-ui as it stands, in headless Chromium: React, its hooks and primitives, and a keep on IndexedDB.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { serve } from "../../tests/e2e/support/serve.mjs";
import { launch } from "./support/browser.mjs";
import { installed, project, source } from "./support/installed.mjs";

let browser, site;

before(async () => {
  const folder = join(project, "assistant-ui");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.html"), '<!doctype html><meta charset="utf-8"><title>chat</title><div id="root"></div><script type="module" src="app.js"></script>');
  await build({
    entryPoints: [join(installed, "examples/assistant-ui.jsx")],
    outfile: join(folder, "app.js"),
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    nodePaths: [join(source, "node_modules")],
    logLevel: "error",
    plugins: [{
      name: "the package as it is",
      setup({ onResolve }) {
        onResolve({ filter: /^threadkeep(\/|$)/ }, ({ path }) => ({ path: path === "threadkeep" ? "/package/dist/index.js" : `/package/dist/frameworks/${path.slice("threadkeep/".length)}.js`, external: true }));
      },
    }],
  });
  browser = await launch();
  site = await serve({ "/package/": installed, "/": folder });
});

after(async () => {
  await browser?.close();
  await site?.close();
});

test("threads, branches and edits of a page are there after a reload", { timeout: 120_000 }, async () => {
  const page = await browser.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.setDefaultTimeout(30_000);
  const message = (text) => page.locator(".message", { hasText: text });
  try {
    await page.goto(site.address);
    const say = async (text) => {
      await page.getByPlaceholder("Say something").fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
    };
    await say("First words");
    await message("You said: First words (answer 1)").waitFor();
    await message("(answer 1)").getByRole("button", { name: "Another answer" }).click();
    await message("You said: First words (answer 2)").waitFor();
    await message("2 of 2").waitFor();
    await say("More words");
    await message("You said: More words (answer 3)").waitFor();
    await page.locator(".message").nth(2).getByRole("button", { name: "Edit" }).click();
    await page.locator(".editor textarea").fill("Other words");
    await page.getByRole("button", { name: "Save" }).click();
    await message("You said: Other words (answer 4)").waitFor();
    await page.getByRole("button", { name: "New", exact: true }).click();
    await say("Another thread");
    await message("You said: Another thread (answer 5)").waitFor();
    await page.locator(".thread", { hasText: "Another thread" }).waitFor();

    await page.reload();
    await page.locator(".thread", { hasText: "First words" }).getByRole("button").click();
    await message("You said: Other words (answer 4)").waitFor();
    const shown = await page.locator(".message").allTextContents();
    assert.deepEqual(shown.map((text) => /^(.*?)(Edit|Another answer)/.exec(text)?.[1]), ["First words", "You said: First words (answer 2)", "Other words", "You said: Other words (answer 4)"]);
    await page.locator(".message").nth(2).getByRole("button", { name: "‹" }).click();
    await message("You said: More words (answer 3)").waitFor();
    await page.locator(".message").nth(1).getByRole("button", { name: "‹" }).click();
    await message("You said: First words (answer 1)").waitFor();
    await page.locator(".thread", { hasText: "Another thread" }).getByRole("button").click();
    await message("You said: Another thread (answer 5)").waitFor();
    assert.deepEqual(complaints, []);
  } catch (error) {
    throw new Error(`${error.message}\nthe page: ${await page.locator("body").innerText().catch(() => "")}\n${complaints.join("\n")}`);
  } finally {
    await page.close();
  }
});
