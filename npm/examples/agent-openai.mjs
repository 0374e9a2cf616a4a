// An agent on OpenAI's client, or on any server of that form. The questions are asked one after the other, each as a reply to
// the answer before.
//
//   npm install threadkeep openai
//   OPENAI_API_KEY=… node agent-openai.mjs "Will it rain in Oslo?" "And in Bergen?"
import OpenAI from "openai";
import { Threadkeep, createAgent } from "threadkeep";

// Reads OPENAI_API_KEY and OPENAI_BASE_URL. A redirect would take the prompt elsewhere.
const openai = new OpenAI({ fetchOptions: { redirect: "error" } });
const keep = await Threadkeep.open();
const agent = createAgent({
  keep,
  systemPrompt: "You know the weather. Be brief.",
  modelName: process.env.MODEL ?? "gpt-4.1-mini",
  model: ({ payload, signal }) => openai.chat.completions.create(payload, { signal }),
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
