// Epochs on the page: the prompt before and after each compaction, what became of each message between them, and what stands
// for a message in prompts now.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { compact, grown, number, opened, question, TURNS } from "./support/allotment.mjs";
import { rules } from "./support/axe.mjs";
import { openSite } from "./support/site.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** The long conversation, compacted, grown by half, and compacted again. */
async function twice(tab) {
  await opened(tab);
  const first = await compact(tab);
  await grown(tab, TURNS * 1.5);
  const second = await compact(tab);
  return { first, second };
}

/** The dialog shows the difference of the epoch of this place. */
async function at(tab, place) {
  await tab.page.waitForFunction(
    (words) => document.querySelector("[data-testid=epoch-place]")?.textContent.startsWith(words) && document.querySelector("[data-testid=epoch-figures]"),
    `Epoch ${place + 1} of`,
  );
  await tab.get("epoch-lines").waitFor();
}

async function epochs(tab) {
  await tab.page.keyboard.press("e");
  await tab.get("epoch-slider").waitFor();
}

/** The figures that the dialog shows, and the sums of its stretches. */
async function figures(tab) {
  const side = async (name) => ((await tab.get(name).count()) ? number(await tab.get(name).innerText()) : undefined);
  const sums = await tab.page.evaluate(() => {
    const sums = {};
    for (const one of document.querySelectorAll("[data-testid=epoch-lines] > [data-tokens]")) {
      const name = one.dataset.testid;
      sums[name] ??= { tokens: 0, count: 0 };
      sums[name].tokens += Number(one.dataset.tokens);
      sums[name].count += Number(one.dataset.count ?? 1);
    }
    return sums;
  });
  const of = (name) => sums[name]?.tokens ?? 0;
  return { before: await side("epoch-tokens-before"), after: await side("epoch-tokens-after"), sums, of };
}

test("a slider over the epochs: both prompts' figures are the sums of what left, came in and stayed", () =>
  site.visit(async (tab) => {
    const { first, second } = await twice(tab);
    await epochs(tab);
    await at(tab, 2);
    const last = await figures(tab);
    // What a reply begins with stands around the messages on both sides.
    const around = last.before - last.of("epoch-old-summary") - last.of("epoch-left") - last.of("epoch-stayed");
    assert.ok(around >= 0 && around < 10, JSON.stringify(last));
    assert.equal(last.after, last.of("epoch-summary") + last.of("epoch-stayed") + around);
    assert.equal(last.before - last.after, second.before - second.after, "as much as the preview had promised");
    assert.deepEqual(await tab.get("epoch-summary").locator("li").allInnerTexts(), second.statements);
    assert.match(await tab.get("epoch-facts").innerText(), /Summarise, built in/);
    const absent = number(await tab.get("epoch-absent").innerText());
    assert.ok(absent > 0, "what the first compaction had taken out is in neither prompt");

    // By key to the one before, and to the original.
    await tab.get("epoch-slider").focus();
    await tab.page.keyboard.press("ArrowLeft");
    await at(tab, 1);
    await tab.page.waitForFunction(
      (before) => document.querySelector("[data-testid=epoch-tokens-before]").textContent !== before,
      `${last.before.toLocaleString("en-US")} tokens`,
    );
    const middle = await figures(tab);
    assert.equal(middle.before - middle.after, first.before - first.after);
    assert.equal(middle.sums["epoch-old-summary"], undefined, "there was none before");
    assert.equal(middle.sums["epoch-left"].count + middle.sums["epoch-stayed"].count, 2 * TURNS);
    await tab.page.keyboard.press("Home");
    await at(tab, 0);
    await tab.get("epoch-tokens-before").waitFor({ state: "detached" });
    assert.ok(await tab.get("epoch-before").isDisabled(), "the original has nothing before it");
    const original = await figures(tab);
    assert.equal(original.after, middle.before);
    // By the buttons.
    await tab.get("epoch-later").click();
    await tab.get("epoch-later").click();
    await at(tab, 2);
    assert.equal(await tab.get("epoch-slider").inputValue(), "2", "the slider follows");
    assert.ok(await tab.get("epoch-later").isDisabled());
  }));

test("the exact prompts before and after, as the provider would get them", () =>
  site.visit(
    async (tab) => {
      const { statements } = await (async () => {
        await opened(tab);
        return compact(tab);
      })();
      // From the card itself.
      await tab.get("compaction-epochs").click();
      await at(tab, 1);
      const copied = async (view) => {
        await tab.get(view).click();
        await tab.page.waitForFunction((view) => document.querySelector(`[data-testid=${view}]`).getAttribute("aria-pressed") === "true", view);
        await tab.get("epoch-payload").waitFor();
        return JSON.parse(await tab.copied(() => tab.get("epoch-copy").click()));
      };
      const old = await copied("epoch-before");
      assert.equal(old.messages.length, 2 * TURNS);
      assert.equal(old.messages[0].content, question(0));
      const now = await copied("epoch-after");
      assert.ok(now.messages.length < old.messages.length);
      for (const said of statements) assert.ok(now.messages[0].content.includes(said.replace(/\n/g, "\n  ")), said);
      assert.deepEqual(now.messages.slice(1), old.messages.slice(1 - now.messages.length), "the newest turns are as they were");
      assert.match(await tab.get("epoch-payload").innerText(), /Previous conversation summary/);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("a line of the difference leads to its message", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await compact(tab);
    await tab.get("inspector-toggle").click();
    await tab.get("epochs-open").click();
    await at(tab, 1);
    await tab.get("epoch-left").locator("summary").click();
    const line = tab.get("epoch-left").getByTestId("epoch-line").filter({ hasText: "Question 1:" });
    await line.click();
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.page.waitForFunction(
      (words) => document.activeElement?.matches("[data-testid=message]") && document.activeElement.textContent.includes(words),
      question(1),
    );
  }));

test("a branch without a compaction says that it has one epoch", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.page.keyboard.press("e");
    await tab.get("epoch-none").waitFor();
    await at(tab, 0);
    assert.equal(await tab.get("epoch-slider").count(), 0);
    assert.equal((await figures(tab)).sums["epoch-stayed"].count, 2 * TURNS);
  }));

