// The keep's tools for the browser's agent, in a Chromium that has WebMCP (behind a switch), as a page and as the browser's own side see
// them; and in one that has it not. Nothing here is a stand-in. A Chromium without WebMCP, whatever the switch, is said and skipped.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./support/browser.mjs";
import { servePackage } from "./support/package.mjs";

let server, plain, able;

before(async () => {
  server = await servePackage();
  [plain, able] = await Promise.all([launch(), launch({ args: ["--enable-features=WebMCP"] })]);
});
after(async () => {
  await plain?.close();
  await able?.close();
  await server?.close();
});

/** A page with a keep in it, and in its `window`: `keep`, `registerTools`, `hasWebMcp`. */
async function opened(browser) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(server.address);
  await page.evaluate(async () => {
    const { Threadkeep } = await import("/package/dist/index.js");
    Object.assign(window, await import("/package/dist/tools/webmcp.js"));
    window.keep = await Threadkeep.open({ name: "webmcp" });
    await window.keep.thread("trip").append([
      { role: "user", content: "I lost my luggage in Oslo." },
      { role: "assistant", content: "It is in Bergen." },
    ]);
  });
  return page;
}

const missing = async () => {
  const page = await (await able.newContext()).newPage();
  await page.goto(server.address);
  const has = await page.evaluate(() => typeof document.modelContext?.registerTool === "function");
  await page.context().close();
  return !has;
};

test("without the switch this browser has no WebMCP, and the page is told so", { timeout: 60_000 }, async (t) => {
  const page = await opened(plain);
  const [has, registered] = await page.evaluate(async () => [hasWebMcp(), typeof (await registerTools(keep))]);
  t.diagnostic(`Chromium ${plain.version()}: WebMCP without a switch: ${has}`);
  assert.equal(registered, has ? "function" : "boolean");
  await page.context().close();
});

test("a page's own agent finds the tools, calls them, and sees them go", { timeout: 60_000 }, async (t) => {
  if (await missing()) return t.skip("this Chromium has no WebMCP, with the switch neither");
  const page = await opened(able);
  const seen = await page.evaluate(async () => {
    const context = document.modelContext;
    const names = async () => (await context.getTools()).map(({ name }) => name);
    const seen = { has: hasWebMcp(), changes: 0 };
    context.addEventListener("toolchange", () => (seen.changes += 1));
    const unregister = await registerTools(keep);
    const tools = await context.getTools();
    const call = async (name, input) =>
      JSON.parse(
        await context.executeTool(
          tools.find((tool) => tool.name === name),
          input,
        ),
      );
    seen.tools = tools.map(({ name, title, description, inputSchema, annotations }) => ({
      name,
      title,
      words: description.length,
      inputSchema,
      readOnly: annotations.readOnlyHint,
      untrusted: annotations.untrustedContentHint,
    }));
    seen.found = await call("search_memory", { query: "luggage" });
    seen.wrong = await call("search_memory", { query: 5, colour: "red" });
    seen.again = await registerTools(keep).then(
      () => "twice",
      ({ code, message }) => [code, message],
    );
    seen.still = await names();
    unregister();
    seen.after = await names();
    const controller = new AbortController();
    await registerTools(keep, { readOnly: false, prefix: "all_", signal: controller.signal });
    seen.all = await names();
    controller.abort();
    seen.none = await names();
    return seen;
  });
  assert.equal(seen.has, true);
  assert.deepEqual(seen.tools.map(({ name }) => name).sort(), [
    "list_conversations",
    "list_episodes",
    "memory_view",
    "read_conversation",
    "read_message",
    "recall_facts",
    "search_memory",
  ]);
  for (const { title, words, inputSchema, readOnly, untrusted } of seen.tools)
    assert.ok(title && words > 40 && inputSchema.type === "object" && readOnly && untrusted);
  assert.match(seen.found.content[0].text, /lost my luggage in Oslo/);
  assert.equal(seen.wrong.isError, true);
  assert.match(seen.wrong.content[0].text, /query must be a string/);
  assert.equal(seen.again[0], "bad-request");
  assert.equal(seen.still.length, 7, "a second registration that failed took nothing away");
  assert.deepEqual(seen.after, []);
  assert.equal(seen.all.length, 14);
  assert.ok(seen.all.every((name) => name.startsWith("all_")));
  assert.deepEqual(seen.none, []);
  await page.context().close();
});

