// What stands beside the thread: one panel with tabs, its width, and a second panel on a wide window.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { oneFile, small } from "./support/chatgpt.mjs";
import { openSite } from "./support/site.mjs";

const EXPORT = { name: "conversations.json", data: oneFile(small()) };
const WIDE = { viewport: { width: 1700, height: 900 } };

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** A thread is open, and nothing stands beside it. */
async function opened(tab, title = "Sourdough for beginners") {
  await tab.pick(EXPORT);
  await tab.closeReport();
  await tab.openThread(title);
  for (const close of await tab.get("close-side").all()) await close.click();
}

const focused = (tab) => tab.page.evaluate(() => document.activeElement.dataset.testid);
const widths = (tab) => tab.page.locator(".pane.beside").evaluateAll((panels) => panels.map((panel) => Math.round(panel.getBoundingClientRect().width)));
/** What the panels show, from left to right. */
const shown = (tab) => tab.page.locator(".pane.beside").evaluateAll((panels) => panels.map((panel) => panel.dataset.side));

test("the panel has a tab for each thing, keys go from tab to tab, and closing gives the focus back", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("inspector-toggle").focus();
    await tab.page.keyboard.press("Enter");
    await tab.get("inspector").waitFor();
    // The button has become a tab, which gets the focus.
    await tab.page.waitForFunction(() => document.activeElement.dataset.testid === "inspector-toggle");
    await tab.page.keyboard.press("ArrowRight");
    await tab.get("requests").waitFor();
    assert.equal(await focused(tab), "requests-toggle");
    await tab.page.keyboard.press("End");
    await tab.get("map").waitFor();
    await tab.page.keyboard.press("ArrowRight");
    await tab.get("inspector").waitFor();
    assert.deepEqual(await shown(tab), ["context"]);
    assert.equal(await tab.page.getByRole("tab").count(), 3);
    assert.equal(await tab.get("split").count(), 0, "there is no room for two");
    await tab.get("close-side").click();
    await tab.get("inspector").waitFor({ state: "detached" });
    await tab.page.waitForFunction(() => document.activeElement.dataset.testid === "inspector-toggle");
  }));

test("the panel's edge is dragged, moved with keys, remembered, and a double click gives the first width back", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("requests-toggle").click();
    await tab.get("requests").waitFor();
    const [usual] = await widths(tab);
    const edge = await tab.get("panel-edge").boundingBox();
    await tab.page.mouse.move(edge.x + edge.width / 2, edge.y + 200);
    await tab.page.mouse.down();
    await tab.page.mouse.move(edge.x - 100, edge.y + 220, { steps: 5 });
    await tab.page.mouse.up();
    const [dragged] = await widths(tab);
    assert.ok(Math.abs(dragged - usual - 100) <= 6, `${usual}, then ${dragged}`);
    await tab.get("panel-edge").focus();
    await tab.page.keyboard.press("ArrowRight");
    const [moved] = await widths(tab);
    assert.ok(Math.abs(dragged - 16 - moved) <= 2, `${dragged}, then ${moved}`);
    await tab.page.reload();
    await tab.get("requests").waitFor();
    assert.deepEqual(await widths(tab), [moved]);
    await tab.get("panel-edge").dblclick();
    assert.deepEqual(await widths(tab), [usual]);
    await tab.page.mouse.move(edge.x + edge.width / 2, edge.y + 200);
    await tab.page.mouse.down();
    await tab.page.mouse.move(0, edge.y + 200, { steps: 5 });
    await tab.page.mouse.up();
    assert.ok((await widths(tab))[0] <= 1280 * 0.45 + 1, "however far it is dragged, the thread keeps room");
  }));

