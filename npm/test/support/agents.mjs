// Models that follow a script, and agents of the tests, which count without a vocabulary.
import { createAgent, mailText, memory } from "./expect.mjs";

/** A model that answers what it is given, one after the other; a function is called with the request. */
export function script(...answers) {
  const model = async (request) => {
    model.requests.push(request);
    const next = answers.length > 0 ? answers.shift() : "there is nothing more in the script";
    return typeof next === "function" ? next(request) : next;
  };
  model.requests = [];
  /** The texts of one of the prompts. */
  model.prompt = (at) => model.requests[at].messages.map(({ content }) => content ?? "");
  return model;
}

/** An answer that calls tools: `[id, name, arguments]` each. */
export function calls(...all) {
  const tool_calls = all.map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } }));
  return { message: { content: null, tool_calls } };
}

/** All built-in tools. */
export const BUILT_IN = ["reply", "send", "listMessages", "dismiss", "searchMemory", "readToolResult", "remember"];

/** An agent `lal` with all built-in tools that Ann talks to. */
export function lal(keep, model, options = {}) {
  const tools = { add: { execute: ({ a, b }) => a + b } };
  return createAgent({ keep, model, name: "lal", user: "ann", systemPrompt: "You are helpful.", builtIn: BUILT_IN, tools, ...options });
}

/** A keep in memory, a scripted model, and its agent. */
export async function setUp(answers, options = {}) {
  const keep = await memory({ encoding: "estimate" });
  const model = script(...answers);
  return { keep, model, agent: lal(keep, model, options) };
}

/** All that an iterator gives. */
export async function all(iterable) {
  const got = [];
  for await (const item of iterable) got.push(item);
  return got;
}

/** Everything in a mailbox. */
export function boxOf(keep, party) {
  return keep.mailbox(party).messages({ dismissed: true });
}

/** The texts of mails. */
export function said(mails) {
  return mails.map(mailText);
}
