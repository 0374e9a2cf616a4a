// Compaction and memory on the page: a preview before anything is done, a card that leads back to the originals, and records
// that are edited, pinned and deleted.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { oneFile, small, Tree } from "./support/chatgpt.mjs";
import { openSite } from "./support/site.mjs";

const TURNS = 16;
const TITLE = "Planning the allotment";
const number = (text) => Number(text.replace(/\D/g, ""));

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

const CROPS = ["beans", "leeks", "chard", "garlic", "beetroot", "fennel", "sorrel", "kale"];

/** A long conversation with things worth to be kept: preferences, decisions, constraints. */
function allotment() {
  const tree = new Tree("beef0000-0003-4000-8000-000000000003", TITLE);
  let leaf = tree.start;
  for (let at = 0; at < TURNS; at += 1) {
    const crop = CROPS[at % CROPS.length];
    leaf = tree.say(leaf, "user", `Question ${at}: I prefer ${crop} in bed ${at}. We must never water bed ${at} after noon. What about its soil?`);
    leaf = tree.say(
      leaf,
      "assistant",
      `We decided to plant ${crop} in bed ${at}. ${"Loam holds water well, and compost keeps it loose through the summer. ".repeat(6)}`,
    );
  }
  return { name: "conversations.json", data: oneFile([tree.json, small()[1]]) };
}

/** A tab with the long conversation open. */
async function opened(tab) {
  await tab.pick(allotment());
  await tab.closeReport();
  await tab.openThread(TITLE);
}

/** Compacts the open branch; gives the figures that the preview promised. */
async function compact(tab) {
  await tab.get("compact").click();
  await tab.get("compact-preview").waitFor();
  const promised = {
    before: number(await tab.get("compact-before").innerText()),
    after: number(await tab.get("compact-after").innerText()),
    statements: await tab.get("compact-statements").locator("li").allInnerTexts(),
  };
  await tab.get("compact-confirm").click();
  await tab.get("compaction").waitFor();
  return promised;
}

test("compacting says first what it would do, and nothing is done when one leaves", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    const before = number(await tab.get("compact-before").innerText());
    const after = number(await tab.get("compact-after").innerText());
    assert.ok(after < before / 2, `${before} → ${after}`);
    assert.match(await tab.get("compact-preview").innerText(), /The first \d+ messages/);
    assert.ok((await tab.get("compact-statements").locator("li").count()) > 0);
    await tab.page.keyboard.press("Escape");
    await tab.get("dialog").waitFor({ state: "detached" });
    assert.equal(await tab.get("compaction").count(), 0);
    await tab.get("memory").click();
    assert.match(await tab.get("memory-note").innerText(), /Nothing is remembered yet/);
  }));

test("a compaction is a card in the thread, its originals stay, and it is there after a reload", () =>
  site.visit(async (tab) => {
    await opened(tab);
    const promised = await compact(tab);
    const shown = () => tab.get("statement").allInnerTexts();
    assert.deepEqual(await shown(), promised.statements, "what the preview showed is what was stored");
    const tokens = (await tab.get("compaction-tokens").innerText()).match(/[\d,]+/g).map(number);
    assert.ok(tokens[1] < tokens[0], String(tokens));
    assert.equal(promised.before - promised.after, tokens[0] - tokens[1], "the card's figures are the preview's");

    await tab.get("originals").click();
    await tab.message("Question 0:").waitFor();
    assert.match(await tab.message("Question 0:").getAttribute("class"), /\bcovered\b/);
    assert.match(await tab.message("Question 0:").innerText(), /I prefer beans in bed 0/);
    await tab.page.keyboard.press("End");
    await tab.message(`Question ${TURNS - 1}:`).waitFor();
    assert.doesNotMatch(await tab.message(`Question ${TURNS - 1}:`).getAttribute("class"), /\bcovered\b/);

    await tab.page.reload();
    await tab.ready();
    await tab.get("compaction").waitFor({ state: "attached" });
    assert.deepEqual(await shown(), promised.statements);
    await tab.get("compact").click();
    await tab.get("compact-nothing").waitFor();
    assert.ok(await tab.get("compact-confirm").isDisabled());
  }));

