// Compacting as the reader wants it: the strategy, what stays, how far it is, and giving it up.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { compact, grown, number, opened, TITLE, TURNS } from "./support/allotment.mjs";
import { rules } from "./support/axe.mjs";
import { openSite } from "./support/site.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** The number of messages that the preview says it would cover. */
async function covered(tab) {
  return number((await tab.get("compact-preview").innerText()).match(/first ([\d,]+) message/)[1]);
}

/** Chooses something in the dialog, and waits until the preview is that of the choice. */
async function preview(tab, choose) {
  await tab.get("compact-preview").evaluate((old) => old.setAttribute("data-old", ""));
  await choose();
  await tab.page.locator("[data-testid=compact-preview]:not([data-old])").waitFor();
}

test("a compacted thread opens at its end, and any other at its beginning", () =>
  site.visit(async (tab) => {
    await opened(tab);
    const first = tab.message("Question 0:");
    const last = tab.message(`Question ${TURNS - 1}:`);
    await first.waitFor();
    assert.ok(await tab.page.getByTestId("messages").evaluate((scroller) => scroller.scrollTop < 10));
    await compact(tab);
    await tab.page.locator("[data-testid=thread-row]:not(.active)").first().click();
    await last.waitFor({ state: "detached" });
    await tab.row(TITLE).click();
    await last.waitFor();
    await tab.page.waitForFunction(() => {
      const scroller = document.querySelector("[data-testid=messages]");
      return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 10;
    });
    assert.equal(await first.count(), 0, "the beginning is far away");
    const note = tab.get("summarised");
    assert.match(await note.innerText(), /Messages 1 to \d+ are summarised\./);
    await tab.get("to-summary").click();
    await tab.page.locator("[data-testid=statement]:focus").waitFor();
    await tab.get("to-start").click();
    await first.waitFor();
    await tab.page.locator("[data-testid=thread-row]:not(.active)").first().click();
    await note.waitFor({ state: "detached" });
  }));

test("the newer of two previews is shown, also where its vocabulary comes first", () =>
  site.visit(async (tab) => {
    let first = true;
    await tab.page.context().route(/vocabulary/, async (route) => {
      const late = first;
      first = false;
      if (late) await new Promise((resolve) => setTimeout(resolve, 1_500));
      await route.continue();
    });
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-everybody").check();
    await tab.get("compact-preview").waitFor();
    // The older one comes to its end meanwhile, and must not end the newer.
    await tab.page.waitForTimeout(2_000);
    assert.equal(await tab.get("compact-preview").count(), 1);
    await tab.get("compact-tail").fill("2");
    await tab.get("compact-preview").waitFor();
    assert.equal(await tab.get("compact-failed").count(), 0);
  }));

test("a choice takes the preview of the choice before away at once", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    // On a busy machine even the shortest timer comes late.
    await tab.page.evaluate(() => {
      const soon = window.setTimeout;
      window.setTimeout = (run, wait, ...rest) => soon(run, (wait ?? 0) + 1_000, ...rest);
    });
    await tab.get("compact-everybody").check();
    assert.equal(await tab.get("compact-preview").count(), 0);
    assert.ok(await tab.get("compact-confirm").isDisabled());
    await tab.get("compact-preview").waitFor();
    assert.ok(await tab.get("compact-confirm").isEnabled());
  }));

test("each strategy is previewed, and a sliding window has no summary", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    assert.equal(await tab.get("compact-strategy").inputValue(), "1", "summarise, where nothing was chosen");
    const summarised = number(await tab.get("compact-after").innerText());
    await preview(tab, () => tab.get("compact-strategy").selectOption({ label: "Sliding window" }));
    assert.match(await tab.get("strategy-about").innerText(), /no new summary stands in/);
    assert.equal(await tab.get("compact-statements").count(), 0);
    const window = number(await tab.get("compact-after").innerText());
    assert.ok(window < summarised, `${window} < ${summarised}`);
    await tab.get("compact-confirm").click();
    await tab.get("compaction").waitFor();
    assert.match(await tab.get("compaction").innerText(), /Sliding window/);
    assert.equal(await tab.get("statement").count(), 0);
    await tab.get("originals").click();
    await tab.message("Question 0:").waitFor();
    await tab.message("Question 0:").click();
    await tab.get("carried").waitFor();
    assert.match(await tab.get("carried").innerText(), /nothing stands in for it/);
    await tab.get("carrier-card").click();
    await tab.get("compaction").waitFor();

    // The next one goes on as this one did, unless one chooses.
    await grown(tab, TURNS * 2);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    assert.equal(await tab.get("compact-strategy").inputValue(), "0");
    await preview(tab, () => tab.get("compact-strategy").selectOption({ label: "Hierarchical" }));
    const promised = await tab.get("compact-statements").locator("li").allInnerTexts();
    await tab.get("compact-confirm").click();
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.page.locator("[data-testid=compaction]").filter({ hasText: "Hierarchical, built in" }).waitFor();
    assert.deepEqual(await tab.get("statement").allInnerTexts(), promised);
  }));

