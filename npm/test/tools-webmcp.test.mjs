// WebMCP where there is none, and in the shapes of the draft that came before the one in today's Chromium: stand-ins of them, since no
// browser here has them. The real thing is tested in a real browser, in tests/e2e/webmcp.test.mjs.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { memory } from "./support/expect.mjs";
import { hasWebMcp, registerTools, remembering } from "./support/tools.mjs";

const place = (name, modelContext) => Object.defineProperty(globalThis, name, { value: { modelContext }, configurable: true, writable: true });
const navigator = Object.getOwnPropertyDescriptor(globalThis, "navigator");
afterEach(() => {
  delete globalThis.document;
  if (navigator === undefined) delete globalThis.navigator;
  else Object.defineProperty(globalThis, "navigator", navigator);
});

/** A registry as browsers have it: names are unique. */
function registry() {
  const tools = new Map();
  const add = (tool) => {
    if (tools.has(tool.name)) throw Object.assign(new Error("Duplicate tool name"), { name: "InvalidStateError" });
    tools.set(tool.name, tool);
  };
  return { tools, add };
}

test("without WebMCP nothing happens", async () => {
  const keep = await memory();
  assert.equal(hasWebMcp(), false);
  assert.equal(await registerTools(keep), false);
  place("document", null);
  place("navigator", { somethingElse() {} });
  assert.equal(await registerTools(keep), false);
  await assert.rejects(registerTools(keep, { colour: "red" }), { code: "bad-request" });
  await keep.close();
});

test("a stand-in of the draft with registerTool and unregisterTool", async () => {
  const keep = await memory();
  await remembering(keep);
  const { tools, add } = registry();
  place("navigator", { registerTool: (tool) => add(tool), unregisterTool: (name) => tools.delete(name) });
  const unregister = await registerTools(keep, { include: ["search", "facts"] });
  assert.deepEqual([...tools.keys()], ["search_memory", "recall_facts"]);
  const { annotations, execute } = tools.get("search_memory");
  assert.deepEqual([annotations.readOnlyHint, annotations.untrustedContentHint], [true, true]);
  assert.match((await execute({ query: "luggage" })).content[0].text, /luggage in Oslo/);
  assert.equal((await execute({ query: 5 })).isError, true);
  unregister();
  unregister();
  assert.equal(tools.size, 0);
  await keep.close();
});

test("a stand-in of the draft whose registerTool gives a handle", async () => {
  const keep = await memory();
  const { tools, add } = registry();
  place("navigator", { registerTool: (tool) => (add(tool), { unregister: () => tools.delete(tool.name) }) });
  const controller = new AbortController();
  await registerTools(keep, { readOnly: false, signal: controller.signal });
  assert.equal(tools.size, 14);
  assert.equal(tools.get("forget_fact").annotations.destructiveHint, true);
  controller.abort();
  assert.equal(tools.size, 0);
  await keep.close();
});

test("a stand-in of the draft with provideContext alone", async () => {
  const keep = await memory();
  let provided;
  place("navigator", { provideContext: ({ tools }) => (provided = tools.map(({ name }) => name)) });
  const unregister = await registerTools(keep, { include: ["search"] });
  assert.deepEqual(provided, ["search_memory"]);
  unregister();
  assert.deepEqual(provided, []);
  await keep.close();
});

test("where one tool is refused, none stays", async () => {
  const keep = await memory();
  const { tools, add } = registry();
  add({ name: "recall_facts" });
  place("document", { registerTool: async (tool, { signal }) => (add(tool), signal.addEventListener("abort", () => tools.delete(tool.name))) });
  await assert.rejects(registerTools(keep), { code: "bad-request", message: /Duplicate tool name/ });
  assert.deepEqual([...tools.keys()], ["recall_facts"]);
  const unregister = await registerTools(keep, { prefix: "tk_" });
  assert.equal(tools.size, 8);
  unregister();
  place("document", {
    registerTool: async () => {
      throw Object.assign(new Error("not here"), { name: "NotAllowedError" });
    },
  });
  await assert.rejects(registerTools(keep), { code: "unavailable" });
  await assert.rejects(registerTools(keep, { signal: AbortSignal.abort() }), { code: "cancelled" });
  await keep.close();
});