test("the browser's own side sees the tools with their hints, and calls them", { timeout: 60_000 }, async (t) => {
  if (await missing()) return t.skip("this Chromium has no WebMCP, with the switch neither");
  const page = await opened(able);
  const devtools = await page.context().newCDPSession(page);
  const tools = new Map();
  const answers = new Map();
  let wake = () => {};
  devtools.on("WebMCP.toolsAdded", (event) => (event.tools.forEach((tool) => tools.set(tool.name, tool)), wake()));
  devtools.on("WebMCP.toolsRemoved", (event) => (event.tools.forEach(({ name }) => tools.delete(name)), wake()));
  devtools.on("WebMCP.toolResponded", (event) => (answers.set(event.invocationId, event), wake()));
  const until = async (done) => {
    while (!done()) await new Promise((resolve) => (wake = resolve));
  };
  await devtools.send("WebMCP.enable");
  await page.evaluate(async () => void (window.unregister = await registerTools(keep, { readOnly: false })));
  await until(() => tools.size === 14);
  const { frameId, annotations } = tools.get("memory_delete");
  assert.deepEqual([annotations.readOnly, annotations.consequential, annotations.untrustedContent], [false, true, true]);
  assert.equal(tools.get("search_memory").annotations.readOnly, true);
  const call = async (toolName, input) => {
    const { invocationId } = await devtools.send("WebMCP.invokeTool", { toolName, frameId, input });
    await until(() => answers.has(invocationId));
    const { status, output } = answers.get(invocationId);
    assert.equal(status, "Completed");
    return output;
  };
  assert.equal(
    (await call("memory_create", { path: "/memories/a.md", file_text: "from the browser" })).content[0].text,
    "File created successfully at: /memories/a.md",
  );
  assert.match((await call("memory_view", { path: "/memories" })).content[0].text, /16B\t\/memories\/a\.md$/);
  assert.equal((await call("memory_view", { path: "/memories/../x" })).isError, true);
  await page.evaluate(() => window.unregister());
  await until(() => tools.size === 0);
  await page.context().close();
});

test("two tabs that edit one memory file at once lose nothing", { timeout: 120_000 }, async (t) => {
  // On IndexedDB, through the tools themselves; with or without WebMCP.
  const context = await plain.newContext();
  const waiting = [];
  await context.exposeFunction("together", () => new Promise((go) => waiting.push(go) === 2 && waiting.forEach((go) => go())));
  const tabs = await Promise.all([0, 1].map(() => context.newPage()));
  for (const tab of tabs) {
    await tab.goto(server.address);
    await tab.evaluate(async () => {
      const { Threadkeep } = await import("/package/dist/index.js");
      const { memoryTools, memoryFiles } = await import("/package/dist/tools/tools.js");
      window.keep = await Threadkeep.open({ name: "shared-memory" });
      window.call = async (name, input) =>
        (
          await memoryTools(keep)
            .find((tool) => tool.name === name)
            .answer(input)
        ).text;
      window.read = (path) => memoryFiles(keep).read(path);
    });
  }
  const slots = Array.from({ length: 100 }, (_, at) => at);
  await tabs[0].evaluate((slots) => call("memory_create", { path: "/memories/shared.md", file_text: slots.map((at) => `slot ${at}: -\n`).join("") }), slots);
  const said = await Promise.all(
    tabs.map((tab, who) =>
      tab.evaluate(
        async ([who, slots]) => {
          const said = [];
          await together();
          for (const at of slots.filter((at) => at % 2 === who)) {
            said.push(await call("memory_str_replace", { path: "/memories/shared.md", old_str: `slot ${at}: -\n`, new_str: `slot ${at}: tab ${who}\n` }));
            said.push(await call("memory_insert", { path: "/memories/shared.md", insert_line: 0, insert_text: `line ${at}` }));
          }
          return said;
        },
        [who, slots],
      ),
    ),
  );
  for (const text of said.flat()) assert.match(text, /has been edited/);
  const [left, right] = await Promise.all(tabs.map((tab) => tab.evaluate(() => read("/memories/shared.md"))));
  assert.equal(left, right);
  const lines = left.split("\n");
  assert.deepEqual(
    lines.filter((line) => line.startsWith("slot")),
    slots.map((at) => `slot ${at}: tab ${at % 2}`),
  );
  assert.deepEqual(lines.filter((line) => line.startsWith("line")).sort(), slots.map((at) => `line ${at}`).sort());
  const order = lines.filter((line) => line.startsWith("line")).map((line) => Number(line.split(" ")[1]) % 2);
  const turns = order.filter((who, at) => at > 0 && who !== order[at - 1]).length;
  assert.ok(turns > 1, "they did write at once");
  t.diagnostic(`200 edits; the tab that wrote changed ${turns} times`);
  await context.close();
});
