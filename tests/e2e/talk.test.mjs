// Talking to a model on the page: the composer, replies that branch, streaming, tools, failures, and what stays after a reload.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { Site, openSite } from "./support/site.mjs";
import { echo, forks, quiet, said, say, sent, talk as visit } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** What the messages say, without spaces: a message that is off the screen just now gives its text without line breaks. */
const texts = async (tab) => (await tab.texts()).map((text) => text.replace(/\s+/g, ""));
const talk = (plan, run, options) => visit(site, plan, run, options);

test("a conversation begins, goes on, and is there after a reload", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    assert.equal(await tab.page.evaluate(() => document.activeElement.dataset.testid), "compose");
    await said(tab, "first", "Answer 1 to first.");
    await said(tab, "second", "Answer 2 to second.");
    assert.deepEqual(sent(model.asked[1]), ["user: first", "assistant: Answer 1 to first.", "user: second"]);
    assert.equal(await tab.get("live").count(), 0, "what was given is in its message");
    const before = await texts(tab);
    await tab.page.reload();
    await tab.ready();
    await tab.message("Answer 2 to second.").waitFor();
    assert.deepEqual(await texts(tab), before);
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 1);
  }));

test("replying to the same message twice gives two branches, each with its own prompt", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    await said(tab, "root", "Answer 1 to root.");
    await said(tab, "left", "Answer 2 to left.");
    const first = tab.message("Answer 1 to root.");
    await first.hover();
    await first.getByTestId("reply").click();
    await tab.get("target").filter({ hasText: "Answer 1 to root." }).waitFor();
    assert.match(await tab.message("Answer 2 to left.").getAttribute("class"), /\bbeyond\b/, "what follows is set back");
    assert.doesNotMatch(await first.getAttribute("class"), /\bbeyond\b/);
    await said(tab, "right", "Answer 3 to right.");
    assert.deepEqual(sent(model.asked[2]), ["user: root", "assistant: Answer 1 to root.", "user: right"], "nothing of the other branch");
    assert.equal(await tab.message("left").count(), 0);
    assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2"]);
    await tab.get("fork-previous").click();
    await tab.message("Answer 2 to left.").waitFor();
    assert.equal(await tab.message("right").count(), 0);
  }));

test("the message in focus is shown with its ancestors and its own chain, other branches are set back", () =>
  talk(echo, async (tab) => {
    await tab.get("new").click();
    await said(tab, "root", "Answer 1 to root.");
    await said(tab, "left", "Answer 2 to left.");
    await tab.message("Answer 1 to root.").hover();
    await tab.message("Answer 1 to root.").getByTestId("reply").click();
    await said(tab, "right", "Answer 3 to right.");
    await said(tab, "further", "Answer 4 to further.");
    if ((await tab.get("map").count()) === 0) await tab.get("map-toggle").click();
    await tab.message("Answer 3 to right.").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=message].in-chain").length > 0);
    const chain = await tab.page
      .locator("[data-testid=message]")
      .evaluateAll((all) => all.map((one) => [one.innerText.match(/Answer \d/)?.[0] ?? "", one.classList.contains("in-chain")]));
    assert.deepEqual(
      chain.filter(([name]) => name !== ""),
      [
        ["Answer 1", true],
        ["Answer 3", true],
        ["Answer 4", false],
      ],
    );
    const nodes = () =>
      tab.get("map-node").evaluateAll((all) =>
        all.map((one) => ({
          words: one.querySelector(".map-words").textContent,
          aside: one.classList.contains("aside"),
          focused: one.classList.contains("focused"),
        })),
      );
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=map-node].focused") !== null);
    const drawn = await nodes();
    assert.deepEqual(
      drawn.filter(({ aside }) => aside).map(({ words }) => words),
      ["left"],
      JSON.stringify(drawn),
    );
    assert.deepEqual(
      drawn.filter(({ focused }) => focused).map(({ words }) => words),
      ["right"],
    );
    // In focus above the fork, both branches are its own chain.
    await tab.message("Answer 1 to root.").click();
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=map-node].aside").length === 0);
  }));

