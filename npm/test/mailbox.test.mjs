// The mailbox: sending, answering, listing, dismissing, following.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import { boxOf, said } from "./support/agents.mjs";
import { Threadkeep, mailText, memory, rejects } from "./support/expect.mjs";

const ids = (mails) => mails.map(({ messageId }) => messageId);

test("a message is in both mailboxes, under numbers of their own", async () => {
  const keep = await memory();
  const before = Date.now();
  await keep.mailbox("bob").send({ to: "ann", content: "zero" });
  const sent = await keep.mailbox("ann").send({ to: "lal", content: "hi", messageId: "m1" });
  assert.deepEqual(
    { ...sent, date: 0 },
    { ...sent, date: 0, number: 2, messageId: "m1", from: "ann", to: "lal", strings: ["hi"], edgeNames: [], petNames: [] },
  );
  assert.ok(sent.date >= before - 1 && sent.date <= Date.now());
  assert.deepEqual(
    ["replyTo", "dismissed", "node", "isError", "twin"].filter((name) => name in sent),
    [],
  );
  const [theirs] = await keep.mailbox("lal").messages();
  assert.deepEqual([theirs.number, theirs.messageId], [1, "m1"]);
  assert.deepEqual(await keep.mailbox("lal").message(1), theirs);
  assert.equal(await keep.mailbox("lal").message(2), null);
  assert.deepEqual((await keep.parties()).sort(), ["ann", "bob", "lal"]);
  await keep.close();
});

test("texts with names between them are joined", async () => {
  const keep = await memory();
  const text = { strings: ["See ", " for more."], edgeNames: ["report"], petNames: ["report-3"] };
  const sent = await keep.mailbox("ann").send({ to: "lal", ...text });
  assert.deepEqual([sent.strings, sent.edgeNames, sent.petNames], [text.strings, text.edgeNames, text.petNames]);
  assert.equal(mailText(sent), "See @report for more.");
  assert.equal(mailText({ strings: [], edgeNames: ["a", "b"] }), "@a@b");
  await keep.close();
});

test("a reply goes to the other and names what it answers", async () => {
  const keep = await memory();
  const asked = await keep.mailbox("ann").send({ to: "lal", content: "why?" });
  const answer = await keep.mailbox("lal").reply(1, "because");
  assert.deepEqual([answer.to, answer.replyTo, answer.number], ["ann", asked.messageId, 2]);
  const more = await keep.mailbox("ann").reply(1, { strings: ["and", "?"], edgeNames: ["then"] });
  assert.deepEqual([more.to, more.replyTo], ["lal", asked.messageId], "to one's own message: to whom that went");
  await rejects(keep.mailbox("lal").reply(9, "x"), "missing-mail", /lal.*9/);
  await keep.close();
});

test("a message of an id that was sent before is not sent again", async () => {
  const keep = await memory();
  await keep.mailbox("ann").send({ to: "lal", content: "once", messageId: "m" });
  assert.equal(mailText(await keep.mailbox("ann").send({ to: "lal", content: "twice", messageId: "m" })), "once");
  assert.equal((await boxOf(keep, "lal")).length, 1);
  await keep.close();
});

test("lists have the newest, after a number, without the dismissed ones", async () => {
  const keep = await memory();
  for (const content of ["a", "b", "c", "d"]) await keep.mailbox("ann").send({ to: "lal", content });
  const dismissed = await keep.mailbox("lal").dismiss(2);
  assert.ok(dismissed.dismissed > 0);
  assert.deepEqual(await keep.mailbox("lal").dismiss(2), dismissed);
  assert.deepEqual(said(await keep.mailbox("lal").messages()), ["a", "c", "d"]);
  assert.deepEqual(said(await keep.mailbox("lal").messages({ dismissed: true, after: 1, limit: 2 })), ["c", "d"]);
  assert.deepEqual(await keep.mailbox("lal").messages({ limit: 0 }), []);
  assert.equal((await keep.mailbox("ann").messages()).length, 4, "only one's own is marked");
  assert.deepEqual(await keep.mailbox("nobody").messages(), []);
  await rejects(keep.mailbox("lal").dismiss(7), "missing-mail");
  await keep.close();
});

test("following gives what is there, then each as it comes, one's own too", async () => {
  const keep = await memory();
  await keep.mailbox("ann").send({ to: "lal", content: "1" });
  await keep.mailbox("lal").dismiss(1);
  const seen = [];
  for await (const mail of keep.mailbox("lal").follow()) {
    seen.push([mail.number, mailText(mail)]);
    if (seen.length === 1) setTimeout(() => keep.mailbox("lal").reply(1, "2"));
    if (seen.length === 2) await Promise.all(["3", "4"].map((content) => keep.mailbox("ann").send({ to: "lal", content })));
    if (seen.length === 4) break;
  }
  assert.deepEqual(seen, [
    [1, "1"],
    [2, "2"],
    [3, "3"],
    [4, "4"],
  ]);
  const later = keep.mailbox("lal").follow({ after: 3 });
  assert.equal((await later.next()).value.number, 4);
  await keep.close();
});

