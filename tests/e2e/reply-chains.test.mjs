// Reply chains through the page: routing, branches, aliases, the depth badge, the built-in mail tools. The engine's tests of the same
// behaviour are in crates/keep/tests/engine/reply_chain_agents.rs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openSite } from "./support/site.mjs";
import { echo, quiet, replyTo, said, sent, say, talk } from "./support/talk.mjs";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** A test in which a new conversation has been begun. */
const chain = (name, plan, run, options) =>
  test(name, () =>
    talk(
      site,
      plan,
      async (tab, model, context) => {
        await tab.get("new").click();
        await run(tab, model, context);
      },
      options,
    ),
  );

const tool = (name, args) => ({ calls: [{ name, arguments: args }] });
/** What the last tool answered, in a request. */
const result = (request) => JSON.parse(request.messages.findLast(({ role }) => role === "tool").content);
/** The node of the message that says `words`. */
const nodeOf = (tab, words) => tab.message(words).getAttribute("data-node");
const depths = (tab) => tab.get("depth").allInnerTexts();
const nodes = (tab) => tab.page.locator("[data-testid=message]").evaluateAll((all) => [...new Set(all.map((one) => one.dataset.node))]);

async function fork(tab) {
  await said(tab, "root", "Answer 1 to root.");
  await said(tab, "left", "Answer 2 to left.");
  await replyTo(tab, "Answer 1 to root.");
  await said(tab, "right", "Answer 3 to right.");
}

const MAILBOX = { tools: "mailbox" };
/** Calls one tool with the first request of each turn, and then says what it was told. */
const first = (call) => (request, number) => (request.messages.at(-1).role === "tool" ? { text: `Done ${number}.` } : call(request, number));

/** Whether a message of a request is one of the conversation: what was just remembered is quoted beside it. */
const isHistory = ({ role, content }) => role !== "system" && !String(content).startsWith("[Quoted from memory.");

chain("each reply chain is a transcript of its own, and a reply continues that one", echo, async (tab, model) => {
  await said(tab, "sky", "Answer 1 to sky.");
  await tab.get("new").click();
  await said(tab, "sea", "Answer 2 to sea.");
  await said(tab, "deep", "Answer 3 to deep.");
  assert.deepEqual(sent(model.asked[2]), ["user: sea", "assistant: Answer 2 to sea.", "user: deep"]);
});

chain("a stand-alone message begins a transcript", echo, async (tab, model) => {
  await said(tab, "one", "Answer 1 to one.");
  await tab.get("new").click();
  await said(tab, "two", "Answer 2 to two.");
  assert.deepEqual(sent(model.asked[1]), ["user: two"]);
  await tab.get("thread-row").nth(1).waitFor();
});

chain("replies to the same message are branches with a common beginning", echo, async (tab, model) => {
  await fork(tab);
  assert.deepEqual(sent(model.asked[1]), ["user: root", "assistant: Answer 1 to root.", "user: left"]);
  assert.deepEqual(sent(model.asked[2]), ["user: root", "assistant: Answer 1 to root.", "user: right"]);
  assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["2/2"]);
  assert.equal(await tab.get("thread-row").count(), 1, "the beginning is there once");
});

chain(
  "the agent answers with reply, and replyTo is set",
  first(() => tool("reply", { messageNumber: "+1", strings: ["here"], edgeNames: [], petNames: [] })),
  async (tab, model) => {
    await said(tab, "where?", "Done 2.");
    const mail = result(model.asked[1]);
    assert.equal(mail.replyTo, await nodeOf(tab, "where?"));
    assert.deepEqual([mail.from, mail.to], ["agent", "user"]);
  },
  MAILBOX,
);

chain("the depth of the transcript is shown with each message", echo, async (tab) => {
  await said(tab, "one", "Answer 1 to one.");
  await said(tab, "two", "Answer 2 to two.");
  assert.equal((await depths(tab)).at(-1), "depth 4");
});

