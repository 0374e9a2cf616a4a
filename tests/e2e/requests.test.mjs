// The requests of a branch on the page: what each took and cost, what was sent, and what changed since the one before.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { openSite } from "./support/site.mjs";
import { echo, said, talk } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

const USAGE = { prompt_tokens: 1_200, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 800 } };
/** Answers, and says what the provider counted. */
const counted = (request, number) => ({ ...echo(request, number), usage: USAGE });
const OPTIONS = { tools: "none", connection: { model: "gpt-4o" }, permissions: ["clipboard-read", "clipboard-write"] };

/** Opens the pane; waits for so many requests. */
async function listed(tab, count) {
  // The pane may still be loaded; a second press would close it.
  if ((await tab.get("requests-toggle").getAttribute("aria-selected")) !== "true") await tab.get("requests-toggle").click();
  await tab.page.waitForFunction((count) => document.querySelectorAll("[data-testid=request]").length === count, count);
}

/** Opens what was sent by the request of this place, the newest first. */
async function opened(tab, at) {
  const request = tab.get("request").nth(at);
  await request.getByTestId("request-open").click();
  await request.getByTestId("request-body").waitFor();
  return request;
}

test("each request is listed with what it took and cost, and shows byte for byte what was sent", () =>
  talk(
    site,
    counted,
    async (tab, model) => {
      await said(tab, "When do we sow beans?", "Answer 1 to");
      await listed(tab, 1);
      await said(tab, "And chard?", "Answer 2 to");
      await listed(tab, 2);
      assert.match(await tab.get("requests-total").innerText(), /^2 requests, 2,400 tokens in, 67% of them from the cache, 100 out, \$0\.0050$/);
      const newest = tab.get("request").first();
      assert.equal(await newest.getByTestId("request-figures").innerText(), "1,200 tokens in, 800 of them from the cache, 50 out");
      assert.match(await newest.getByTestId("request-cost").innerText(), /^\$0\.00\d\d$/);
      await opened(tab, 0);
      assert.deepEqual(JSON.parse(await newest.getByTestId("request-text").innerText()), model.asked[1]);
      assert.equal(await tab.copied(() => newest.getByTestId("request-copy").click()), model.bodies[1]);
      assert.match(await newest.getByTestId("request-prefix").innerText(), /^Its first \d+ tokens are those of the request before/);
      const changes = await newest.getByTestId("request-change").allInnerTexts();
      assert.equal(changes.length, 2, changes.join(" | "));
      assert.match(changes[0], /^Came in Assistant: Answer 1 to/);
      assert.match(changes[1], /^Came in You: And chard\? \d+ tokens/);
      await tab.get("request").last().getByTestId("request-show").click();
      await tab.page.waitForFunction(() => location.hash.includes("?at="));
      // One at a time, and the first has none before it.
      const first = await opened(tab, 1);
      assert.equal(await tab.get("request-body").count(), 1);
      assert.equal(await first.getByTestId("request-prefix").count(), 0);
      assert.equal(await tab.copied(() => first.getByTestId("request-copy").click()), model.bodies[0]);
      // All of it is there after a restart.
      await tab.page.reload();
      await tab.ready();
      await listed(tab, 2);
      const again = await opened(tab, 0);
      assert.equal(await tab.copied(() => again.getByTestId("request-copy").click()), model.bodies[1]);
    },
    OPTIONS,
  ));

test("below each answer stands what it took and cost, and the way to its request", () =>
  talk(
    site,
    counted,
    async (tab) => {
      await said(tab, "When do we sow beans?", "Answer 1 to");
      await said(tab, "And chard?", "Answer 2 to");
      await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=answer-foot]").length === 2);
      const foot = tab.get("answer-foot").first();
      assert.match(await foot.innerText(), /^1,200 tokens in, 800 of them from the cache, 50 out, \$0\.00\d\d, [\d.]+ m?s\s+View request$/);
      await foot.getByTestId("view-request").click();
      const older = tab.get("request").last();
      await older.getByTestId("request-body").waitFor();
      assert.equal(await tab.get("request-body").count(), 1);
      assert.ok(await older.evaluate((line) => line === document.activeElement), "its line has the focus");
      // The panel is open already now.
      await tab.get("view-request").last().click();
      await tab.get("request").first().getByTestId("request-body").waitFor();
      await tab.page.reload();
      await tab.ready();
      await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=answer-foot]").length === 2);
    },
    OPTIONS,
  ));

