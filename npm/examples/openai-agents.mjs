// A session of the OpenAI Agents SDK in a folder. The agent may not refund without a yes, so run it twice: the first run ends with the
// question, the second one is another process and goes on. The model is the SDK's own for tests; leave `model` out for OpenAI's.
//
//   npm install threadkeep @openai/agents zod
//   node openai-agents.mjs && node openai-agents.mjs
import { Agent, RunState, Runner, tool } from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents/testing";
import { Threadkeep } from "threadkeep";
import { fileStore } from "threadkeep/file";
import { CompactingSession, budgetInput } from "threadkeep/openai-agents";
import { z } from "zod";

const keep = await Threadkeep.open({ storage: fileStore({ folder: process.argv[2] ?? "agents-data" }) });
// Every item is in the folder, exactly; beyond 50,000 tokens a summary stands for the old turns.
const session = new CompactingSession(keep, { sessionId: "ann", above: 50_000 });

const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.number() }),
  needsApproval: true,
  execute: async ({ order }) => `order ${order} is refunded`,
});
const model = new ScriptedModel();
const agent = new Agent({ name: "clerk", instructions: "You help with orders. Be brief.", tools: [refund], model });
// What of a long session the model is sent: 900 tokens are left for instructions and tools.
const sessionInputCallback = budgetInput({ budget: { maxContextTokens: 128_000, maxOutputTokens: 8_000 }, reserve: 900 });
const runner = new Runner({ tracingDisabled: true, sessionInputCallback });

const notes = keep.records("my-app");
const waiting = await notes.get("run");
if (waiting === undefined) {
  model.enqueue([functionCall("refund", { order: 7 }, { callId: "call_1" })]);
  const { interruptions, state } = await runner.run(agent, "Order 7 never came.", { session });
  await notes.commit({ puts: [["run", new TextEncoder().encode(state.toString())]] });
  console.log("asked:", interruptions[0].name, interruptions[0].arguments);
} else {
  const state = await RunState.fromString(agent, new TextDecoder().decode(waiting));
  state.approve(state.getInterruptions()[0]);
  model.enqueue([assistantMessage("Your money is on its way.")]);
  const { finalOutput } = await runner.run(agent, state, { session });
  await notes.commit({ deletes: ["run"] });
  console.log("answer:", finalOutput);
  console.log("items:", (await session.getItems()).map((item) => item.role ?? item.type).join(", "));
  console.log("messages:", (await keep.thread("ann").messages()).map(({ role }) => role).join(", "));
  console.log("found:", (await keep.search('"is refunded"'))[0].message.content);
}
await keep.close();
