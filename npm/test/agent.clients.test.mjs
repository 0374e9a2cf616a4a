// Agents on the official clients of providers, whole and streamed: what they answer and what they throw is understood as it is. OpenAI's
// chat and Anthropic have more in `agent.models.test.mjs`, and the types are in `types.test.mjs`.
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { startModelServer } from "../../tests/support/model-server.mjs";
import { all, lal } from "./support/agents.mjs";
import { memory } from "./support/expect.mjs";

const server = await startModelServer({ key: "test-key" });
after(() => server.close());
beforeEach(() => server.reset());

const openai = new OpenAI({ apiKey: "test-key", baseURL: server.baseUrl("openai-chat"), maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "test-key", baseURL: server.baseUrl("anthropic"), maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: "test-key", httpOptions: { baseUrl: server.baseUrl("anthropic"), apiVersion: "v1beta" } });
const ollama = new Ollama({ host: server.baseUrl("ollama"), headers: { authorization: "Bearer test-key" } });
const sdk = { render: { sdk: true } };

/** The clients as a model's function each, by the form that they take. */
const CLIENTS = {
  "openai-chat": {
    streamed: ({ payload }) => openai.chat.completions.create(payload),
    whole: ({ payload }) => openai.chat.completions.create({ ...payload, stream: false, stream_options: null }),
  },
  "openai-responses": {
    streamed: ({ payload }) => openai.responses.create(payload),
    whole: ({ payload }) => openai.responses.create({ ...payload, stream: false }),
  },
  anthropic: {
    streamed: ({ payload }) => anthropic.messages.create(payload),
    whole: ({ payload }) => anthropic.messages.create({ ...payload, stream: false }),
  },
  gemini: {
    streamed: ({ payload }) => google.models.generateContentStream(payload),
    whole: ({ payload }) => google.models.generateContent(payload),
  },
  ollama: {
    streamed: ({ payload }) => ollama.chat(payload),
    whole: ({ payload }) => ollama.chat({ ...payload, stream: false }),
  },
};

async function talking(provider, model) {
  const keep = await memory({ encoding: "estimate" });
  return { keep, agent: lal(keep, model, { modelName: "test-model", provider, context: provider === "gemini" ? sdk : {} }) };
}

for (const [provider, ways] of Object.entries(CLIENTS))
  for (const [way, model] of Object.entries(ways)) {
    test(`${provider}, ${way}: text, reasoning, calls and usage come across, and nothing is written to the console`, async (t) => {
      const warn = t.mock.method(console, "warn", () => {});
      server.next(
        { text: "Let me see: ä€𝄞.", reasoning: "Sums.", calls: [{ name: "add", arguments: { a: 1, b: 2 } }], usage: { prompt: 120, completion: 30 } },
        { text: "It is 3.", usage: { prompt: 150, completion: 4 } },
      );
      const { keep, agent } = await talking(provider, model);
      const turn = agent.send("add");
      const events = await all(turn);
      const { node, text, outcome, reason } = await turn;
      assert.deepEqual([outcome, text], ["answered", "It is 3."], reason);
      const [, called, result] = (await keep.node(node)).messages;
      assert.deepEqual([called.content, called.reasoning, called.tool_calls.length, result.content], ["Let me see: ä€𝄞.", "Sums.", 1, "3"]);
      const usage = events.filter(({ type }) => type === "said").map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens]);
      assert.deepEqual(usage, [
        [120, 30],
        [150, 4],
      ]);
      assert.equal(server.requests.length, 2);
      assert.equal(warn.mock.callCount(), 0);
      await keep.close();
    });

    test(`${provider}, ${way}: what the client throws has a code`, async () => {
      const faults = [
        [{ fault: "status", status: 401 }, "unauthorized"],
        [{ fault: "status", status: 429 }, "rate-limited"],
        [{ fault: "status", status: 500 }, "overloaded"],
        [{ fault: "too-long" }, "too-long"],
        [{ fault: "refuse" }, "unreachable"],
        ...(way === "streamed" ? [[{ fault: "cut" }, "cut-off"]] : []),
      ];
      const { keep, agent } = await talking(provider, model);
      for (const [fault, code] of faults) {
        server.reset();
        server.next({ text: "Good day to you.", ...fault });
        const { node, outcome } = await agent.send("hi");
        const { kind } = (await keep.node(node)).messages.at(-1);
        assert.deepEqual([outcome, kind?.code], ["failed", code], `${JSON.stringify(fault)}: ${kind?.reason}`);
        assert.ok(!kind.reason.includes("test-key"), kind.reason);
      }
      await keep.close();
    });
  }