test("a setting that changed, a message that it cost and a compaction are named between two requests", () =>
  talk(
    site,
    counted,
    async (tab) => {
      for (const number of [1, 2, 3, 4, 5, 6, 7])
        await said(tab, `Question ${number}: we must never water bed ${number} after noon. ${"And why? ".repeat(9)}`, `Answer ${number} to`);
      await tab.get("inspector-toggle").click();
      await tab.unfoldSettings();
      await tab.get("max-messages").fill("4");
      await said(tab, "Question 8: and bed 8?", "Answer 8 to");
      await tab.get("requests-toggle").click();
      await listed(tab, 8);
      assert.equal(await tab.get("inspector").count(), 0, "one thing stands beside the thread");
      const newest = await opened(tab, 0);
      assert.match(await newest.getByTestId("request-options").innerText(), /budget/);
      assert.ok((await newest.getByTestId("request-change").allInnerTexts()).some((change) => change.startsWith("Went out")));
      assert.equal(await tab.get("request-compacted").count(), 0);
      await tab.get("compact").click();
      await tab.get("compact-confirm").click();
      await tab.get("compaction").first().waitFor();
      await said(tab, "Question 9: and bed 9?", "Answer 9 to");
      await listed(tab, 9);
      await tab.get("request-compacted").waitFor();
      assert.equal(await tab.get("request-compacted").count(), 1);
    },
    OPTIONS,
  ));

test("a request that cannot be made again says why", () => {
  const fact = "The beds lie behind the pier in Bergen.";
  const plan = (request, number) => (number === 1 ? { calls: [{ name: "remember", arguments: { fact } }] } : echo(request, number));
  return talk(
    site,
    plan,
    async (tab) => {
      await said(tab, "Where are the beds in Bergen?", "Answer 2 to");
      await said(tab, "Again: where are the beds in Bergen?", "Answer 3 to");
      await tab.get("memory").click();
      await tab.get("memory-delete").click();
      await tab.get("memory-note").waitFor();
      await tab.page.keyboard.press("Escape");
      await listed(tab, 3);
      const newest = await opened(tab, 0);
      assert.match(await newest.getByTestId("request-differs").innerText(), /a record that it remembered is deleted/);
    },
    { ...OPTIONS, tools: "memory" },
  );
});

/** A session of Claude Code with a question, its answer, and what the provider counted. */
function session() {
  const line = (uuid, parentUuid, more) => ({
    uuid,
    parentUuid,
    sessionId: "5e55",
    isSidechain: false,
    timestamp: "2026-07-01T10:00:00.000Z",
    cwd: "/garden",
    ...more,
  });
  const question = line("a1", null, { type: "user", message: { role: "user", content: "Which beds need water?" } });
  const usage = { input_tokens: 10, cache_read_input_tokens: 900, cache_creation_input_tokens: 90, output_tokens: 40 };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: "Beds two and five." }],
    stop_reason: "end_turn",
    usage,
  };
  const lines = [question, line("a2", "a1", { type: "assistant", requestId: "req_1", message })];
  return { name: "5e55.jsonl", data: lines.map((one) => `${JSON.stringify(one)}\n`).join("") };
}

test("an imported session's requests are listed with what its provider counted, and without a body", () =>
  site.visit(async (tab) => {
    await tab.pick(session());
    await tab.closeReport();
    await tab.openThread("Which beds need water?");
    const answer = tab.page.locator("[data-testid=message]").filter({ hasText: "Beds two and five." });
    assert.match(await answer.getByTestId("answer-foot").innerText(), /^1,000 tokens in, 900 of them from the cache, 40 out, \$/);
    assert.equal(await tab.get("answer-foot").count(), 1, "below the answer, and not below its question");
    await tab.page.keyboard.press("q");
    await listed(tab, 1);
    const [request] = await tab.get("request").allInnerTexts();
    assert.match(request, /claude-sonnet-4-5/);
    assert.match(request, /1,000 tokens in, 900 of them from the cache, 40 out/);
    assert.match(request, /sent by Claude Code/);
    assert.match(request, /\$0\.00\d\d/);
    assert.equal(await tab.get("request-open").count(), 0);
    await tab.page.keyboard.press("q");
    assert.equal(await tab.get("requests").count(), 0);
  }));

test("the pane is there again after a reload", () =>
  site.visit(async (tab) => {
    await tab.pick(session());
    await tab.closeReport();
    await tab.openThread("Which beds need water?");
    await tab.get("requests-toggle").click();
    await listed(tab, 1);
    assert.equal(await tab.get("requests-toggle").getAttribute("aria-selected"), "true");
    await tab.page.reload();
    await tab.get("requests").waitFor();
    await listed(tab, 1);
  }));

for (const colorScheme of ["light", "dark"])
  test(`the requests pass the accessibility rules in ${colorScheme}`, () =>
    talk(
      site,
      counted,
      async (tab) => {
        const { look, check } = rules(tab.page);
        await said(tab, "When do we sow beans?", "Answer 1 to");
        await said(tab, "And chard?", "Answer 2 to");
        await listed(tab, 2);
        await opened(tab, 0);
        await look("requests");
        check();
      },
      { ...OPTIONS, colorScheme },
    ));
