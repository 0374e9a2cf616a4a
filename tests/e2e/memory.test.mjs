// Compaction and memory on the page: a preview before anything is done, a card that leads back to the originals, and records
// that are edited, pinned and deleted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { allotment, compact, number, opened, TURNS } from "./support/allotment.mjs";
import { rules } from "./support/axe.mjs";
import { openSite, Site } from "./support/site.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

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
    await tab.get("memory-note").filter({ hasText: "Nothing is remembered yet" }).waitFor();
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

test("what an imported thread says is remembered only if one ticks the box", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    assert.equal(await tab.get("compact-everybody").isChecked(), false);
    await tab.get("compact-confirm").click();
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.get("compaction").waitFor();
    await tab.get("memory").click();
    await tab.get("memory-note").filter({ hasText: "Nothing is remembered yet" }).waitFor();
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
    assert.ok(
      (await lit.allInnerTexts()).some((text) => text.includes(words)),
      `"${words}" is in what it came from`,
    );
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
    // An edit and a deletion can be taken back, as long as the panel is open.
    const said = (words) => tab.get("fact").filter({ hasText: words });
    await edited.getByTestId("memory-edit").click();
    await tab.get("memory-text").fill("Bed 3 is for nobody.");
    await tab.get("memory-save").click();
    await said("for nobody").waitFor();
    assert.match(await tab.get("memory-done").innerText(), /Changed\. Before: Bed 3 is for tulips\./);
    await tab.get("memory-undo").click();
    await edited.waitFor();
    await edited.getByTestId("memory-delete").click();
    await edited.waitFor({ state: "detached" });
    await tab.get("memory-undo").click();
    await edited.waitFor();
    assert.equal(await tab.get("memory-done").count(), 0);
    assert.equal(await edited.getByTestId("memory-pin").getAttribute("aria-pressed"), "true", "it is as it was");

    const last = await tab.get("fact").last().locator(".memory-text").innerText();
    await tab.get("fact").last().getByTestId("memory-delete").click();
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
    assert.equal(await own.getByTestId("memory-owner").count(), 0, "all share it");
    await tab.get("memory-here").click();
    assert.equal(await tab.get("fact").count(), 0);
    assert.match(await tab.get("memory-note").innerText(), /Nothing is remembered of this thread/);
    await tab.get("memory-here").click();
    await own.waitFor();
  }));

test("the memory follows what another tab does, and what is being typed stays", () =>
  site.visit(async (tab, context) => {
    await opened(tab);
    const other = new Site(await context.newPage(), tab.address, tab.guard);
    await other.open();
    await tab.get("memory").click();
    await tab.get("memory-note").waitFor();
    await other.get("memory").click();
    await other.get("remember").fill("The shed key hangs behind the door.");
    await other.page.keyboard.press("Enter");
    const own = tab.get("fact").filter({ hasText: "shed key" });
    await own.waitFor();

    // Both change the same record; the second to save sees what the first has written.
    await own.getByTestId("memory-edit").click();
    await tab.get("memory-text").fill("The shed key lies under the");
    const theirs = other.get("fact").filter({ hasText: "shed key" });
    await theirs.getByTestId("memory-edit").click();
    await other.get("memory-text").fill("The shed key is lost.");
    await other.get("memory-save").click();
    await tab.get("memory-overtaken").waitFor();
    assert.match(await tab.get("memory-overtaken").innerText(), /The shed key is lost\./);
    assert.equal(await tab.get("memory-text").inputValue(), "The shed key lies under the");
    await tab.get("memory-text").fill("The shed key lies under the pot.");
    await tab.get("memory-save").click();
    await other.get("fact").filter({ hasText: "under the pot" }).waitFor();

    await other.get("memory-delete").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=fact]").length === 0);
    await tab.get("memory-note").waitFor();

    // A compaction in one tab is remembered in both, and so is the deletion of what it came from.
    await tab.page.keyboard.press("Escape");
    await compact(tab);
    await other.get("episode").first().waitFor();
    await tab.get("delete-thread").click();
    await other.page.waitForFunction(() => document.querySelectorAll("[data-testid=episode], [data-testid=fact]").length === 0);
  }));

test("the memory fits the narrowest screen", () =>
  site.visit(
    async (tab) => {
      await tab.pick(allotment());
      await tab.closeReport();
      await tab.get("memory").click();
      await tab.get("remember").fill("The shed key lies under the third pot from the left.");
      await tab.page.keyboard.press("Enter");
      await tab.get("fact").waitFor();
      await tab.get("memory-edit").click();
      const sticksOut = () => tab.get("dialog").evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth);
      assert.equal(await sticksOut(), 0);
      await tab.get("memory-save").click();
      await tab.get("memory-done").waitFor();
      assert.equal(await sticksOut(), 0);
    },
    { viewport: { width: 320, height: 640 }, hasTouch: true },
  ));

for (const colorScheme of ["light", "dark"])
  test(`preview, card and memory pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        const { look, check } = rules(tab.page);
        await opened(tab);
        await tab.get("compact").click();
        await tab.get("compact-preview").waitFor();
        await look("preview");
        await tab.get("compact-everybody").check();
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
        check();
      },
      { colorScheme },
    ));
