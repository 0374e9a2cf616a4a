// LangChain's chat history in a folder: each run goes on with the conversation of the runs before, within a budget. The model is
// LangChain's own for tests; put yours in its place.
//
//   npm install threadkeep @langchain/core
//   node langchain.mjs "I am Ann." && node langchain.mjs "Who am I?"
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Threadkeep } from "threadkeep";
import { fileStore } from "threadkeep/file";
import { ThreadkeepChatMessageHistory } from "threadkeep/langchain";

const [question = "I am Ann.", folder = "langchain-data"] = process.argv.slice(2);
const keep = await Threadkeep.open({ storage: fileStore({ folder }) });
const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], new MessagesPlaceholder("history"), ["human", "{input}"]]);
const model = new FakeListChatModel({ responses: ["I see."] });

const chat = new RunnableWithMessageHistory({
  runnable: prompt.pipe(model),
  getMessageHistory: (sessionId) => new ThreadkeepChatMessageHistory(keep, sessionId, { budget: { maxTokens: 8000 } }),
  inputMessagesKey: "input",
  historyMessagesKey: "history",
});

const answer = await chat.invoke({ input: question }, { configurable: { sessionId: "ann" } });
console.log(answer.content);
for (const message of await new ThreadkeepChatMessageHistory(keep, "ann").getMessages()) console.log(`${message.type}: ${message.content}`);
await keep.close();
