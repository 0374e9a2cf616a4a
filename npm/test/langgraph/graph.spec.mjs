// A graph in a browser: paused, the keep closed and opened again, resumed and forked; its store, and a history, on IndexedDB.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph/web";
import { Threadkeep } from "threadkeep";
import { ThreadkeepChatMessageHistory, trimLangChain } from "threadkeep/langchain";
import { ThreadkeepSaver, ThreadkeepStore, contextHook } from "threadkeep/langgraph";

const thread = { configurable: { thread_id: "t" } };
const open = () => Threadkeep.open({ name: "langgraph-graph", storage: "indexeddb" });
const texts = ({ messages }) => messages.map(({ content }) => content);

/** Pauses before it answers: at a place of the graph, since LangGraph's `interrupt` needs what browsers do not have. */
function graphOn(keep) {
  return new StateGraph(MessagesAnnotation)
    .addNode("trim", async (state, config) => {
      const { llmInputMessages } = await contextHook({ budget: { maxMessages: 3 } })(state, config);
      return { messages: [new AIMessage({ id: `seen-${state.messages.length}`, content: `saw ${llmInputMessages.length}` })] };
    })
    .addNode("tell", async (state) => ({
      messages: [new AIMessage({ id: `a-${state.messages.length}`, content: `told after ${state.messages.at(-1).content}` })],
    }))
    .addEdge(START, "trim")
    .addEdge("trim", "tell")
    .addEdge("tell", END)
    .compile({ checkpointer: new ThreadkeepSaver(keep, { transcripts: true }), interruptBefore: ["tell"] });
}

it("goes on after the keep was closed, and forks", async () => {
  let keep = await open();
  expect(keep.storage).toBe("indexeddb");
  await graphOn(keep).invoke({ messages: [new HumanMessage({ id: "q", content: "question" })] }, thread);
  await keep.close();
  keep = await open();
  const paused = await graphOn(keep).getState(thread);
  expect(paused.next).toEqual(["tell"]);
  expect(texts(await graphOn(keep).invoke(null, thread))).toEqual(["question", "saw 1", "told after saw 1"]);
  const edited = await graphOn(keep).updateState(paused.config, { messages: [new AIMessage({ id: "seen-1", content: "saw more" })] }, "trim");
  expect(texts(await graphOn(keep).invoke(null, edited))).toEqual(["question", "saw more", "told after saw more"]);
  await keep.close();
  keep = await open();
  expect(texts((await graphOn(keep).getState(thread)).values)).toEqual(["question", "saw more", "told after saw more"]);
  expect((await keep.thread("t").messages()).map(({ content }) => content)).toEqual(["question", "saw more", "told after saw more"]);
  expect((await keep.transcripts())[0].branches).toBe(2);
  await keep.close();
});

it("remembers items and histories", async () => {
  let keep = await open();
  await new ThreadkeepStore(keep).put(["users", "ann"], "food", { likes: "brown cheese", bytes: new Uint8Array([1, 2]) });
  await new ThreadkeepChatMessageHistory(keep, "h").addMessages([new HumanMessage("hello"), new AIMessage({ content: "hi", id: "a" })]);
  await keep.close();
  keep = await open();
  const [found] = await new ThreadkeepStore(keep).search(["users"], { query: "cheese" });
  expect(found.value).toEqual({ likes: "brown cheese", bytes: new Uint8Array([1, 2]) });
  const messages = await new ThreadkeepChatMessageHistory(keep, "h", { budget: { maxTokens: 100 } }).getMessages();
  expect(messages.map(({ id, content }) => [id, content])).toEqual([
    [undefined, "hello"],
    ["a", "hi"],
  ]);
  expect((await trimLangChain(messages, { budget: { maxMessages: 1 } })).messages.length).toBe(1);
  await keep.close();
});
