// A graph that ends in mid-run: the process kills itself in its second node. `framework-langgraph.test.mjs` runs it and goes on.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { logAdapter } from "../support/adapters.mjs";

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

if (process.argv[2] === "run") {
  const [, , , installed, path] = process.argv;
  const { Threadkeep } = await import(pathToFileURL(join(installed, "dist/index.js")).href);
  const { ThreadkeepSaver } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);
  const keep = await Threadkeep.open({ storage: await logAdapter(path) });
  const graph = steps(new ThreadkeepSaver(keep), () => process.kill(process.pid, "SIGKILL"));
  await graph.invoke({ messages: [new HumanMessage("go")] }, { configurable: { thread_id: "crash" }, durability: "sync" });
}
