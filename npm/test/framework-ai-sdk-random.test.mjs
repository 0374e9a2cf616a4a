// Chats at random, through the AI SDK's own chat: sent, asked again, edited, stopped in mid-word, failed, with tools, reloaded. After
// each step the store holds what the chat shows, and all that the chat has ever thrown away.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { DefaultChatTransport, convertToModelMessages, generateId, stepCountIs, streamText, tool, validateUIMessages } from "ai";
import { z } from "zod";
import { Chat, answer, branchingTransport, chatStore, plain, said, scripted, serving } from "./support/ai-sdk.mjs";
import { memory } from "./support/expect.mjs";

function random(seed) {
  let state = seed;
  return (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
}

const tools = {
  look: tool({ inputSchema: z.object({ at: z.number() }), execute: async ({ at }) => (at % 5 === 0 ? Promise.reject(new Error(`nothing at ${at}`)) : { at }) }),
};

/** A stream of the model's that stops coming after `after` pieces, until it is stopped. */
function stalling(parts, after) {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next < after && next < parts.length) controller.enqueue(parts[next++]);
      else return new Promise(() => {});
    },
  });
}

test("random chats: nothing is lost, nothing is doubled", { timeout: 120_000 }, async () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    const next = random(seed);
    const keep = await memory({ encoding: "estimate" });
    let count = 0;
    let script = [];
    const model = scripted(...Array.from({ length: 400 }, () => () => script.shift() ?? { text: `Spare ${count++}.` }));
    const generate = () => `id${count++}`;
    const open = (messages) => {
      const transport = branchingTransport(serving(model, { tools, ui: { generateMessageId: generate } }), keep);
      return { transport, chat: new Chat({ id: "c", generateId: generate, transport, messages }) };
    };
    let { transport, chat } = open([]);
    const thrown = new Set();
    for (let step = 0; step < 25; step += 1) {
      const text = () => `Answer number ${count++}, with some words.`;
      const calls = () => Array.from({ length: 1 + next(2) }, () => ({ id: `k${count++}`, name: "look", input: { at: next(10) } }));
      script = [];
      while (next(3) === 0) script.push({ text: text(), calls: calls(), ...(next(2) === 0 ? { reasoning: text() } : {}) });
      const last = { text: text(), ...(next(2) === 0 ? { reasoning: text() } : {}) };
      const how = next(6);
      if (how === 0) script.push({ ...last, fail: new Error("failed") });
      else if (how === 1) script.push(stalling(answer(last), 2 + next(6)));
      else script.push(last);
      for (const one of chat.messages) thrown.add(JSON.stringify(plain(one)));
      const what = chat.messages.length === 0 ? 0 : next(5);
      const users = chat.messages.filter(({ role }) => role === "user");
      let done;
      if (what < 2) done = chat.sendMessage({ text: `Question ${count++}` });
      else if (what === 2) done = chat.regenerate({ messageId: chat.messages[next(chat.messages.length)].id });
      else if (what === 3) done = chat.sendMessage({ text: `Question ${count++}`, messageId: users[next(users.length)].id });
      else {
        await transport.settled();
        ({ transport, chat } = open(await transport.chats.load("c")));
        continue;
      }
      if (how === 1) {
        // Until nothing more comes.
        for (let quiet = 0, before = ""; quiet < 3; ) {
          await new Promise((resolve) => setTimeout(resolve, 3));
          const now = JSON.stringify(chat.messages);
          quiet = now === before ? quiet + 1 : 0;
          before = now;
        }
        await chat.stop();
      }
      await done;
      await transport.settled();
      const stored = await chatStore(keep).load("c");
      // What was only begun (a step, an empty text) when it was stopped may be in one of the two and not in the other.
      const bare = (messages) =>
        plain(messages)
          .map(({ parts, ...rest }) => ({ ...rest, parts: parts.filter(({ type, text }) => type !== "step-start" && text !== "") }))
          .filter(({ role, parts }) => role === "user" || parts.length > 0);
      assert.deepEqual(bare(stored), bare(chat.messages), `seed ${seed}, step ${step}`);
      if (how > 1) assert.deepEqual(stored.at(-1), plain(chat.messages.at(-1)), `seed ${seed}, step ${step}`);
    }
    await transport.settled();
    // Every version of every message, with its last word, is in the tree.
    const all = new Set();
    const [{ id }] = await keep.transcripts();
    const rows = await keep.transcript(id).tree();
    const inner = new Set(rows.map(({ parent }) => parent));
    for (const row of rows) {
      if (inner.has(row.id)) continue;
      for (const one of await chatStore(keep).select("c", row.id))
        for (const part of one.parts) all.add(JSON.stringify([one.role, part.text ?? part.output ?? part.errorText]));
    }
    for (const json of thrown) {
      const one = JSON.parse(json);
      for (const part of one.parts)
        if (part.text || part.output || part.errorText)
          assert.ok(
            all.has(JSON.stringify([one.role, part.text ?? part.output ?? part.errorText])) || part.state === "streaming",
            `seed ${seed}: ${JSON.stringify(part)}`,
          );
    }
    await keep.close();
  }
});