test("two branches are held against each other: what they say from where they part, and their prompts", () =>
  talk(echo, async (tab) => {
    await tab.get("new").click();
    await said(tab, "root", "Answer 1 to root.");
    await said(tab, "left", "Answer 2 to left.");
    await tab.message("Answer 1 to root.").hover();
    await tab.message("Answer 1 to root.").getByTestId("reply").click();
    await said(tab, "right", "Answer 3 to right.");
    await tab.get("fork-compare").click();
    await tab.get("compare-common").waitFor();
    assert.match(await tab.get("compare-common").innerText(), /the same 2 nodes.*root/);
    // Question and answer are in both prompts.
    assert.match(await tab.get("compare-prefix").innerText(), /the same 2 messages/);
    const sides = await tab
      .get("compare-side")
      .evaluateAll((all) => all.map((side) => [...side.querySelectorAll(".compare-words")].map((one) => one.textContent)));
    assert.deepEqual(sides, [
      ["right", "Answer 3 to right."],
      ["left", "Answer 2 to left."],
    ]);
    const only = await tab
      .get("compare-side")
      .evaluateAll((all) => all.map((side) => [...side.querySelectorAll(".compare-prompt li")].map((one) => one.textContent)));
    assert.deepEqual(only, [
      ["user: right", "assistant: Answer 3 to right."],
      ["user: left", "assistant: Answer 2 to left."],
    ]);
    await tab.get("compare-open").last().click();
    await tab.message("Answer 2 to left.").waitFor();
  }));

test("a message that answers nothing begins a transcript of its own", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    await said(tab, "about boats", "Answer 1 to about boats.");
    await tab.get("new").click();
    await said(tab, "about bread", "Answer 2 to about bread.");
    assert.deepEqual(sent(model.asked[1]), ["user: about bread"], "nothing of the other conversation");
    await tab.page.waitForFunction(() => document.querySelectorAll("[data-testid=thread-row]").length === 2);
    await tab.row("about boats").click();
    await tab.message("Answer 1 to about boats.").waitFor();
    await said(tab, "more", "Answer 3 to more.");
    assert.deepEqual(sent(model.asked[2]), ["user: about boats", "assistant: Answer 1 to about boats.", "user: more"]);
  }));

test("a message is edited and sent as a branch, an answer is given again as a branch", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    await said(tab, "one", "Answer 1 to one.");
    await said(tab, "two", "Answer 2 to two.");
    await tab.message("Answer 2 to two.").hover();
    await tab.message("Answer 2 to two.").getByTestId("edit").click();
    assert.equal(await tab.get("compose").inputValue(), "two");
    await said(tab, "deux", "Answer 3 to deux.");
    assert.deepEqual(sent(model.asked[2]), ["user: one", "assistant: Answer 1 to one.", "user: deux"]);
    await tab.message("Answer 3 to deux.").hover();
    await tab.message("Answer 3 to deux.").getByTestId("again").click();
    await tab.message("Answer 4 to deux.").waitFor();
    await quiet(tab);
    assert.deepEqual(sent(model.asked[3]), sent(model.asked[2]), "the same prompt again");
    assert.deepEqual(await forks(tab), ["branches 2/2", "answers 2/2"], "the edited question is a branch, the second answer another");
  }));

