// The page in pictures: fourteen states of a reader's first minutes, at five sizes, in light and in dark. What differs from the kept pictures
// fails, with the name of the state. After a change that was looked at: `THREADKEEP_PICTURES=write node --test pictures.test.mjs`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { oneFile, small } from "./support/chatgpt.mjs";
import { compared } from "./support/pictures.mjs";
import { openSite } from "./support/site.mjs";
import { said } from "./support/talk.mjs";

const EXPORT = { name: "conversations.json", data: oneFile(small()) };
/** Widths and heights in CSS pixels: two phones, a tablet, a laptop, a wide screen. */
const SIZES = [
  [320, 640],
  [390, 844],
  [768, 1024],
  [1366, 768],
  [2200, 1200],
];
/** What depends on the clock is left out. */
const STYLE = "time, [data-testid=answer-foot], .request-foot, .request-cost { visibility: hidden !important; }";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** The reader's steps, with a picture after each. */
async function walk(tab, picture) {
  const { page } = tab;
  const answered = () => page.waitForFunction(() => document.querySelector("[data-testid=inspector]")?.getAttribute("aria-busy") === "false");
  /** Closes what stands beside the thread, if something does. */
  const alone = async () => {
    for (const close of await tab.get("close-side").all()) await close.click();
  };
  await tab.get("sample").waitFor();
  await picture("01-empty");
  await tab.pick(EXPORT);
  await picture("02-imported");
  await tab.closeReport();
  await picture("03-threads");
  await tab.openThread("Sourdough for beginners");
  await alone();
  await picture("04-thread");
  await page.locator("[data-testid=fork-next]:not([disabled])").last().click();
  await tab.message("What if it smells sour?").waitFor();
  await picture("05-other-branch");
  await tab.get("inspector-toggle").click();
  await answered();
  await picture("06-context");
  await tab.get("max-tokens").fill("30");
  await tab.get("max-tokens").blur();
  await page.locator("[data-mark=dropped]").first().waitFor();
  await answered();
  await tab.get("undo-settings").waitFor();
  await picture("07-budget");
  await tab.get("max-tokens").fill("");
  await tab.get("map-toggle").click();
  await tab.get("map-node").first().waitFor();
  await picture("08-map");
  await alone();
  await page.keyboard.press("Control+k");
  await tab.get("way").first().waitFor();
  await picture("09-palette");
  await page.keyboard.type("models");
  await page.keyboard.press("Enter");
  await tab.page.getByRole("button", { name: "Offline demo (scripted)" }).waitFor();
  await picture("10-models");
  await tab.page.getByRole("button", { name: "Offline demo (scripted)" }).click();
  await page.keyboard.press("Escape");
  await tab.get("dialog").waitFor({ state: "detached" });
  await said(tab, "Why does it smell sour?", "add a connection to talk to a model");
  await picture("11-answer");
  await tab.get("inspector-toggle").click();
  await tab.get("requests-toggle").click();
  await tab.get("request").first().waitFor();
  await picture("12-requests");
  await alone();
  await page.keyboard.press("Control+k");
  await tab.get("way").first().waitFor();
  await page.keyboard.type("memory");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Memory" }).waitFor();
  await page.waitForTimeout(300);
  await picture("13-memory");
  await page.keyboard.press("Escape");
  await tab.get("dialog").waitFor({ state: "detached" });
  if (await tab.get("back").isVisible()) await tab.get("back").click();
  await tab.get("filter").fill("smells sour");
  await page.waitForFunction(() => /found/.test(document.querySelector("[data-testid=search-state]")?.textContent ?? ""));
  await picture("14-search");
}

for (const [width, height] of SIZES)
  for (const colorScheme of ["light", "dark"])
    test(`fourteen states look as they did at ${width} pixels in ${colorScheme}`, () => {
      const touch = width < 800 ? { hasTouch: true, isMobile: true } : {};
      return site.visit(
        async (tab) => {
          const different = [];
          await walk(tab, async (state) => {
            // What moves with the pointer is none of the state's.
            await tab.page.mouse.move(width - 1, height - 1);
            await tab.page.evaluate(() => document.fonts.ready);
            const screenshot = await tab.page.screenshot({ style: STYLE, animations: "disabled", caret: "hide", scale: "css" });
            different.push(await compared(`${state}-${width}-${colorScheme}`, screenshot));
          });
          assert.deepEqual(different.filter(Boolean), []);
        },
        // Its content policy would keep out the style that hides times.
        { viewport: { width, height }, colorScheme, bypassCSP: true, ...touch },
      );
    });
