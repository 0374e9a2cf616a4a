// A new user's first minutes, by what is written on the page alone, on a laptop and on a phone: import an archive, find a message, branch it, limit
// the context, pin a message, talk to the demo, and read what was sent. docs/dev/walk.md tells it in words.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { oneFile, small } from "./support/chatgpt.mjs";
import { openSite } from "./support/site.mjs";

const EXPORT = { name: "conversations.json", mimeType: "application/json", buffer: Buffer.from(oneFile(small())) };
/** More presses than that are a long way round. */
const MOST = 24;

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

for (const [size, options] of [
  ["laptop", { viewport: { width: 1366, height: 768 } }],
  ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
])
  test(`a new user comes from an archive to what was sent, by what is written on the page, on a ${size}`, (t) =>
    site.visit(async ({ page }) => {
      const phone = size === "phone";
      let presses = 0;
      const press = async (what) => {
        presses += 1;
        await (phone ? what.tap() : what.click());
      };
      const button = (name) => page.getByRole("button", { name, exact: true });
      const message = (words) => page.getByTestId("message").filter({ hasText: words });
      const began = Date.now();

      const choosing = page.waitForEvent("filechooser");
      await press(button("Choose files"));
      await (await choosing).setFiles([EXPORT]);
      await page.getByText("25 messages stored").waitFor();
      await press(page.locator(".import-card").getByRole("button", { name: "Close" }));

      await page.getByPlaceholder("Search threads and messages").fill("smells sour");
      await press(page.getByTestId("hit").filter({ hasText: "What if it smells sour?" }));
      await message("Rye brings more wild yeast").waitFor();

      const rye = message("Rye brings more wild yeast");
      await (phone ? rye.tap() : rye.hover());
      await press(rye.getByRole("button", { name: "Reply here" }));
      await press(button("Connect a model"));
      await press(button("Offline demo (scripted)"));
      await press(page.getByRole("dialog").getByRole("button", { name: "Close" }));
      await page.getByLabel("Your message").fill("And what about wheat?");
      await press(button("Send"));
      const answered = () => page.getByText("add a connection to talk to a model").last().waitFor();
      await answered();
      assert.equal(await message("What if it smells sour?").count(), 0, "it is a branch of its own");

      await press(button("Context"));
      await page.getByLabel("Budget, tokens").fill("260");
      await page.locator("[data-mark=dropped]").first().waitFor();
      if (phone) await press(page.getByRole("button", { name: "Close this panel" }));
      const first = message("How do I begin a sourdough starter?").first();
      await first.scrollIntoViewIfNeeded();
      await (phone ? first.tap() : first.hover());
      await press(first.getByRole("button", { name: "Pin: each prompt of this branch has it" }));
      await page.locator(".message.pinned").waitFor();

      await page.getByLabel("Your message").fill("And rice?");
      await press(button("Send"));
      await page.getByText("You said: “And rice?”").waitFor();
      await button("Send").waitFor();
      if (phone) await press(button("Context"));
      await press(page.getByRole("tab", { name: "Requests" }));
      await press(page.getByTestId("request").first().getByRole("button", { name: "What was sent" }));
      const body = page.getByTestId("request-text");
      await body.getByText("How do I begin a sourdough starter?").first().waitFor();
      assert.match(await body.textContent(), /And rice\?/, "the pinned message and the newest were sent");
      assert.doesNotMatch(await body.textContent(), /Why rye\?/, "what is over the budget was not");
      assert.ok(presses <= MOST, `${presses} presses`);
      t.diagnostic(`${presses} presses, ${((Date.now() - began) / 1000).toFixed(1)} s without the reader`);
    }, options));