test("an answer that is given again varies the answer, and does not double the question", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    await said(tab, "why is it blue?", "Answer 1 to why");
    await tab.message("Answer 1 to why").hover();
    await tab.message("Answer 1 to why").getByTestId("again").click();
    await tab.message("Answer 2 to why").waitFor();
    await quiet(tab);
    assert.deepEqual(sent(model.asked[1]), ["user: why is it blue?"]);
    assert.deepEqual(await forks(tab), ["answers 2/2"]);
    const message = tab.message("Answer 2 to why");
    const order = await message.evaluate((it) => {
      const arrows = it.querySelector("[data-testid=fork]");
      const before = [...it.querySelectorAll(".prose")].filter((one) => one.compareDocumentPosition(arrows) & Node.DOCUMENT_POSITION_FOLLOWING);
      return before.map((one) => one.textContent);
    });
    assert.deepEqual(order, ["why is it blue?"], "the arrows stand between the question and its answer");
    if ((await tab.get("map").count()) === 0) await tab.get("map-toggle").click();
    await tab.get("map-node").nth(2).waitFor();
    const words = await tab.get("map-node").locator(".map-words").allTextContents();
    assert.deepEqual(words.slice(-2), ["why is it blue?", "Answer 2 to why is it blue?."], "the map has the question once");
    await tab.get("fork-previous").click();
    await tab.message("Answer 1 to why").waitFor();
    assert.deepEqual(await forks(tab), ["answers 1/2"]);
    await tab.page.keyboard.press("]");
    await tab.message("Answer 2 to why").waitFor();
  }));

test("words leave their field once they are stored, and stay in it when they cannot be", () =>
  talk(
    echo,
    async (tab, model) => {
      await tab.get("new").click();
      await said(tab, "one", "Answer 1 to one.");
      const [worker] = tab.page.workers();
      // The disk is full: each write fails as it does then.
      await worker.evaluate(() => {
        self.full = true;
        const { commit } = IDBTransaction.prototype;
        IDBTransaction.prototype.commit = function () {
          if (!self.full) return commit.call(this);
          Object.defineProperty(this, "error", { value: new DOMException("the disk is full", "QuotaExceededError") });
          this.abort();
        };
      });
      await say(tab, "do not lose me");
      await tab.get("status").filter({ hasText: "The storage is full" }).waitFor();
      await quiet(tab);
      assert.equal(await tab.get("compose").inputValue(), "do not lose me");
      assert.equal(model.asked.length, 1, "nothing was sent to the model");
      await worker.evaluate(() => (self.full = false));
      await tab.get("send").click();
      await tab.message("Answer 2 to do not lose me.").waitFor();
      assert.equal(await tab.get("compose").inputValue(), "");
    },
    { mayFail: true },
  ));

test("words are stored while another tab has its turn; stopped before their own, they wait for Resume", () =>
  talk(
    (_, number) => (number === 1 ? { pieces: ["Slowly "], hold: true } : { text: `Answer ${number}.` }),
    async (tab, model, context) => {
      await tab.get("new").click();
      await say(tab, "first");
      await tab.get("live-text").filter({ hasText: "Slowly" }).waitFor();
      const other = new Site(await context.newPage(), site.address, tab.guard);
      await other.open();
      await other.get("new").click();
      await say(other, "second");
      await other.message("second").waitFor();
      assert.equal(await other.get("compose").inputValue(), "");
      await other.get("stop").click();
      await tab.get("stop").click();
      await quiet(tab);
      await quiet(other);
      await other.get("interrupted").waitFor();
      assert.equal(model.asked.length, 1, "what was stopped before it began is not sent");
      await other.get("resume").click();
      await other.message("Answer 2.").waitFor();
      assert.deepEqual(sent(model.asked[1]), ["user: second"]);
    },
  ));

test("words that are typed and sent while a thread is on its way go to that thread", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    await said(tab, "about boats", "Answer 1 to about boats.");
    await tab.get("new").click();
    await said(tab, "about bread", "Answer 2 to about bread.");
    // The engine's answers come late.
    await tab.page.evaluate(() => {
      const { postMessage } = Worker.prototype;
      Worker.prototype.postMessage = function (...args) {
        setTimeout(() => postMessage.apply(this, args), 700);
      };
    });
    await tab.row("about boats").click();
    await say(tab, "how long?");
    await tab.message("Answer 3 to how long?.").waitFor();
    assert.deepEqual(sent(model.asked[2]), ["user: about boats", "assistant: Answer 1 to about boats.", "user: how long?"]);
    await quiet(tab);
  }));

