// Schemas for the arguments of tools: JSON Schema, and Standard Schema as Zod and others implement it.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { calls, script } from "./support/agents.mjs";
import { createAgent, memory, tool } from "./support/expect.mjs";

async function run(tools, ...made) {
  const keep = await memory({ encoding: "estimate" });
  const model = script(calls(...made), "done");
  const { node } = await createAgent({ keep, model, tools }).send("?");
  const said = (await keep.node(node)).messages.filter(({ role }) => role === "tool").sort((a, b) => (a.tool_call_id < b.tool_call_id ? -1 : 1));
  const results = said.map(({ content, is_error }) => [is_error === true, content]);
  await keep.close();
  return { results, offered: model.requests[0].tools };
}

/** A schema by hand, without JSON Schema: a text that is not empty, and is trimmed. */
const handmade = {
  "~standard": {
    version: 1,
    vendor: "hand",
    validate: async (value) =>
      typeof value.town === "string" && value.town !== ""
        ? { value: { town: value.town.trim() } }
        : { issues: [{ message: "a town is needed", path: ["town"] }] },
  },
};

test("a schema of Zod gives the model its JSON Schema and the tool what it makes of the arguments", async () => {
  const used = [];
  const weather = tool({
    description: "The weather.",
    schema: z.object({
      town: z
        .string()
        .refine((town) => town !== "Nowhere", "there is no such town")
        .describe("Where."),
      days: z.number().int().default(3),
    }),
    execute: (args) => (used.push(args), "sunny"),
  });
  const { results, offered } = await run({ weather }, ["a", "weather", { town: "Oslo" }], ["b", "weather", {}], ["c", "weather", { town: "Nowhere" }]);
  assert.deepEqual(used, [{ town: "Oslo", days: 3 }]);
  assert.deepEqual(
    results.map(([failed]) => failed),
    [false, true, true],
  );
  assert.equal(results[1][1], 'the argument "town" is missing');
  assert.match(results[2][1], /^the arguments do not fit: town: there is no such town$/);
  const { type, properties, required, $schema } = offered[0].parameters;
  assert.deepEqual([type, Object.keys(properties), required, $schema], ["object", ["town", "days"], ["town"], undefined]);
  assert.equal(properties.town.description, "Where.");
});

test("any Standard Schema checks arguments, with a JSON Schema beside it", async () => {
  const parameters = { type: "object", properties: { town: { type: "string" } } };
  const used = [];
  const weather = { schema: handmade, parameters, execute: (args) => (used.push(args), "rain") };
  const { results, offered } = await run({ weather }, ["a", "weather", { town: " Oslo " }], ["b", "weather", {}]);
  assert.deepEqual(used, [{ town: "Oslo" }]);
  assert.deepEqual(results, [
    [false, "rain"],
    [true, "the arguments do not fit: town: a town is needed"],
  ]);
  assert.deepEqual(offered[0].parameters, parameters);
});

test("a schema that is none, or that gives no JSON Schema, is named", async () => {
  const keep = await memory({ encoding: "estimate" });
  const made = (weather) => createAgent({ keep, model: script(), tools: { weather: { execute() {}, ...weather } } });
  const wrong = (weather, argument) => assert.throws(() => made(weather), { code: "bad-request", details: { argument } });
  wrong({ schema: { type: "object" } }, "options.tools.weather.schema");
  wrong({ schema: handmade }, "options.tools.weather.parameters");
  wrong({ schema: z.object({ when: z.date() }) }, "options.tools.weather.schema");
  await keep.close();
});
