// The search inside messages: typed into the filter, answered below the threads, opened on the branch that holds the hit.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as allotment from "./support/allotment.mjs";
import { rules } from "./support/axe.mjs";
import { oneFile, small, Tree } from "./support/chatgpt.mjs";
import { openSite } from "./support/site.mjs";

const EXPORT = { name: "conversations.json", data: oneFile(small()) };

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** Waits until the search has looked everywhere; gives what it says. */
async function searched(tab) {
  await tab.page.waitForFunction(() => /found|No message|failed/.test(document.querySelector("[data-testid=search-state]")?.textContent ?? ""));
  return tab.get("search-state").innerText();
}

/** Looks for words; gives the hits as they are shown. */
async function look(tab, words) {
  await tab.get("filter").fill("");
  await tab.get("search-state").waitFor({ state: "detached" });
  await tab.get("filter").fill(words);
  await searched(tab);
  return hits(tab);
}

function hits(tab) {
  return tab.get("hit").evaluateAll((all) =>
    all.map((hit) => ({
      title: hit.querySelector(".thread-title").textContent,
      text: hit.querySelector(".hit-text").textContent,
      marked: [...hit.querySelectorAll("mark")].map((mark) => mark.textContent),
      role: hit.querySelector(".thread-facts span").textContent,
    })),
  );
}

test("words of messages are found, marked, and open the branch that holds them", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    const [hit] = await look(tab, "smells sour");
    assert.deepEqual([hit.title, hit.role], ["Sourdough for beginners", "You"]);
    assert.deepEqual(hit.marked, ["smells", "sour"]);
    assert.equal(await tab.get("thread-row").count(), 0, "no title has these words");
    // The export chose another branch than the one that holds the hit.
    await tab.get("hit").first().click();
    const message = tab.message("What if it smells sour?");
    await message.waitFor();
    assert.deepEqual((await tab.texts()).slice(-2), ["What if it smells sour?", "Good, it should."]);
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2", "3/3"]);
    assert.match(await message.getAttribute("class"), /\bsought\b/, "it is marked for a moment");
    assert.ok(await message.evaluate((element) => element === document.activeElement), "it has the focus");
    assert.equal(await tab.get("hit").first().getAttribute("aria-selected"), "true");
    assert.match(tab.page.url(), /\?at=/);
  }));

test("each hit says why it was found: by its words, and by those of its neighbours", () =>
  site.visit(async (tab) => {
    const tree = new Tree("beef0000-0002-4000-8000-000000000002", "Airships");
    tree.say(tree.say(tree.start, "user", "Who built the first zeppelin?"), "assistant", "A count from Konstanz, in 1900.");
    await tab.pick({ name: "conversations.json", data: oneFile([tree.json]) });
    await tab.closeReport();
    const found = await look(tab, "zeppelin konstanz");
    const why = await tab.get("hit-why").allInnerTexts();
    assert.deepEqual(Object.fromEntries(found.map(({ role }, at) => [role, why[at]])), {
      You: "Has zeppelin · near it konstanz",
      Assistant: "Has konstanz · near it zeppelin",
    });
  }));

test("titles come first, messages below them, and the keys go through both", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    await tab.page.locator("body").click({ position: { x: 1200, y: 800 } });
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("sour");
    await searched(tab);
    assert.deepEqual(
      (await tab.list()).map(({ title }) => title),
      ["Sourdough for beginners"],
    );
    const found = await hits(tab);
    assert.ok(found.length >= 1, "messages have the word too");
    const active = () => tab.get("thread-list").getAttribute("aria-activedescendant");
    assert.equal(await active(), "thread-0");
    await tab.page.keyboard.press("ArrowDown");
    assert.equal(await active(), "hit-0");
    await tab.page.keyboard.press("ArrowUp");
    assert.equal(await active(), "thread-0");
    await tab.page.keyboard.press("ArrowDown");
    await tab.page.keyboard.press("Enter");
    await tab.message(found[0].text.replaceAll("…", "")).waitFor();
    await tab.get("filter").focus();
    await tab.page.keyboard.press("Escape");
    assert.equal(await tab.get("filter").inputValue(), "");
    assert.equal(await tab.get("hit").count(), 0);
    assert.equal((await tab.list()).length, 4);
  }));

test("a click on a hit opens the hit where threads match too", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    const [hit] = await look(tab, "sour");
    assert.equal(await tab.get("thread-row").count(), 1, "a title has the word too");
    await tab.get("hit").first().click();
    await tab.message(hit.text.replaceAll("…", "")).waitFor();
    assert.match(tab.page.url(), /\?at=/);
    assert.equal(await tab.get("thread-list").getAttribute("aria-activedescendant"), "hit-0");
  }));

