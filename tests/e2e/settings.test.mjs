// Settings on the page: what the reader sets and pins is stored in the keep, and is what the agent sends.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { oneFile, small } from "./support/chatgpt.mjs";
import { openSite, Site } from "./support/site.mjs";
import { echo, said, sent, talk } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite({ withPackage: true });
});
after(() => site?.close());

const answered = (tab) => tab.page.waitForFunction(() => document.querySelector("[data-testid=inspector]")?.getAttribute("aria-busy") === "false");

async function inspect(tab) {
  await tab.page.keyboard.press("Escape");
  await tab.get("inspector-toggle").click();
  await tab.unfoldSettings();
  await answered(tab);
}

/** The first message of the branch is on the screen. */
async function toStart(tab) {
  await tab.get("messages").focus();
  await tab.page.keyboard.press("Home");
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
      await toStart(tab);
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

test("a message is pinned with one press, also while no panel is open, and the next request has it", () =>
  talk(
    site,
    echo,
    async (tab, model) => {
      for (const word of ["First", "Second", "Third"]) await said(tab, `${word}: ${LONG}`, `to ${word}`);
      await inspect(tab);
      await tab.get("max-messages").fill("3");
      await answered(tab);
      await tab.get("close-side").click();
      await toStart(tab);
      const first = tab.message("First:").first();
      await first.hover();
      await first.getByTestId("pin-message").click();
      await tab.page.locator(".message.pinned").first().waitFor();
      assert.equal(await first.getByTestId("pin-message").getAttribute("aria-pressed"), "true");
      await said(tab, `Fourth: ${LONG}`, "to Fourth");
      const pinned = sent(model.asked.at(-1));
      assert.ok(pinned.length <= 3 && pinned[0].startsWith("user: First"), pinned.map((text) => text.slice(0, 20)).join());
      await tab.page.reload();
      await tab.ready();
      await tab.get("message").first().waitFor();
      await toStart(tab);
      await tab.page.locator(".message.pinned").first().waitFor();
      await first.hover();
      await first.getByTestId("pin-message").click();
      await tab.page.waitForFunction(() => document.querySelector(".message.pinned") === null);
      await said(tab, `Fifth: ${LONG}`, "to Fifth");
      assert.ok(!sent(model.asked.at(-1))[0].startsWith("user: First"), "it is pinned no longer");
    },
    { tools: "none" },
  ));

test("the context counts the tools that the model in use is offered, and says when they alone are over the budget", () =>
  talk(
    site,
    echo,
    async (tab, model) => {
      await said(tab, "Good morning.", "Answer 1 to");
      await inspect(tab);
      const tools = Number((await tab.get("kind-tools").textContent()).replace(/\D/g, ""));
      assert.ok(tools > 50, `${tools} tokens`);
      await tab.get("max-tokens").fill("80");
      await answered(tab);
      assert.match(await tab.get("over").innerText(), /Over budget/);
      const before = model.bodies.length;
      await tab.get("compose").fill("Hello?");
      await tab.get("send").click();
      await tab.page.getByText("nothing was sent").waitFor();
      assert.equal(model.bodies.length, before, "as the panel said");
    },
    { tools: "memory" },
  ));

test("a setting is taken back, one change after the other, and the next request has what was before", () =>
  talk(
    site,
    echo,
    async (tab, model) => {
      for (const word of ["First", "Second", "Third"]) await said(tab, `${word}: ${LONG}`, `to ${word}`);
      await inspect(tab);
      const undo = tab.get("undo-settings");
      assert.equal(await undo.isVisible(), false, "nothing was changed yet");
      await tab.get("max-messages").fill("3");
      await undo.waitFor();
      await tab.get("policy").selectOption({ label: "newest" });
      await answered(tab);
      await undo.click();
      await tab.page.waitForFunction(() => document.querySelector("[data-testid=policy]").selectedOptions[0].text === "stable");
      assert.equal(await tab.get("max-messages").inputValue(), "3");
      await undo.click();
      await tab.page.waitForFunction(() => document.querySelector("[data-testid=max-messages]").value === "");
      await undo.waitFor({ state: "hidden" });
      await said(tab, `Fourth: ${LONG}`, "to Fourth");
      assert.equal(sent(model.asked.at(-1)).length, 7, "all of it goes again");
      await tab.page.reload();
      await tab.ready();
      await tab.unfoldSettings();
      await answered(tab);
      assert.equal(await tab.get("max-messages").inputValue(), "", "so it is stored");
    },
    { tools: "none" },
  ));

/** What the reader sets before each message, and what is pinned. */
const STEPS = [
  {},
  ...[300, 420, 550, 700, 2_000].map((tokens) => ({ "max-tokens": tokens })),
  { policy: "newest" },
  { policy: "newest", "max-tokens": 450 },
  { policy: "newest", "max-messages": 4 },
  ...[3, 5, 8].map((messages) => ({ "max-messages": messages })),
  ...[900, 1_500, 3_000].map((chars) => ({ "max-chars": chars })),
  { pin: true },
  { pin: true, "max-messages": 4 },
  { pin: true, "max-tokens": 900 },
  { pin: true, policy: "newest", "max-tokens": 1_000 },
  { pin: true, "max-messages": 6, "max-chars": 2_500 },
  { memories: false },
  { memories: false, "max-tokens": 600 },
  { memories: true, "max-tokens": 600 },
  { compress: true },
  { compress: true, policy: "newest", "max-chars": 2_000 },
  { preview: false },
  { preview: false, "max-tokens": 800 },
  { "max-tokens": 900, "max-messages": 6, "max-chars": 4_000 },
  { encoding: "cl100k_base", "max-tokens": 600 },
  { encoding: "Estimate, 4 characters each", "max-tokens": 600 },
];

/** Sets all controls: what a step does not name is as it usually is. */
async function setAll(tab, step) {
  for (const limit of ["max-tokens", "max-messages", "max-chars"]) await tab.get(limit).fill(String(step[limit] ?? ""));
  await tab.get("policy").selectOption({ label: step.policy ?? "stable" });
  await tab.get("encoding").selectOption({ label: step.encoding ?? "o200k_base" });
  for (const [check, usual] of Object.entries({ memories: true, compress: false, preview: true })) await tab.get(check).setChecked(step[check] ?? usual);
  await answered(tab);
}

/** After a restart, the package reads the page's keep and makes every request again, byte for byte. */
async function madeAgain(tab, bodies) {
  await tab.page.reload();
  await tab.ready();
  const again = await tab.page.evaluate(async () => {
    const { Threadkeep } = await import("/package/dist/index.js");
    const keep = await Threadkeep.open({ name: "threadkeep" });
    const [transcript] = await keep.transcripts();
    const made = [];
    for (const { id } of await keep.requests.list(transcript.id)) {
      const { body, differs } = await keep.requests.get(id);
      made.push([differs, JSON.stringify(body)]);
    }
    await keep.close();
    return made;
  });
  assert.deepEqual(
    again,
    bodies.map((body) => [null, body]),
  );
}

test("the payload that the inspector shows is what Send sends, byte for byte, for thirty settings", () => {
  assert.equal(STEPS.length, 30);
  const fact = "The beds lie behind the pier in Bergen.";
  const plan = (request, number) => (number === 2 ? { calls: [{ name: "remember", arguments: { fact } }] } : echo(request, number));
  const shown = async (tab) => tab.copied(() => tab.get("copy-payload").click());
  return talk(
    site,
    plan,
    async (tab, model) => {
      await said(tab, `Zero: ${LONG}`, "Answer 1 to");
      await said(tab, `One: ${LONG}`, "Answer 3 to");
      await inspect(tab);
      let pinned = false;
      for (const [at, { pin = false, ...step }] of STEPS.entries()) {
        await setAll(tab, step);
        if (pin !== pinned) {
          await toStart(tab);
          await tab.message("Zero:").first().focus();
          await answered(tab);
          await tab.get("pin").click();
          await answered(tab);
          pinned = pin;
        }
        const before = model.bodies.length;
        const words = `Step ${at}: how are the beds in Bergen? ${"And the pier? ".repeat(at % 4)}`.trim();
        await tab.get("compose").fill(words);
        const next = await shown(tab);
        assert.equal(model.bodies.length, before, "nothing is sent before Send");
        await tab.page.keyboard.press("Escape");
        await tab.get("compose").focus();
        await said(tab, words, `Answer ${before + 1} to`);
        assert.equal(next, model.bodies[before], `step ${at}: ${JSON.stringify(step)}`);
      }
      assert.ok(
        model.bodies.some((body) => body.includes(fact.slice(0, 20)) && body.includes("Step")),
        "a fact is among what was sent",
      );
      await madeAgain(tab, model.bodies);
      await tab.unfoldSettings();
      await setAll(tab, {});
      await tab.get("payload").locator("summary").click();
      const says = (words) => tab.page.waitForFunction((words) => document.querySelector("[data-testid=payload-what]").textContent.includes(words), words);
      await says("The branch as it stands");
      await tab.get("compose").fill("A last word?");
      await says("byte for byte");
      assert.match(await tab.get("payload-text").textContent(), /A last word\?/);
    },
    { tools: "memory", permissions: ["clipboard-read", "clipboard-write"] },
  );
});

test("a system prompt, a mode and a persona that the reader writes are in the next request, and a reload keeps them", () =>
  talk(
    site,
    echo,
    async (tab, model) => {
      await said(tab, "Good morning.", "Answer 1 to");
      await inspect(tab);
      const open = () => tab.get("instructions").locator("summary").click();
      const locked = await tab.page.evaluate(() => {
        document.querySelector("[data-testid=instructions] summary").click();
        return ["system-prompt", "persona", "mode"].every((name) => document.querySelector(`[data-testid=${name}]`).disabled);
      });
      assert.ok(locked, "nothing is written there before what is stored was read, which would replace it");
      await tab.get("system-prompt").fill("Answer as a gardener would.");
      await tab.get("persona").fill("You are the head gardener.");
      await tab.get("mode").selectOption({ label: "Agent" });
      await answered(tab);
      await tab.get("compose").fill("When do we sow?");
      const next = await tab.copied(() => tab.get("copy-payload").click());
      await said(tab, "When do we sow?", "Answer 2 to");
      assert.equal(next, model.bodies[1]);
      assert.match(next, /Answer as a gardener would\..*You are the head gardener\./s);
      await tab.page.reload();
      await tab.ready();
      await tab.get("inspector").waitFor();
      await open();
      const shows = (name, value) =>
        tab.page.waitForFunction(([name, value]) => document.querySelector(`[data-testid=${name}]`)?.value === value, [name, value]);
      await shows("system-prompt", "Answer as a gardener would.");
      await shows("persona", "You are the head gardener.");
      await shows("mode", "2");
      await tab.get("system-prompt").fill("");
      await tab.get("mode").selectOption({ label: "None" });
      await answered(tab);
      await said(tab, "And when do we harvest?", "Answer 3 to");
      assert.ok(!model.bodies[2].includes("gardener would") && !model.bodies[2].includes("head gardener"), model.bodies[2]);
    },
    { tools: "none", permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("what an older version of the page kept in this browser moves over on the first start", () =>
  site.visit(
    async (tab) => {
      await tab.get("sample").click();
      await tab.get("message").first().waitFor();
      await tab.closeReport();
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

test("the composer says what comes along in the next request, and leads to Context", () =>
  site.visit(async (tab) => {
    await tab.pick({ name: "conversations.json", data: oneFile(small()) });
    await tab.closeReport();
    await tab.openThread("Sourdough for beginners");
    assert.equal(await tab.get("composer-meter").count(), 0, "nothing is counted before the reader turns to the field");
    await tab.get("compose").focus();
    const meter = tab.get("composer-meter");
    await meter.waitFor();
    assert.match(await meter.innerText(), /^\d+ tokens$/);
    await tab.get("message").first().hover();
    await tab.get("pin-message").first().click();
    await meter.filter({ hasText: "1 pin" }).waitFor();
    await meter.click();
    await tab.get("inspector").waitFor();
    const shown = async () => Number((await tab.get("tokens").innerText()).replace(/\D/g, ""));
    await tab.page.waitForFunction(() => /\d/.test(document.querySelector("[data-testid=tokens]").textContent));
    assert.equal(Number.parseInt(await meter.innerText(), 10), await shown());
    await tab.get("max-tokens").fill("60");
    await meter.filter({ hasText: "of 60 tokens" }).waitFor();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=inspector]").getAttribute("aria-busy") === "false");
    assert.equal(Number.parseInt(await meter.innerText(), 10), await shown());
  }));
