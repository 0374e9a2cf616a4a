// Ctrl+K: one field that leads to acts, settings, threads and messages; and what the list of threads is filtered and grouped by.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { oneFile, small, Tree } from "./support/chatgpt.mjs";
import { openSite } from "./support/site.mjs";

const EXPORT = { name: "conversations.json", data: oneFile(small()) };
const DAY = 86_400;

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

async function opened(tab) {
  await tab.pick(EXPORT);
  await tab.closeReport();
  await tab.openThread("Adding up a column");
}

/** Opens the palette and types. */
async function ask(tab, words) {
  await tab.page.keyboard.press("Control+k");
  await tab.get("palette").waitFor();
  await tab.page.keyboard.type(words);
}

const active = (tab) => tab.page.locator(".way.active .way-name").innerText();
const names = (tab) => tab.page.locator(".way-name").allInnerTexts();

test("Ctrl+K leads to acts, with the keyboard alone", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("compose").fill("a word");
    await ask(tab, "compact");
    assert.equal(await active(tab), "Compact this branch…");
    await tab.page.keyboard.press("Enter");
    await tab.page.getByRole("heading", { name: "Compact this branch?" }).waitFor();
    await tab.page.keyboard.press("Control+k");
    assert.equal(await tab.get("palette").count(), 0, "not from below a dialog");
    await tab.page.keyboard.press("Escape");
    await tab.get("dialog").waitFor({ state: "detached" });
    assert.equal(await tab.get("compose").inputValue(), "a word");
    await ask(tab, "map");
    await tab.page.keyboard.press("Enter");
    await tab.get("map").waitFor();
    await ask(tab, "bin");
    await tab.page.keyboard.press("Enter");
    await tab.page.getByRole("heading", { name: "Bin" }).waitFor();
  }));

test("Ctrl+K leads to a setting, which is unfolded and has the focus", () =>
  site.visit(async (tab) => {
    await opened(tab);
    for (const [words, id] of [
      ["limit, messages", "max-messages"],
      ["policy", "policy"],
      ["system prompt", "system-prompt"],
    ]) {
      await ask(tab, words);
      await tab.page.keyboard.press("Enter");
      await tab.page.waitForFunction((id) => document.activeElement.dataset.testid === id, id);
    }
  }));

test("Ctrl+K leads to threads, and to messages on whatever branch they are", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await ask(tab, "sourdough");
    await tab.page.locator(".way.active", { hasText: "Sourdough for beginners" }).waitFor();
    await tab.page.keyboard.press("Enter");
    await tab.message("How do I begin a sourdough starter?").waitFor();
    await ask(tab, "smells sour");
    await tab.page.locator(".way", { hasText: "What if it smells sour?" }).waitFor();
    assert.equal(await active(tab), "What if it smells sour?");
    await tab.page.keyboard.press("Enter");
    await tab.message("What if it smells sour?").waitFor();
    await ask(tab, "xyzzy");
    await tab.page.getByText("Nothing matches.").waitFor();
    assert.deepEqual(await names(tab), []);
    await tab.page.keyboard.press("Escape");
    await tab.get("palette").waitFor({ state: "detached" });
  }));

test("arrows go through the lines, a click takes one, and what cannot be done is not offered", () =>
  site.visit(async (tab) => {
    await tab.page.keyboard.press("Control+k");
    await tab.get("way").first().waitFor();
    const before = await names(tab);
    assert.ok(!before.includes("Export") && !before.some((name) => name.startsWith("Compact")), before.join(", "));
    await tab.page.keyboard.press("ArrowDown");
    assert.equal(await active(tab), before[1]);
    await tab.page.keyboard.press("ArrowUp");
    assert.equal(await active(tab), before[0]);
    await tab.page.locator(".way", { hasText: "Memory" }).click();
    await tab.page.getByRole("heading", { name: "Memory" }).waitFor();
  }));

