// Talking to a model on the page: a visit with a model of the test's own, and what is done there again and again.
import { serveModel } from "./model.mjs";

/**
 * Visits the page with a model; `plan` says what that answers (see model.mjs), `tools` which tools it is given: `memory`, `mailbox` or
 * `none`, `connection` what else its connection says. `run` gets the page, the model and the context.
 */
export async function talk(site, plan, run, { tools = "memory", connection = {}, ...options } = {}) {
  const model = await serveModel({ plan });
  const prepare = (context) => connect(context, model, tools, connection);
  try {
    await site.visit(async (tab, context) => run(tab, model, context), { allowed: [model.address], prepare, ...options });
  } finally {
    await model.close();
  }
}

/** Writes a connection as the page keeps it. */
export function connect(context, { url }, tools, more = {}) {
  const connection = { id: "test", preset: "custom", name: "Test", provider: "openai-chat", baseUrl: url, model: "tiny-1", tools, ...more };
  return context.addInitScript(
    (book) => {
      if (location.protocol === "http:" && localStorage["threadkeep.connections"] === undefined) localStorage["threadkeep.connections"] = book;
    },
    JSON.stringify({ chosen: "test", list: [connection] }),
  );
}

/** Says something. */
export async function say(tab, words) {
  await tab.get("compose").fill(words);
  await tab.page.keyboard.press("Enter");
}

/** Waits until nothing is under way. */
export const quiet = (tab) => tab.get("send").waitFor();

/** Says something and waits for the end of the turn. */
export async function said(tab, words, answer) {
  await say(tab, words);
  await tab.message(answer).waitFor();
  await quiet(tab);
}

/** Replies to the message that says `words`. */
export async function replyTo(tab, words) {
  const message = tab.message(words);
  await message.hover();
  await message.getByTestId("reply").click();
  await tab.get("target").waitFor();
}

/** The conversation in a request, as `role: words`. */
export const sent = (request) =>
  request.messages
    .filter(({ role }) => role !== "system")
    .map(({ role, content }) => `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`);

/** A model that says which answer this is, and to what. */
export const echo = (request, number) => ({ text: `Answer ${number} to ${request.messages.at(-1).content}.` });

/** The forks on the screen, as `branches 2/3` or `answers 1/2`. */
export const forks = (tab) =>
  tab.get("fork").evaluateAll((all) => all.map((one) => `${one.dataset.between} ${one.querySelector("[data-testid=fork-label]").textContent}`));
