// The browser's own model (Chrome's built-in Prompt API), for conversations. It is asked on the page, since workers have none; nothing
// leaves the machine. Loaded when the connections are first opened, or one of this kind first answers.

const LANGUAGES = { expectedInputs: [{ type: "text" }], expectedOutputs: [{ type: "text" }] };

/** `available`, `downloadable` or `downloading`; an empty text where the browser has none. */
export async function availability() {
  try {
    const found = await self.LanguageModel?.availability(LANGUAGES);
    return found && found !== "unavailable" ? found : "";
  } catch {
    return "";
  }
}

/**
 * Answers a list of messages (`{ role, content }` as JSON text). `tell` hears each piece. Resolves once all is said; rejects with the
 * browser's reason. `held.stop` is set to what ends the answer.
 */
export async function answer({ messages, tell, held }) {
  const all = JSON.parse(messages);
  // It answers a user: where the assistant spoke last, it is asked to go on.
  const said = all.at(-1)?.role === "user" ? all.pop().content : "Go on.";
  const stopper = new AbortController();
  held.stop = () => stopper.abort();
  const model = await self.LanguageModel.create({ ...LANGUAGES, initialPrompts: all, signal: stopper.signal });
  try {
    for await (const piece of model.promptStreaming(said, { signal: stopper.signal })) tell(piece);
  } finally {
    model.destroy?.();
  }
}