chain("a node has its parent and only what was added there", echo, async (tab) => {
  await said(tab, "one", "Answer 1 to one.");
  await said(tab, "two", "Answer 2 to two.");
  // The root with the system prompt may be tucked away; each turn is one node.
  assert.equal(await nodeOf(tab, "Answer 1 to one."), await nodeOf(tab, "one"));
  assert.notEqual(await nodeOf(tab, "Answer 2 to two."), await nodeOf(tab, "Answer 1 to one."));
});

chain("the transcript is put together from root to leaf, without a system prompt if none was given", echo, async (tab, model) => {
  await said(tab, "one", "Answer 1 to one.");
  await said(tab, "two", "Answer 2 to two.");
  assert.deepEqual(
    model.asked[1].messages.filter(({ role }) => role === "system"),
    [],
  );
  assert.deepEqual(sent(model.asked[1]), ["user: one", "assistant: Answer 1 to one.", "user: two"]);
});

chain("nodes are durable and loaded when a reply needs them", echo, async (tab, model) => {
  await said(tab, "one", "Answer 1 to one.");
  await tab.page.reload();
  await tab.ready();
  await tab.message("Answer 1 to one.").waitFor();
  await said(tab, "two", "Answer 2 to two.");
  assert.deepEqual(sent(model.asked[1]), ["user: one", "assistant: Answer 1 to one.", "user: two"]);
});

chain("an arriving message is routed by what it replies to", echo, async (tab, model) => {
  await fork(tab);
  await replyTo(tab, "Answer 1 to root.");
  await said(tab, "third", "Answer 4 to third.");
  assert.deepEqual(sent(model.asked[3]), ["user: root", "assistant: Answer 1 to root.", "user: third"]);
  assert.deepEqual(await tab.get("fork-label").allInnerTexts(), ["3/3"]);
});

chain(
  "the loop appends answers and results until no tool is called",
  (request, number) => (number < 3 ? tool("remember", { fact: `Fact number ${number} holds.` }) : { text: "Both are kept." }),
  async (tab, model) => {
    await said(tab, "keep two things", "Both are kept.");
    assert.deepEqual(
      model.asked.map(({ messages }) => messages.filter(isHistory).length),
      [1, 3, 5],
    );
    assert.equal((await nodes(tab)).filter((node) => node).length >= 1, true);
    assert.equal(await nodeOf(tab, "Both are kept."), await nodeOf(tab, "keep two things"));
  },
);

chain(
  "an answer has an id of its own, and a reply below it continues the inbound node",
  (request, number) =>
    number === 2 ? tool("listMessages", {}) : request.messages.at(-1).role === "tool" ? { text: "Listed." } : { text: `Answer ${number}.` },
  async (tab, model) => {
    await said(tab, "one", "Answer 1.");
    const inbound = await nodeOf(tab, "Answer 1.");
    await said(tab, "list", "Listed.");
    const [question, answer, more] = result(model.asked[2]);
    assert.deepEqual([question.messageId, answer.replyTo], [inbound, inbound]);
    assert.notEqual(answer.messageId, inbound);
    // The page replied below the node; what the node is known by besides makes no difference to the chain.
    assert.ok([inbound, answer.messageId].includes(more.replyTo));
    assert.equal(model.asked[1].messages.at(-1).content, "list");
  },
  MAILBOX,
);

chain(
  "the reply tool requires messageNumber, strings, edgeNames and petNames",
  echo,
  async (tab, model) => {
    await said(tab, "one", "Answer 1 to one.");
    const reply = model.asked[0].tools.find(({ function: { name } }) => name === "reply").function;
    assert.deepEqual(reply.parameters.required, ["messageNumber", "strings", "edgeNames", "petNames"]);
  },
  MAILBOX,
);

chain(
  "listMessages shows messageId and replyTo",
  first(() => tool("listMessages", {})),
  async (tab, model) => {
    await said(tab, "one", "Done 2.");
    await said(tab, "two", "Done 4.");
    const listed = result(model.asked[3]);
    assert.ok(listed.every(({ messageId }) => messageId));
    assert.deepEqual(
      listed.map(({ replyTo }) => replyTo !== undefined),
      [false, true, true],
    );
  },
  MAILBOX,
);

