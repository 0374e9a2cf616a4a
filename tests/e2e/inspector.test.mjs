// The context inspector: what a budget keeps of a thread, why, and what the provider would get.
//
// THREADKEEP_LONG: messages of the long conversation.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { transcript } from "./generate.mjs";
import { rules } from "./support/axe.mjs";
import { oneFile, Tree } from "./support/chatgpt.mjs";
import { median } from "./support/measure.mjs";
import { scratch } from "./support/package.mjs";
import { count } from "./support/random.mjs";
import { openSite } from "./support/site.mjs";

const messages = count("THREADKEEP_LONG", 10_000);
const TURNS = 20;
const TITLE = "Twenty questions";
const NEWEST = `Question ${TURNS - 1}: what about number ${TURNS - 1}?`;

let site, files;

before(async () => {
  files = scratch("inspector");
  site = await openSite();
});
after(async () => {
  await site?.close();
  files?.remove();
});

/** A thread of `TURNS` questions and answers, and a question without one. */
function questions() {
  const tree = new Tree("beef0000-0001-4000-8000-000000000001", TITLE);
  let leaf = tree.start;
  for (let at = 0; at < TURNS; at += 1) {
    leaf = tree.say(leaf, "user", `Question ${at}: what about number ${at}?`);
    if (at < TURNS - 1) leaf = tree.say(leaf, "assistant", `Answer ${at}: ${"a number like any other, more or less. ".repeat(5)}`);
  }
  return { name: "conversations.json", data: oneFile([tree.json]) };
}

/** The pane answered everything that was asked. */
async function answered(tab) {
  await tab.page.waitForFunction(() => document.querySelector("[data-testid=inspector]")?.getAttribute("aria-busy") === "false");
}

const figure = async (tab, name) => Number((await tab.get(name).textContent()).replace(/\D/g, ""));

/** What the pane says, as numbers; the sums must agree whatever is set. */
async function figures(tab) {
  await answered(tab);
  const found = await tab.page.evaluate(() => {
    const pane = document.querySelector("[data-testid=inspector]");
    const number = (element) => Number(element.textContent.replace(/\D/g, ""));
    const all = (prefix) =>
      Object.fromEntries(
        [...pane.querySelectorAll(`[data-testid^=${prefix}-]`)]
          .filter((element) => element.closest("[hidden]") === null)
          .map((element) => [element.dataset.testid.slice(prefix.length + 1), number(element)]),
      );
    const [kept, whole] = pane
      .querySelector("[data-testid=kept]")
      .textContent.match(/[\d,]+/g)
      .map((text) => Number(text.replaceAll(",", "")));
    return { tokens: number(pane.querySelector("[data-testid=tokens]")), kinds: all("kind"), marks: all("mark"), kept, whole };
  });
  const { free: _, ...kinds } = found.kinds;
  const sum = (numbers) => Object.values(numbers).reduce((a, b) => a + b, 0);
  assert.equal(sum(kinds), found.tokens, "the kinds add up to the figure");
  assert.equal(sum(found.marks), found.whole, "every message has a mark");
  assert.equal(found.whole - (found.marks.dropped ?? 0), found.kept, "what is not dropped is in the prompt");
  return found;
}

async function slide(tab, position) {
  await tab.get("budget").evaluate((slider, position) => {
    slider.value = position;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }, String(position));
  return figures(tab);
}

async function budget(tab, tokens) {
  await tab.get("max-tokens").fill(String(tokens));
  return figures(tab);
}

async function open(tab, archive = questions(), title = TITLE, patience = {}) {
  const report = await tab.pick(archive, patience);
  assert.equal(report.added, 1, report.text);
  await tab.closeReport();
  if ((await tab.get("inspector-toggle").count()) === 0) await tab.openThread(title);
  await tab.get("message").first().waitFor();
  await tab.page.keyboard.press("c");
  await tab.get("inspector").waitFor();
  await tab.unfoldSettings();
  return figures(tab);
}

/** The mark of a message, once the thread is drawn for the answer that the pane shows. */
async function mark(tab, text) {
  await tab.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  return tab.message(text).first().getAttribute("data-mark");
}

