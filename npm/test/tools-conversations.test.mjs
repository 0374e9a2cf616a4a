// The tools for searching and reading: what they find, that answers stay in their bounds and pages join, and that hostile input is
// answered.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, countTokens, memory } from "./support/expect.mjs";
import { memoryTools, remembering, toolbox } from "./support/tools.mjs";

test("every tool has a name, words and a schema that providers take", async () => {
  const { tools, keep } = await toolbox();
  assert.equal(new Set(tools.map(({ name }) => name)).size, 14);
  for (const { name, title, description, inputSchema, readOnly, destructive } of tools) {
    assert.match(name, /^[a-z][a-z_]{2,40}$/);
    assert.ok(title.length > 5 && description.length > 40 && description.length < 500, `${name}: ${description}`);
    assert.equal(inputSchema.type, "object");
    assert.equal(inputSchema.additionalProperties, false, name);
    for (const [argument, { description }] of Object.entries(inputSchema.properties)) assert.ok(description?.length > 5, `${name}.${argument}`);
    assert.ok(!(readOnly && destructive), name);
  }
  assert.deepEqual(
    tools.filter(({ destructive }) => destructive).map(({ name }) => name),
    ["forget_fact", "memory_str_replace", "memory_delete"],
  );
  const tokens = await countTokens(JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))));
  assert.ok(tokens < 3000, `the definitions take ${tokens} tokens`);
  await keep.close();
});

test("tools are chosen, prefixed, and made read-only", async () => {
  const keep = await memory();
  const names = (options) => memoryTools(keep, options).map(({ name }) => name);
  assert.deepEqual(names({ include: ["facts"], readOnly: true }), ["recall_facts"]);
  assert.deepEqual(names({ include: ["search", "forget_fact"], prefix: "tk_" }), ["tk_search_memory", "tk_forget_fact"]);
  assert.deepEqual(names({ exclude: ["files", "episodes", "facts"] }), ["search_memory", "list_conversations", "read_conversation", "read_message"]);
  assert.ok(memoryTools(keep, { readOnly: true }).every(({ readOnly }) => readOnly));
  for (const [options, words] of [
    [{ include: ["nothing"] }, /names "nothing"; there are: search_memory/],
    [{ prefix: "my tools " }, /at most 40 letters/],
    [{ maxTokens: 10 }, /200 or more/],
    [{ colour: "red" }, /is not known here/],
    [{ files: { size: 1 } }, /options\.files\.size is not known/],
  ])
    assert.throws(
      () => memoryTools(keep, options),
      (error) => error.code === "bad-request" && words.test(error.message),
    );
  await keep.close();
});

test("a hit leads to its message, to what stands around it, and to the whole conversation", async () => {
  const { keep, call } = await toolbox();
  await remembering(keep);
  const { hits } = await call("search_memory", { query: "luggage oslo" });
  const [hit] = hits;
  assert.equal(hit.kind, "message");
  assert.equal(hit.role, "user");
  assert.match(hit.text, /luggage in Oslo/);
  const around = await call("read_message", { node: hit.node, index: hit.index, before: 1, after: 2 });
  assert.deepEqual(
    around.messages.map(({ role, text }) => [role, text]),
    [
      ["system", "Be brief."],
      ["user", "I lost my luggage in Oslo."],
      ["assistant", '[calls airline] {"tag":"SK42"}'],
      ["tool", "found in Bergen"],
    ],
  );
  assert.deepEqual(Object.keys(hit.why), ["words"], "what says nothing is left out");
  const whole = await call("read_conversation", { conversation: hit.conversation });
  assert.equal(whole.total, 6);
  assert.equal(whole.earlier, undefined);
  assert.equal(whole.title, hit.title);
  const fifth = await call("read_message", { conversation: whole.branch, position: 4 });
  assert.match(fifth.messages[0].text, /\[reasoning\] They said Bergen\.\nYour luggage is in Bergen\./);
  assert.equal((await call("read_conversation", { conversation: "trip" })).messages.at(-1).text, "Have it sent to the Hotel Bristol.");
  assert.equal((await call("read_conversation", { conversation: "trip-2" })).messages.at(-1).text, "I will fetch the luggage myself.");
  assert.deepEqual((await call("search_memory", { query: "luggage", conversation: "recipes" })).hits, []);
  assert.deepEqual((await call("search_memory", { query: "luggage", role: "tool" })).hits, []);
  assert.equal((await call("search_memory", { query: "luggage", since: "2100-01-01" })).hits.length, 0);
  await keep.close();
});