test("following ends with its signal, with return() while it waits, and with the keep", async () => {
  const keep = await memory();
  const ending = new AbortController();
  const bySignal = keep.mailbox("lal").follow({ signal: ending.signal }).next();
  const returned = keep.mailbox("lal").follow();
  const waiting = returned.next();
  const byClose = keep.mailbox("lal").follow();
  const both = [byClose.next(), byClose.next()];
  await keep.stats();
  ending.abort();
  await returned.return();
  const end = { done: true, value: undefined };
  assert.deepEqual([await bySignal, await waiting], [end, end]);
  await keep.close();
  assert.deepEqual(await Promise.all(both), [end, end]);
  assert.throws(() => keep.mailbox("lal").follow(), { code: "closed" });
  const over = await memory();
  assert.deepEqual(await over.mailbox("lal").follow({ signal: AbortSignal.abort() }).next(), end);
  await over.close();
});

test("following goes on after everything was deleted, and numbers go on too", async () => {
  const keep = await memory();
  for (const content of ["a", "b"]) await keep.mailbox("ann").send({ to: "lal", content });
  const followed = keep.mailbox("lal").follow();
  await followed.next();
  await followed.next();
  const next = followed.next();
  await keep.deleteAll();
  await keep.mailbox("ann").send({ to: "lal", content: "new" });
  const { value } = await next;
  assert.deepEqual([mailText(value), value.number], ["new", 3]);
  await keep.close();
});

test("what other tabs send is followed, and what nobody tells of is looked for", async () => {
  const records = new Map();
  const tab = (name) => Threadkeep.open({ storage: mapAdapter({ records }), ...(name && { name }) });
  const [one, two, silent] = [await tab("mail-tabs"), await tab("mail-tabs"), await tab()];
  const followed = one.mailbox("lal").follow();
  const looked = silent.mailbox("lal").follow({ poll: 5 });
  const [first, other] = [followed.next(), looked.next()];
  await two.mailbox("ann").send({ to: "lal", content: "from the other tab" });
  assert.equal(mailText((await first).value), "from the other tab");
  assert.equal(mailText((await other).value), "from the other tab");
  await looked.return();
  await Promise.all([one, two, silent].map((keep) => keep.close()));
});

test("two tabs that send at once take different numbers", async () => {
  const records = new Map();
  const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  const tabs = await Promise.all([0, 1].map(() => Threadkeep.open({ storage: mapAdapter({ records, pause }) })));
  const sends = tabs.flatMap((keep, tab) => Array.from({ length: 12 }, (_, at) => keep.mailbox("ann").send({ to: "lal", content: `${tab}.${at}` })));
  await Promise.all(sends);
  const box = await boxOf(tabs[0], "lal");
  assert.deepEqual(
    box.map(({ number }) => number),
    Array.from({ length: 24 }, (_, at) => at + 1),
  );
  assert.equal(new Set(ids(box)).size, 24);
  for (const tab of ["0", "1"])
    assert.deepEqual(
      said(box).filter((text) => text.startsWith(tab)),
      Array.from({ length: 12 }, (_, at) => `${tab}.${at}`),
    );
  await Promise.all(tabs.map((keep) => keep.close()));
});

test("whoever listens hears of both sides", async () => {
  const keep = await memory();
  const heard = [];
  keep.on("change", ({ type, party, number, remote }) => heard.push([type, party, number, remote]));
  await keep.mailbox("ann").send({ to: "lal", content: "hi" });
  await keep.mailbox("lal").dismiss(1);
  assert.deepEqual(
    heard.filter(([type]) => type === "mail"),
    [
      ["mail", "ann", 1, false],
      ["mail", "lal", 1, false],
      ["mail", "lal", 1, false],
    ],
  );
  await keep.close();
});

test("wrong arguments are named", async () => {
  const keep = await memory();
  const good = { to: "b", content: "c" };
  const wrong = [
    [{ ...good, to: undefined }, /mail\.to is missing/],
    [{ ...good, from: "x" }, /mail\.from is not known/],
    [{ ...good, to: "" }, /mail\.to must not be empty/],
    [{ ...good, content: undefined }, /mail\.content is missing/],
    [{ ...good, strings: ["x"] }, /mail\.strings cannot be given beside content/],
    [{ ...good, content: undefined, strings: "x" }, /mail\.strings must be a list/],
    [{ ...good, subject: "x" }, /mail\.subject is not known/],
  ];
  for (const [mail, words] of wrong) await rejects(keep.mailbox("a").send(mail), "bad-request", words);
  for (const party of [undefined, "", "\ud800"]) assert.throws(() => keep.mailbox(party), { code: "bad-request" });
  await rejects(keep.mailbox("a").reply(-1, "x"), "bad-request", /number/);
  await rejects(keep.mailbox("a").reply(1, {}), "bad-request", /text\.content is missing/);
  await rejects(keep.mailbox("a").messages({ limit: 1.5 }), "bad-request", /filter\.limit/);
  assert.throws(() => keep.mailbox("a").follow({ poll: 0 }), { code: "bad-request" });
  assert.deepEqual(await keep.parties(), []);
  await keep.close();
});