test("a selected message says what stands for it in prompts, and leads there", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await compact(tab);
    // A statement's source, from the other side.
    const statement = tab.get("statement").first();
    const said = await statement.innerText();
    await statement.click();
    const source = tab.page.locator("[data-testid=message].lit").first();
    await source.click();
    const strip = source.getByTestId("carried");
    await strip.waitFor();
    assert.match(await strip.innerText(), /In prompts, (one line|\d+ lines) of the summary stand/);
    const lines = await strip.getByTestId("carrier-line").allInnerTexts();
    assert.ok(lines.includes(said), `${said} is among ${lines.join(" | ")}`);
    await strip.getByTestId("carrier-line").filter({ hasText: said }).click();
    await tab.page.waitForFunction((said) => document.activeElement?.matches("[data-testid=statement]") && document.activeElement.innerText === said, said);
    assert.equal(await tab.page.evaluate(() => document.activeElement.getAttribute("aria-pressed")), "true");
    const seen = await tab.page.evaluate(() => {
      const [line, view] = [document.activeElement, document.querySelector("[data-testid=messages]")].map((one) => one.getBoundingClientRect());
      return line.top >= view.top && line.bottom <= view.bottom;
    });
    assert.ok(seen, "the statement is on the screen");

    // What was remembered of it.
    await tab.get("originals").click();
    const first = tab.message("Question 0:");
    await first.waitFor();
    await first.click();
    await first.getByTestId("carrier-memory").waitFor();
    assert.match(await first.getByTestId("carrier-memory").innerText(), /Remembered: .*episode/);
    assert.equal(await tab.get("carried").count(), 1, "one message is selected");
    await first.getByTestId("carrier-memory").click();
    await tab.get("memory-panel").waitFor();
    await tab.page.keyboard.press("Escape");

    // What no compaction covers has no such note.
    await tab.page.keyboard.press("End");
    const newest = tab.message(`Question ${TURNS - 1}:`);
    await newest.waitFor();
    await newest.click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=carried]").length === 0);
  }));

test("a message without a line says so, and one that is pinned stays in prompts", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await compact(tab);
    await tab.get("originals").click();
    await tab.message("Question 0:").waitFor();
    await tab.get("inspector-toggle").click();
    await tab.message("Question 0:").click();
    await tab.get("carried").waitFor();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=inspector]")?.getAttribute("aria-busy") === "false");
    assert.equal(await tab.message("Question 0:").getAttribute("data-mark"), "summarised");
    assert.match(await tab.get("why").innerText(), /compacted: the summary stands in for it/);
    await tab.get("pin").click();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=message][data-mark=pinned]") !== null);
    await tab.page.waitForFunction(() => /It is in prompts as it is/.test(document.querySelector("[data-testid=carried]")?.textContent ?? ""));
    // The note follows the pin while the message stays selected.
    await tab.get("pin").click();
    await tab.page.waitForFunction(() => /In prompts,|left prompts/.test(document.querySelector("[data-testid=carried]")?.textContent ?? ""));
    // It is made anew when the thread is drawn again, and there is one.
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=carried]").length === 1);
  }));

for (const colorScheme of ["light", "dark"])
  test(`epochs and provenance pass the accessibility rules in ${colorScheme}, also on a phone`, async () => {
    for (const phone of [false, true])
      await site.visit(
        async (tab) => {
          const { look, check } = rules(tab.page);
          await opened(tab);
          await compact(tab);
          await tab.get("compaction-epochs").click();
          await at(tab, 1);
          await tab.get("epoch-left").locator("summary").click();
          await look("difference");
          const wide = await tab.page.evaluate(() => {
            const dialog = document.querySelector("[data-testid=dialog]");
            return dialog.scrollWidth - dialog.clientWidth;
          });
          assert.equal(wide, 0, "nothing sticks out");
          await tab.get("epoch-after").click();
          await tab.get("epoch-payload").waitFor();
          await look("prompt");
          await tab.page.keyboard.press("Escape");
          await tab.get("originals").click();
          await tab.message("Question 0:").waitFor();
          await tab.message("Question 0:").click();
          await tab.get("carried").waitFor();
          await look("carried");
          check();
        },
        phone ? { colorScheme, viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } : { colorScheme },
      );
  });
