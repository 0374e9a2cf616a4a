// A reader who acts at random in two tabs: talks, stops, reloads, replies, edits, has answers given again, deletes, searches, compacts,
// imports. A plain model beside the page says what must be there. No message is lost, nothing traps, nothing hangs, and the model is
// asked only when a press asked for it.
//
// THREADKEEP_ACTS: how many acts; THREADKEEP_SEED: which; THREADKEEP_TELL: whether each act is printed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serveModel } from "./support/model.mjs";
import { longestTask, watchTasks } from "./support/measure.mjs";
import { count, random, seed } from "./support/random.mjs";
import { Site, openSite } from "./support/site.mjs";
import { connect, say } from "./support/talk.mjs";
import { World, below, chain, readExport } from "./support/world.mjs";

const acts = count("THREADKEEP_ACTS", 40);
/** After how many acts all that is stored is looked at. */
const EACH = 8;
/** The longest time that the page's thread may be held, in milliseconds, on a machine that does a fixed piece of work in 12. */
const LONGEST = 2000;
let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

test(`${acts} acts at random lose no message, trap nowhere, hang nowhere, and ask for nothing unasked`, { timeout: acts * 20_000 + 120_000 }, async (t) => {
  const begin = seed();
  t.diagnostic(`seed ${begin}`);
  const reader = new Reader(random(begin));
  const model = await serveModel({ plan: (request) => reader.answer(request) });
  const tell = process.env.THREADKEEP_TELL ? (words) => console.log(words) : () => {};
  try {
    await site.visit(
      async (tab, context) => {
        const other = new Site(await context.newPage(), site.address, tab.guard);
        await other.open();
        await reader.begin(model, [tab, other]);
        for (let at = 0; at < acts; at += 1) {
          const what = await reader.act(at, tell);
          reader.done.set(what, (reader.done.get(what) ?? 0) + 1);
          if (at % EACH === EACH - 1 || at === acts - 1) await reader.check(`act ${at} (${what}), seed ${begin}`);
        }
      },
      { allowed: [model.address], prepare: (context) => connect(context, model, "none") },
    );
  } finally {
    await model.close();
  }
  t.diagnostic([...reader.done].map(([what, times]) => `${what} ${times}`).join(", "));
  t.diagnostic(`${reader.world.size} messages, ${model.asked.length} requests, the longest task ${reader.longest} ms`);
});

class Reader {
  world = new World();
  done = new Map();
  longest = 0;
  /** Presses that the model has not heard of yet: the words that it will be asked last. */
  #pressed = [];
  #unasked = [];
  #holds = new Set();
  /** Addresses of branches that end with an interrupted answer. */
  #left = [];
  #number = 0;

  constructor(dice) {
    this.dice = dice;
  }

  async begin(model, tabs) {
    this.model = model;
    this.tabs = tabs;
    for (const tab of tabs) await watchTasks(tab);
  }

  /** What the model says. Every request must be one that somebody pressed for. */
  answer(request) {
    const asked = request.messages.at(-1).content;
    const press = this.#pressed.indexOf(asked);
    if (press < 0) this.#unasked.push(asked);
    else this.#pressed.splice(press, 1);
    this.#number += 1;
    const text = `Answer ${this.#number} to ${asked}. `;
    this.world.allow(`${text}And there is more of it.`);
    if (this.#holds.delete(asked)) return { pieces: [text], hold: true };
    return { pieces: [text, "And there is ", "more of it."] };
  }

  async act(at, tell) {
    const tab = this.dice.of(this.tabs);
    const kinds = [
      "say",
      "say",
      "say",
      "fresh",
      "fresh",
      "stop",
      "reload",
      "reload-quiet",
      "reply",
      "reply",
      "edit",
      "again",
      "again",
      "resume",
      "delete",
      "search",
      "compact",
      "import",
      "thread",
      "thread",
      "thread",
      "arrows",
      "arrows",
      "panels",
      "remove",
      "both",
    ];
    const kind = this.dice.of(kinds);
    tell(`${at} ${kind} in tab ${this.tabs.indexOf(tab)}`);
    try {
      // What is still to be done of the act before is done first, so that it is known where this one begins.
      await this.#settled(tab);
      return (await this[kind](tab, at)) === false ? "nothing" : kind;
    } catch (error) {
      const shown = await Promise.all(
        this.tabs.map(({ page }) =>
          page.evaluate(
            () => `${location.hash} “${document.querySelector("[data-testid=compose]")?.value}”\n${document.querySelector("[data-testid=thread]")?.innerText}`,
          ),
        ),
      );
      throw new Error(`act ${at}, ${kind} in tab ${this.tabs.indexOf(tab)}: ${error.message}\n${shown.join("\n---\n")}`, { cause: error });
    }
  }

  async #settled(tab) {
    await this.#front(tab);
    await tab.page.waitForTimeout(250);
    if (await tab.get("missing").count()) await tab.page.goto(`${tab.address}#/`);
    await this.#idle(tab);
    // The address names the branch once it is on the screen.
    await tab.page.waitForFunction(() => !/^#\/t\/[^/]+$/.test(location.hash));
  }

  /** Brings a tab to the front, without a dialog that the last act left open. */
  async #front(tab) {
    await tab.page.bringToFront();
    await this.#closeDialog(tab);
  }