test("words that are being typed stay in their field when another tab lets the branch grow", () =>
  talk(echo, async (tab, model, context) => {
    await tab.get("new").click();
    await said(tab, "one", "Answer 1 to one.");
    await tab.get("compose").fill("half a thou");
    const other = new Site(await context.newPage(), site.address, tab.guard);
    await other.open();
    await other.openThread("one");
    await said(other, "two", "Answer 2 to two.");
    await tab.message("Answer 2 to two.").waitFor();
    assert.equal(await tab.get("compose").inputValue(), "half a thou");
    await tab.page.reload();
    await tab.ready();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=compose]")?.value === "half a thou");
  }));

test("a tab shows that its thread is gone when another tab deletes it, and goes on", () =>
  talk(
    (request, number) => (request.messages.at(-1).content === "more" ? { pieces: ["Half "], hold: true } : echo(request, number)),
    async (tab, model, context) => {
      const other = new Site(await context.newPage(), site.address, tab.guard);
      await other.open();
      const shown = {
        "a message in focus": () => tab.message("Answer 1").click(),
        "a title that is being edited": () => tab.get("rename").click(),
        "an answer under way": async () => {
          await say(tab, "more");
          await tab.get("live-text").filter({ hasText: "Half" }).waitFor();
        },
        "a reply that is being written": async () => {
          await tab
            .message(/Answer \d/)
            .first()
            .hover();
          await tab
            .message(/Answer \d/)
            .first()
            .getByTestId("reply")
            .click();
          await tab.get("compose").fill("half a thou");
        },
        "the map and the inspector": async () => {
          await tab.page.keyboard.press("m");
          await tab.page.keyboard.press("c");
        },
      };
      for (const [what, prepare] of Object.entries(shown)) {
        await tab.get("new").click();
        await quiet(tab);
        await said(tab, what, /Answer \d+ to/);
        await prepare();
        await other.openThread(what);
        await other.get("delete-thread").click();
        await tab.get("missing").waitFor();
        assert.deepEqual(
          tab.guard.errors.filter((error) => /unreachable/.test(error)),
          [],
          what,
        );
        assert.equal(await tab.page.evaluate(() => document.body.hasAttribute("data-stopped")), false, what);
        tab.guard.errors.length = 0;
      }
      await tab.get("new").click();
      await quiet(tab);
      await said(tab, "still here", /to still here/);
      assert.equal(model.open(), 0, "the answer to what was deleted is waited for no longer");
    },
  ));

test("words appear as they come, and stopping keeps what is there", () =>
  talk(
    (_, number) => (number === 1 ? { pieces: ["Slowly ", "it ", "comes"], hold: true } : { text: "All right." }),
    async (tab, model) => {
      await tab.get("new").click();
      await say(tab, "tell me");
      await tab.get("live-text").filter({ hasText: "Slowly it comes" }).waitFor();
      assert.equal(await tab.get("compose").inputValue(), "");
      await tab.get("stop").click();
      await tab.message("Slowly it comes").filter({ hasText: "Stopped." }).waitFor();
      await quiet(tab);
      assert.equal(await tab.get("live").count(), 0);
      await tab.page.waitForFunction(() => true);
      assert.equal(model.open(), 0, "the request is ended");
      await said(tab, "and now?", "All right.");
    },
  ));

test("a failure says what happened, and is tried again or continued as a branch", () =>
  talk(
    (_, number) => (number === 1 ? { status: 400, error: "This model is asleep." } : { text: "Awake again." }),
    async (tab) => {
      await tab.get("new").click();
      await say(tab, "hello?");
      const failed = tab.message("The provider refused the request");
      await failed.waitFor();
      await quiet(tab);
      assert.match(await failed.innerText(), /This model is asleep/);
      await tab.page.reload();
      await tab.ready();
      await failed.filter({ hasText: "This model is asleep" }).waitFor();
      await failed.locator(".error-acts").getByTestId("again").click();
      await tab.message("Awake again.").waitFor();
      await quiet(tab);
      assert.deepEqual(await forks(tab), ["answers 2/2"], "the failure stays, on its own branch");
    },
    { mayFail: true },
  ));

