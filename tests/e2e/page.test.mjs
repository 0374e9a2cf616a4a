// The page from end to end: an export comes in, is read branch by branch, goes out, and comes in again.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { oneFile, parts, SCRIPT, small, toFolder, toZip, Tree } from "./support/chatgpt.mjs";
import { scratch } from "./support/package.mjs";
import { openSite, Site } from "./support/site.mjs";

const TITLES = [`A title with <b>marks</b> & "quotes"`, "Markdown of every kind", "Adding up a column", "Sourdough for beginners"];
const EXPORT = { name: "conversations.json", data: oneFile(small()) };
const ADDED = { added: 4, updated: 0, unchanged: 0, skipped: 0 };
const AGAIN = { added: 0, updated: 0, unchanged: 4, skipped: 0 };

let site, files;

before(async () => {
  files = scratch("files");
  site = await openSite();
});
after(async () => {
  await site?.close();
  files?.remove();
});

function figures({ added, updated, unchanged, skipped }) {
  return { added, updated, unchanged, skipped };
}

test("an export picked as a file becomes a list with titles and counts", () =>
  site.visit(async (tab) => {
    await tab.get("empty").waitFor();
    assert.deepEqual(figures(await tab.pick(EXPORT)), ADDED);
    const list = await tab.list();
    assert.deepEqual(
      list.map(({ title }) => title),
      TITLES,
      "newest first",
    );
    assert.match(list[3].facts, /\b14\s+messages\b/);
    assert.match(list[3].facts, /\b4\b.*branches/s);
    assert.match(list[0].facts, /ChatGPT/);
    await tab.get("filter").fill("sourd");
    assert.deepEqual(
      (await tab.list()).map(({ title }) => title),
      ["Sourdough for beginners"],
    );
    await tab.get("filter").fill("");
    await tab.get("sort").selectOption({ label: "Title" });
    assert.equal((await tab.list())[0].title, TITLES[0]);
    assert.equal((await tab.list())[3].title, "Sourdough for beginners");
  }));

test("files that are picked or dropped in the page's first instant are imported once it is ready", () =>
  site.visit(async (tab, context) => {
    const [picked, dropped] = [oneFile([small()[0]]), oneFile([small()[1]])];
    // The store opens late, the module comes later than what is dropped.
    const early = await context.newPage();
    await early.addInitScript(() => {
      const { post } = { post: Worker.prototype.postMessage };
      Worker.prototype.postMessage = function (...args) {
        setTimeout(() => post.apply(this, args), 1500);
      };
    });
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await early.route(/app_bg\.wasm$/, async (route) => (await held, route.continue()));
    const next = new Site(early, site.address, tab.guard);
    await early.goto(site.address);
    await early.evaluate((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "dropped.json", { type: "application/json" }));
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    }, dropped);
    release();
    await next
      .get("drop-input")
      .first()
      .setInputFiles({ name: "picked.json", mimeType: "application/json", buffer: Buffer.from(picked) });
    await early.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 2);
  }));

test("files that come while others are imported wait for their turn", () =>
  site.visit(async (tab) => {
    const files = small().map((one, at) => ({ name: `${at}.json`, mimeType: "application/json", buffer: Buffer.from(oneFile([one])) }));
    for (const file of files) await tab.get("drop-input").first().setInputFiles(file);
    await tab.page.waitForFunction((count) => document.querySelectorAll("[data-testid=thread-row]").length === count, files.length);
  }));

test("a file, a zip and a folder dropped on the page are the same archive", () =>
  site.visit(async (tab) => {
    const zip = join(files.folder, "export.zip");
    writeFileSync(zip, toZip({ "chat.html": "<p>chat</p>", ...parts(small()) }));
    const folder = toFolder(join(files.folder, "folder"), parts(small()));
    const file = join(files.folder, "conversations.json");
    writeFileSync(file, EXPORT.data);
    const first = await tab.drop(folder);
    assert.equal(first.added, 4, first.text);
    for (const again of [zip, file]) {
      const report = await tab.drop(again);
      assert.equal(report.unchanged, 4, report.text);
      assert.equal(report.added + report.updated, 0, report.text);
    }
    assert.equal((await tab.list()).length, 4);
  }));

