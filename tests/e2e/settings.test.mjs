// Settings on the page: what the reader sets and pins is stored in the keep, and is what the agent sends.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openSite, Site } from "./support/site.mjs";
import { echo, said, sent, talk } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

const answered = (tab) => tab.page.waitForFunction(() => document.querySelector("[data-testid=inspector]")?.getAttribute("aria-busy") === "false");

async function inspect(tab) {
  await tab.page.keyboard.press("Escape");
  await tab.get("inspector-toggle").click();
  await tab.get("inspector").waitFor();
  await answered(tab);
}

const LONG = "how many beds do we plant this year, and with what? ".repeat(12);

test("a budget and a pin that the reader sets are in the next request, and a reload keeps them", () =>
  talk(
    site,
    echo,
    async (tab, model) => {
      for (const word of ["First", "Second", "Third", "Fourth"]) await said(tab, `${word}: ${LONG}`, `to ${word}`);
      const whole = sent(model.asked.at(-1)).length;
      assert.equal(whole, 7, "all of it goes");
      await inspect(tab);
      await tab.get("max-messages").fill("3");
      await answered(tab);
      // At once: what is set is stored before the message is sent.
      await said(tab, `Fifth: ${LONG}`, "to Fifth");
      const few = sent(model.asked.at(-1));
      assert.ok(few.length <= 3 && few.at(-1).startsWith("user: Fifth"), few.map((text) => text.slice(0, 20)).join());
      await tab.get("messages").focus();
      await tab.page.keyboard.press("Home");
      await tab.message("First:").first().focus();
      await answered(tab);
      await tab.get("pin").click();
      await answered(tab);
      await tab.get("max-messages").fill("5");
      await answered(tab);
      await tab.page.reload();
      await tab.ready();
      await tab.get("inspector").waitFor();
      await answered(tab);
      assert.equal(await tab.get("max-messages").inputValue(), "5");
      await said(tab, `Sixth: ${LONG}`, "to Sixth");
      const pinned = sent(model.asked.at(-1));
      assert.ok(pinned.length <= 5 && pinned[0].startsWith("user: First"), pinned.map((text) => text.slice(0, 20)).join());
    },
    { tools: "none" },
  ));

test("what an older version of the page kept in this browser moves over on the first start", () =>
  site.visit(
    async (tab) => {
      await tab.get("sample").click();
      await tab.get("message").first().waitFor();
      await tab.closeReport();
      await tab.page.keyboard.press("c");
      await tab.get("inspector").waitFor();
      await answered(tab);
      assert.equal(await tab.get("max-tokens").inputValue(), "8000");
      assert.equal(await tab.get("provider").evaluate((select) => select.selectedOptions[0].text), "Anthropic");
      assert.equal(await tab.page.evaluate(() => localStorage["threadkeep.inspector.settings"]), undefined);
      await tab.page.reload();
      await tab.ready();
      await tab.get("inspector").waitFor();
      await answered(tab);
      assert.equal(await tab.get("max-tokens").inputValue(), "8000");
    },
    {
      prepare: (context) =>
        context.addInitScript(() => {
          if (location.protocol !== "http:" || localStorage.moved) return;
          localStorage.moved = "yes";
          localStorage["threadkeep.inspector.settings"] = "anthropic estimate newest preview - 8000 - - memories";
        }),
    },
  ));

test("another tab sees what is set here", () =>
  site.visit(async (tab, context) => {
    await tab.get("sample").click();
    await tab.get("message").first().waitFor();
    await tab.closeReport();
    await tab.page.keyboard.press("c");
    await tab.get("inspector").waitFor();
    await answered(tab);
    const other = new Site(await context.newPage(), tab.address, tab.guard);
    await other.page.goto(tab.page.url());
    await other.ready();
    await other.get("inspector").waitFor();
    await answered(other);
    await tab.get("max-tokens").fill("300");
    await other.page.waitForFunction(() => document.querySelector("[data-testid=max-tokens]")?.value === "300");
  }));