chain(
  "the system prompt says reply to respond and send to begin",
  echo,
  async (tab, model) => {
    await said(tab, "one", "Answer 1 to one.");
    const system = model.asked[0].messages[0].content;
    assert.match(system, /use reply\(\)/);
    assert.match(system, /Use send\(\) only to begin a new conversation/);
  },
  MAILBOX,
);

chain(
  "the reply tool threads a reply to an older message",
  first((request, number) => (number === 1 ? { text: "Soon." } : tool("reply", { messageNumber: 1, strings: "late" }))),
  async (tab, model) => {
    await said(tab, "one", "Soon.");
    const asked = await nodeOf(tab, "one");
    await said(tab, "two", "Done 3.");
    assert.deepEqual([result(model.asked[2]).replyTo, result(model.asked[2]).strings], [asked, ["[depth:4] late"]]);
  },
  MAILBOX,
);

chain("two conversations go on side by side", echo, async (tab, model) => {
  await said(tab, "a", "Answer 1 to a.");
  await tab.get("new").click();
  await said(tab, "b", "Answer 2 to b.");
  await tab.get("thread-row").filter({ hasText: "a" }).last().click();
  await tab.message("Answer 1 to a.").waitFor();
  await said(tab, "more", "Answer 3 to more.");
  assert.deepEqual(sent(model.asked[2]), ["user: a", "assistant: Answer 1 to a.", "user: more"]);
});

chain("a branch is loaded after a reload and goes on", echo, async (tab, model) => {
  await fork(tab);
  await tab.page.reload();
  await tab.ready();
  await tab.message("Answer 3 to right.").waitFor();
  await tab.get("fork-previous").click();
  await tab.message("Answer 2 to left.").waitFor();
  await said(tab, "on", "Answer 4 to on.");
  assert.deepEqual(sent(model.asked[3]).slice(2), ["user: left", "assistant: Answer 2 to left.", "user: on"]);
});

chain(
  "the depth prefix of a reply agrees with the depth on the page",
  (request, number) => ({ 1: { text: "Answer." }, 2: tool("reply", { strings: ["there"] }), 3: { text: "I have replied." } })[number],
  async (tab, model) => {
    await said(tab, "one", "Answer.");
    await said(tab, "two", "I have replied.");
    assert.deepEqual(result(model.asked[2]).strings, ["[depth:4] there"]);
    assert.ok((await depths(tab)).every((text) => !text.includes("≠")));
  },
  MAILBOX,
);

chain(
  "a message is dismissed by a tool, and a long chain is compacted without loss",
  first((request, number) =>
    number === 1 ? tool("dismiss", { messageNumber: 1 }) : { text: `Answer ${number}: ${"we decided to paint the wall blue. ".repeat(12)}` },
  ),
  async (tab, model) => {
    await said(tab, "one", "Done 2.");
    assert.equal(typeof result(model.asked[1]).dismissed, "number");
    for (let at = 3; at <= 9; at += 1) await said(tab, `question ${at}`, `Answer ${at}:`);
    await tab.get("compact").click();
    await tab.get("compact-confirm").click();
    await tab.get("compaction").first().waitFor();
    await said(tab, "and now?", "Answer 10:");
    const messages = sent(model.asked.at(-1));
    assert.ok(messages.length < 17, `${messages.length} messages were sent of 18`);
  },
  MAILBOX,
);

chain("the common beginning of branches is shown once", echo, async (tab) => {
  await fork(tab);
  assert.equal(await tab.page.locator("[data-testid=message]", { hasText: "Answer 1 to root." }).count(), 1);
});

chain(
  "a node has the messageId as its id",
  first(() => tool("listMessages", {})),
  async (tab, model) => {
    await said(tab, "one", "Done 2.");
    assert.equal(result(model.asked[1])[0].messageId, await nodeOf(tab, "one"));
  },
  MAILBOX,
);

chain("another answer is a new node at the same parent", echo, async (tab) => {
  await said(tab, "one", "Answer 1 to one.");
  const before = await nodeOf(tab, "Answer 1 to one.");
  await tab.message("Answer 1 to one.").hover();
  await tab.message("Answer 1 to one.").getByTestId("again").click();
  await tab.message("Answer 2 to one.").waitFor();
  await quiet(tab);
  assert.notEqual(await nodeOf(tab, "Answer 2 to one."), before);
  await tab.get("fork-previous").click();
  await tab.message("Answer 1 to one.").waitFor();
  assert.equal(await nodeOf(tab, "Answer 1 to one."), before);
});

