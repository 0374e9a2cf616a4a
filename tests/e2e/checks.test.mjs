// What is wrong with a branch is found on the page, and mended in a branch of its own.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { openSite } from "./support/site.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

const call = (id) => ({ role: "assistant", content: "Let me look.", tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }] });

/** A conversation with a call that has no result, and a result that has no call. */
const BROKEN = [
  { role: "user", content: "What grows behind the pier?" },
  call("a"),
  { role: "user", content: "Never mind. What grows in front of it?" },
  { role: "tool", tool_call_id: "lost", content: "Sea kale." },
  { role: "assistant", content: "Sea kale does." },
];

async function opened(tab, messages) {
  await tab.pick({ name: "chats.jsonl", data: JSON.stringify({ messages }) });
  await tab.closeReport();
  await tab.get("thread-row").first().click();
  await tab.get("message").first().waitFor();
  await tab.get("check-branch").click();
}

test("what a model may stumble over is listed, shown, and mended in a new branch while the old one stays", () =>
  site.visit(async (tab) => {
    await opened(tab, BROKEN);
    const found = tab.get("check").locator("li");
    await found.first().waitFor();
    const access = rules(tab.page);
    await access.look("the findings of a branch");
    access.check();
    const said = await found.allInnerTexts();
    assert.equal(said.length, 2);
    assert.match(said.join("\n"), /tool call has no result/);
    assert.match(said.join("\n"), /answers no call/);
    await found.filter({ hasText: "answers no call" }).getByTestId("check-show").click();
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.message("Sea kale.").first().waitFor();
    await tab.get("check-branch").click();
    await tab.get("check-mend").click();
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.message("No result of this call was stored.").first().waitFor();
    assert.equal(await tab.get("fork").count(), 1, "the branch as it was is beside it");
    await tab.get("check-branch").click();
    await tab.get("check-sound").waitFor();
    await tab.page.keyboard.press("Escape");
    await tab.page.reload();
    await tab.ready();
    await tab.message("No result of this call was stored.").first().waitFor();
  }));

test("of a sound branch the dialog says that nothing is wrong", () =>
  site.visit(async (tab) => {
    await opened(tab, [BROKEN[0], BROKEN.at(-1)]);
    await tab.get("check-sound").waitFor();
    assert.equal(await tab.get("check-mend").count(), 0);
  }));