test("a conversation is read branch by branch, by click and by key, and its place is in the address", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    const listed = tab.page.url();
    await tab.openThread("Sourdough for beginners");
    const chosen = [
      "How do I begin a sourdough starter?",
      "Take fifty grams of rye flour and fifty of water, stir, cover.",
      "Why rye?",
      "Rye brings more wild yeast with it.",
      "Can I keep it in the fridge?",
      "Yes, for a week.",
    ];
    assert.deepEqual(await tab.texts(), chosen, "the branch that the export chose");
    assert.deepEqual(
      await tab.get("depth").allInnerTexts(),
      [1, 2, 3, 4, 5, 6].map((depth) => `depth ${depth}`),
    );
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2", "2/3"]);

    const third = tab.message("Can I keep it in the fridge?");
    await third.getByTestId("fork-next").click();
    await tab.message("What if it smells sour?").waitFor();
    assert.deepEqual((await tab.texts()).slice(4), ["What if it smells sour?", "Good, it should."]);
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2", "3/3"]);
    assert.ok(await tab.message("What if it smells sour?").getByTestId("fork-next").isDisabled(), "there is no fourth");
    const address = decodeURIComponent(tab.page.url());
    assert.match(address, /c0ffee00-0001-4000-8000-000000000001/, "the thread is in the address");
    const end = Object.values(small()[0].mapping).find(({ message }) => message?.content.parts[0] === "Good, it should.");
    assert.ok(address.endsWith(`/${end.id}`), `and so is the end of the branch: ${address}`);

    await tab.page.reload();
    await tab.message("What if it smells sour?").waitFor();
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2", "3/3"]);
    assert.equal(await tab.get("title").innerText(), "Sourdough for beginners");

    // By key: from the nearest fork above the message in focus, or the first on the screen.
    await tab.message("Good, it should.").focus();
    await tab.page.keyboard.press("[");
    await tab.message("Can I keep it in the fridge?").waitFor();
    await tab.page.keyboard.press("[");
    await tab.message("How often do I feed it?").waitFor();
    await tab.page.keyboard.press("]");
    await tab.message("Can I keep it in the fridge?").waitFor();

    // The other answer to the first question.
    await tab.message("Take fifty grams").getByTestId("fork-previous").click();
    await tab.message("Mix equal weights").waitFor();
    assert.equal((await tab.texts()).at(-1), "About 26 degrees is a good place.");
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["1/2"]);

    await tab.page.goBack();
    await tab.message("Take fifty grams").waitFor();
    const here = () => tab.page.evaluate(() => location.href);
    for (let steps = 0, now = await here(); steps < 10 && now !== listed; steps += 1, now = await here()) {
      await tab.page.evaluate(() => history.back());
      await tab.page.waitForFunction((before) => location.href !== before, now);
    }
    assert.equal(await here(), listed, "back leads to the list in the end");
    await tab.get("message").first().waitFor({ state: "detached" });
  }));

/** A session of Claude Code: two calls, of which one fails, and one that nobody answered. */
function session() {
  const at = (seconds) => new Date(Date.UTC(2026, 1, 2, 10, 0, seconds)).toISOString();
  const line = (uuid, parentUuid, seconds, role, content) => ({
    ...{ uuid, parentUuid, timestamp: at(seconds), type: role, sessionId: "one-card", cwd: "/srv", version: "2.1.0", isSidechain: false },
    message: { role, content, ...(role === "assistant" ? { id: uuid, model: "claude-opus-4-6" } : {}) },
  });
  const call = (id, command) => ({ type: "tool_use", id, name: "Bash", input: { command } });
  const result = (id, content, failed) => ({ type: "tool_result", tool_use_id: id, content, is_error: failed });
  return [
    line("u1", null, 0, "user", "Is the tree clean?"),
    line("a1", "u1", 10, "assistant", [{ type: "text", text: "I look." }, call("t1", "git status"), call("t2", "cargo test")]),
    line("r1", "a1", 11, "user", [result("t1", "nothing to commit", false)]),
    line("r2", "r1", 22, "user", [result("t2", "3 tests failed", true)]),
    line("a2", "r2", 30, "assistant", [call("t3", "ls")]),
  ]
    .map((entry) => JSON.stringify(entry))
    .join("\n");
}