test("fewer turns that stay, more that is covered", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    // Four turns and the live one stay.
    const usual = await covered(tab);
    assert.ok(usual > 0 && usual < 2 * TURNS);
    await preview(tab, () => tab.get("compact-tail").fill("1"));
    const more = await covered(tab);
    assert.equal(more - usual, 6, "three turns more");
    await tab.get("compact-tail").fill("500");
    await tab.get("compact-nothing").waitFor();
    assert.ok(await tab.get("compact-confirm").isDisabled());
  }));

test("it says how far it is, and a cancelled compaction leaves nothing", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.page.evaluate(() => {
      window.said = [];
      new MutationObserver(() => {
        const words = document.querySelector("[data-testid=compact-progress]")?.textContent;
        if (words) window.said.push(words);
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    const messages = await covered(tab);
    const said = await tab.page.evaluate(() => window.said);
    const summarised = said
      .map((words) => /^Summarising ([\d,]+) messages…$/.exec(words)?.[1])
      .filter((found) => found !== undefined)
      .map(number);
    // The export begins with a message that is in no prompt.
    assert.deepEqual(summarised.slice(0, 1), [messages - 1], said.join(" | "));

    // One right after the other (as soon as the first was heard), so that the wish to cancel is there before anything can be stored.
    await tab.page.evaluate(async () => {
      document.querySelector("[data-testid=compact-confirm]").click();
      for (let at = 0; at < 100; at += 1) await undefined;
      document.querySelector("[data-testid=compact-cancel]").click();
    });
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.get("status").filter({ hasText: "Cancelled" }).waitFor();
    assert.ok((await tab.page.evaluate(() => window.said)).includes("Cancelling…"));
    assert.equal(await tab.get("compaction").count(), 0);
    await tab.page.reload();
    await tab.ready();
    await tab.get("message").first().waitFor();
    assert.equal(await tab.get("compaction").count(), 0);
    await tab.get("memory").click();
    await tab.get("memory-note").filter({ hasText: "Nothing is remembered yet" }).waitFor();
    await tab.page.keyboard.press("Escape");
    // And it works afterwards.
    const promised = await compact(tab);
    assert.ok(promised.after < promised.before);
  }));

for (const colorScheme of ["light", "dark"])
  test(`the choices pass the accessibility rules in ${colorScheme}`, () =>
    site.visit(
      async (tab) => {
        const { look, check } = rules(tab.page);
        await opened(tab);
        await tab.get("compact").click();
        await tab.get("compact-preview").waitFor();
        await preview(tab, () => tab.get("compact-strategy").selectOption({ label: "Hierarchical" }));
        await look("preview");
        check();
      },
      { colorScheme },
    ));

test("where the panels cannot be loaded that is said, and the next try loads them", () => {
  let broken = true;
  const asked = [];
  return site.visit(
    async (tab, context) => {
      // The report of an import is a panel, too. Whoever comes back later only reads.
      await opened(tab);
      await context.route(
        (url) => url.pathname.endsWith("/panels.wasm"),
        (route) => (broken ? route.abort() : route.continue()),
      );
      asked.length = 0;
      await tab.page.reload();
      await tab.get("message").first().waitFor();
      assert.deepEqual(asked, [], "whoever only reads loads no panels");
      await tab.get("memory").click();
      assert.match(await tab.get("panel-missing").innerText(), /part of the page could not be loaded/);
      await tab.page.keyboard.press("Escape");
      broken = false;
      await tab.get("memory").click();
      await tab.get("memory-note").filter({ hasText: "Nothing is remembered yet" }).waitFor();
    },
    {
      mayFail: true,
      prepare: (context) => context.on("request", (request) => request.url().endsWith("/panels.wasm") && asked.push(request.url())),
    },
  );
});

/** A stand-in of the browser's Summarizer, as its documentation has it: `mode` is what it does when it is asked. */
function standIn(mode) {
  window.asked = [];
  window.gone = 0;
  self.Summarizer = class {
    static availability = async () => (mode === "absent" ? "unavailable" : "available");
    static create = async ({ type, format, monitor }) => {
      if (type !== "key-points" || format !== "plain-text") throw new TypeError("other options were expected");
      monitor({ addEventListener() {} });
      if (mode === "late") await new Promise((made) => (window.made = made));
      return new self.Summarizer();
    };
    inputQuota = 700;
    measureInputUsage = async (text) => text.length / 4;
    summarize = async (text) => {
      window.asked.push(text);
      if (text.length / 4 > this.inputQuota) throw new DOMException("too large", "QuotaExceededError");
      if (mode === "fails") throw new DOMException("The model is not well.", "UnknownError");
      if (mode === "hangs") return new Promise(() => {});
      return text
        .split("\n")
        .filter((line) => line.includes("We decided"))
        .map((line) => `* ${line.match(/We decided[^.]*\./)[0]}`)
        .join("\n");
    };
    destroy = () => (window.gone += 1);
  };
}

const withSummarizer = (mode, run) => site.visit(run, { prepare: (context) => context.addInitScript(standIn, mode) });

test("the browser's own summariser is offered where there is one, and its statements become the card", () =>
  withSummarizer("works", async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    await preview(tab, () => tab.get("compact-summariser").selectOption("1"));
    const statements = await tab.get("compact-statements").locator("li").allInnerTexts();
    assert.ok(statements.length > 2 && statements.every((said) => said.startsWith("We decided to plant")), statements.join(" | "));
    const asked = await tab.page.evaluate(() => window.asked);
    assert.ok(asked.length > 1 && asked.every((text) => text.length / 4 <= 700), "cut into pieces that it takes");
    assert.ok(asked.some((text) => text.includes("I prefer beans in bed 0")));
    await tab.get("compact-confirm").click();
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.get("compaction").waitFor();
    assert.match(await tab.get("compaction").innerText(), /Summarise, by the browser/);
    assert.deepEqual(await tab.get("statement").allInnerTexts(), statements);
    assert.equal(await tab.page.evaluate(() => window.gone), 1, "what was made is let go");
  }));

test("where the browser's summariser fails, the built-in one does the work and says so", () =>
  withSummarizer("fails", async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    const built = await tab.get("compact-statements").locator("li").allInnerTexts();
    await preview(tab, () => tab.get("compact-summariser").selectOption("1"));
    assert.match(await tab.get("compact-warnings").innerText(), /The model is not well/);
    assert.deepEqual(await tab.get("compact-statements").locator("li").allInnerTexts(), built);
  }));

