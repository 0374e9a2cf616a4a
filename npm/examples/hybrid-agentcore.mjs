// A chat whose words stay here, with Amazon Bedrock AgentCore beside it: conversations become sessions of an actor, forks their branches,
// and the records that AgentCore extracts come into prompts, inside the budget.
//
//   npm install threadkeep @aws-sdk/client-bedrock-agentcore
//   MEMORY_ID=chats-a1b2c3d4e5 ACTOR_ID=ann AWS_REGION=us-west-2 node hybrid-agentcore.mjs "I prefer pears."
import { Threadkeep } from "threadkeep";
import { agentcoreMemory } from "threadkeep/agentcore";
import { hybrid } from "threadkeep/hybrid";

const { MEMORY_ID: memoryId, ACTOR_ID: actorId = "ann", AWS_REGION: region = "us-west-2" } = process.env;
const [question = "What do I prefer?"] = process.argv.slice(2);

const keep = await Threadkeep.open({ name: "hybrid-agentcore" });
const memory = agentcoreMemory({ memoryId, actorId, region, namespaces: ["/actors/{actorId}"] });
const store = hybrid({ keep, memory, syncStrategy: "end-of-session", onMemoryError: (error) => console.log(error.message) });

const session = `session-${Date.now()}`;
const [, asked] = await store.append(session, [{ role: "system", content: "Be brief." }, { role: "user", content: question }]);
await store.append(session, [{ role: "assistant", content: "Noted." }]);
await store.endSession(session);

// Another answer to the same question: a fork here, a branch of the session there.
await keep.thread(`${session}-again`).moveTo(asked.id);
await store.append(`${session}-again`, [{ role: "assistant", content: "I shall remember that." }]);
await store.endSession(`${session}-again`);

for (const branch of [undefined, `${session}-again`]) {
  const messages = await memory.getAll(session, { branch });
  console.log(`${branch === undefined ? "session" : "branch"}: ${messages.map(({ content }) => content).join(" | ")}`);
}
const { messages, memories } = await store.context(session, { budget: { maxTokens: 500 } });
console.log(`prompt of ${messages.length} messages, ${memories.length} memories`);
await store.close();
await keep.close();