test("a call of a tool and its result are one card, which says how it went and how long it took", () =>
  site.visit(async (tab) => {
    await tab.pick({ name: "session.jsonl", data: session(), type: "application/jsonl" });
    await tab.closeReport();
    await tab.openThread("Is the tree clean?");
    const cards = tab.page.locator("details.card");
    await cards.nth(2).waitFor();
    const lines = (await cards.locator("summary").allInnerTexts()).map((line) => line.replace(/\s+/g, " ").trim());
    assert.deepEqual(lines, ["Bash git status 1.0 s 17 B", "Bash cargo test failed 14 B", "Bash ls no result 21 B"]);
    assert.equal(await tab.page.getByText("This message is empty.").count(), 0);
    await cards.nth(1).locator("summary").click();
    await cards.nth(1).locator("pre").nth(1).waitFor();
    const inside = await cards.nth(1).locator("pre").allInnerTexts();
    assert.equal(inside.length, 2);
    assert.match(inside[0], /"command": "cargo test"/);
    assert.match(inside[1], /3 tests failed/);
  }));

test("tool calls and their results are collapsed, hidden nodes tucked away", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    await tab.openThread("Adding up a column");
    const code = tab.page.getByText("print(sum(n * n", { exact: false });
    const cards = tab.page.locator("details");
    await tab.message("The sum is 385.").waitFor();
    assert.equal(await cards.count(), 1, "one card for the call and its result");
    for (const card of await cards.all()) assert.equal(await card.getAttribute("open"), null, "closed at first");
    await cards.first().locator("summary").click();
    await cards.first().locator("pre").filter({ hasText: "print(sum(n * n" }).waitFor();
    assert.ok((await code.count()) > 0);
    await cards.first().locator("pre").filter({ hasText: "385" }).waitFor();
    const before = await tab.get("message").count();
    await tab.get("hidden").click();
    await tab.page.locator("[data-testid=message][data-role=system]").waitFor();
    assert.ok((await tab.get("message").count()) > before, "hidden nodes can be shown");
  }));

test("markdown is shown as what it means", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    await tab.openThread("Markdown of every kind");
    const message = tab.message("A heading");
    for (const what of ["em", "table td", "ol li", "blockquote", "pre code", "code"]) assert.ok((await message.locator(what).count()) > 0, what);
    const link = message.locator("a", { hasText: "a link" });
    assert.equal(await link.getAttribute("href"), "https://example.com/page");
    assert.match(await link.getAttribute("rel"), /noopener/);
    assert.ok((await tab.texts())[0].includes("do.\nOn two"), "a line break of the user's is one");
  }));

test("script in titles and messages is shown and never run", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    assert.equal((await tab.list())[0].title, TITLES[0], "marks in a title are text");
    await tab.openThread(TITLES[0]);
    await tab.message("Please say this").waitFor();
    const shown = (await tab.texts()).join("\n");
    for (const text of ["<script>window.hacked = true</script>", `onerror="window.hacked = true"`, "<div onclick="])
      assert.ok(shown.includes(text), `${text} is shown`);
    assert.ok(SCRIPT.length > 0);
    const press = tab.page.getByText("press", { exact: true });
    if (await press.count()) await press.first().click();
    await tab.page.getByText("raw", { exact: false }).first().click();
    assert.equal(await tab.page.evaluate(() => window.hacked), undefined);
    const harmful = await tab.page
      .locator("#app")
      .evaluate((app) =>
        [...app.querySelectorAll("script, iframe, [onclick], [onerror], [href^='javascript:'], [src^='javascript:']")].map((found) => found.outerHTML),
      );
    assert.deepEqual(harmful, []);
  }));

test("pictures and links in messages fetch nothing from elsewhere", () =>
  site.visit(async (tab) => {
    const tree = new Tree("c0ffee00-0005-4000-8000-000000000005", "Pictures from elsewhere");
    const ask = tree.say(tree.start, "user", "![mine](https://tracker.example/pixel.png) and <img src='https://tracker.example/2.png'>");
    tree.say(ask, "assistant", "![theirs](//tracker.example/3.png)\n\n[![both](https://tracker.example/4.png)](https://tracker.example/)\n\nDone.");
    await tab.pick({ name: "conversations.json", data: oneFile([tree.json]) });
    await tab.message("Done.").waitFor();
    await tab.page.evaluate(() => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 200))));
  }));