chain("a node keeps its id over a reload", echo, async (tab) => {
  await said(tab, "one", "Answer 1 to one.");
  const before = await nodeOf(tab, "one");
  await tab.page.reload();
  await tab.ready();
  await tab.message("Answer 1 to one.").waitFor();
  assert.equal(await nodeOf(tab, "one"), before);
});

chain(
  "the reply tool without a number answers the message at hand",
  first(() => tool("reply", { strings: ["without a number"] })),
  async (tab, model) => {
    await said(tab, "one", "Done 2.");
    assert.equal(result(model.asked[1]).replyTo, await nodeOf(tab, "one"));
  },
  MAILBOX,
);

chain(
  "own messages make aliases, so that one can reply to an answer",
  first((request, number) => (number === 1 ? tool("reply", { strings: ["early"] }) : { text: `Answer ${number}.` })),
  async (tab, model) => {
    await said(tab, "one", "Done 2.");
    await said(tab, "two", "Answer 3.");
    assert.deepEqual(
      sent(model.asked[2])
        .filter((line) => !line.startsWith("tool"))
        .map((line) => line.replace(/^assistant: (null|)$/, "assistant:"))
        .at(-1),
      "user: two",
    );
    assert.equal(await tab.get("thread-row").count(), 1);
  },
  MAILBOX,
);

chain(
  "the depth is a prefix of the first string",
  first(() => tool("reply", { strings: ["one ", " two"], edgeNames: ["thing"], petNames: ["my-thing"] })),
  async (tab, model) => {
    await said(tab, "hi", "Done 2.");
    assert.deepEqual(result(model.asked[1]).strings, ["[depth:2] one ", " two"]);
  },
  MAILBOX,
);

chain(
  "the outbound messageId is captured from the agent's own messages",
  first((request, number) => (number === 1 ? tool("reply", { strings: ["early"] }) : tool("listMessages", {}))),
  async (tab, model) => {
    await said(tab, "one", "Done 2.");
    await said(tab, "two", "Done 4.");
    const own = result(model.asked[3]).find(({ from }) => from === "agent");
    assert.equal(own.messageId, result(model.asked[1]).messageId);
    assert.equal(own.node, await nodeOf(tab, "Done 2."));
  },
  MAILBOX,
);

chain("a conversation that is not in memory is loaded from the store", echo, async (tab, model) => {
  for (let at = 1; at <= 3; at += 1) {
    if (at > 1) await tab.get("new").click();
    await said(tab, `thread ${at}`, `Answer ${at} to thread ${at}.`);
  }
  await tab.page.reload();
  await tab.ready();
  await tab.get("thread-row").filter({ hasText: "thread 1" }).click();
  await tab.message("Answer 1 to thread 1.").waitFor();
  await said(tab, "on", "Answer 4 to on.");
  assert.deepEqual(sent(model.asked[3]), ["user: thread 1", "assistant: Answer 1 to thread 1.", "user: on"]);
});

chain(
  "the transcript is put together for every call of the model",
  first(() => tool("remember", { fact: "The lamp is green." })),
  async (tab, model) => {
    await said(tab, "keep it", "Done 2.");
    assert.deepEqual(
      model.asked[1].messages.filter(isHistory).map(({ role }) => role),
      ["user", "assistant", "tool"],
    );
  },
);

chain(
  "one node holds a message and everything its loop produced",
  first(() => tool("remember", { fact: "The lamp is green." })),
  async (tab) => {
    await said(tab, "keep it", "Done 2.");
    assert.equal(await nodeOf(tab, "keep it"), await nodeOf(tab, "Done 2."));
  },
);

chain("an alias is a pointer, so that nothing is shown twice", echo, async (tab) => {
  await said(tab, "one", "Answer 1 to one.");
  await say(tab, "two");
  await tab.message("Answer 2 to two.").waitFor();
  await quiet(tab);
  assert.equal(await tab.page.getByText("Answer 1 to one.", { exact: true }).count(), 1);
});