test("pages of a search join without a gap and without a double", async () => {
  const { keep, call } = await toolbox({ maxTokens: 600 });
  await keep
    .thread("many")
    .append(Array.from({ length: 60 }, (_, at) => ({ role: "user", content: `penguin number ${at} ${"and its friends ".repeat(at % 7)}` })));
  const seen = [];
  let cursor;
  do {
    const { hits, more } = await call("search_memory", { query: "penguin", limit: 20, ...(cursor && { cursor }) });
    seen.push(...hits.map(({ node }) => node));
    cursor = more;
  } while (cursor);
  assert.equal(seen.length, 60);
  assert.equal(new Set(seen).size, 60);
  await keep.close();
});

test("a conversation is read from its end or its start in pages that join, each within its tokens", async () => {
  for (const encoding of ["estimate", "o200k_base"]) {
    const { keep, call, named } = await toolbox({ maxTokens: 500, encoding });
    const all = Array.from({ length: 80 }, (_, at) => ({
      role: at % 2 ? "assistant" : "user",
      content: at === 33 ? "long ".repeat(3000) : `${at}: ${"für 猫と犬 ".repeat(at % 11)}`,
    }));
    await keep.thread("long").append(all);
    for (const [begin, way] of [
      ["end", "earlier"],
      ["start", "later"],
    ]) {
      const positions = [];
      let cursor;
      do {
        const input = { conversation: "long", begin, ...(cursor && { cursor }) };
        const text = await named.get("read_conversation").execute(input);
        const answer = JSON.parse(text);
        const tokens = encoding === "estimate" ? Math.ceil(Buffer.byteLength(text) / 4) : await countTokens(text);
        assert.ok(tokens <= 500, `${tokens} tokens by ${encoding}`);
        const here = answer.messages.map(({ position }) => position);
        positions[way === "earlier" ? "unshift" : "push"](...here);
        for (const { position, text, cut } of answer.messages) {
          if (position !== 33) assert.equal(text, all[position].content);
          else assert.match(cut, /^the first \d+ of 15000 characters/);
        }
        cursor = answer[way];
      } while (cursor);
      assert.deepEqual(
        positions,
        all.map((_, at) => at),
      );
    }
    const less = await call("read_conversation", { conversation: "long", max_tokens: 250 });
    assert.ok(Buffer.byteLength(JSON.stringify(less)) / 4 <= 250 || encoding !== "estimate");
    await keep.close();
  }
});

test("a message is given in full, page by page, exactly as it was", async () => {
  const { keep, call } = await toolbox({ maxTokens: 400 });
  const texts = ["plain ".repeat(2000), "👩‍👩‍👧‍👦🏴‍☠️".repeat(700), '"\\\n\u0000\t'.repeat(900), `${"a".repeat(9000)}𝄞`, ""];
  const nodes = await keep.thread("big").append(texts.map((content) => ({ role: "user", content })));
  for (const [at, text] of texts.entries()) {
    let got = "";
    let cursor;
    do {
      const answer = await call("read_message", { node: nodes[at].id, ...(cursor && { cursor }) });
      assert.ok(Buffer.byteLength(JSON.stringify(answer)) / 4 <= 400);
      assert.ok(!/\p{Surrogate}/u.test(answer.messages[0].text), "no half of a pair");
      got += answer.messages[0].text;
      cursor = answer.more;
    } while (cursor);
    assert.equal(got, text);
  }
  await keep.close();
});

test("a compacted conversation is read in its originals", async () => {
  const { keep, call } = await toolbox();
  await keep.thread("old").append(Array.from({ length: 40 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `line ${at} about the lighthouse` })));
  await keep.thread("old").compact();
  const { messages, total } = await call("read_conversation", { conversation: "old", begin: "start" });
  assert.equal(total, 40);
  assert.equal(messages[0].text, "line 0 about the lighthouse");
  await keep.close();
});

test("conversations are listed, found by title and date, and paged", async () => {
  const { keep, call, fails } = await toolbox();
  await remembering(keep);
  for (let at = 0; at < 30; at += 1) await keep.thread(`c${at}`).append([{ role: "user", content: `subject ${at}` }]);
  const seen = [];
  let cursor;
  do {
    const page = await call("list_conversations", { limit: 7, ...(cursor && { cursor }) });
    assert.equal(page.total, 32);
    seen.push(...page.conversations.map(({ id }) => id));
    cursor = page.more;
  } while (cursor);
  assert.equal(new Set(seen).size, 32);
  const [trip] = (await call("list_conversations", { title: "LUGGAGE" })).conversations;
  assert.deepEqual(trip.names.sort(), ["trip", "trip-2"]);
  assert.equal(trip.branches, 2);
  assert.equal((await call("list_conversations", { until: "2001-01-01" })).total, 0);
  assert.match(await fails("list_conversations", { cursor: "gone" }), /not there any more/);
  await keep.close();
});