test("all exported, deleted and imported again is the same to the byte, and a second import adds nothing", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    const first = await tab.exportAll();
    assert.match(first.name, /\.threadkeep\.jsonl$/);
    assert.ok(first.data.length > 1000);
    const list = await tab.list();

    await tab.deleteAll();
    assert.deepEqual(await tab.list(), []);
    await tab.page.reload();
    await tab.get("empty").waitFor();

    const restored = await tab.pick({ name: first.name, data: first.data });
    assert.deepEqual(figures(restored), ADDED, restored.text);
    assert.deepEqual(await tab.list(), list);
    const second = await tab.exportAll();
    assert.ok(first.data.equals(second.data), "the second export is the first");

    assert.deepEqual(figures(await tab.pick({ name: first.name, data: first.data })), AGAIN);
    assert.deepEqual(figures(await tab.pick(EXPORT)), AGAIN, "nor does the archive itself");
    const third = await tab.exportAll();
    assert.ok(first.data.equals(third.data), "nothing was added");
    await tab.openThread("Sourdough for beginners");
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2", "2/3"]);
  }));

test("a newer export of the same conversations adds only what is new", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    const conversations = small();
    const bread = conversations[0];
    const leaf = bread.current_node;
    const id = `${bread.id}-new`;
    bread.mapping[leaf].children.push(id);
    bread.mapping[id] = {
      id,
      parent: leaf,
      children: [],
      message: {
        ...structuredClone(bread.mapping[leaf].message),
        id,
        author: { role: "user", name: null, metadata: {} },
        content: { content_type: "text", parts: ["And longer than a week?"] },
      },
    };
    bread.current_node = id;
    bread.update_time += 1000;
    const report = await tab.pick({ name: "conversations.json", data: oneFile(conversations) });
    assert.deepEqual(figures(report), { added: 0, updated: 1, unchanged: 3, skipped: 0 }, report.text);
    await tab.closeReport();
    await tab.openThread("Sourdough for beginners");
    await tab.message("And longer than a week?").waitFor();
    assert.deepEqual(
      await tab.get("depth").allInnerTexts(),
      [1, 2, 3, 4, 5, 6, 7].map((depth) => `depth ${depth}`),
    );
  }));

test("one thread is exported by itself, renamed, and deleted by itself", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    await tab.openThread("Adding up a column");
    const one = await tab.save(() => tab.get("export-thread").click());
    assert.ok(one.data.includes("c0ffee00-0002") && !one.data.includes("c0ffee00-0001"), "only this thread is in it");
    await tab.get("rename").click();
    await tab.get("rename-input").fill("Squares");
    await tab.page.keyboard.press("Enter");
    await tab.row("Squares").waitFor();
    await tab.get("delete-thread").click();
    await tab.row("Squares").waitFor({ state: "detached" });
    assert.equal((await tab.list()).length, 3);
    const report = await tab.pick({ name: one.name, data: one.data });
    assert.deepEqual(figures(report), { added: 1, updated: 0, unchanged: 0, skipped: 0 }, report.text);
    await tab.row("Adding up a column").waitFor();
  }));

test("the sample conversation is one click away and has branches", () =>
  site.visit(async (tab) => {
    await tab.get("sample").click();
    const report = await tab.report();
    assert.ok(report.added >= 1, report.text);
    assert.equal(report.skipped, 0, report.text);
    await tab.closeReport();
    if ((await tab.get("message").count()) === 0) await tab.get("thread-row").first().click();
    await tab.get("message").first().waitFor();
    const label = tab.get("fork-label").first();
    await label.waitFor();
    assert.match(await label.innerText(), /^\d+\/[2-9]/);
  }));

test("the map shows the tree, and a click on it opens that branch", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    await tab.openThread("Sourdough for beginners");
    if ((await tab.get("map").count()) === 0) await tab.get("map-toggle").click();
    await tab.get("map").waitFor();
    const nodes = tab.get("map-node");
    await nodes.first().waitFor();
    assert.ok((await nodes.count()) >= 4, "a stretch for every branch");
    await nodes.filter({ hasText: "smells sour" }).first().click();
    await tab.message("What if it smells sour?").waitFor();
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2", "3/3"]);
  }));

test("what one tab imports or deletes, the other shows", () =>
  site.visit(async (tab, context) => {
    const other = new Site(await context.newPage(), tab.address, tab.guard);
    await other.open();
    await other.get("empty").waitFor();
    await tab.pick(EXPORT);
    await other.row("Sourdough for beginners").waitFor();
    assert.deepEqual(await other.list(), await tab.list());
    await other.deleteAll();
    await tab.get("empty").waitFor();
  }));

