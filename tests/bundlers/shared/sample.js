// What every sample does with a keep: once when its place is empty, and then again over what it finds there.

const NOTES = [
  { role: "system", content: "You keep the log of a lighthouse." },
  { role: "user", content: "The lamp was cleaned at noon, and the lens too." },
  { role: "assistant", content: "Noted: lamp and lens, noon." },
  { role: "user", content: "Fog came in from the west towards evening, thicker than all week, and stayed until the morning watch." },
  { role: "assistant", content: "Noted: fog from the west, all night." },
  { role: "user", content: "Who cleaned the lamp?" },
];

const ARCHIVE = JSON.stringify({ messages: [{ role: "user", content: "Two gulls nest on the gallery of the lighthouse." }] });

/** Opens a keep, writes into it if nobody has yet, and says what is in it. */
export async function sample(Threadkeep, options = {}) {
  const keep = await Threadkeep.open({ name: "sample", ...options });
  try {
    const found = await keep.thread("log").count();
    if (found === 0) {
      await keep.thread("log").append(NOTES);
      await keep.import(ARCHIVE);
      await keep.mailbox("ann").send({ to: "lal", content: "The lamp is lit." });
    }
    const prompt = await keep.thread("log").context({ provider: "openai-chat", budget: { maxTokens: 60 } });
    return {
      storage: keep.storage,
      found,
      messages: await keep.thread("log").count(),
      prompt: { tokens: prompt.tokens, overBudget: prompt.overBudget, roles: prompt.messages.map(({ role }) => role), kept: prompt.messages.length },
      hits: (await keep.search("lighthouse")).map(({ snippet }) => snippet).join(" | "),
      mail: (await keep.mailbox("lal").messages()).length,
    };
  } finally {
    await keep.close();
  }
}