test("whatever is stored, answers stay in their bounds", { timeout: 60_000 }, async () => {
  const keep = await memory({ encoding: "estimate" });
  const huge = (word) => word.repeat(30_000);
  const nodes = await keep.thread("huge").append([
    { role: huge("r"), content: "needle in a strange role" },
    {
      role: "user",
      content: [
        { type: huge("t") },
        { type: "image_url", image_url: { url: `data:image/png;base64,${huge("A")}` } },
        { type: "text", text: "needle beside a picture" },
        { type: "file", file: { filename: "needle.pdf", file_data: huge("B") } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "c", type: "function", function: { name: huge("n"), arguments: huge("x") } },
        { id: "d", type: "custom", custom: { name: "shell", input: "ls" } },
      ],
    },
    { role: "user", content: "" },
    { role: "assistant", content: "needle at last", kind: { type: "error", code: "cut-off", reason: "the line broke" } },
  ]);
  await keep.transcript(nodes[0].transcript).rename(huge("💥 title "));
  for (const at of [1, 2, 3])
    await keep.memory.remember({ fact: `${at} ${huge("needle fact ")}`, tags: [huge("tag"), "small"], transcript: nodes[0].transcript });
  for (const maxTokens of [200, 1000]) {
    const { named } = await toolbox({ maxTokens }, keep);
    const inputs = {
      search_memory: [{ query: "needle", limit: 20 }],
      list_conversations: [{}],
      read_conversation: [{ conversation: "huge" }, { conversation: "huge", begin: "start" }],
      read_message: [0, 1, 2, 3, 4].map((position) => ({ conversation: "huge", position, before: 5, after: 5 })),
      recall_facts: [{}, { query: "needle" }],
      remember_fact: [{ fact: "A new needle." }],
    };
    for (const [name, all] of Object.entries(inputs))
      for (const input of all) {
        const { text, isError } = await named.get(name).answer(input);
        assert.equal(isError, false, text);
        // One item is always given, and ids have their length; so the least budget may be passed by these.
        assert.ok(
          Buffer.byteLength(text) / 4 <= Math.max(maxTokens, 420),
          `${name} gave ${Buffer.byteLength(text) / 4} of ${maxTokens} tokens: ${text.slice(0, 300)}`,
        );
        assert.ok(!/\p{Surrogate}/u.test(text));
        assert.ok(!/AAAA|BBBB/.test(text), "no bytes of pictures and files");
      }
  }
  const { call } = await toolbox({}, keep);
  const shown = (await call("read_conversation", { conversation: "huge" })).messages.map(({ text }) => text);
  assert.match(shown[1], /\[image_url\]\nneedle beside a picture\n\[file needle\.pdf\]/);
  assert.match((await call("read_message", { conversation: "huge", position: 4 })).messages[0].text, /^needle at last\n\[failed: cut-off: the line broke\]$/);
  await keep.close();
});