test("the sample: the slider moves marks, sums equal the figure, and the vocabulary comes only now", () =>
  site.visit(async (tab) => {
    const asked = [];
    tab.page.context().on("request", (request) => asked.push(new URL(request.url()).pathname));
    assert.equal(asked.filter((path) => path.includes("vocabulary")).length, 0, "nobody counts yet");
    await tab.get("sample").click();
    await tab.get("message").first().waitFor();
    await tab.closeReport();
    const all = await figures(tab);
    assert.equal(asked.filter((path) => path.endsWith("o200k_base.gz")).length, 1);
    assert.ok(all.tokens > 50, `${all.tokens} tokens`);
    const before = await tab.get("message").evaluateAll((list) => list.map((message) => message.dataset.mark));
    assert.ok(
      before.every((mark) => mark !== undefined),
      before.join(),
    );
    const some = await slide(tab, 500);
    assert.ok(some.tokens < all.tokens && some.marks.dropped > 0, JSON.stringify(some));
    const after = await tab.get("message").evaluateAll((list) => list.map((message) => message.dataset.mark));
    assert.notDeepEqual(after, before, "the marks moved");
    const none = await slide(tab, 0);
    assert.ok(await tab.get("over").isVisible(), "what must stay is over a budget of nothing, and it is said");
    assert.match(await tab.get("over").innerText(), new RegExp(`takes ${none.tokens} tokens`));
    const again = await slide(tab, 1000);
    assert.equal(again.tokens, all.tokens);
    await tab.unfoldSettings();
    await tab.get("max-messages").fill("1");
    assert.ok((await figures(tab)).kept <= all.kept);
    // Closed, the thread is as it was.
    await tab.page.keyboard.press("Escape");
    await tab.get("close-side").click();
    await tab.get("inspector").waitFor({ state: "detached" });
    assert.equal(await tab.page.locator("[data-mark]").count(), 0);
  }));

test("a budget marks messages with the rule; the smallest budget is the smallest; the next tokens are foretold", () =>
  site.visit(async (tab) => {
    const all = await open(tab);
    const now = await budget(tab, Math.floor(all.tokens / 2));
    assert.ok(now.tokens <= all.tokens / 2);
    await tab.get("messages").focus();
    await tab.page.keyboard.press("Home");
    const first = tab.message("Question 0:");
    await first.waitFor();
    assert.equal(await first.getAttribute("data-mark"), "dropped");
    assert.match(await first.getAttribute("aria-description"), /^Dropped: older than what the token budget/);
    await first.hover();
    assert.ok(await first.locator(".mark-why").isVisible(), "the rule shows on hover");

    // The smallest budget at which it survives, and one less.
    await first.focus();
    await answered(tab);
    const least = Number((await tab.get("survives").innerText()).replace(/\D/g, ""));
    assert.ok(least > all.tokens / 2 && least <= all.tokens, String(least));
    await budget(tab, least);
    assert.notEqual(await mark(tab, "Question 0:"), "dropped");
    await budget(tab, least - 1);
    assert.equal(await mark(tab, "Question 0:"), "dropped");

    // What the next 1,000 tokens push out of the whole chain.
    await budget(tab, all.tokens);
    const leaving = await figure(tab, "leaving");
    assert.match(await tab.get("leaving").innerText(), /would push out \d+ messages/);
    assert.ok(leaving > 0);
    const noted = await tab.page.locator("[data-leaving]").count();
    assert.ok(noted > 0, "they are marked");
    await tab.get("leaving-toggle").click();
    assert.equal(await tab.get("leaving-toggle").getAttribute("aria-pressed"), "true");
  }));

test("a pinned message survives any budget that holds it, and a reload", () =>
  site.visit(async (tab) => {
    const all = await open(tab);
    await tab.get("messages").focus();
    await tab.page.keyboard.press("Home");
    await tab.message("Question 0:").focus();
    const small = await budget(tab, Math.floor(all.tokens / 3));
    assert.equal(await mark(tab, "Question 0:"), "dropped");
    await tab.get("pin").click();
    const pinned = await figures(tab);
    assert.equal(pinned.marks.pinned, 1);
    assert.equal(small.marks.pinned, undefined);
    assert.equal(await mark(tab, "Question 0:"), "pinned");
    await tab.page.reload();
    await tab.ready();
    await tab.get("inspector").waitFor();
    assert.equal((await figures(tab)).marks.pinned, 1, "it is kept with the thread");
    // By key, on the focused message.
    await tab.message("Question 0:").focus();
    await answered(tab);
    await tab.page.keyboard.press("p");
    assert.equal((await figures(tab)).marks.pinned, undefined);
  }));

test("all pins of a thread are removed with a way to take that back", () =>
  site.visit(async (tab) => {
    await open(tab);
    for (const [at, question] of ["Question 0:", "Question 1:"].entries()) {
      await tab.message(question).focus();
      await tab.get("pin").click();
      assert.equal((await figures(tab)).marks.pinned, at + 1);
    }
    await tab.get("unpin").click();
    await tab.page.locator(".notice", { hasText: "Pins removed" }).waitFor();
    assert.equal((await figures(tab)).marks.pinned, undefined);
    await tab.get("notice-act").click();
    assert.equal((await figures(tab)).marks.pinned, 2);
  }));

test("two policies side by side, and a choice of one", () =>
  site.visit(async (tab) => {
    const all = await open(tab);
    await budget(tab, Math.floor(all.tokens * 0.6));
    const side = async (name) => (await tab.get(`side-${name}`).innerText()).replace(/\s+/g, " ");
    const kept = (text) => Number(text.match(/([\d,]+) messages?/)[1]);
    const [newest, stable] = [await side("newest"), await side("stable")];
    assert.ok(kept(stable) <= kept(newest), `${newest} / ${stable}`);
    for (const words of [newest, stable]) assert.match(words, /Begins with [\d,]+ tokens? of the last request/);
    await tab.get("policy").selectOption({ label: "stable" });
    const now = await figures(tab);
    assert.equal(now.kept, kept(stable));
    await tab.get("policy").selectOption({ label: "newest" });
    assert.equal((await figures(tab)).kept, kept(newest));
  }));