test("a statement lights up the messages that it came from", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await compact(tab);
    const statement = tab.get("statement").first();
    const words = (await statement.innerText()).slice(0, 24);
    await statement.click();
    const lit = tab.page.locator("[data-testid=message].lit");
    await lit.first().waitFor();
    assert.ok((await lit.allInnerTexts()).some((text) => text.includes(words)), `"${words}" is in what it came from`);
    // Far away cards are not built: End brings this one back.
    await tab.page.keyboard.press("End");
    await statement.waitFor();
    assert.equal(await statement.getAttribute("aria-pressed"), "true");
    await statement.click();
    assert.equal(await statement.getAttribute("aria-pressed"), "false");
    assert.equal(await lit.count(), 0);
  }));

test("episodes and facts are read with their sources, edited, pinned and deleted", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await compact(tab);
    await tab.get("memory").click();
    await tab.get("episode").first().waitFor();
    const facts = await tab.get("fact").count();
    assert.ok(facts > 1, `${facts} facts`);

    const first = tab.get("fact").first();
    await first.getByTestId("memory-edit").click();
    await tab.get("memory-text").fill("Bed 3 is for tulips.");
    await tab.get("memory-tags").fill("tulips, bed 3");
    await tab.get("memory-save").click();
    const edited = tab.get("fact").filter({ hasText: "Bed 3 is for tulips." });
    await edited.waitFor();
    assert.deepEqual(await edited.locator(".tag").allInnerTexts(), ["tulips", "bed 3"]);
    await edited.getByTestId("memory-pin").click();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=fact] [data-testid=memory-pin]").getAttribute("aria-pressed") === "true");
    assert.match(await tab.get("fact").first().innerText(), /tulips/, "what is pinned comes first");

    const last = await tab.get("fact").last().locator(".memory-text").innerText();
    await tab.get("fact").last().getByTestId("memory-delete").click();
    assert.equal(await tab.get("fact").count(), facts, "asked first");
    await tab.get("memory-confirm").click();
    await tab.page.waitForFunction((count) => document.querySelectorAll("[data-testid=fact]").length === count, facts - 1);

    await tab.page.reload();
    await tab.ready();
    await tab.get("memory").click();
    await edited.waitFor();
    const texts = await tab.get("fact").locator(".memory-text").allInnerTexts();
    assert.ok(!texts.includes(last), "it stays deleted");
    assert.equal(texts.length, facts - 1);
    await edited.getByTestId("memory-source").first().click();
    await tab.get("dialog").waitFor({ state: "detached" });
    // The anchor, to which the reload came back, was marked before.
    await tab.page.waitForFunction(() => document.activeElement?.matches("[data-testid=message].sought"));
  }));

test("one writes a fact down, and sees what came from one thread alone", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("memory").click();
    await tab.get("remember").fill("The shed key hangs behind the door.");
    await tab.page.keyboard.press("Enter");
    const own = tab.get("fact").filter({ hasText: "shed key" });
    await own.waitFor();
    assert.match(await own.innerText(), /Told by you/);
    await tab.get("memory-here").click();
    assert.equal(await tab.get("fact").count(), 0);
    assert.match(await tab.get("memory-note").innerText(), /Nothing is remembered of this thread/);
    await tab.get("memory-here").click();
    await own.waitFor();
  }));

for (const colorScheme of ["light", "dark"])
  test(`preview, card and memory pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
        const found = [];
        const look = async (where) => {
          await tab.page.evaluate(source);
          const { violations } = await tab.page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
          for (const { id, nodes } of violations) found.push(`${where}: ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).slice(0, 3).join(" ")}`);
        };
        await opened(tab);
        await tab.get("compact").click();
        await tab.get("compact-preview").waitFor();
        await look("preview");
        await tab.get("compact-confirm").click();
        await tab.get("compaction").waitFor();
        await tab.get("dialog").waitFor({ state: "detached" });
        await tab.get("statement").first().click();
        await look("card");
        await tab.get("memory").click();
        await tab.get("fact").first().waitFor();
        await look("memory");
        await tab.get("fact").first().getByTestId("memory-edit").click();
        await tab.get("fact").nth(1).getByTestId("memory-delete").click();
        await look("editing");
        assert.deepEqual(found, []);
      },
      { colorScheme },
    ));
