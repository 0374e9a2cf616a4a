// The hooks of `threadkeep/react` in headless Chromium: the example as it stands, two tabs that act at random against a plain model, a page that a
// server rendered, and what is left after many mounts.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { serve } from "../../tests/e2e/support/serve.mjs";
import { launch } from "./support/browser.mjs";
import { installed, project, source } from "./support/installed.mjs";

const STEPS = Number(process.env.THREADKEEP_STEPS ?? 40);
const folder = join(project, "react");
let browser, site;

/** Bundles a module for the browser: the hooks are part of it, the package beside them stays as it is. */
async function bundle(contents, name, loader) {
  await build({
    stdin: { contents, loader, resolveDir: source },
    outfile: join(folder, name, "app.js"),
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    // StrictMode mounts twice only here.
    define: { "process.env.NODE_ENV": '"development"' },
    logLevel: "error",
    plugins: [
      {
        name: "the package as it is",
        setup({ onResolve }) {
          onResolve({ filter: /^threadkeep\/react$/ }, () => ({ path: join(installed, "dist/frameworks/react.js") }));
          onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
            const from = relative(installed, join(resolveDir, path)).replaceAll("\\", "/");
            return from.startsWith("dist/") && !from.startsWith("dist/frameworks/react") ? { path: `/package/${from}`, external: true } : undefined;
          });
        },
      },
    ],
  });
}