test("an answer whose beginning is heard after its question was stored is shown, and not taken for interrupted", () =>
  talk(
    (_, number) => (number === 1 ? { text: "First." } : { pieces: ["It ", "comes"], hold: true }),
    async (tab, model, context) => {
      // What is heard of a turn comes late; what is stored is told at once.
      await context.addInitScript(() => {
        const { get, set } = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
        // The first byte of a message is the place of its variant: `Heard` in `FromWorker` of web/src/wire.rs.
        const HEARD = 8;
        const late = (handler) =>
          function hear(event) {
            if (event.data?.[0]?.[0] !== HEARD) return handler.call(this, event);
            window.heardLate = (window.heardLate ?? 0) + 1;
            setTimeout(() => handler.call(this, event), 400);
          };
        Object.defineProperty(Worker.prototype, "onmessage", {
          get,
          set(handler) {
            set.call(this, handler && late(handler));
          },
        });
      });
      await tab.page.reload();
      await tab.ready();
      await tab.get("new").click();
      await said(tab, "one", "First.");
      await say(tab, "two");
      await tab.get("live-text").filter({ hasText: "It comes" }).waitFor();
      await tab.get("interrupted").waitFor({ state: "hidden" });
      assert.ok((await tab.page.evaluate(() => window.heardLate)) > 3, "it did come late");
      await tab.get("stop").click();
      await quiet(tab);
    },
  ));

test("tools are shown at work, and their calls and results stay, folded", () =>
  talk(
    (request) => {
      const last = request.messages.at(-1);
      if (last.role === "tool") return { text: `Noted. ${last.content.length > 0 ? "The tool said so." : ""}` };
      return { calls: [{ name: "remember", arguments: { fact: "The harbour freezes in January." } }] };
    },
    async (tab, model) => {
      await tab.get("new").click();
      await said(tab, "keep this", "Noted.");
      const names = model.asked[0].tools.map((tool) => tool.function.name);
      assert.deepEqual(names, ["searchMemory", "readToolResult", "remember"]);
      const message = tab.message("Noted.");
      const cards = await message.locator("details.card summary").allInnerTexts();
      assert.equal(cards.length, 1, cards.join(" | "));
      assert.match(cards[0], /^remember\s*The harbour freezes in January\./);
      await tab.get("memory").click();
      await tab.get("fact").filter({ hasText: "The harbour freezes in January." }).waitFor();
    },
  ));

test("drafts are kept for each place, Escape leaves it, and a line break is Shift and Enter", () =>
  talk(echo, async (tab, model) => {
    await tab.get("new").click();
    await said(tab, "one", "Answer 1 to one.");
    await tab.get("compose").fill("an unfinished");
    await tab.message("Answer 1 to one.").click();
    await tab.page.keyboard.press("r");
    await tab.get("target").waitFor();
    await tab.page.waitForFunction(() => document.activeElement?.dataset.testid === "compose");
    assert.equal(await tab.get("compose").inputValue(), "an unfinished", "the end of the branch is the same place");
    await tab.page.keyboard.press("Escape");
    await tab.get("target").waitFor({ state: "detached" });
    await tab.page.reload();
    await tab.ready();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=compose]")?.value === "an unfinished");
    await tab.get("compose").focus();
    await tab.page.keyboard.press("End");
    await tab.page.keyboard.press("Shift+Enter");
    await tab.page.keyboard.type("thought");
    await tab.page.keyboard.press("Enter");
    await tab.message("an unfinished").waitFor();
    await quiet(tab);
    assert.equal(sent(model.asked[1]).at(-1), "user: an unfinished\nthought");
    assert.equal(await tab.get("compose").inputValue(), "");
    assert.deepEqual(await tab.page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith("threadkeep.draft."))), []);
  }));

