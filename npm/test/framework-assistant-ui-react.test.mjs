// The example of assistant-ui as it stands, in headless Chromium: React, its hooks and primitives, and a keep on IndexedDB. And the same
// page on assistant-ui's runtime for the AI SDK, whose messages go through `withFormat`.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { serve } from "../../tests/e2e/support/serve.mjs";
import { launch } from "./support/browser.mjs";
import { installed, project, source } from "./support/installed.mjs";

const example = readFileSync(join(installed, "examples/assistant-ui.jsx"), "utf8");

/** A runtime on `useChat`, with answers that call a tool before they speak. */
const CHAT = `
import { useChat } from "@ai-sdk/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
const transport = {
  async sendMessages({ messages }) {
    const said = messages.at(-1).parts.map((part) => part.text ?? "").join("");
    const id = crypto.randomUUID();
    const toolCallId = "k" + id;
    const text = "You said: " + said + " (answer " + ++answers + ")";
    const chunks = [
      { type: "start", messageId: id }, { type: "start-step" }, { type: "tool-input-available", toolCallId, toolName: "look", input: { said } }, { type: "tool-output-available", toolCallId, output: { found: said } }, { type: "finish-step" },
      { type: "start-step" }, { type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: text }, { type: "text-end", id: "t" }, { type: "finish-step" }, { type: "finish" },
    ];
    return new ReadableStream({ start(controller) { chunks.forEach((chunk) => controller.enqueue(chunk)); controller.close(); } });
  },
  reconnectToStream: async () => null,
};
function useRuntime() {
  return useAISDKRuntime(useChat({ transport }));
}
`;

/** The example with other words in some places, which must be there. */
function changed(...places) {
  return places.reduce((text, [from, to]) => {
    assert.ok(text.includes(from), from);
    return text.replace(from, to);
  }, example);
}

const PAGES = {
  "the local runtime": example,
  "the runtime for the AI SDK": changed(
    ["  useLocalRuntime,\n", ""],
    ["() => useLocalRuntime(model)", "useRuntime"],
    ['{ name: "assistant-ui" }', '{ name: "ai-sdk" }'],
    ["let answers = 0;", `let answers = 0;\n${CHAT}`],
  ),
};

let browser, site;
const folder = join(project, "assistant-ui");

before(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const [at, contents] of Object.values(PAGES).entries()) {
    mkdirSync(join(folder, String(at)), { recursive: true });
    writeFileSync(
      join(folder, String(at), "index.html"),
      '<!doctype html><meta charset="utf-8"><title>chat</title><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="app.js"></script>',
    );
    await build({
      stdin: { contents, loader: "jsx", resolveDir: source },
      outfile: join(folder, String(at), "app.js"),
      bundle: true,
      format: "esm",
      target: "es2022",
      jsx: "automatic",
      define: { "process.env.NODE_ENV": '"production"' },
      logLevel: "error",
      plugins: [
        {
          name: "the package as it is",
          setup({ onResolve }) {
            onResolve({ filter: /^threadkeep(\/|$)/ }, ({ path }) => ({
              path: path === "threadkeep" ? "/package/dist/index.js" : `/package/dist/frameworks/${path.slice("threadkeep/".length)}.js`,
              external: true,
            }));
          },
        },
      ],
    });
  }
  browser = await launch();
  site = await serve({ "/package/": installed, "/": folder });
});

after(async () => {
  await browser?.close();
  await site?.close();
});

for (const [at, name] of Object.keys(PAGES).entries())
  test(`${name}: threads, branches and edits of a page are there after a reload`, { timeout: 120_000 }, () =>
    chat(`${site.address}${at}/index.html`, at === 0 ? "assistant-ui" : "ai-sdk"),
  );

async function chat(address, name) {
  const page = await browser.newPage();
  const complaints = [];
  page.on("console", (words) => words.type() === "error" && complaints.push(words.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.setDefaultTimeout(30_000);
  const message = (text) => page.locator(".message", { hasText: text });
  try {
    await page.goto(address);
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

    // The page shows an answer before it is on the disk, and does not wait for that.
    const written = `(async () => {
      const { Threadkeep } = await import("/package/dist/index.js");
      const keep = await Threadkeep.open({ name: ${JSON.stringify(name)} });
      while (!(await keep.export().text()).includes("(answer 5)")) await new Promise((resolve) => setTimeout(resolve, 20));
      await keep.close();
    })()`;
    await page.evaluate(written);
    await page.reload();
    await page.locator(".thread", { hasText: "First words" }).getByRole("button").click();
    await message("You said: Other words (answer 4)").waitFor();
    const shown = await page.locator(".message").allTextContents();
    assert.deepEqual(
      shown.map((text) => /^(.*?)(Edit|Another answer)/.exec(text)?.[1]),
      ["First words", "You said: First words (answer 2)", "Other words", "You said: Other words (answer 4)"],
    );
    await page.locator(".message").nth(2).getByRole("button", { name: "‹" }).click();
    await message("You said: More words (answer 3)").waitFor();
    await page.locator(".message").nth(1).getByRole("button", { name: "‹" }).click();
    await message("You said: First words (answer 1)").waitFor();
    await page.locator(".thread", { hasText: "Another thread" }).getByRole("button").click();
    await message("You said: Another thread (answer 5)").waitFor();
    assert.deepEqual(complaints, []);
  } catch (error) {
    throw new Error(
      `${error.message}\nthe page: ${await page
        .locator("body")
        .innerText()
        .catch(() => "")}\n${complaints.join("\n")}`,
    );
  } finally {
    await page.close();
  }
}