test("an address that leads nowhere says so", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.page.goto(`${tab.address}#/t/none`);
    await tab.get("missing").waitFor();
  }));

test("everything works from the keyboard alone, with the focus always to be seen", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    const { keyboard } = tab.page;
    const focused = () => tab.page.evaluate(() => document.activeElement?.closest("[data-testid]")?.dataset.testid ?? document.activeElement?.tagName);
    // Around the page once: every stop shows that it has the focus, and none holds it.
    await tab.page.evaluate(() => document.activeElement?.blur());
    const stops = [];
    for (let steps = 0; steps < 40; steps += 1) {
      await keyboard.press("Tab");
      const stop = await tab.page.evaluate(() => {
        const element = document.activeElement;
        if (element === null || element === document.body) return null;
        const shows = (one) => {
          const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
          return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
        };
        const box = element.getBoundingClientRect();
        const near = [element, element.parentElement, element.parentElement?.parentElement, ...element.querySelectorAll(".active")];
        return {
          name: element.getAttribute("aria-label") ?? element.dataset.testid ?? element.textContent.trim().slice(0, 30),
          seen: near.some((one) => one && shows(one)) && box.width > 0 && box.height > 0,
        };
      });
      if (stop === null) break;
      if (stops.some(({ name }) => name === stop.name) && steps > 25) break;
      stops.push(stop);
    }
    assert.deepEqual(
      stops.filter(({ seen }) => !seen),
      [],
      "every stop can be seen",
    );
    assert.ok(stops.length >= 8, stops.map(({ name }) => name).join(", "));

    await tab.closeReport();
    await tab.page.evaluate(() => document.activeElement?.blur());
    await keyboard.press("/");
    assert.equal(await focused(), "filter");
    await keyboard.type("sourd");
    await tab.row("Markdown").waitFor({ state: "detached" });
    await keyboard.press("Enter");
    await tab.message("Can I keep it in the fridge?").waitFor();
    await tab.get("messages").focus();
    for (let steps = 0; steps < 6; steps += 1) await keyboard.press("j");
    assert.equal(await focused(), "message");
    await keyboard.press("]");
    await tab.message("What if it smells sour?").waitFor();
    await keyboard.press("Home");
    await keyboard.press("j");
    assert.equal(await focused(), "message");
    await keyboard.press("?");
    await tab.get("dialog").waitFor();
    await keyboard.press("Escape");
    await tab.get("dialog").waitFor({ state: "detached" });
    const map = await tab.get("map").count();
    await keyboard.press("m");
    await tab.get("map").waitFor({ state: map ? "detached" : "attached" });
  }));

for (const colorScheme of ["light", "dark"])
  test(`list, thread, map, report and dialogs pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        const { look, check } = rules(tab.page);
        await tab.get("empty").waitFor();
        await look("empty state");
        await tab.pick([EXPORT, { name: "holiday.png", data: "not a picture", type: "image/png" }]);
        await tab.get("report-remarks").locator("summary").click();
        await look("list and report");
        await tab.closeReport();
        await tab.openThread("Adding up a column");
        await tab.page.locator("details").first().locator("summary").click();
        await look("thread with tools");
        await tab.openThread("Sourdough for beginners");
        await tab.message("Why rye?").waitFor();
        if ((await tab.get("map").count()) === 0) await tab.get("map-toggle").click();
        await tab.get("map-node").first().waitFor();
        await look("branches and map");
        await tab.get("storage").click();
        await tab.get("dialog").waitFor();
        await look("storage dialog");
        check();
      },
      { colorScheme },
    ));

test("on a phone nothing sticks out and list and thread take turns", () =>
  site.visit(
    async (tab) => {
      const width = () => tab.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      const fits = async (where) => {
        const [content, view] = await width();
        assert.ok(content <= view, `${where}: ${content} px of content on ${view}`);
      };
      await fits("empty state");
      await tab.pick(EXPORT);
      await fits("report");
      await tab.closeReport();
      await fits("list");
      for (const title of ["Sourdough for beginners", "Markdown of every kind", TITLES[0]]) {
        await tab.openThread(title);
        await fits(title);
        await tab.get("back").click();
        await tab.get("thread-row").first().waitFor();
      }
    },
    { viewport: { width: 360, height: 740 }, hasTouch: true },
  ));
