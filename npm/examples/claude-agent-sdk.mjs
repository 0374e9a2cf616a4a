// Sessions of the Claude Agent SDK in a folder: stored as they are, and searched, read and budgeted as transcripts. The SDK's program is not
// started here, so that nothing leaves the machine: the lines below are what it sends. With it, all you write is
//
//   for await (const message of query({ prompt, options: { sessionStore: store } })) …
//
//   npm install threadkeep @anthropic-ai/claude-agent-sdk
//   node claude-agent-sdk.mjs
import { forkSession, getSessionMessages, listSessions } from "@anthropic-ai/claude-agent-sdk";
import { Threadkeep } from "threadkeep";
import { sessionStore } from "threadkeep/claude-agent-sdk";
import { fileStore } from "threadkeep/file";

const keep = await Threadkeep.open({ storage: fileStore({ folder: process.argv[2] ?? "claude-data" }) });
const store = sessionStore(keep);

const dir = process.cwd();
const sessionId = "5f1c0a52-7a3e-4d0b-9a41-3f6d2c8e7b10";
const key = { projectKey: dir.replace(/[^a-zA-Z0-9]/g, "-"), sessionId };
const line = (type, uuid, parentUuid, content, timestamp) => ({ type, uuid, parentUuid, sessionId, cwd: dir, isSidechain: false, timestamp, message: { role: type, content } });
const [first, second] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
// The same lines again, after a failure say, are not stored again.
for (let sent = 0; sent < 2; sent += 1)
  await store.append(key, [
    line("user", first, null, "Why is the checkout test flaky?", "2026-03-01T09:00:00.000Z"),
    line("assistant", second, first, [{ type: "text", text: "It sleeps instead of waiting for the basket." }], "2026-03-01T09:00:05.000Z"),
    { type: "custom-title", customTitle: "Flaky checkout", sessionId },
  ].slice(0, sent === 0 ? 3 : 2));

// The SDK's own functions read from the keep.
const options = { dir, sessionStore: store };
console.log("sessions:", (await listSessions(options)).map(({ customTitle }) => customTitle));
console.log("messages:", (await getSessionMessages(sessionId, options)).length);

// And the keep has the conversation: for the page, for a search, for a prompt that fits a budget.
const { thread, transcript } = await store.transcript(key);
console.log("title:", (await keep.transcripts()).find(({ id }) => id === transcript).title);
console.log("found:", (await keep.search("basket", { source: "claude-code" }))[0].message.content);
const { payload, tokens } = await keep.thread(thread).context({ provider: "anthropic", budget: { maxTokens: 1000 } });
console.log("prompt:", payload.messages.length, "messages,", tokens < 1000);

const fork = await forkSession(sessionId, { ...options, upToMessageId: first });
console.log("fork:", (await getSessionMessages(fork.sessionId, options)).length, "message");
await store.flush();
await keep.close();