  async #closeDialog(tab) {
    if (await tab.get("dialog").count()) await tab.page.keyboard.press("Escape");
  }

  /** Nothing is under way. */
  #idle(tab) {
    return tab.page.waitForFunction(() => document.querySelector("[data-testid=stop]") === null && document.querySelector("[data-testid=live]") === null);
  }

  /** The end of the branch that a tab shows. */
  #leaf(tab) {
    return tab.page.evaluate(() => {
      const [, kind, , leaf] = location.hash.split("?")[0].split("/");
      return kind === "t" && leaf !== undefined ? decodeURIComponent(leaf) : undefined;
    });
  }

  async #nodes() {
    const [tab] = this.tabs;
    // A key may have opened one in there, while the acts went on in the other tab.
    await this.#closeDialog(tab);
    // Without a thread there is nothing to export, and the button is off.
    if (await tab.get("empty").count()) return new Map();
    return readExport((await tab.exportAll()).data);
  }

  /** Presses a key or a button that asks the model; `above` are the texts that its question follows. Waits for the whole answer. */
  async #ask(tab, question, above, press, { hold = false } = {}) {
    this.#pressed.push(question);
    if (hold) this.#holds.add(question);
    const before = this.#number;
    await press();
    if (hold) return tab.get("live-text").filter({ hasText: "Answer" }).waitFor();
    await tab.page.waitForFunction(
      (words) => [...document.querySelectorAll("[data-testid=message]")].some((one) => one.textContent.includes(words)),
      `Answer ${before + 1} to ${question}. And there is more of it.`,
    );
    await this.#idle(tab);
    this.world.keep(above, question);
    this.world.keep([...above, question], `Answer ${before + 1} to ${question}. And there is more of it.`);
  }

  /** Says something new at the place where the composer is. */
  async #say(tab, at, above, options) {
    const question = `Question ${at}`;
    await this.#ask(tab, question, above, () => say(tab, question), options);
    return question;
  }

  async #above(tab) {
    const leaf = await this.#leaf(tab);
    return leaf === undefined ? [] : chain(await this.#nodes(), leaf);
  }

  async say(tab, at) {
    await this.#leaveTarget(tab);
    await this.#say(tab, at, await this.#above(tab));
  }

  async fresh(tab, at) {
    await tab.get("new").click();
    await this.#leaveTarget(tab);
    await this.#say(tab, at, []);
  }

  async stop(tab, at) {
    await this.#leaveTarget(tab);
    const above = await this.#above(tab);
    const question = await this.#say(tab, at, above, { hold: true });
    assert.equal(await tab.get("compose").inputValue(), "", "what is answered has left its field");
    this.world.keep(above, question);
    await tab.get("stop").click();
    await this.#idle(tab);
    await tab.message("Stopped.").last().waitFor();
  }

  async reload(tab, at) {
    await this.#leaveTarget(tab);
    const above = await this.#above(tab);
    this.world.keep(above, await this.#say(tab, at, above, { hold: true }));
    await tab.page.reload();
    await tab.ready();
    await watchTasks(tab);
    await tab.get("interrupted").waitFor();
    this.#left.push(await tab.page.evaluate(() => location.hash));
  }

  async "reload-quiet"(tab) {
    await tab.page.reload();
    await tab.ready();
    await watchTasks(tab);
  }

  async resume(tab) {
    const button = tab.get("resume");
    if ((await button.count()) === 0) {
      // Where an answer was interrupted before, if it is still there.
      const hash = this.#left.pop();
      if (hash === undefined) return false;
      await tab.page.evaluate((to) => void (location.hash = to), hash);
      await tab.page.waitForTimeout(500);
      if ((await button.count()) === 0) return false;
    }
    const texts = await this.#above(tab);
    // What had arrived of the answer is not what is asked again; above it, what was stopped stays.
    if (texts.at(-1)?.startsWith("Answer") && !texts.at(-1).endsWith("more of it.")) texts.pop();
    const question = texts.at(-1);
    if (!question?.startsWith("Question")) return false;
    await this.#ask(tab, question, texts.slice(0, -1), () => button.last().click());
  }

  /** One of the messages on the screen that have such a button, with its node. */
  async #message(tab, button) {
    const all = await tab.page
      .locator("[data-testid=message]")
      .filter({ has: tab.page.getByTestId(button) })
      .all();
    if (all.length === 0) return undefined;
    const one = this.dice.of(all);
    const node = await one.getAttribute("data-node");
    await one.hover();
    return { node, button: tab.page.locator(`[data-node="${node}"]`).getByTestId(button).first() };
  }

  async #leaveTarget(tab) {
    if (await tab.get("target-close").count()) await tab.get("target-close").click();
    await tab.get("compose").fill("");
  }

  async reply(tab, at) {
    const found = await this.#message(tab, "reply");
    if (found === undefined) return false;
    const above = chain(await this.#nodes(), found.node);
    await found.button.click();
    await tab.get("target").waitFor();
    await this.#say(tab, at, above);
  }

  async edit(tab, at) {
    const found = await this.#message(tab, "edit");
    if (found === undefined) return false;
    const nodes = await this.#nodes();
    const { parent } = nodes.get(found.node);
    await found.button.click();
    await tab.get("target").waitFor();
    await this.#say(tab, at, chain(nodes, parent));
  }

  async again(tab) {
    const found = await this.#message(tab, "again");
    if (found === undefined) return false;
    const nodes = await this.#nodes();
    const node = nodes.get(found.node);
    const own = node.messages.findIndex(({ role }) => role === "assistant");
    const texts = [...chain(nodes, node.parent), ...node.messages.slice(0, own).map(({ text }) => text)];
    const question = texts.at(-1);
    if (question === undefined || (await tab.get("send").count()) === 0) return false;
    const known = await tab.get("fork").count();
    await this.#ask(tab, question, texts.slice(0, -1), () => found.button.click());
    const forks = await tab.get("fork").evaluateAll((all) => all.map((one) => one.dataset.between));
    assert.ok(forks.length >= Math.min(1, known), "the answers are branches");
  }

  async delete(tab) {
    const found = await this.#message(tab, "delete");
    if (found === undefined) return false;
    const nodes = await this.#nodes();
    if (await this.#deleted(tab, found.button)) this.world.remove(nodes, below(nodes, found.node));
  }

  /** Deletes, and takes that back now and then. Says whether it stays deleted. */
  async #deleted(tab, button) {
    const notice = tab.page.locator(".notice").filter({ hasText: "Deleted" });
    for (const old of await notice.all()) await old.getByRole("button", { name: "Close" }).click();
    await button.click();
    await notice.waitFor();
    if (this.dice.next() < 0.6) return true;
    await notice.getByTestId("notice-act").click();
    await tab.page.locator(".notice").filter({ hasText: "It is back" }).waitFor();
    return false;
  }

  async remove(tab) {
    // Rarely: a run needs threads to act in.
    if (this.dice.next() < 0.6 || (await tab.get("delete-thread").count()) === 0) return false;
    const nodes = await this.#nodes();
    const { transcript } = nodes.get(await this.#leaf(tab));
    if (!(await this.#deleted(tab, tab.get("delete-thread")))) return;
    this.world.remove(nodes, new Set([...nodes.values()].filter((node) => node.transcript === transcript).map(({ id }) => id)));
  }

  async search(tab) {
    // Without threads there is nothing to search in.
    if ((await tab.get("thread-row").count()) === 0) return false;
    await tab.get("filter").fill(`Question ${this.dice.between(0, 50)}`);
    await tab.page.waitForFunction(() => /found|No message|failed/.test(document.querySelector("[data-testid=search-state]")?.textContent ?? ""));
    const hits = await tab.get("hit").all();
    if (hits.length > 0 && this.dice.next() < 0.5) await this.dice.of(hits).click();
    await tab.get("filter").fill("");
    await tab.get("search-state").waitFor({ state: "detached" });
  }

  async compact(tab) {
    if ((await tab.get("compact").count()) === 0) return false;
    await tab.get("compact").click();
    await tab.page.locator("[data-testid=compact-preview], [data-testid=compact-nothing], [data-testid=compact-failed]").waitFor();
    const choice = tab.get("compact-summariser");
    // Choosing a model must send nothing; what is carried out is the built-in summary.
    if ((await choice.count()) > 0) {
      await choice.selectOption("2");
      await tab.page.waitForTimeout(100);
      await choice.selectOption("0");
      await tab.page.waitForTimeout(100);
      await tab.page.locator("[data-testid=compact-preview], [data-testid=compact-nothing], [data-testid=compact-failed]").waitFor();
    }
    const confirm = tab.get("compact-confirm");
    const press = this.dice.next() < 0.7 && (await confirm.isEnabled()) ? confirm : tab.get("compact-cancel");
    await press.click();
    await tab.get("dialog").waitFor({ state: "detached" });
  }

  async import(tab, at) {
    const messages = [
      { role: "user", content: `Question ${at} from elsewhere` },
      { role: "assistant", content: `An imported answer ${at}` },
      { role: "user", content: `Question ${at} from elsewhere, again` },
      { role: "assistant", content: `Another imported answer ${at}` },
    ];
    const report = await tab.pick({ name: `chat-${at}.json`, data: JSON.stringify(messages) });
    assert.equal(report.added, 1, report.text);
    const texts = messages.map(({ content }) => content);
    texts.forEach((text, place) => this.world.keep(texts.slice(0, place), text));
    await tab.closeReport();
  }

  async thread(tab) {
    const rows = await tab.get("thread-row").all();
    if (rows.length === 0) return false;
    await this.dice.of(rows).click();
    await tab.page.locator("[data-testid=message], [data-testid=missing]").first().waitFor();
  }

  async arrows(tab) {
    const arrows = await tab.page.locator("[data-testid=fork-previous]:enabled, [data-testid=fork-next]:enabled").all();
    if (arrows.length === 0) return false;
    await this.dice.of(arrows).click();
  }

  async panels(tab) {
    if ((await tab.get("messages").count()) === 0) return false;
    await tab
      .get("messages")
      .focus()
      .catch(() => {});
    await tab.page.keyboard.press(this.dice.of(["m", "c", "e", "j", "k", "[", "]"]));
  }

  /** Both tabs say something in the same moment; where it goes is the page's business, that it is kept is ours. */
  async both(_, at) {
    const asked = this.tabs.map((_, which) => `Question ${at} in tab ${which}`);
    for (const tab of this.tabs) {
      await this.#settled(tab);
      await this.#leaveTarget(tab);
    }
    await Promise.all(
      this.tabs.map(async (tab, which) => {
        await tab.get("new").click();
        this.#pressed.push(asked[which]);
        await say(tab, asked[which]);
        await tab.page.waitForFunction(
          (words) => [...document.querySelectorAll("[data-testid=message]")].some((one) => one.textContent.includes(words)),
          `to ${asked[which]}. And there is more of it.`,
        );
        await this.#idle(tab);
      }),
    );
    for (const question of asked) this.world.keep([], question);
  }

  /** Looks at all that is stored, and at how the tabs are. */
  async check(where) {
    try {
      for (const tab of this.tabs) {
        await this.#front(tab);
        await this.#idle(tab);
        assert.equal(await tab.page.evaluate(() => document.body.hasAttribute("data-stopped")), false, "the page has not stopped");
        assert.equal(await tab.get("engine-failed").count(), 0, "the engine has not stopped");
        const { longest, speed } = await longestTask(tab);
        this.longest = Math.max(this.longest, longest);
        assert.ok(longest <= LONGEST * Math.max(1, speed / 12), `the page was held for ${longest} ms (a fixed piece of work takes ${speed} ms)`);
      }
      this.world.check(await this.#nodes());
      assert.deepEqual(this.#unasked, [], "every request to the model was pressed for");
      assert.deepEqual(this.tabs[0].guard.errors, [], "the console has no errors");
    } catch (error) {
      throw new Error(`after ${where}: ${error.message}`, { cause: error });
    }
  }
}
