// Claude with a memory of its own: Anthropic's memory tool, run by the SDK's tool runner. What Claude writes down lies in the keep, and
// is there the next time.
//
//   npm install threadkeep @anthropic-ai/sdk
//   ANTHROPIC_API_KEY=… node anthropic-memory.mjs "My name is Ann, and I like short answers."
//   ANTHROPIC_API_KEY=… node anthropic-memory.mjs "What do you know about me?"
import Anthropic from "@anthropic-ai/sdk";
import { Threadkeep } from "threadkeep";
import { memoryTool } from "threadkeep/anthropic-memory";
import { memoryFiles } from "threadkeep/tools";

const anthropic = new Anthropic(); // reads ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL
const keep = await Threadkeep.open();

for (const question of process.argv.slice(2)) {
  const answer = await anthropic.beta.messages.toolRunner({
    model: process.env.MODEL ?? "claude-sonnet-4-5",
    max_tokens: 2048,
    betas: ["context-management-2025-06-27"],
    tools: [memoryTool(keep)],
    messages: [{ role: "user", content: question }],
  });
  for (const block of answer.content) if (block.type === "text") console.log(block.text);
}

for (const { path, bytes } of await memoryFiles(keep).list()) console.log(`[${path}: ${bytes} bytes]`);
await keep.close();