test("the reader's place stays while an answer grows, and its end is followed at the end", () =>
  talk(
    (_, number) => ({ pieces: Array.from({ length: number === 1 ? 60 : 300 }, (_, at) => `Line ${at} of the answer.\n\n`), pause: number === 1 ? 0 : 15 }),
    async (tab) => {
      await tab.get("new").click();
      await said(tab, "long", "Line 59 of");
      await say(tab, "longer");
      const end = () => tab.get("messages").evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight);
      await tab.get("live-text").filter({ hasText: "Line 30 of" }).waitFor();
      assert.ok((await end()) < 40, `at the end: ${await end()}`);
      // Scrolled up: what is read stays where it is.
      await tab.get("messages").evaluate((it) => it.scrollBy(0, -500));
      await tab.page.waitForTimeout(100);
      const at = () => tab.get("messages").evaluate((it) => it.scrollTop);
      const before = await at();
      await tab.get("live-text").filter({ hasText: "Line 70 of" }).waitFor();
      assert.equal(await at(), before, "nothing moved");
      // One press leads to the newest line, and it is followed again.
      await tab.get("to-end").click();
      await tab.get("to-end").waitFor({ state: "detached" });
      await tab.get("live-text").filter({ hasText: "Line 85 of" }).waitFor();
      assert.ok((await end()) < 40, `followed again: ${await end()}`);
      // So does scrolling there.
      await tab.get("messages").evaluate((it) => it.scrollBy(0, -500));
      await tab.get("to-end").waitFor();
      await tab.get("messages").evaluate((it) => it.scrollTo(0, it.scrollHeight));
      await tab.get("live-text").filter({ hasText: "Line 105 of" }).waitFor();
      assert.ok((await end()) < 40, `followed again: ${await end()}`);
      await quiet(tab);
      await tab.message("Line 299 of").waitFor();
      assert.ok((await end()) < 40, `at the end when it is over: ${await end()}`);
      assert.equal(await tab.get("to-end").count(), 0);
    },
  ));

test("without a connection the composer leads to the connections, and the demo needs no key", () =>
  site.visit(async (tab) => {
    await tab.get("empty").waitFor();
    assert.equal(await tab.get("compose").count(), 0, "who has neither a thread nor a model has nothing to write to");
    await tab.get("new").click();
    await tab.get("choose-model").waitFor();
    await tab.get("compose").fill("hello");
    assert.match(await tab.get("model-chip").innerText(), /Connect a model/);
    await tab.get("send").click();
    await tab.get("connections").waitFor();
    await tab.get("preset-demo").click();
    await tab.page.keyboard.press("Escape");
    assert.match(await tab.get("model-chip").innerText(), /Offline demo \(scripted\)/);
    assert.equal(await tab.get("choose-model").count(), 0);
    assert.equal(await tab.get("compose").inputValue(), "hello", "what was typed is still there");
    await tab.get("send").click();
    await tab.message("This is the offline demo").waitFor();
    await quiet(tab);
    await said(tab, "remember The gate sticks in winter", "It is remembered");
  }));

/** A stand-in of the browser's own model, as its documentation has it. */
function languageModel() {
  window.asked = [];
  window.gone = 0;
  self.LanguageModel = class {
    static availability = async () => "available";
    static create = async ({ initialPrompts }) => Object.assign(new self.LanguageModel(), { initialPrompts });
    destroy = () => (window.gone += 1);
    async *promptStreaming(text, { signal }) {
      window.asked.push([...this.initialPrompts, { role: "user", content: text }]);
      yield "Here, ";
      if (text === "wait") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      yield `${text} too.`;
    }
  };
}

test("the browser's own model answers where there is one, and is stopped", () =>
  site.visit(
    async (tab) => {
      await tab.get("connections-open").click();
      await tab.get("preset-chrome").click();
      await tab.get("connection-test").click();
      await tab.get("connection-result").filter({ hasText: "It works" }).waitFor();
      await tab.page.keyboard.press("Escape");
      await said(tab, "good day", "Here, good day too.");
      const asked = await tab.page.evaluate(() => window.asked.at(-1).map(({ role, content }) => `${role}: ${content.slice(0, 10)}`));
      assert.deepEqual(asked, ["user: good day"]);
      await say(tab, "wait");
      await tab.get("live-text").filter({ hasText: "Here," }).waitFor();
      await tab.get("stop").click();
      await tab.message("Stopped. What was said until then stays.").waitFor();
      await quiet(tab);
      await tab.page.waitForFunction(() => window.gone === 3);
    },
    { prepare: (context) => context.addInitScript(languageModel) },
  ));