test("over HTTP: a page's chat and its server each keep it, through a stop and an answer that is asked for again", { timeout: 60_000 }, async () => {
  const [keep, serverKeep] = [await memory({ encoding: "estimate" }), await memory({ encoding: "estimate" })];
  const chats = chatStore(serverKeep);
  const model = scripted(
    { calls: [{ id: "k1", name: "look", input: { at: 1 } }] },
    { text: "There it is." },
    () => stalling(answer({ text: "A long story without end" }), 4),
    { text: "Another one." },
  );
  const server = createServer(async (request, response) => {
    const body = [];
    for await (const piece of request) body.push(piece);
    const { id, messages } = JSON.parse(Buffer.concat(body));
    const valid = await validateUIMessages({ messages });
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const result = streamText({
      model,
      tools,
      messages: await convertToModelMessages(valid, { tools }),
      stopWhen: stepCountIs(4),
      abortSignal: gone.signal,
      onError() {},
    });
    result.pipeUIMessageStreamToResponse(response, {
      originalMessages: valid,
      generateMessageId: generateId,
      onFinish: ({ messages }) => chats.save({ chatId: id, messages }),
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const transport = branchingTransport(new DefaultChatTransport({ api: `http://127.0.0.1:${server.address().port}/api/chat` }), keep);
    const chat = new Chat({ id: "c", transport });
    await chat.sendMessage({ text: "Look" });
    await transport.settled();
    assert.deepEqual(await transport.chats.load("c"), plain(chat.messages));
    for (let tries = 0; tries < 200 && (await chats.load("c")).length < 2; tries += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(await chats.load("c"), plain(chat.messages));
    const sent = chat.sendMessage({ text: "Tell me" });
    while (chat.messages.length < 4 || said(chat.messages).at(-1).length < 5) await new Promise((resolve) => setTimeout(resolve, 2));
    await chat.stop();
    await sent;
    await transport.settled();
    const half = (await transport.chats.load("c")).at(-1);
    assert.ok("A long story without end".startsWith(said([half])[0]) && said([half])[0] !== "");
    await chat.regenerate();
    await transport.settled();
    assert.deepEqual(await transport.chats.load("c"), plain(chat.messages));
    const versions = await transport.chats.branches("c", chat.lastMessage.id);
    assert.deepEqual(
      versions.map(({ ended, chosen }) => [ended, chosen]),
      [
        ["cancelled", false],
        [undefined, true],
      ],
    );
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await Promise.all([keep.close(), serverKeep.close()]);
  }
});

test("a chat that is compacted goes on, and shows all that was said", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chats = chatStore(keep);
  const words = "and a number of words besides, so that it is worth a summary ".repeat(5);
  const messages = Array.from({ length: 20 }, (_, at) => ({
    id: `m${at}`,
    role: at % 2 === 0 ? "user" : "assistant",
    parts: [{ type: "text", text: `Message ${at} ${words}` }],
  }));
  await chats.save({ chatId: "c", messages });
  await keep.thread("c").compact({ summarize: async () => '{"statements": ["Numbers were counted."]}' });
  const { messages: prompt } = await keep.thread("c").context({ budget: { maxTokens: 5000 } });
  assert.ok(JSON.stringify(prompt).includes("Numbers were counted.") && prompt.length < 15);
  assert.deepEqual(await chats.load("c"), messages);
  const more = [...messages, { id: "m20", role: "user", parts: [{ type: "text", text: "On" }] }];
  assert.deepEqual(await chats.save({ chatId: "c", messages: more }).then(({ added, branched }) => [added, branched]), [1, false]);
  assert.deepEqual(await chats.load("c"), more);
  await keep.close();
});
