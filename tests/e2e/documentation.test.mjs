// The documentation as a static site, below a path of its own as on a host of project pages: `cargo xtask site`.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { rules } from "./support/axe.mjs";
import { launch } from "./support/browser.mjs";
import { serve } from "./support/serve.mjs";
import { Guard } from "./support/site.mjs";

const folder = process.env.THREADKEEP_DOCUMENTATION ?? fileURLToPath(new URL("../../target/documentation", import.meta.url));
if (!existsSync(folder)) throw new Error(`there is no documentation in ${folder}: run \`cargo xtask site --base /documentation/\``);
let server;
let browser;

before(async () => {
  server = await serve({ "/documentation/": folder }, { policy: null });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** A reader in a browser of their own. `open` leads to a page of the site by its path; no error and no request elsewhere is let pass. */
async function read(run, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, serviceWorkers: "block", ...options });
  const guard = new Guard(context, server.address);
  await guard.watch();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const open = async (path) => {
    await page.goto(`${server.address}documentation/${path}`);
    await page.locator("html[data-ready], #app > *, [data-testid=tally]").first().waitFor();
  };
  try {
    await run(page, open);
    guard.check();
  } finally {
    await context.close();
  }
}

const chapters = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".html") && !/^(api|app|package|404)/.test(name));

test("every chapter opens without an error", { timeout: 180_000 }, () =>
  read(async (page, open) => {
    assert.ok(chapters.length > 30, `${chapters.length} chapters`);
    for (const path of [...chapters, "api/README.html", "api/threadkeep/interfaces/Thread.html"]) {
      await open(path);
      await page.locator("h1").first().waitFor();
    }
  }),
);

/** What the code says that it prints: the comment behind each `console.log`. */
const promised = (code) => [...code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line);

test("each example prints what its comments say", { timeout: 120_000 }, () =>
  read(async (page, open) => {
    await open("docs/try.html");
    const examples = await page.locator(".example").all();
    let seen = 0;
    for (const example of examples) {
      const code = await example.locator("code").innerText();
      if (code.includes("input.click()")) continue;
      await example.locator(".run").click();
      await example.and(page.locator("[data-state=done], [data-state=failed]")).waitFor();
      const printed = await example.locator("output").innerText();
      assert.equal(await example.getAttribute("data-state"), "done", printed);
      const lines = printed.split("\n").map((line) => line.trim());
      for (const line of promised(code)) assert.ok(lines.includes(line), `“${line}” is not in\n${printed}`);
      seen += promised(code).length;
    }
    assert.equal(examples.length, 6);
    assert.ok(seen >= 8, `${seen} lines are promised`);
  }),
);

test("an edited example runs as it was edited, and says how it failed", () =>
  read(async (page, open) => {
    await open("docs/try.html");
    const example = page.locator(".example").nth(1);
    await example.getByRole("button", { name: "Edit" }).click();
    const code = example.getByRole("textbox");
    const kept = async (budget) => {
      await code.fill((await code.inputValue()).replace(/maxTokens: \d+/, `maxTokens: ${budget}`));
      await example.locator(".run").click();
      await example.and(page.locator("[data-state=done]")).waitFor();
      return (await example.locator("output").innerText()).split("\n").filter((line) => line.startsWith("kept")).length;
    };
    assert.ok((await kept(60)) < (await kept(140)));
    await code.fill("nothing.there();");
    await example.locator(".run").click();
    await example.and(page.locator("[data-state=failed]")).waitFor();
    assert.match(await example.locator("output").innerText(), /ReferenceError: nothing is not defined/);
  }));

test("the reader's own archive is read in the page", () =>
  read(async (page, open) => {
    await open("docs/try.html");
    const example = page.locator(".example").filter({ hasText: "input.click()" });
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), example.locator(".run").click()]);
    await chooser.setFiles(resolve(fileURLToPath(import.meta.url), "../../../crates/archive/fixtures/chatgpt.json"));
    await example.and(page.locator("[data-state=done], [data-state=failed]")).waitFor();
    assert.match(await example.locator("output").innerText(), /^\d+ conversations, \d+ messages\n/);
  }));

test("the search finds a method of the reference and a chapter of the guide", () =>
  read(async (page, open) => {
    await open("index.html");
    await page.keyboard.press("Control+k");
    const field = page.locator("#localsearch-input");
    for (const [words, place] of [
      ["afterResponse", /\/api\//],
      ["time to live", /\/npm\/README\.html/],
    ]) {
      await field.fill(words);
      await page.locator("#localsearch-list a").first().waitFor();
      const links = await page.locator("#localsearch-list a").evaluateAll((list) => list.map((link) => link.href));
      assert.ok(
        links.some((link) => place.test(link)),
        `${words}: ${links.join(" ")}`,
      );
    }
  }));

test("the page is there as live demo", () =>
  read(async (page, open) => {
    await open("index.html");
    await page.getByRole("link", { name: "Open the page" }).first().click();
    await page.waitForFunction(() => document.querySelector("[data-testid=tally]")?.textContent.trim());
    assert.equal(new URL(page.url()).pathname, "/documentation/app/index.html");
  }));

test("what a measurement printed is on the page of figures, row by row", () =>
  read(async (page, open) => {
    const kept = new URL("../../docs/site/measured/", import.meta.url);
    const files = readdirSync(kept).filter((name) => name.endsWith(".tsv"));
    assert.notEqual(files.length, 0);
    await open("docs/measured.html");
    const rows = await page.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
    const printed = files.flatMap((name) => readFileSync(new URL(name, kept), "utf8").trim().split("\n").slice(1));
    assert.deepEqual(rows.map((row) => row.join("\t").replace(/\s+/g, " ").trim()).sort(), printed.map((row) => row.replace(/\s+/g, " ").trim()).sort());
  }));

for (const colorScheme of ["light", "dark"])
  test(`the site passes the accessibility rules in ${colorScheme}`, { timeout: 60_000 }, () =>
    read(
      async (page, open) => {
        const { look, check } = rules(page);
        for (const path of ["index.html", "docs/try.html", "npm/README.html", "docs/measured.html", "api/threadkeep/interfaces/Thread.html"]) {
          await open(path);
          await page.locator("h1").first().waitFor();
          await look(path);
        }
        check();
      },
      { colorScheme },
    ),
  );
