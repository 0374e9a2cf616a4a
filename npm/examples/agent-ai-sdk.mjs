// An agent on the AI SDK, which speaks to most providers. The questions are asked one after the other, each as a reply to the
// answer before.
//
//   npm install threadkeep ai @ai-sdk/openai-compatible
//   OPENAI_API_KEY=… OPENAI_BASE_URL=… node agent-ai-sdk.mjs "Will it rain in Oslo?" "And in Bergen?"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, streamText } from "ai";
import { Threadkeep, createAgent, forAiSdk } from "threadkeep";

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL = "https://api.openai.com/v1", MODEL: modelName = "gpt-4.1-mini" } = process.env;
const provider = createOpenAICompatible({ name: "openai", apiKey, baseURL, includeUsage: true });
const keep = await Threadkeep.open();
const agent = createAgent({
  keep,
  systemPrompt: "You know the weather. Be brief.",
  modelName,
  // What fails is told by the turn; the AI SDK would write it to the console as well.
  model: (request) => streamText({ model: provider(modelName), ...forAiSdk(request, jsonSchema), onError() {} }),
  tools: {
    weather: {
      description: "Today's weather in a town.",
      parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
      execute: ({ town }) => ({ town, sky: town === "Bergen" ? "rain" : "clear", celsius: 9 }),
    },
  },
});

let replyTo;
for (const question of process.argv.slice(2)) {
  const turn = agent.send(question, { replyTo });
  for await (const event of turn) {
    if (event.type === "delta" && "text" in event) process.stdout.write(event.text);
    if (event.type === "called") console.log(`[${event.name}: ${event.result}]`);
  }
  const { outcome, reason, reply } = await turn;
  console.log(outcome === "answered" ? "" : `${outcome}: ${reason}`);
  replyTo = reply;
}
await keep.close();