for (const colorScheme of ["light", "dark"])
  test(`the palette and the list's headings pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        await opened(tab);
        const access = rules(tab.page);
        await access.look("list");
        await ask(tab, "sour");
        await tab.page.locator(".way", { hasText: "What if it smells sour?" }).waitFor();
        await access.look("palette");
        access.check();
      },
      { colorScheme },
    ));

/** Threads of today, of yesterday, of the last days, and of two months long ago. */
function dated() {
  const now = Math.floor(Date.now() / 1000);
  const noon = new Date();
  noon.setHours(12, 0, 0, 0);
  const yesterday = Math.floor(noon / 1000) - DAY;
  const times = { "Of this moment": now - 60, "Of yesterday": yesterday, "Of the last days": yesterday - 3 * DAY };
  // The middle of months, so that no time zone moves them.
  times["Of long ago"] = Date.UTC(2023, 4, 15) / 1000;
  times["Of the same month"] = Date.UTC(2023, 4, 14) / 1000;
  times["Of longer ago"] = Date.UTC(2022, 11, 15) / 1000;
  return Object.entries(times).map(([title, time], at) => {
    const tree = new Tree(`da7e0000-000${at}-4000-8000-000000000001`, title, time - 100);
    const asked = tree.say(tree.start, "user", `What about ${title}?`);
    tree.say(asked, "assistant", "It is well.");
    if (title === "Of long ago") tree.say(asked, "assistant", "It is otherwise.");
    return tree.json;
  });
}

/** Headings and titles, from the top down. */
const listed = (tab) =>
  tab.page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=thread-heading], [data-testid=thread-row] .thread-title")]
      .map((element) => ({ top: element.getBoundingClientRect().top, text: element.textContent }))
      .sort((one, other) => one.top - other.top)
      .map(({ text }) => text),
  );

test("threads stand below days of late and months; other orders have no headings", () =>
  site.visit(async (tab) => {
    await tab.pick({ name: "conversations.json", data: oneFile(dated()) });
    await tab.closeReport();
    const all = await listed(tab);
    assert.deepEqual(all, [
      "Today",
      "Of this moment",
      "Yesterday",
      "Of yesterday",
      "Last 7 days",
      "Of the last days",
      "May 2023",
      "Of long ago",
      "Of the same month",
      "December 2022",
      "Of longer ago",
    ]);
    await tab.get("filter").fill("longer");
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 1);
    assert.deepEqual(await listed(tab), ["December 2022", "Of longer ago"]);
    await tab.get("filter").fill("");
    await tab.get("sort").selectOption("title");
    await tab.get("thread-heading").first().waitFor({ state: "detached" });
    assert.equal((await listed(tab))[0], "Of long ago");
  }));

test("the list shows one source, or only threads with branches, and says when nothing is left", () =>
  site.visit(async (tab) => {
    await tab.pick({ name: "conversations.json", data: oneFile(dated()) });
    await tab.closeReport();
    assert.equal(await tab.get("only-source").count(), 0, "all are of one source");
    await tab.get("only-branched").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 1);
    assert.deepEqual(await listed(tab), ["May 2023", "Of long ago"]);
    assert.match(await tab.get("tally").innerText(), /1 of 6/);
    await tab.get("filter").fill("xyzzy");
    await tab.page.getByText("Nothing matches.").waitFor();
    await tab.get("filter").fill("");
    await tab.get("only-branched").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 6);
    await tab.pick({
      name: "shares.json",
      data: JSON.stringify([
        {
          id: "one",
          conversations: [
            { from: "human", value: "hello there" },
            { from: "gpt", value: "hi" },
          ],
        },
      ]),
    });
    await tab.closeReport();
    await tab.get("only-source").selectOption({ label: "ShareGPT" });
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 1);
    // Its only thread is deleted: the list is whole again.
    await tab.get("thread-row").first().click();
    await tab.get("message").first().waitFor();
    await tab.get("delete-thread").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 6);
  }));

test("the list shows threads with one model's answers, or with images", () =>
  site.visit(async (tab) => {
    const thread = (at, title, model, picture) => {
      const tree = new Tree(`da7e0000-000${at}-4000-8000-000000000002`, title);
      const image = { content_type: "image_asset_pointer", asset_pointer: "file-service://file-abc", size_bytes: 7, width: 2, height: 3 };
      const asked = tree.put(
        tree.start,
        "user",
        picture ? { content_type: "multimodal_text", parts: [image, "Look."] } : { content_type: "text", parts: ["Hi."] },
      );
      tree.say(asked, "assistant", "Yes.", { metadata: { model_slug: model } });
      return tree.json;
    };
    const all = [thread(1, "A picture by one", "gpt-4o", true), thread(2, "Words by one", "gpt-4o", false), thread(3, "Words by another", "o3", false)];
    await tab.pick({ name: "conversations.json", data: oneFile(all) });
    await tab.closeReport();
    const shown = async (count) => {
      await tab.page.waitForFunction((count) => document.querySelectorAll("[data-testid=thread-row]").length === count, count);
      return (await tab.page.locator("[data-testid=thread-row] .thread-title").allInnerTexts()).sort();
    };
    await shown(3);
    await tab.get("only-model").selectOption("gpt-4o");
    assert.deepEqual(await shown(2), ["A picture by one", "Words by one"]);
    await tab.get("only-pictured").click();
    assert.deepEqual(await shown(1), ["A picture by one"]);
    await tab.get("only-model").selectOption("o3");
    await tab.page.getByText("Nothing matches.").waitFor();
    await tab.get("only-pictured").click();
    assert.deepEqual(await shown(1), ["Words by another"]);
    await tab.get("only-model").selectOption({ label: "Any model" });
    await shown(3);
  }));