test("a compaction that the browser's summariser never answers can be cancelled", () =>
  withSummarizer("hangs", async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    await tab.get("compact-summariser").selectOption("1");
    await tab.get("compact-progress").filter({ hasText: "The browser is summarising part 1 of" }).waitFor();
    assert.ok(await tab.get("compact-confirm").isDisabled());
    // Back to the built-in one, which has an answer.
    await tab.get("compact-summariser").selectOption("0");
    await tab.get("compact-preview").waitFor();
    await tab.get("compact-summariser").selectOption("1");
    await tab.get("compact-progress").filter({ hasText: "The browser is summarising part 1 of" }).waitFor();
    await tab.get("compact-cancel").click();
    await tab.get("dialog").waitFor({ state: "detached" });
    const promised = await compact(tab);
    assert.ok(promised.after < promised.before);
  }));

test("a summariser that is made late does not undo what was chosen meanwhile", () =>
  withSummarizer("late", async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    await tab.get("compact-summariser").selectOption("1");
    await tab.page.waitForFunction(() => window.made);
    await tab.get("compact-summariser").selectOption("0");
    await tab.get("compact-preview").waitFor();
    await tab.page.evaluate(() => window.made());
    await tab.page.waitForTimeout(300);
    await tab.get("compact-confirm").click();
    await tab.get("compaction").waitFor();
    assert.deepEqual(await tab.page.evaluate(() => window.asked), []);
    assert.doesNotMatch(await tab.get("compaction").innerText(), /by the browser/);
  }));

test("without such a summariser there is no choice", () =>
  withSummarizer("absent", async (tab) => {
    await opened(tab);
    await tab.get("compact").click();
    await tab.get("compact-preview").waitFor();
    assert.equal(await tab.get("compact-summariser").count(), 0);
  }));

test("a compaction is undone from its notice, and later from its card", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("inspector-toggle").click();
    const tokens = (wanted, now) =>
      tab.page.waitForFunction(
        ([wanted, now]) => {
          const pane = document.querySelector("[data-testid=inspector][aria-busy=false]");
          const text = pane?.querySelector("[data-testid=tokens]").textContent;
          return text && text !== "–" && (text === wanted) === now;
        },
        [wanted, now],
      );
    await tokens("", false);
    const whole = await tab.get("tokens").innerText();
    await compact(tab);
    await tokens(whole, false);
    await tab.get("notice-act").filter({ hasText: "Undo" }).click();
    await tab.get("compaction").waitFor({ state: "detached" });
    await tokens(whole, true);
    assert.equal(await tab.get("summarised").count(), 0);

    await compact(tab);
    await tab.get("undo-compaction").click();
    await tab.get("compaction").waitFor({ state: "detached" });
    await tab.page.reload();
    await tab.get("message").first().waitFor();
    assert.equal(await tab.get("compaction").count(), 0);
  }));
