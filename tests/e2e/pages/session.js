// A long session with an agent, in which everything follows from what was said before: whoever goes on with it after a crash does
// what an undisturbed run does. 200 turns over 20 chains, with 30 forks and 500 tool calls.

export const TURNS = 200;
const CHAINS = 20;
/** How many tools the turn of that number calls. */
const tools = (turn) => (turn % 2 === 0 ? 2 : 3);
/** Whether it goes on from the beginning of its chain instead of its end; 30 turns do. */
const forks = (turn) => turn >= 40 && turn % 5 === 1 && turn < 190;

const pause = () => new Promise((resolve) => setTimeout(resolve, 1));

/** A model that looks at its prompt alone: it calls as many tools as were asked for, then answers. */
async function model({ messages, signal, onDelta }) {
  await pause();
  signal.throwIfAborted();
  const last = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[last].content;
  const done = messages.slice(last).filter(({ role }) => role === "tool").length;
  const wanted = Number(asked.split("tools ")[1]);
  onDelta({ text: "…" });
  if (done >= wanted) return `answer to ${asked} after ${messages.length} messages`;
  const now = wanted - done >= 3 ? 2 : 1;
  const call = (at) => ({ id: `c${done + at}`, type: "function", function: { name: "join", arguments: JSON.stringify({ a: done, b: at }) } });
  return { message: { role: "assistant", content: "", tool_calls: Array.from({ length: now }, (_, at) => call(at)) } };
}

const join = {
  description: "Joins two numbers.",
  parameters: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } },
  execute: async ({ a, b }) => {
    await pause();
    return `${a}+${b}`;
  },
};

/** Goes on with the session in the keep of that name until it is done. `told` hears of the beginning and of each turn. */
export async function play({ Threadkeep, createAgent }, name, told) {
  const keep = await Threadkeep.open({ name });
  const agent = createAgent({ keep, name: "lal", user: "ann", model, tools: { join }, builtIn: [], context: { encoding: "estimate" }, resume: true });
  // What a crash has interrupted comes first.
  await agent.catchUp();
  for (;;) {
    const mails = await keep.mailbox("ann").messages({ dismissed: true });
    const sent = mails.filter(({ from }) => from === "ann");
    const turn = sent.length;
    await told({ turn, beginning: keep.beginning });
    if (turn >= TURNS) break;
    const chain = sent.filter((_, at) => at % CHAINS === turn % CHAINS);
    const before = forks(turn) ? chain[0] : chain.at(-1);
    const reply = before && mails.find(({ replyTo }) => replyTo === before.messageId);
    await agent.send(`turn ${turn} tools ${tools(turn)}`, reply ? { replyTo: reply } : {});
  }
  await agent.close();
  await keep.close();
}

/** What the session left: for each turn its chain as text, how many answers it has, whether it is marked, and what is wrong. */
export async function look({ Threadkeep, validate }, name) {
  const keep = await Threadkeep.open({ name });
  const mails = await keep.mailbox("ann").messages({ dismissed: true });
  const turns = [];
  let calls = 0;
  for (const mail of mails.filter(({ from }) => from === "ann")) {
    const chain = await keep.chain(mail.messageId);
    const messages = chain.flatMap((node) => node.messages);
    const own = chain.at(-1).messages;
    const answers = mails.filter(({ replyTo }) => replyTo === mail.messageId);
    const { payload } = await keep.at(mail.messageId).context({ encoding: "estimate" });
    const { errors } = await validate(payload, "openai-chat");
    calls += own.filter(({ role }) => role === "tool").length;
    turns.push({
      text: messages.map(({ role, content }) => `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`),
      answers: answers.map(({ strings }) => strings.join()),
      interrupted: messages.some(({ content }) => String(content).startsWith("interrupted")),
      sealed: chain.at(-1).sealed,
      errors,
    });
  }
  const lint = await keep.lint();
  await keep.close();
  return { turns, calls, lint };
}