test("on a wide window two panels stand side by side, and never show the same", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("inspector-toggle").click();
    await tab.get("split").click();
    await tab.get("requests").waitFor();
    assert.deepEqual(await shown(tab), ["context", "requests"]);
    const [left, right] = await tab.page.locator(".pane.beside").all();
    await left.getByTestId("map-toggle").click();
    await tab.get("map").waitFor();
    assert.deepEqual(await shown(tab), ["map", "requests"]);
    await left.getByTestId("requests-toggle").click();
    await tab.page.waitForFunction(() => document.querySelector(".pane.beside").dataset.side === "requests");
    assert.deepEqual(await shown(tab), ["requests", "map"], "they change places");
    await tab.page.reload();
    await tab.get("map").waitFor();
    assert.deepEqual(await shown(tab), ["requests", "map"]);
    await tab.page.setViewportSize({ width: 1300, height: 900 });
    await tab.get("map").waitFor({ state: "detached" });
    assert.deepEqual(await shown(tab), ["requests"], "there is room for one");
    await tab.page.setViewportSize(WIDE.viewport);
    await tab.get("map").waitFor();
    await right.getByTestId("close-side").click();
    await tab.get("map").waitFor({ state: "detached" });
    assert.deepEqual(await shown(tab), ["requests"]);
    const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.equal(wide, 0, "nothing sticks out");
  }, WIDE));

test("the marks leave the thread when another tab takes the context's place", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("inspector-toggle").click();
    await tab.page.locator("[data-mark]").first().waitFor();
    await tab.get("map-toggle").click();
    await tab.page.waitForFunction(() => document.querySelector("[data-mark]") === null);
    await tab.get("inspector-toggle").click();
    await tab.page.locator("[data-mark]").first().waitFor();
  }));

test("depths and ids are shown when they are asked for, and a depth that the text gets wrong always", () =>
  site.visit(async (tab) => {
    await opened(tab);
    const depth = tab.get("depth").first();
    assert.equal(await depth.isVisible(), false);
    await tab.get("details").click();
    assert.equal(await depth.innerText(), "depth 1");
    assert.ok(await depth.isVisible());
    assert.equal(await tab.get("node-id").first().innerText(), await tab.page.locator("[data-node]").first().getAttribute("data-node"));
    await tab.page.reload();
    await depth.waitFor();
    await tab.get("details").click();
    await depth.waitFor({ state: "hidden" });
  }));

test("settings are folded, and stay in reach of the keys", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("inspector-toggle").click();
    await tab.get("settings").waitFor();
    assert.equal(await tab.get("policy").isVisible(), false);
    assert.ok(await tab.get("budget").isVisible());
    await tab.get("settings").locator("summary").focus();
    await tab.page.keyboard.press("Enter");
    assert.ok(await tab.get("policy").isVisible());
  }));

for (const colorScheme of ["light", "dark"])
  test(`two panels pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        await opened(tab);
        await tab.get("inspector-toggle").click();
        await tab.get("split").click();
        await tab.get("requests").waitFor();
        await tab.unfoldSettings();
        const access = rules(tab.page);
        await access.look("two panels");
        access.check();
      },
      { ...WIDE, colorScheme },
    ));

test("on a phone the map and the requests take all of the height, and their tabs lead from one to the next", () =>
  site.visit(
    async (tab) => {
      await opened(tab);
      assert.equal(await tab.get("map-toggle").isVisible(), false, "one button opens the panel, whose tabs lead on");
      await tab.get("inspector-toggle").click();
      await tab.get("map-toggle").click();
      await tab.get("map").waitFor();
      const panel = await tab.page.locator(".pane.beside").boundingBox();
      assert.ok(panel.height > 844 * 0.9, `${panel.height} px`);
      for (const id of ["requests-toggle", "close-side"]) {
        const box = await tab.get(id).boundingBox();
        assert.ok(box.height >= 44, `${id}: ${box.height} px`);
      }
      await tab.get("requests-toggle").click();
      await tab.get("requests").waitFor();
      await tab.get("close-side").click();
      await tab.get("message").first().waitFor();
      assert.equal(await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    },
    { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  ));

test("on a phone the composer is one line, and has its meter below the field once that is used", () =>
  site.visit(
    async (tab) => {
      await tab.pick(EXPORT);
      await tab.closeReport();
      await tab.openThread("Adding up a column");
      const [field, meter] = [tab.get("compose"), tab.get("composer-meter")];
      assert.equal(await meter.isVisible(), false);
      await field.fill("a word");
      await meter.waitFor();
      const [above, below] = [await field.boundingBox(), await meter.boundingBox()];
      assert.ok(below.y >= above.y + above.height - 1, `${below.y} is below ${above.y} and ${above.height}`);
      await meter.click();
      await tab.get("inspector").waitFor();
    },
    { viewport: { width: 390, height: 844 } },
  ));
