// An agent over plain fetch: what comes back is the answer as it is, streamed or whole, in OpenAI's chat form or Anthropic's. The
// questions are asked one after the other, each as a reply to the answer before.
//
//   npm install threadkeep
//   OPENAI_API_KEY=… node agent-fetch.mjs "Will it rain in Oslo?" "And in Bergen?"
import { Threadkeep, createAgent } from "threadkeep";

const { OPENAI_API_KEY: key, OPENAI_BASE_URL: url = "https://api.openai.com/v1", MODEL: modelName = "gpt-4.1-mini" } = process.env;
const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
const keep = await Threadkeep.open();
const agent = createAgent({
  keep,
  systemPrompt: "You know the weather. Be brief.",
  modelName,
  model: ({ payload, signal }) => fetch(`${url}/chat/completions`, { method: "POST", headers, body: JSON.stringify(payload), signal, redirect: "manual" }),
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
