// Nothing leaves the page without a press of the reader's that says so: choosing, typing and looking send nothing and load nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { number, opened } from "./support/allotment.mjs";
import { openSite } from "./support/site.mjs";
import { said, talk } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** A moment in which a request that should not be would have come. */
const moment = (tab) => tab.page.waitForTimeout(1500);

test("choosing a model in Compact sends nothing; the button says what it sends where, and the press sends it", () =>
  talk(
    site,
    () => ({ text: JSON.stringify({ episodic_summary: "Beds were planted.", statements: ["We decided to plant in spring."] }) }),
    async (tab, model) => {
      await opened(tab);
      await tab.get("compact").click();
      await tab.get("compact-preview").waitFor();
      await tab.get("compact-summariser").selectOption("2");
      await tab.get("compact-unwritten").waitFor();
      await tab.get("compact-strategy").selectOption({ label: "Hierarchical" });
      await tab.get("compact-tail").fill("2");
      await moment(tab);
      await tab.get("compact-unwritten").waitFor();
      assert.deepEqual(model.heard, [], "nothing was sent while one chose");
      const button = await tab.get("compact-confirm").innerText();
      const [, tokens, host] = /^Send about ([\d,]+) tokens(?: in \d+ requests)? to tiny-1 at ([\d.:]+), and compact$/.exec(button) ?? [];
      assert.equal(host, new URL(model.address).host, button);
      await tab.get("compact-strategy").selectOption({ label: "Summarise" });
      await tab.get("compact-unwritten").waitFor();
      await tab.get("compact-confirm").click();
      await tab.get("dialog").waitFor({ state: "detached" });
      await tab.get("compaction").waitFor();
      assert.ok(model.asked.length > 0);
      const characters = model.asked.flatMap(({ messages }) => messages).reduce((sum, { content }) => sum + content.length, 0);
      const each = characters / number(tokens);
      assert.ok(each > 2 && each < 7, `${number(tokens)} tokens were announced for ${characters} characters`);
      assert.match(await tab.get("compaction").innerText(), /tiny-1/);
    },
  ));

test("a press of Send lets the connection in use summarise a history that is too long", () => {
  const summary = { episodic_summary: "Beds were planted.", statements: [] };
  const summarises = ({ messages }) => JSON.stringify(messages).includes("episodic_summary");
  return talk(
    site,
    (request) => ({
      text: summarises(request) ? JSON.stringify(summary) : `About ${request.messages.at(-1).content.split(":")[0]}. ${"Soil, water and light. ".repeat(120)}`,
    }),
    async (tab, model) => {
      for (const subject of ["Beds", "Seeds", "Tools", "Paths", "Frost", "Rain", "Trees", "Birds", "Harvest"])
        await said(tab, `${subject}: ${"what do we plan? ".repeat(60)}`, `About ${subject}.`);
      assert.equal(model.asked.filter((request) => !summarises(request)).length, 9, "each press is one question");
      assert.ok(model.asked.some(summarises), "the model was asked for a summary");
      assert.match(JSON.stringify(model.asked.at(-1).messages), /Beds were planted\./, "the summary stands for what was said first");
    },
    { tools: "none", connection: { maxContextTokens: 4000, maxOutputTokens: 500 } },
  );
});

/** A stand-in of the browser's Summarizer that must be loaded before it can be used. */
function unloaded() {
  window.made = 0;
  self.Summarizer = class {
    static availability = async () => "downloadable";
    static create = async ({ monitor }) => {
      window.made += 1;
      monitor({ addEventListener() {} });
      return new self.Summarizer();
    };
    inputQuota = 5000;
    measureInputUsage = async (text) => text.length / 4;
    summarize = async () => "* We decided to plant in spring.";
    destroy = () => {};
  };
}

test("choosing the browser's summariser loads nothing; the button says that it loads it", () =>
  site.visit(
    async (tab) => {
      await opened(tab);
      await tab.get("compact").click();
      await tab.get("compact-preview").waitFor();
      await tab.get("compact-summariser").selectOption("1");
      await tab.get("compact-unwritten").waitFor();
      await moment(tab);
      assert.equal(await tab.page.evaluate(() => window.made), 0);
      assert.equal(await tab.get("compact-confirm").innerText(), "Download the browser's summariser, and compact");
      await tab.get("compact-confirm").click();
      await tab.get("dialog").waitFor({ state: "detached" });
      await tab.get("compaction").waitFor();
      assert.equal(await tab.page.evaluate(() => window.made), 1);
      assert.match(await tab.get("compaction").innerText(), /by the browser/);
    },
    { prepare: (context) => context.addInitScript(unloaded) },
  ));

test("writing down a connection asks its server nothing until one tests it or lists its models", () =>
  talk(site, undefined, async (tab, model) => {
    await tab.get("model-chip").click();
    await tab.get("connection-edit").click();
    await tab.get("connection-secret").fill("sk-test");
    await tab.get("connection-url").fill(`${model.url}/`);
    await tab.get("connection-model").first().fill("tiny-2");
    await tab.page.keyboard.press("Tab");
    await moment(tab);
    assert.deepEqual(model.heard, []);
    await tab.page.getByRole("button", { name: "List models" }).click();
    await tab.get("connection-said").filter({ hasText: "2 models to choose from" }).waitFor();
    assert.deepEqual(
      model.heard.filter((line) => !line.startsWith("OPTIONS")),
      ["GET /v1/models"],
    );
  }));