test("whatever a model sends is answered in words, never thrown", { timeout: 60_000 }, async () => {
  const { keep, tools, named, fails } = await toolbox();
  await remembering(keep);
  const circle = {};
  circle.circle = circle;
  const strange = [
    undefined,
    null,
    5,
    true,
    [],
    "[]",
    "{",
    "null",
    '"text"',
    () => {},
    Symbol.iterator,
    circle,
    { ["__proto__"]: { a: 1 } },
    JSON.parse('{"__proto__":{"query":"x"}}'),
    { constructor: 1 },
    { toString: "x" },
  ];
  const values = [
    null,
    "",
    5,
    -1,
    1.5,
    1e300,
    NaN,
    true,
    [],
    {},
    ["x"],
    "x".repeat(1e6),
    "\ud800",
    "\0",
    "../..",
    "/memories/../x",
    "💥",
    "'; drop table --",
    "9".repeat(400),
  ];
  for (const { name, inputSchema } of tools) {
    for (const input of strange) await within(named.get(name).answer(input), name, input);
    for (const argument of Object.keys(inputSchema.properties))
      for (const value of values) {
        const others = {
          query: "luggage",
          conversation: "trip",
          node: "x",
          id: "x",
          fact: "f",
          path: "/memories/a",
          old_path: "/memories/a",
          new_path: "/memories/b",
          file_text: "",
          old_str: "x",
          insert_line: 0,
          insert_text: "",
        };
        const input = Object.fromEntries(Object.entries({ ...others, [argument]: value }).filter(([key]) => Object.hasOwn(inputSchema.properties, key)));
        await within(named.get(name).answer(input), name, input);
      }
  }
  assert.match(await fails("search_memory", { query: 5 }), /query must be a string, it is 5/);
  assert.match(await fails("search_memory", {}), /The argument query is missing: What to look for/);
  assert.match(await fails("search_memory", { query: "x", limit: "many" }), /limit must be a whole number from 1 to 20, it is "many"/);
  assert.match(await fails("search_memory", { query: "x", colour: 1 }), /There is no argument "colour"\. There are: query, limit, role/);
  assert.match(await fails("read_conversation", { conversation: "nobody" }), /list_conversations gives the ids/);
  assert.match(await fails("read_conversation", { conversation: "trip", cursor: "before:2@recipes" }), /is none that read_conversation gave/);
  assert.match(await fails("read_message", { node: "nothing" }), /search_memory gives nodes/);
  assert.match(await fails("read_message", {}), /by node and index, or by conversation and position/);
  // Numbers as text, JSON text, and empty values of what may be left out are taken.
  assert.equal((await named.get("search_memory").answer('{"query":"luggage","limit":"2","role":"","since":null}')).data.hits.length, 2);
  for (const query of ["", "  "]) {
    const { isError, text } = await named.get("search_memory").answer({ query });
    assert.ok(isError && /not empty/.test(text), "that nothing was asked is not that nothing is there");
  }
  assert.equal({}.a, undefined);
  await keep.close();
  for (const tool of tools.filter(({ name }) => name !== "memory_create"))
    assert.match(
      (await tool.answer(tool.name.startsWith("memory_") ? { path: "/memories" } : { query: "x", conversation: "x", node: "x", id: "x", fact: "x" })).text,
      /closed|argument|Cannot|missing/,
      tool.name,
    );

  async function within(promise, name, input) {
    const { text, isError } = await promise;
    assert.equal(typeof text, "string");
    assert.equal(typeof isError, "boolean");
    assert.ok(text.length < 20_000, `${name} answered ${text.length} characters to ${inspect(input).slice(0, 80)}`);
    assert.ok(!/TypeError|is not a function|Cannot read|undefined/.test(text), `${name}: ${text}`);
  }
});

test("a cancelled call ends at once, and the storage is soon left alone", { timeout: 60_000 }, async () => {
  let asked = 0;
  let slow = false;
  const pause = () => ((asked += 1), slow ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined);
  const storage = mapAdapter({ pause });
  const keep = await Threadkeep.open({ storage, cacheBytes: 0 });
  for (let at = 0; at < 30; at += 1)
    await keep.thread(`c${at}`).append(Array.from({ length: 200 }, (_, index) => ({ role: "user", content: `penguin ${at} ${index}` })));
  const { named } = await toolbox({}, keep);
  const controller = new AbortController();
  controller.abort();
  for (const [name, input] of [
    ["search_memory", { query: "penguin" }],
    ["read_conversation", { conversation: "c1" }],
    ["memory_view", { path: "/memories" }],
  ]) {
    const { text, isError } = await named.get(name).answer(input, { signal: controller.signal });
    assert.ok(isError && text.includes("The call was cancelled."), text);
  }
  slow = true;
  const ending = new AbortController();
  const heard = [];
  const going = named.get("search_memory").answer({ query: "penguin" }, { signal: ending.signal, onProgress: (...all) => (heard.push(all), ending.abort()) });
  const { text, isError } = await going;
  assert.deepEqual([isError, JSON.parse(text).error], [true, "The call was cancelled."]);
  assert.deepEqual(heard[0], [0, 6000, "Indexing messages"]);
  // The step that is under way comes to its end; the search that would follow is not begun.
  let before;
  do {
    before = asked;
    await new Promise((resolve) => setTimeout(resolve, 150));
  } while (asked !== before);
  assert.ok((await keep.searchIndex.progress()).indexed < 6000, "not all was indexed");
  slow = false;
  assert.equal(JSON.parse(await named.get("search_memory").execute({ query: "penguin" })).hits.length, 8);
  await keep.close();
});
