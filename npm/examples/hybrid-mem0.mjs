// A chat whose words stay here, while Mem0 remembers what matters in them. Each thing said is stored, and the prompt for a model is
// printed: what Mem0 remembers of this user from other conversations is in it, inside the budget.
//
//   npm install threadkeep mem0ai
//   MEM0_API_KEY=… node hybrid-mem0.mjs ann_1 "I am allergic to nuts."
//   MEM0_API_KEY=… node hybrid-mem0.mjs ann_2 "Which cake can I eat, with my allergies?"
import { Threadkeep } from "threadkeep";
import { hybrid } from "threadkeep/hybrid";
import { mem0Memory } from "threadkeep/mem0";

const { MEM0_API_KEY: apiKey, MEM0_HOST: host } = process.env;
const [thread = "ann_1", ...said] = process.argv.slice(2);

const keep = await Threadkeep.open({ name: "hybrid-mem0" });
const store = hybrid({
  keep,
  // The user is what stands before the `_`: her memories come along from conversation to conversation.
  memory: mem0Memory({ apiKey, ...(host && { host }), memoryLevel: "user" }),
  syncStrategy: "immediate",
  // The chat goes on; what Mem0 was not told it is told later.
  onMemoryError: (error, { operation }) => console.log(`(Mem0, ${operation}: ${error.details.reason})`),
});

for (const content of said) {
  await store.append(thread, [{ role: "user", content }]);
  const { messages, tokens } = await store.context(thread, { budget: { maxTokens: 2_000 } });
  for (const { role, content } of messages) console.log(`${role}: ${content}`);
  console.log(`(${tokens} tokens)`);
}

const { sent, error } = await store.close();
console.log(error ? "Mem0 was not told everything" : `Mem0 was told everything (${sent} at the end)`);
await keep.close();
