// A LangGraph agent whose state, memory and conversation are in one folder. It asks before it books, so run it twice: the first run ends
// with the question, the second goes on where the first one stopped. The model is LangChain's own for tests; put yours in its place.
//
//   npm install threadkeep @langchain/core @langchain/langgraph @langchain/langgraph-checkpoint zod
//   node langgraph.mjs && node langgraph.mjs
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { Threadkeep } from "threadkeep";
import { fileStore } from "threadkeep/file";
import { ThreadkeepSaver, ThreadkeepStore, contextHook } from "threadkeep/langgraph";
import { z } from "zod";

const keep = await Threadkeep.open({ storage: fileStore({ folder: process.argv[2] ?? "langgraph-data" }) });
const store = new ThreadkeepStore(keep);
const thread = { configurable: { thread_id: "ann" } };

const book = tool(
  async ({ town }) => {
    const answer = interrupt(`Book a train to ${town}?`);
    if (answer === "yes") await store.put(["users", "ann"], "travels", { to: town });
    return answer === "yes" ? `booked: ${town}` : "not booked";
  },
  { name: "book", description: "Books a train.", schema: z.object({ town: z.string() }) },
);

const llm = fakeModel().respond((messages) => {
  if (messages.at(-1) instanceof HumanMessage) return new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "book", args: { town: "Bergen" } }] });
  return new AIMessage(`Done (${messages.at(-1).content}).`);
});

const agent = createReactAgent({
  llm,
  tools: [book],
  store,
  // Every step is in the folder before the next one begins; `transcripts` makes the thread a conversation of the keep.
  checkpointer: new ThreadkeepSaver(keep, { transcripts: true }),
  // What of a long thread the model sees.
  preModelHook: contextHook({ budget: { maxTokens: 8000 }, systemPrompt: "You book trains. Be brief." }),
});

const { next, tasks } = await agent.getState(thread);
if (next.length === 0) {
  await agent.invoke({ messages: [new HumanMessage("I want to see the fjords.")] }, thread);
  const paused = await agent.getState(thread);
  console.log("asked:", paused.tasks[0].interrupts[0].value);
} else {
  console.log("still asking:", tasks[0].interrupts[0].value);
  const { messages } = await agent.invoke(new Command({ resume: "yes" }), thread);
  console.log("answer:", messages.at(-1).content);
  console.log("remembered:", (await store.search(["users"], { query: "travels to" }))[0].value);
  console.log("conversation:", (await keep.thread("ann").messages()).map(({ role }) => role).join(", "));
}
await keep.close();