test("an answer that the end of the page interrupted stands there, is asked for by no other turn, and is resumed by a press", () =>
  talk(
    (request, number) => (number === 1 ? { pieces: ["Half ", "an answer"], hold: true } : echo(request, number)),
    async (tab, model) => {
      await tab.get("new").click();
      await say(tab, "first thread");
      await tab.get("live-text").filter({ hasText: "Half an answer" }).waitFor();
      // What came is stored at most a second later.
      await tab.page.waitForTimeout(2500);
      await tab.page.reload();
      await tab.ready();
      await tab.get("interrupted").waitFor();
      assert.match(await tab.get("unfinished").innerText(), /Half an answer/);
      // Another thread is used: the page stays there, and the interrupted turn is sent to nobody.
      await tab.get("new").click();
      await said(tab, "second thread", "Answer 2 to second thread.");
      await tab.page.reload();
      await tab.ready();
      await tab.message("Answer 2 to second thread.").waitFor();
      await said(tab, "more", "Answer 3 to more.");
      assert.deepEqual(
        model.asked.map((request) => sent(request).at(-1)),
        ["user: first thread", "user: second thread", "user: more"],
      );
      await tab.row("first thread").click();
      await tab.get("resume").click();
      await tab.message("Answer 4 to first thread.").waitFor();
      await quiet(tab);
      assert.equal(await tab.get("interrupted").count(), 0);
      assert.equal(await tab.get("unfinished").count(), 0);
      assert.doesNotMatch((await tab.texts()).join(), /Half an answer/);
      const questions = tab.page.locator("[data-testid=message]").getByText("first thread", { exact: true });
      assert.equal(await questions.count(), 1, "the question is not doubled");
    },
  ));

test("the depth in the text is a badge, and one that the tree does not count is shown as such", () =>
  site.visit(async (tab) => {
    const messages = [
      { role: "user", content: "hello" },
      { role: "assistant", content: "[depth:2] right" },
      { role: "user", content: "more" },
      { role: "assistant", content: "[depth:9] wrong" },
    ];
    await tab.pick({ name: "chat.json", data: JSON.stringify(messages) });
    await tab.closeReport();
    await tab.message("wrong").waitFor();
    assert.equal(await tab.message("right").getByTestId("depth").innerText(), "depth 2");
    assert.equal(await tab.message("wrong").getByTestId("depth").innerText(), "depth 4 ≠ 9");
    assert.doesNotMatch((await tab.texts()).join(), /\[depth/);
  }));

for (const colorScheme of ["light", "dark"])
  test(`the composer passes the accessibility rules in ${colorScheme}, also on a phone`, async () => {
    for (const phone of [false, true])
      await talk(
        echo,
        async (tab) => {
          const { look, check } = rules(tab.page);
          await look("empty");
          await tab.get("compose").fill("hello");
          await tab.get("send").click();
          await tab.message("Answer 1 to hello.").waitFor();
          await quiet(tab);
          const answer = tab.message("Answer 1 to hello.");
          await (phone ? answer.tap() : answer.hover());
          await answer.getByTestId("reply").click();
          await tab.get("target").waitFor();
          await look("target");
          // The composer covers nothing.
          const boxes = await tab.page.evaluate(() =>
            ["messages", "composer"].map((id) => document.querySelector(`[data-testid=${id}]`).getBoundingClientRect().toJSON()),
          );
          assert.ok(boxes[0].bottom <= boxes[1].top + 1 && boxes[1].bottom <= (await tab.page.evaluate(() => innerHeight)) + 1, JSON.stringify(boxes));
          check();
        },
        phone ? { colorScheme, viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } : { colorScheme },
      );
  });
