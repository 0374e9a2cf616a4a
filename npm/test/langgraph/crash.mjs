// Graphs in a process that ends in mid-run: `run` kills itself in its second node, `talk` says what was done until it is killed.
// `framework-langgraph.test.mjs` runs them and goes on.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Three nodes; `beforeSecond` comes before the second one says anything. */
export function steps(checkpointer, beforeSecond = () => {}) {
  return new StateGraph(MessagesAnnotation)
    .addNode("first", async () => ({ messages: [new AIMessage("first")] }))
    .addNode("second", async () => {
      beforeSecond();
      return { messages: [new AIMessage("second")] };
    })
    .addNode("third", async () => ({ messages: [new AIMessage("third")] }))
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", "third")
    .addEdge("third", END)
    .compile({ checkpointer });
}

/** Answers a question with the number of messages that there are. */
export function counting(checkpointer) {
  return new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }) => ({ messages: [new AIMessage(`answer ${messages.length}`)] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

if (process.argv[2] === "run" || process.argv[2] === "talk") {
  const [, , what, installed, folder] = process.argv;
  const { Threadkeep } = await import(pathToFileURL(join(installed, "dist/index.js")).href);
  const { ThreadkeepSaver } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);
  const { fileStore } = await import(pathToFileURL(join(installed, "dist/stores/file.js")).href);
  const keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  const saver = new ThreadkeepSaver(keep, { transcripts: true });
  if (what === "run") {
    const graph = steps(saver, () => process.kill(process.pid, "SIGKILL"));
    await graph.invoke({ messages: [new HumanMessage("go")] }, { configurable: { thread_id: "crash" }, durability: "sync" });
  }
  for (let turn = (await saver.getTuple({ configurable: { thread_id: "talk" } }))?.checkpoint.channel_values.messages.length ?? 0; ; turn += 2) {
    const { messages } = await counting(saver).invoke({ messages: [new HumanMessage(`question ${turn}`)] }, { configurable: { thread_id: "talk" } });
    process.stdout.write(`${messages.length}\n`);
  }
}