test("the payload to copy is JSON for the provider, with the newest user message in it", () =>
  site.visit(
    async (tab) => {
      const all = await open(tab);
      await budget(tab, Math.floor(all.tokens / 4));
      const copied = async () => JSON.parse(await tab.copied(() => tab.get("copy-payload").click()));
      const chat = await copied();
      assert.equal(chat.messages.at(-1).content, NEWEST);
      assert.ok(chat.messages.length < TURNS, "most are dropped");
      await tab.get("provider").selectOption({ label: "Anthropic" });
      await figures(tab);
      const anthropic = await copied();
      assert.equal(anthropic.messages[0].role, "user");
      assert.match(JSON.stringify(anthropic.messages.at(-1)), /Question 19/);
      await tab.get("payload").locator("summary").click();
      await tab.page.waitForFunction(() => document.querySelector("[data-testid=payload-text]").textContent.includes("Question 19"));
      await tab.get("provider").selectOption({ label: "Gemini" });
      await tab.page.waitForFunction(() => document.querySelector("[data-testid=payload-text]").textContent.includes('"contents"'));
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("everything by key, with names for readers, in both colours and on a phone", async () => {
  for (const colorScheme of ["light", "dark"])
    await site.visit(
      async (tab) => {
        const all = await open(tab);
        await tab.get("budget").focus();
        for (let at = 0; at < 4; at += 1) await tab.page.keyboard.press("PageDown");
        const less = await figures(tab);
        assert.ok(less.tokens < all.tokens && less.marks.dropped > 0);
        assert.match(await tab.get("budget").getAttribute("aria-valuetext"), /tokens, \d+ messages? kept/);
        const access = rules(tab.page);
        await access.look("inspector", "[data-testid=inspector]");
        access.check();
        await tab.get("messages").focus();
        await tab.page.keyboard.press("j");
        await answered(tab);
        assert.match(await tab.get("selected").innerText(), /^(You|Assistant)/);
        await tab.page.keyboard.press("m");
        await tab.get("map").waitFor();
        assert.equal(await tab.get("inspector").count(), 0, "the map takes the place");
        await tab.page.keyboard.press("c");
        await tab.get("inspector").waitFor();
        assert.equal(await tab.get("map").count(), 0);
      },
      { colorScheme },
    );
  await site.visit(
    async (tab) => {
      await tab.pick(questions());
      await tab.closeReport();
      await tab.get("inspector-toggle").click();
      await figures(tab);
      const { thread, pane } = await tab.page.evaluate(() => ({
        thread: document.querySelector("[data-testid=messages]").getBoundingClientRect().height,
        pane: document.querySelector("[data-testid=inspector]").getBoundingClientRect().height,
      }));
      assert.ok(thread > 150 && pane > 300, `messages ${thread}, pane ${pane}`);
      const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.equal(wide, 0, "nothing sticks out");
    },
    { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  );
});

test(`a step of the slider on ${messages} messages`, { timeout: 10 * 60_000 }, (t) =>
  site.visit(async (tab) => {
    const file = join(files.folder, "long.json");
    transcript(file, { messages });
    const all = await open(tab, file, "A long conversation", { timeout: 5 * 60_000 });
    assert.ok(all.whole >= messages);
    const steps = await tab.page.evaluate(async () => {
      const pane = document.querySelector("[data-testid=inspector]");
      const slider = document.querySelector("[data-testid=budget]");
      const times = [];
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      for (let at = 0; at < 60; at += 1) {
        await frame();
        const start = performance.now();
        slider.value = String(950 - at * 12);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => {
          const watch = new MutationObserver(() => {
            if (pane.getAttribute("aria-busy") !== "false") return;
            watch.disconnect();
            // Style and layout of what was changed belong to the step.
            pane.getBoundingClientRect();
            document.querySelector("[data-testid=messages]").getBoundingClientRect();
            done();
          });
          watch.observe(pane, { attributes: true, attributeFilter: ["aria-busy"] });
        });
        times.push(performance.now() - start);
      }
      return times;
    });
    const sorted = [...steps].sort((a, b) => a - b);
    t.diagnostic(
      `from the input to the redrawn page: half within ${median(sorted).toFixed(1)} ms, worst ${sorted.at(-1).toFixed(1)} ms (${steps
        .slice(0, 12)
        .map((time) => time.toFixed(1))
        .join(", ")}, …)`,
    );
    const small = await budget(tab, 3000);
    assert.ok(small.tokens <= 3000 && small.kept < 200 && small.kept > 1, JSON.stringify(small));
    await tab.get("cut").click();
    await tab.page.locator("[data-testid=message][data-mark=kept]").first().waitFor();
    assert.ok((await tab.page.locator("[data-testid=message][data-mark=dropped]").count()) > 0, "the cut is on the screen");
  }),
);
