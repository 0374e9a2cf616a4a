// Deleting without fear: a notice that takes it back, and the bin.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { allotment, compact, opened, question, TITLE } from "./support/allotment.mjs";
import { rules } from "./support/axe.mjs";
import { openSite } from "./support/site.mjs";
import { say, talk } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** The lines of an export of everything. */
async function everything(tab) {
  const { data } = await tab.exportAll();
  return data.toString().split("\n");
}

/** Presses Undo in the notice of the deletion. */
async function undo(tab) {
  await tab.page.locator(".notice").filter({ hasText: "Deleted" }).getByRole("button", { name: "Undo" }).click();
  await tab.page.locator(".notice").filter({ hasText: "It is back" }).waitFor();
}

async function openBin(tab) {
  await tab.get("storage").click();
  await tab.get("bin").click();
  await tab.get("bin-list").waitFor({ state: "attached" });
}

test("a deleted thread comes back whole, with its compaction and its memory, after a reload too", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await compact(tab);
    const before = await everything(tab);
    await tab.get("delete-thread").click();
    await tab.row(TITLE).waitFor({ state: "detached" });
    assert.match(await tab.get("status").innerText(), /33 messages in “Planning the allotment”. The bin has them for seven days/);
    await undo(tab);
    await tab.row(TITLE).waitFor();
    assert.deepEqual(await everything(tab), before);
    assert.ok(await tab.get("message").count(), "it is on the screen again");

    await tab.get("delete-thread").click();
    await tab.row(TITLE).waitFor({ state: "detached" });
    await tab.page.reload();
    await tab.ready();
    await openBin(tab);
    assert.match(await tab.get("binned").innerText(), /Planning the allotment[^]*33 messages, .* kB, deleted just now, gone in 7 days/);
    await tab.get("undelete").click();
    await tab.row(TITLE).waitFor();
    assert.deepEqual(await everything(tab), before);
  }));

test("a deleted branch comes back where it was", () =>
  site.visit(async (tab) => {
    await opened(tab);
    const last = tab.message(question(15));
    await tab.get("messages").focus();
    await tab.page.keyboard.press("End");
    await last.waitFor();
    await last.hover();
    await last.locator("[data-do=delete]").click();
    await last.waitFor({ state: "detached" });
    await undo(tab);
    await last.waitFor();
    await openBin(tab);
    await tab.get("bin-empty").waitFor();
  }));

test("an interrupted answer goes on after its thread was deleted and taken back", () =>
  talk(
    site,
    (_, number) => (number === 1 ? { pieces: ["The first half"], hold: true } : { text: "The whole answer." }),
    async (tab) => {
      await say(tab, "How deep do leeks go?");
      await tab.get("live-text").filter({ hasText: "The first half" }).waitFor();
      await tab.page.reload();
      await tab.ready();
      await tab.get("interrupted").waitFor();
      await tab.get("delete-thread").click();
      await tab.row("How deep do leeks go?").waitFor({ state: "detached" });
      await undo(tab);
      await tab.get("resume").click();
      await tab.message("The whole answer.").waitFor();
    },
    { tools: "none" },
  ));

test("the bin is emptied one by one and as a whole, and then nothing comes back", () =>
  site.visit(async (tab) => {
    await tab.pick(allotment());
    await tab.closeReport();
    while ((await tab.get("thread-row").count()) > 0) {
      const left = await tab.get("thread-row").count();
      await tab.get("thread-row").first().click();
      await tab.get("delete-thread").click();
      await tab.page.waitForFunction((left) => document.querySelectorAll("[data-testid=thread-row]").length < left, left);
    }
    await openBin(tab);
    await tab.get("binned").first().waitFor();
    const all = await tab.get("binned").count();
    await tab.get("drop-binned").first().click();
    await tab.page.waitForFunction((left) => document.querySelectorAll("[data-testid=binned]").length === left, all - 1);
    await tab.get("empty-bin").click();
    await tab.get("bin-empty").waitFor();
    await tab.page.keyboard.press("Escape");
    // Its undo is still offered by a notice, and says why it cannot.
    await tab.get("notice-act").last().click();
    await tab.page.locator(".notice.bad").waitFor();
    assert.equal(await tab.get("thread-row").count(), 0);
  }));

for (const colorScheme of ["light", "dark"])
  test(`the bin and its notice pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        const { look, check } = rules(tab.page);
        await opened(tab);
        await tab.get("delete-thread").click();
        await tab.get("notice-act").waitFor();
        await look("notice");
        await openBin(tab);
        await tab.get("binned").waitFor();
        await look("bin");
        check();
      },
      { colorScheme },
    ));
