// A chat of the AI SDK that forgets nothing: each run goes on where the last one ended, an answer that is asked for again stays beside
// the other, and the steps of the agent stay inside a budget. The model follows a script; put yours in its place.
//
//   npm install threadkeep ai zod
//   node ai-sdk-chat.mjs && node ai-sdk-chat.mjs
import { AbstractChat, DirectChatTransport, ToolLoopAgent, generateId, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { Threadkeep } from "threadkeep";
import { branchingTransport, trimSteps } from "threadkeep/ai-sdk";
import { fileStore } from "threadkeep/file";
import { z } from "zod";

const keep = await Threadkeep.open({ storage: fileStore({ folder: process.argv[2] ?? "ai-sdk-data" }) });

/** What a model would stream: a call of the tool, then an answer. */
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const answered = prompt.at(-1).role === "tool";
    const said = `It is clear in ${["Oslo", "Bergen", "Bodø"][prompt.length % 3]}.`;
    const parts = answered
      ? [{ type: "text-start", id: "t" }, ...said.match(/\S+\s*/g).map((delta) => ({ type: "text-delta", id: "t", delta })), { type: "text-end", id: "t" }]
      : [{ type: "tool-call", toolCallId: generateId(), toolName: "weather", input: '{"town":"Oslo"}' }];
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const finishReason = { unified: answered ? "stop" : "tool-calls", raw: undefined };
    return { stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }] }) };
  },
});

const agent = new ToolLoopAgent({
  model,
  instructions: "You know the weather. Be brief.",
  tools: { weather: tool({ inputSchema: z.object({ town: z.string() }), execute: ({ town }) => ({ town, sky: "clear" }) }) },
  // Each step's messages, the instructions with them, hold at most so many tokens; calls stay with their results.
  prepareStep: trimSteps({ budget: { maxTokens: 4000 } }),
});

// `useChat` of @ai-sdk/react is this with React's state.
class Chat extends AbstractChat {
  constructor({ messages, ...init }) {
    const state = {
      status: "ready",
      messages,
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (at, message) => void (state.messages = state.messages.with(at, structuredClone(message))),
      snapshot: structuredClone,
    };
    super({ ...init, state });
  }
}

const id = "ann";
// In a browser around `new DefaultChatTransport({ api: "/api/chat" })`.
const transport = branchingTransport(new DirectChatTransport({ agent, generateMessageId: generateId }), keep);
const chat = new Chat({ id, transport, messages: await transport.chats.load(id) });
const text = (message) => message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

console.log(`${chat.messages.length} messages are known`);
await chat.sendMessage({ text: "Will it rain?" });
console.log(text(chat.lastMessage));
await chat.regenerate();
await transport.settled();
const versions = await transport.chats.branches(id, chat.lastMessage.id);
console.log(`answer ${versions.findIndex(({ chosen }) => chosen) + 1} of ${versions.length}: ${text(chat.lastMessage)}`);

// The chat is a conversation of the keep.
const { tokens } = await keep.thread(id).context({ budget: { maxTokens: 4000 } });
console.log(`${await keep.thread(id).count()} messages of a prompt, ${tokens} tokens`);
await keep.close();