test("chips limit who said it, and what is not there is said", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    const all = await look(tab, "rye");
    assert.deepEqual([...new Set(all.map(({ role }) => role))].sort(), ["Assistant", "You"]);
    await tab.get("only-user").click();
    await tab.page.waitForFunction((before) => document.querySelectorAll("[data-testid=hit]").length < before, all.length);
    assert.deepEqual([...new Set((await hits(tab)).map(({ role }) => role))], ["You"]);
    await tab.get("only-user").click();
    await tab.page.waitForFunction((before) => document.querySelectorAll("[data-testid=hit]").length === before, all.length);
    assert.deepEqual(await look(tab, "zeppelin"), []);
    assert.match(await tab.get("search-state").innerText(), /No message has these words/);
    assert.match(await tab.page.locator(".no-match").innerText(), /Nothing matches/);
    await tab.get("filter").fill("z");
    assert.equal(await tab.get("search-state").count(), 0, "one letter is not searched for");
  }));

test("what is imported, deleted, or written before a reload is found as it is then", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    assert.equal((await look(tab, "zeppelin")).length, 0);
    const tree = new Tree("beef0000-0002-4000-8000-000000000002", "Airships");
    tree.say(tree.say(tree.start, "user", "Who built the first zeppelin?"), "assistant", "Count Zeppelin, in 1900.");
    await tab.pick({ name: "conversations.json", data: oneFile([tree.json]) });
    await tab.closeReport();
    await tab.get("hit").first().waitFor();
    await searched(tab);
    assert.equal((await hits(tab)).length, 2, "what came in is found without another key");
    await tab.page.reload();
    await tab.ready();
    assert.equal((await look(tab, "zeppelin")).length, 2);
    await tab.get("hit").first().click();
    await tab.get("delete-thread").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=hit]").length === 0);
  }));

test("a slash leads to the search", () =>
  site.visit(async (tab) => {
    await tab.pick(EXPORT);
    await tab.closeReport();
    await tab.openThread("Adding up a column");
    await tab.page.keyboard.press("/");
    assert.equal(await tab.page.evaluate(() => document.activeElement.dataset.testid), "filter");
  }));

for (const colorScheme of ["light", "dark"])
  test(`the search passes the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        await tab.pick(EXPORT);
        await tab.closeReport();
        await look(tab, "rye");
        const access = rules(tab.page);
        await access.look("search");
        access.check();
      },
      { colorScheme },
    ));

test("hits that are summaries, episodes or facts say so, and open where they are", () =>
  site.visit(async (tab) => {
    await allotment.opened(tab);
    await allotment.compact(tab);
    const find = async (words, kind) => {
      await tab.page.locator(".filter input").fill(words);
      const hit = tab.page.locator(`[data-testid=hit][data-found=${kind}]`).filter({ hasText: words }).first();
      await hit.waitFor();
      return hit;
    };
    const summary = await find("beans", "summary");
    assert.match(await summary.innerText(), /Summary/);
    const kinds = await tab.get("hit").evaluateAll((all) => all.map((hit) => hit.dataset.found === "message"));
    assert.ok(kinds[0] && kinds.lastIndexOf(true) < kinds.indexOf(false), "messages come first");
    await tab.page.locator("#messages").evaluate((scroller) => scroller.scrollTo(0, scroller.scrollHeight));
    await summary.click();
    await tab.page.waitForFunction(() => document.activeElement?.matches("[data-testid=statement]") && /beans/.test(document.activeElement.innerText));

    await tab.get("memory").click();
    await tab.get("remember").fill("Slugs avoid copper rings");
    await tab.get("remember-add").click();
    await tab.get("fact").filter({ hasText: "Slugs avoid" }).waitFor();
    await tab.page.keyboard.press("Escape");
    await tab.get("dialog").waitFor({ state: "detached" });
    const fact = await find("copper", "fact");
    assert.match(await fact.innerText(), /Memory[^]*Fact/);
    await fact.click();
    await tab.page.waitForFunction(() => document.activeElement?.matches("[data-testid=fact]") && /copper/.test(document.activeElement.innerText));
    const shown = await tab
      .get("fact")
      .filter({ hasText: "copper" })
      .evaluate((one) => {
        const [record, dialog] = [one, one.closest("dialog")].map((it) => it.getBoundingClientRect());
        return record.top >= dialog.top && record.bottom <= dialog.bottom + 1;
      });
    assert.ok(shown, "the record is on the screen");
    await tab.page.keyboard.press("Escape");
    const episode = await find("beans", "episode");
    await episode.click();
    await tab.page.waitForFunction(() => document.activeElement?.matches("[data-testid=episode]"));
  }));
