// Case files: a request as one file, replayed in Node and in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serve } from "../../tests/e2e/support/serve.mjs";
import { launch } from "./support/browser.mjs";
import { installed } from "./support/installed.mjs";
import { Threadkeep, replayCase } from "threadkeep";

const options = { timeout: 120_000 };
const KEY = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4";
let keep, id, file, browser, site;

/** A thread of 2,000 messages with tools, pins, a checkpoint and memory. */
function turns() {
  const all = [{ role: "system", content: "You look after boilers." }];
  for (let at = 0; all.length < 2000; at++) {
    const call = { id: `call-${at}`, type: "function", function: { name: "look", arguments: JSON.stringify({ room: `cellar ${at}` }) } };
    all.push(
      { role: "user", content: `What of the boiler in house ${at}? Größe, 温度, 🙂 and so on.` },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: `House ${at}: ${"sixty degrees, key in the box. ".repeat(at % 40)}` },
      { role: "assistant", content: `House ${at} is warm. The key is ${KEY}.` },
    );
  }
  return all;
}

before(async () => {
  keep = await Threadkeep.open({ storage: "memory" });
  const thread = keep.thread("c");
  const all = turns();
  const nodes = await thread.append(all.slice(0, 1201));
  const { checkpoint } = await thread.compact();
  assert.ok(checkpoint);
  await thread.append(all.slice(1201));
  await keep.at(nodes[1].id).pin();
  await keep.memory.remember({ fact: "The boiler of house 7 was sold." });
  await thread.append([{ role: "user", content: "And the boiler of house 7?" }]);
  const how = { budget: { maxTokens: 60_000 }, memory: { facts: 3 }, toolPreview: { over: 400, keep: 2 }, record: true };
  const { request, overBudget } = await thread.context({ ...how, provider: "anthropic", model: "claude-sonnet-4-5" });
  assert.equal(overBudget, false);
  id = request;
  file = await keep.requests.caseFile(id);
  browser = await launch();
  site = await serve({ "/package/": installed });
});

after(async () => {
  await browser?.close();
  await site?.close();
  await keep?.close();
});

/** Replays files in a page that has no keep. */
async function inPage(files) {
  const page = await browser.newPage();
  try {
    await page.goto(`${site.address}package/examples/empty`);
    const call = async (files) => {
      const { replayCase } = await import("/package/dist/index.js");
      return Promise.all(files.map((file) => replayCase(file)));
    };
    return await page.evaluate(call, files);
  } finally {
    await page.close();
  }
}

test("a case file has what its request was made of, and no secret", options, async () => {
  const { body } = await keep.requests.get(id);
  const read = JSON.parse(file);
  assert.equal(read.threadkeepCase, 1);
  assert.equal(read.record.id, id);
  assert.equal(JSON.stringify(read.context.payload), JSON.stringify(body).replaceAll(KEY.slice(4), "x".repeat(KEY.length - 4)));
  assert.ok(read.checkpoint && read.facts.length === 1 && read.pins.length === 1);
  assert.ok(!file.includes(KEY.slice(4)) && read.secrets >= 490);
});

test("it replays equal in Node and in Chromium, and a changed byte is named in both", options, async () => {
  const hidden = await keep.requests.caseFile(id, { redact: { texts: "replaced" } });
  assert.ok(file.includes("boiler") && !hidden.includes("boiler"));
  const last = file.lastIndexOf("And the boiler of house 7?");
  const changed = `${file.slice(0, last)}B${file.slice(last + 1)}`;
  const files = [file, hidden, changed];
  const here = await Promise.all(files.map((file) => replayCase(file)));
  assert.deepEqual(
    here.slice(0, 2).map(({ equal, difference }) => [equal, difference]),
    [
      [true, undefined],
      [true, undefined],
    ],
  );
  const { equal, difference } = here[2];
  assert.equal(equal, false);
  assert.match(difference.path, /^context\.payload\.messages\[\d+\]\.content/);
  assert.match(String(JSON.stringify(difference.recorded)), /Bnd the boiler/);
  assert.match(String(JSON.stringify(difference.rebuilt)), /And the boiler/);
  assert.deepEqual(await inPage(files), here);
});

test("a prompt that was noted and not sent is a case too", options, async () => {
  // Replaced secrets have other tokens, so this thread has none.
  const plain = turns()
    .slice(0, 201)
    .map((message) => ({ ...message, content: message.content?.replace(KEY, "gone") ?? null }));
  await keep.thread("plain").append(plain);
  const { request, tokens } = await keep.thread("plain").context({ encoding: "cl100k_base", budget: { maxTokens: 3000 }, policy: "newest", record: true });
  const text = await keep.requests.caseFile(request);
  const { record, options: used, context } = JSON.parse(text);
  assert.deepEqual([record.id, used.encoding, used.policy, context.tokens], [request, "cl100k_base", "newest", tokens]);
  assert.equal((await replayCase(text)).equal, true);
});

test("what is no case, no request or no option is an error with its name", options, async () => {
  const refused = (promise, message) => assert.rejects(promise, (error) => error.code === "bad-request" && message.test(error.message));
  await refused(replayCase("{}"), /file/);
  await refused(replayCase("no JSON"), /file/);
  await refused(replayCase(7), /file/);
  await refused(replayCase(file.replace('"threadkeepCase":1', '"threadkeepCase":9')), /version 9/);
  await refused(keep.requests.caseFile("nothing"), /id names no request/);
  await refused(keep.requests.caseFile(id, { redact: { texts: "all" } }), /redact\.texts/);
  await refused(keep.requests.caseFile(id, { hide: true }), /hide/);
});