before(async () => {
  rmSync(folder, { recursive: true, force: true });
  const page = (inside) =>
    `<!doctype html><meta charset="utf-8"><title>chat</title><link rel="icon" href="data:,"><div id="root">${inside}</div><script type="module" src="app.js"></script>`;
  await bundle(readFileSync(join(installed, "examples/react-chat.jsx"), "utf8"), "example", "jsx");
  const app = readFileSync(join(source, "test/support/react-app.jsx"), "utf8");
  await bundle(app, "app", "jsx");
  // What a server makes of it, with the package as Node finds it.
  mkdirSync(join(folder, "server"), { recursive: true });
  await build({
    stdin: {
      contents: `${app}\nimport { renderToString } from "react-dom/server";\nexport const html = renderToString(<StrictMode><App /></StrictMode>);`,
      loader: "jsx",
      resolveDir: project,
    },
    outfile: join(folder, "server/app.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    jsx: "automatic",
    logLevel: "error",
  });
  const { html } = await import(pathToFileURL(join(folder, "server/app.mjs")).href);
  assert.match(html, /<main id="loading">/);
  writeFileSync(join(folder, "example/index.html"), page(""));
  writeFileSync(join(folder, "app/index.html"), page(html));
  browser = await launch();
  site = await serve({ "/package/": installed, "/": folder });
});

after(async () => {
  await browser?.close();
  await site?.close();
});

/** A tab of a profile, with what it complained of. */
async function tab(profile, path) {
  const page = await profile.newPage();
  const complaints = [];
  page.on("console", (words) => words.type() === "error" && complaints.push(words.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.setDefaultTimeout(20_000);
  await page.goto(`${site.address}${path}/index.html`);
  return Object.assign(page, { complaints });
}

async function ready(page) {
  await page.waitForFunction(() => globalThis.app?.agent?.agent !== undefined && app.status === "ready");
}

test("the example: a chat with edits, other answers and a search is there after a reload", { timeout: 120_000 }, async () => {
  const profile = await browser.newContext();
  const page = await tab(profile, "example");
  const message = (text) => page.locator(".message", { hasText: text });
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
  await message("More words").first().getByRole("button", { name: "Edit" }).click();
  await say("Other words");
  await message("You said: Other words (answer 4)").waitFor();
  await page.locator(".message", { hasText: "2 of 2" }).nth(1).getByRole("button", { name: "‹" }).click();
  await message("You said: More words (answer 3)").waitFor();
  await page.getByText(/^\d+ tokens$/).waitFor();
  await page.getByPlaceholder("Search").fill("other");
  await page.locator(".hit", { hasText: "Other words" }).first().waitFor();
  await page.reload();
  await message("You said: More words (answer 3)").waitFor();
  assert.deepEqual(await page.locator(".text").allTextContents(), [
    "First words",
    "You said: First words (answer 2)",
    "More words",
    "You said: More words (answer 3)",
  ]);
  assert.deepEqual(page.complaints, []);
  await profile.close();
});

test("a page that a server rendered takes over without a complaint", { timeout: 60_000 }, async () => {
  const profile = await browser.newContext();
  const page = await tab(profile, "app");
  await ready(page);
  assert.deepEqual(page.complaints, []);
  await profile.close();
});

test("an answer grows, and is never gone or doubled when it is stored", { timeout: 60_000 }, async () => {
  const profile = await browser.newContext();
  const page = await tab(profile, "app");
  await ready(page);
  const frames = await page.evaluate(async () => {
    globalThis.pause = 4;
    const frames = [];
    let over = false;
    const look = () => {
      frames.push([...document.querySelectorAll(".message")].map((one) => one.textContent).filter((text) => text.startsWith("assistant")));
      if (!over) requestAnimationFrame(look);
    };
    look();
    const question = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
    await app.agent.send(question, { conversation: "talk" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    over = true;
    return frames;
  });
  const last = frames.at(-1);
  assert.equal(last.length, 1);
  let length = 0;
  for (const shown of frames) {
    assert.ok(shown.length <= 1, `doubled: ${JSON.stringify(shown)}`);
    const [text = ""] = shown;
    assert.ok(last[0].startsWith(text.trimEnd()) && text.length >= length, `after ${length} letters: ${JSON.stringify(text)}`);
    length = text.length;
  }
  const steps = new Set(frames.map(([text = ""]) => text.length)).size;
  assert.ok(steps > 5, `it was seen to grow ${steps} times`);
  assert.deepEqual(page.complaints, []);
  await profile.close();
});

/** A plain model of the thread: nodes in the order in which they were made, and where it ends. */
class Model {
  nodes = new Map();
  head = undefined;

  add(id, parent, text) {
    this.nodes.set(id, { id, parent, text });
    this.head = id;
  }

  chain() {
    const chain = [];
    for (let here = this.nodes.get(this.head); here !== undefined; here = this.nodes.get(here.parent)) chain.unshift(here);
    return chain;
  }

  versions({ parent }) {
    return [...this.nodes.values()].filter((node) => node.parent === parent).map(({ id }) => id);
  }

  /** The newest node at or below one. */
  newestBelow(id) {
    const isBelow = (node) => node !== undefined && (node.id === id || isBelow(this.nodes.get(node.parent)));
    return [...this.nodes.values()].filter(isBelow).at(-1).id;
  }
}

test(`${STEPS} steps of saying, editing, asking again and switching in two tabs show what a plain model has`, { timeout: 1_800_000 }, async () => {
  const seed = Number(process.env.THREADKEEP_SEED ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}`);
  let state = seed;
  const random = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
  const profile = await browser.newContext();
  const tabs = [await tab(profile, "app"), await tab(profile, "app")];
  for (const page of tabs) await ready(page);
  const model = new Model();
  const counts = {};
  let root;
  for (let step = 0; step < STEPS; step += 1) {
    const page = tabs[random(2)];
    const chain = model.chain();
    const node = chain[random(Math.max(1, chain.length))];
    const what = node === undefined ? "say" : ["say", "say", "edit", "again", "choose", "together"][random(6)];
    counts[what] = (counts[what] ?? 0) + 1;
    const said = `step ${step}`;
    const send = (page, text, replyTo) =>
      page.evaluate(([text, replyTo]) => app.agent.send(text, { conversation: "talk", ...(replyTo ? { replyTo } : {}) }), [text, replyTo]);
    if (what === "say") {
      const { node: id } = await send(page, said);
      root ??= await page.evaluate(async (id) => (await app.keep.node(id)).parent, id);
      model.add(id, model.head ?? root, said);
    } else if (what === "edit") {
      const { node: id } = await send(page, said, node.parent);
      model.add(id, node.parent, said);
    } else if (what === "again") {
      const { node: id } = await page.evaluate((id) => app.agent.again(id, { conversation: "talk" }), node.id);
      model.add(id, node.parent, node.text);
    } else if (what === "together") {
      // Both tabs speak at once: one answer follows the other, and which comes first is theirs to say.
      const sent = await Promise.all(tabs.map((page, at) => send(page, `${said} of ${at}`)));
      const parents = await page.evaluate(
        (ids) => Promise.all(ids.map(async (id) => (await app.keep.node(id)).parent)),
        sent.map(({ node }) => node),
      );
      const first = parents.indexOf(model.head);
      assert.ok(first >= 0, `step ${step}: one of ${parents} follows ${model.head}`);
      model.add(sent[first].node, parents[first], `${said} of ${first}`);
      assert.equal(parents[1 - first], sent[first].node, `step ${step}`);
      model.add(sent[1 - first].node, parents[1 - first], `${said} of ${1 - first}`);
    } else {
      const versions = model.versions(node);
      const index = random(versions.length);
      await page.evaluate(([id, index]) => app.choosers.get(id).choose(index), [node.id, index]);
      model.head = model.newestBelow(versions[index]);
    }
    const wanted = model.chain().flatMap((one) => {
      const versions = model.versions(one);
      return [`user: ${one.text}`, `assistant: You said: ${one.text}`].map((text) => [one.id, `${versions.indexOf(one.id) + 1}/${versions.length}`, text]);
    });
    for (const [at, page] of tabs.entries()) {
      const shown = () =>
        page.evaluate(() =>
          [...document.querySelectorAll(".message")].map((one) => [one.dataset.node, one.dataset.versions, one.textContent.replace(/ \/ .*$/, "")]),
        );
      let now = await shown();
      for (const end = Date.now() + 10_000; JSON.stringify(now) !== JSON.stringify(wanted) && Date.now() < end; now = await shown())
        await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(now, wanted, `seed ${seed}, step ${step}, ${what}, tab ${at}`);
    }
  }
  console.log(JSON.stringify(counts));
  const { tokens, ids } = await tabs[0].evaluate(async () => ({
    tokens: app.context.tokens,
    ids: (await app.keep.transcript(app.nodes[0].transcript).tree()).map(({ id }) => id),
  }));
  assert.ok(tokens > 0);
  // No version of anything was lost.
  for (const id of model.nodes.keys()) assert.ok(ids.includes(id), id);
  for (const { complaints } of tabs) assert.deepEqual(complaints, []);
  await profile.close();
});

test("nothing is left of 200 mounts", { timeout: 120_000 }, async () => {
  const profile = await browser.newContext();
  const page = await tab(profile, "app");
  await ready(page);
  const before = await page.evaluate(async () => {
    await app.agent.send("one", { conversation: "talk" });
    const { keep } = app;
    const on = Object.getPrototypeOf(keep).on;
    globalThis.heard = 0;
    keep.on = function (...all) {
      heard += 1;
      const off = on.apply(this, all);
      return () => {
        heard -= 1;
        off();
      };
    };
    globalThis.firstKeep = keep;
    globalThis.agents = [];
    for (let at = 0; at < 200; at += 1) {
      app.setShown(false);
      while (app.shown) await new Promise((resolve) => setTimeout(resolve));
      app.agent = {};
      app.setShown(true);
      while (!app.shown || app.agent.agent === undefined) await new Promise((resolve) => setTimeout(resolve));
      agents.push(new WeakRef(app.agent.agent));
    }
    while (app.nodes.length === 0 || app.status !== "ready") await new Promise((resolve) => setTimeout(resolve));
    return heard;
  });
  assert.ok(before >= 3, `${before} readings listen`);
  await page.evaluate(async () => {
    app.setShown(false);
    while (app.shown) await new Promise((resolve) => setTimeout(resolve));
    app.agent = {};
  });
  assert.equal(await page.evaluate(() => heard), 0, "listeners");
  const session = await profile.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const left = await page.evaluate(() => agents.filter((agent) => agent.deref() !== undefined).length);
  assert.ok(left <= 2, `${left} agents are left`);
  assert.equal(await page.evaluate(() => app.keep === firstKeep), true, "the same keep all the time");
  assert.deepEqual(page.complaints, []);
  await profile.close();
});

test("a keep that cannot be opened says why, and a press tries again", { timeout: 60_000 }, async () => {
  const profile = await browser.newContext();
  await profile.addInitScript(() => {
    const { open } = IDBFactory.prototype;
    globalThis.allow = () => (IDBFactory.prototype.open = open);
    IDBFactory.prototype.open = () => {
      throw new DOMException("not here", "SecurityError");
    };
  });
  const page = await tab(profile, "example");
  await page.getByRole("alert").filter({ hasText: "storage is not available" }).waitFor();
  await page.evaluate(() => allow());
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByPlaceholder("Say something").waitFor();
  await profile.close();
});

test("a hook without a provider says what is missing", async () => {
  const { useKeep } = await import(pathToFileURL(join(installed, "dist/frameworks/react.js")).href);
  assert.throws(() => renderToString(createElement(() => useKeep().status)), /no <KeepProvider> above this component: put one around/);
});
