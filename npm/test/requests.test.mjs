// The journal beyond lists: what changed between two requests, requests and settings in exports, and the vocabularies that requests need.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memory, rejects, user } from "./support/expect.mjs";
import { inChild } from "./support/installed.mjs";

const answer = (content) => ({ role: "assistant", content });

/** A keep whose thread `c` has a request with all of it, one for a small budget, and one after it grew. */
async function asked(encoding = "estimate") {
  const keep = await memory({ encoding });
  const thread = keep.thread("c");
  await thread.append([{ role: "system", content: "Be brief." }]);
  for (let at = 0; at < 6; at += 1) await thread.append([user(`Question ${at}?`), answer(`Answer ${at}.`)]);
  await thread.append([user("And now?")]);
  const ask = async (options) => (await thread.context({ record: true, model: "gpt-5-mini", ...options })).request;
  const ids = [await ask(), await ask({ budget: { maxMessages: 4 } })];
  await thread.append([answer("Now."), user("Thanks.")]);
  ids.push(await ask());
  return { keep, thread, ids };
}

test("diff says what entered, left, moved and changed, and what both requests begin with", async () => {
  const { keep, ids } = await asked();
  const [whole, few, grown] = await Promise.all(ids.map((id) => keep.requests.get(id)));
  const less = await keep.requests.diff(ids[0], ids[1]);
  assert.equal(less.left.length, whole.context.messages.length - few.context.messages.length);
  assert.deepEqual([less.entered, less.moved, less.changed, less.options], [[], [], [], ["budget"]]);
  assert.deepEqual(
    less.left.map(({ before, after }) => [before.form, before.place, after.form, after.rule]),
    less.left.map((_, at) => ["whole", at + 1, "out", "over-max-messages"]),
  );
  const { prefix } = less;
  assert.deepEqual([prefix.messages, prefix.payload, prefix.end.why, prefix.end.option], [1, 1, "left", "budget"]);
  assert.deepEqual(prefix.end.message, less.left[0]);
  assert.ok(prefix.tokens > 0 && prefix.tokens < few.context.tokens);

  const more = await keep.requests.diff(ids[0], ids[2]);
  assert.deepEqual([more.left, more.moved, more.changed, more.options], [[], [], [], []]);
  assert.deepEqual(
    more.entered.map(({ after }) => grown.context.messages[after.place].content),
    ["Now.", "Thanks."],
  );
  assert.equal(more.prefix.end.why, "entered");
  assert.equal("option" in more.prefix.end, false);
  const same = whole.body.messages.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(grown.body.messages[at]));
  assert.deepEqual([more.prefix.payload, same], [whole.body.messages.length, -1]);

  const none = await keep.requests.diff(ids[0], ids[0]);
  assert.deepEqual([none.entered, none.left, "end" in none.prefix, "payload" in none.prefix], [[], [], false, false]);
  await rejects(keep.requests.diff(ids[0], "nothing"), "bad-request", /id names no request/);
  await rejects(keep.requests.diff(7, ids[0]), "bad-request", /first/);
  await keep.close();
});

test("an export brings settings and requests back, and no foreign file sets what a model is told", async () => {
  const { keep, thread, ids } = await asked();
  await thread.afterResponse({ promptTokens: 1_000_000, completionTokens: 0, request: ids[2] });
  await keep.settings.set(null, { systemPrompt: "Be kind.", policy: "newest" });
  await keep.settings.set("c", { budget: { maxTokens: 900 }, persona: "A pirate." });
  const file = await keep.export().text();
  const again = await memory({ encoding: "estimate" });
  const report = await again.import(file);
  assert.deepEqual([report.requests, report.settings], [3, 2]);
  assert.deepEqual(
    report.skipped.map(({ code, salvaged }) => [code, salvaged]),
    [
      ["settings-speak", true],
      ["settings-speak", true],
    ],
  );
  assert.match(report.skipped[0].reason, /the whole keep now hold systemPrompt/);
  for (const at of [null, "c"]) assert.deepEqual(await again.settings.get(at), await keep.settings.get(at));
  assert.deepEqual(await again.requests.list("c"), await keep.requests.list("c"));
  for (const id of ids) assert.equal(JSON.stringify((await again.requests.get(id)).body), JSON.stringify((await keep.requests.get(id)).body));
  const second = await again.import(file);
  assert.deepEqual([second.requests, second.settings, second.skippedCount], [0, 0, 0]);
  assert.deepEqual(await again.requests.costs(null), await keep.requests.costs(null));
  assert.equal(await again.export().text(), file);

  const other = await memory({ encoding: "estimate" });
  await other.thread("mine").append([user("Hello.")]);
  const foreign = await other.import(file);
  assert.deepEqual(await other.settings.get(null), {});
  assert.deepEqual(await other.settings.get("c"), { budget: { maxTokens: 900 } });
  assert.deepEqual(
    foreign.skipped.map(({ code }) => code),
    ["settings-left", "settings-left"],
  );
  assert.equal((await other.requests.list("c")).length, 3);
  const wrong = file.replace('"policy":"newest"', '"apiKey":"sk-1","baseUrl":"https://example.com"');
  const refused = await (await memory({ encoding: "estimate" })).import(wrong);
  assert.match(refused.skipped.find(({ code }) => code === "bad-settings").reason, /options\.(apiKey|baseUrl) is not known/);
  await Promise.all([keep.close(), again.close(), other.close()]);
});

test("a request loads the vocabulary that counted it, in a keep that has counted nothing, or otherwise", async () => {
  for (const encoding of ["o200k_base", "cl100k_base"]) {
    const { keep, ids } = await asked(encoding);
    const { body } = await keep.requests.get(ids[0]);
    const file = await keep.export().text();
    await keep.close();
    for (const own of ["o200k_base", "cl100k_base", "estimate"]) {
      const said = inChild(`
        import { Threadkeep } from "threadkeep";
        const keep = await Threadkeep.open({ storage: "memory", encoding: ${JSON.stringify(own)} });
        await keep.import(${JSON.stringify(file)});
        const { differs, body } = await keep.requests.get(${JSON.stringify(ids[0])});
        console.log(differs, JSON.stringify(body));`);
      assert.equal(said.trim(), `null ${JSON.stringify(body)}`, `${encoding} in a keep of ${own}`);
    }
    for (const ask of [`caseFile("${ids[0]}")`, `diff("${ids[0]}", "${ids[2]}")`]) {
      const said = inChild(`
        import { Threadkeep } from "threadkeep";
        const keep = await Threadkeep.open({ storage: "memory", encoding: "estimate" });
        await keep.import(${JSON.stringify(file)});
        console.log(typeof (await keep.requests.${ask}));`);
      assert.match(said, /^(string|object)\n$/, ask);
    }
  }
});
