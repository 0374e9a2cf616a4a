// A random program of calls against a plain model of what must be there. It runs wherever the package does: under Node on every store, and
// in pages on IndexedDB and OPFS. Several keeps ("mates") work on one store, as tabs and processes do; now and then several calls are
// under way at once. After each call what can be read of its subject is compared with the model, and everything now and then and at the end.

/** A generator of numbers from a seed: Mulberry32. */
export function numbers(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (most) => Math.floor(next() * most), of: (list) => list[Math.floor(next() * list.length)], chance: (share) => next() < share };
}

/** The same, whatever the order of fields. */
function written(value) {
  return JSON.stringify(value, (_, item) =>
    typeof item === "object" && item !== null && !Array.isArray(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

function same(got, wanted, words) {
  const [a, b] = [written(got), written(wanted)];
  if (a === b) return;
  let at = 0;
  while (a?.[at] !== undefined && a[at] === b?.[at]) at += 1;
  const near = (text) => String(text).slice(Math.max(0, at - 80), at + 160);
  throw new Error(`${words}: from character ${at} on it is\n  ${near(a)}\nand must be\n  ${near(b)}`);
}

/** What must be there: nodes with parents, heads that point at them, aliases, and what lies beside the conversations. */
class Model {
  nodes = new Map();
  heads = new Map();
  aliases = new Map();
  facts = new Map();
  boxes = new Map();
  /** The last number of each mailbox. */
  numbers = new Map();
  /** The highest number of any mailbox that a deletion of everything has taken away. */
  given = 0;
  records = new Map();

  /** A node as a call gave it. */
  learn({ id, transcript, parent, seq, sealed, messages }) {
    if (parent !== null && !this.nodes.has(parent)) throw new Error(`the node ${id} has a parent ${parent} that nobody knows`);
    this.nodes.set(id, { id, transcript, parent, seq, sealed, messages });
  }

  find(id) {
    return this.nodes.get(id) ?? this.nodes.get(this.aliases.get(id));
  }

  chain(id) {
    const chain = [];
    for (let node = this.find(id); node !== undefined; node = node.parent === null ? undefined : this.nodes.get(node.parent)) chain.unshift(node);
    return chain;
  }

  messages(head) {
    const node = this.heads.get(head);
    return node === undefined ? [] : this.chain(node).flatMap(({ messages }) => messages);
  }

  children(id) {
    return [...this.nodes.values()].filter(({ parent }) => parent === id).sort((a, b) => a.seq - b.seq);
  }

  /** A node and all that follows it. */
  below(id) {
    const found = [this.nodes.get(id)];
    for (const node of found) found.push(...this.children(node.id));
    return found;
  }

  /** Takes nodes away, with the heads and aliases that point at them; gives how many messages they held. */
  remove(nodes) {
    for (const { id } of nodes) this.nodes.delete(id);
    for (const map of [this.heads, this.aliases]) for (const [name, id] of map) if (!this.nodes.has(id)) map.delete(name);
    return nodes.reduce((sum, { messages }) => sum + messages.length, 0);
  }

  /** What deleting everything leaves: the promise that no mailbox begins with a number that was given before. */
  clear() {
    const given = Math.max(this.given, ...this.numbers.values());
    Object.assign(this, new Model(), { given });
  }

  /** Puts a message into a party's mailbox. `found` is its number there: the next one, or the first of the mailbox. */
  deliver(party, found, mail) {
    const last = this.numbers.get(party);
    const number = last === undefined ? found : last + 1;
    if (number <= this.given || (this.given === 0 && last === undefined && number !== 1))
      throw new Error(`the mailbox of ${party} begins with ${number} after ${this.given} was given`);
    this.numbers.set(party, number);
    this.box(party).push({ number, ...mail });
  }

  box(party) {
    if (!this.boxes.has(party)) this.boxes.set(party, []);
    return this.boxes.get(party);
  }
}

/**
 * Runs `acts` random calls.
 *
 * - `package`: `{ Threadkeep, createAgent, mailText }`
 * - `open(at)`: a keep on the store, with `encoding: "estimate"`; `at` says which of the mates it becomes
 * - `mates`: how many keeps are open on it at once
 * - `skip`: names of calls that are not made
 * - `fresh()`: a keep in memory, for exports that are imported again
 *
 * Gives how often each call was made.
 */
export async function program({ package: { createAgent, mailText }, open, fresh, mates: count = 2, skip = [], seed, acts, progress = () => {} }) {
  const { below, of, chance } = numbers(seed);
  const model = new Model();
  const mates = [];
  for (let at = 0; at < count; at += 1) mates.push(await open(at));
  const counts = {};
  let [made, act] = [0, 0];

  const HEADS = ["main", "side", "a/b ü", "third", "fourth"];
  const PARTIES = ["ann", "bob", "cid"];
  const NAMES = ["mine", "theirs"];
  const word = () => `word${((made += 1)).toString(36)}x${seed.toString(36)}`;
  const LONG = "and so that it is worth a summary there are quite some more words to it than that alone would take";
  const texts = () => of([`says ${word()}`, `${word()} 😀 "quoted" \\ back`, `Ünïcode ${word()}\n${"line\n".repeat(below(5))}`, `${word()} ${LONG}`]);
  const message = () => {
    const content = texts();
    return of([
      { role: "user", content },
      { role: "assistant", content },
      { role: "user", content },
      { role: "assistant", content },
      { role: "user", content: [{ type: "text", text: content }] },
      { role: "assistant", content, reasoning: `hm ${made}`, extra: { n: [1, 2.5, null] } },
    ]);
  };
  const messages = () => Array.from({ length: 1 + below(chance(0.05) ? 40 : 4) }, message);
  const keep = () => of(mates);
  const nodes = () => [...model.nodes.values()];
  const some = (list) => (list.length === 0 ? undefined : of(list));

  /** A call that must fail with this code. */
  const fails = async (promise, ...codes) => {
    const result = await promise.then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
    if (!codes.includes(result.error?.code)) throw new Error(`it must fail with ${codes}, it gives ${written(result.value) ?? result.error?.stack}`);
  };

  // Another agent of the same name may be first to answer: all know what is to be said to which question.
  const scripts = new Map();
  const scripted = ({ messages }) => {
    const question = messages.findLast(({ role, content }) => role === "user" && scripts.has(content)).content;
    const { said, steps } = scripts.get(question);
    if (steps === 1 || messages.at(-1).role === "tool") return said;
    return {
      message: { content: null, tool_calls: [{ id: `call-${word()}`, type: "function", function: { name: "look", arguments: JSON.stringify({ question }) } }] },
    };
  };

  // What is compared.

  const checkHead = async (on, head) => {
    const all = model.messages(head);
    same(await on.thread(head).messages(), all, `getAll(${head})`);
    same(await on.thread(head).count(), all.length, `getCount(${head})`);
    same((await on.thread(head).head())?.id ?? null, model.heads.get(head) ?? null, `head(${head})`);
    const [start, end] = [below(all.length + 3), below(all.length + 3)];
    same(await on.thread(head).messages({ start: start, end: end }), all.slice(start, Math.max(start, end)), `getRange(${head}, ${start}, ${end})`);
    const most = below(12);
    const recent = await on.thread(head).recent({ maxMessages: most, includeSystem: false, includeSummary: false });
    const spoken = all.filter(({ role }) => role !== "system" && role !== "developer");
    // A call stays with its results, or goes with them.
    let from = Math.max(0, spoken.length - most);
    while (spoken[from]?.role === "tool") from += 1;
    same(recent, spoken.slice(from), `getRecent(${head}, ${most})`);
  };
  const checkNode = async (on, id) => {
    const [found, wanted] = [await on.node(id), model.find(id)];
    if (wanted === undefined) return same(found, null, `node(${id})`);
    const { transcript, parent, seq, sealed, messages } = found ?? {};
    same({ id: found?.id, transcript, parent, seq, sealed, messages }, wanted, `node(${id})`);
    same(
      (await on.chain(id)).map((node) => node.id),
      model.chain(id).map((node) => node.id),
      `chain(${id})`,
    );
    same(
      (await on.at(id).children()).map((node) => node.id),
      model.children(wanted.id).map((node) => node.id),
      `children(${id})`,
    );
  };
  const checkBox = async (on, party) => {
    const shown = ({ number, messageId, from, to, strings, replyTo, dismissed }) => ({
      number,
      messageId,
      from,
      to,
      strings,
      replyTo,
      dismissed: dismissed !== undefined,
    });
    same(
      (await on.mailbox(party).messages({ dismissed: true })).map(shown),
      model.box(party).map((mail) => ({ ...mail, dismissed: mail.dismissed === true })),
      `listMessages(${party})`,
    );
    same(
      (await on.mailbox(party).messages()).length,
      model.box(party).filter(({ dismissed }) => !dismissed).length,
      `listMessages(${party}) without the dismissed`,
    );
  };
  const checkRecords = async (on, name) => {
    const wanted = [...(model.records.get(name) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    same(
      (await on.records(name).scan()).map(([key, bytes]) => [key, new TextDecoder().decode(bytes)]),
      wanted,
      `records(${name})`,
    );
  };
  const checkFacts = async (on) =>
    same(Object.fromEntries((await on.memory.facts()).map(({ id, fact }) => [id, fact])), Object.fromEntries(model.facts), "facts()");
  const checkAll = async (on) => {
    same((await on.threads()).map(({ name, node }) => [name, node]).sort(), [...model.heads].sort(), "threads()");
    for (const head of HEADS) await checkHead(on, head);
    for (const { id } of nodes()) await checkNode(on, id);
    for (const alias of model.aliases.keys()) await checkNode(on, alias);
    for (const party of PARTIES) await checkBox(on, party);
    for (const name of NAMES) await checkRecords(on, name);
    await checkFacts(on);
    same((await on.transcripts()).map(({ id }) => id).sort(), [...new Set(nodes().map(({ transcript }) => transcript))].sort(), "transcripts()");
    same(
      (await on.stats()).messages,
      nodes().reduce((sum, { messages }) => sum + messages.length, 0),
      "stats().messages",
    );
  };

  /** Learns the root of a transcript that has just begun: it holds the system prompt, if there is one. */
  const begun = async ({ id, parent }, systemPrompt = []) => {
    if (parent === null || model.nodes.has(parent)) return;
    const [root, ...rest] = (await keep().chain(id)).slice(0, -1);
    same([root.id, rest.length, root.messages.map(({ content }) => content)], [parent, 0, systemPrompt], "the root of a new transcript");
    model.learn(root);
  };

  /** Messages that were appended at a head, as the call gave them. */
  const appended = async (head, given, got, from) => {
    if (got.length > 0 && !model.heads.has(head)) {
      await begun(got[0]);
      from = got[0].parent;
    }
    same(
      got.map(({ messages }) => messages),
      given.map((one) => [one]),
      `append(${head})`,
    );
    let parent = from ?? model.heads.get(head) ?? null;
    for (const node of got) {
      same(node.parent, parent, `the parent of what was appended at ${head}`);
      model.learn(node);
      parent = node.id;
    }
    if (got.length > 0) model.heads.set(head, parent);
  };

  const CALLS = {
    append: [
      30,
      async () => {
        const [head, given, on] = [of(HEADS), messages(), keep()];
        const node = model.heads.get(head);
        const options = node !== undefined && chance(0.1) ? { expect: node } : undefined;
        await appended(head, given, await on.thread(head).append(given, options));
        await checkHead(keep(), head);
      },
    ],
    appendAfter: [
      3,
      async () => {
        const head = of(HEADS);
        const chain = model.heads.has(head) ? model.chain(model.heads.get(head)) : [];
        if (chain.length === 0) return fails(keep().thread(head).append([message()], { after: "nowhere" }), "missing-thread", "missing-node");
        const [{ id }, given] = [of(chain), messages()];
        await appended(head, given, await keep().thread(head).append(given, { after: id }), id);
        await checkHead(keep(), head);
      },
    ],
    // Several at once, on one head and others: each lot stays together and in its order.
    together: [
      6,
      async () => {
        const lots = Array.from({ length: 2 + below(3) }, () => [of(HEADS.slice(0, 3)), messages(), keep()]);
        const got = await Promise.all(lots.map(([head, given, on]) => on.thread(head).append(given)));
        const left = lots.map(([head, given], at) => ({ head, given, got: got[at] }));
        while (left.length > 0) {
          const next = left.findIndex(({ head, got: [first] }) =>
            model.heads.has(head) ? first.parent === model.heads.get(head) : !left.some(({ got }) => got.some(({ id }) => id === first.parent)),
          );
          if (next < 0) throw new Error(`lots that were appended at once are in no order: ${written(left)}`);
          const [{ head, given, got }] = left.splice(next, 1);
          await appended(head, given, got);
        }
        for (const head of new Set(lots.map(([head]) => head))) for (const on of mates) await checkHead(on, head);
      },
    ],
    read: [
      15,
      async () => {
        await checkHead(keep(), of(HEADS));
        const node = some(nodes());
        if (node !== undefined) await checkNode(keep(), node.id);
        const alias = some([...model.aliases.keys()]);
        if (alias !== undefined) await checkNode(keep(), alias);
        await checkNode(keep(), "nobody");
      },
    ],
    receive: [
      8,
      async () => {
        const parent = chance(0.7) ? some(nodes()) : undefined;
        const alias = [...model.aliases].find(([, id]) => id === parent?.id)?.[0];
        const replyTo = parent === undefined ? undefined : (alias ?? parent.id);
        const [content, systemPrompt, messageId] = [texts(), chance(0.3) ? `Be ${word()}.` : undefined, chance(0.5) ? `in-${word()}` : undefined];
        const given = {
          content,
          from: of(PARTIES),
          ...(replyTo === undefined ? {} : { replyTo }),
          ...(systemPrompt === undefined ? {} : { systemPrompt }),
          ...(messageId === undefined ? {} : { messageId }),
        };
        const on = keep();
        const node = await on.receive(given);
        if (parent === undefined) await begun(node, systemPrompt === undefined ? [] : [systemPrompt]);
        model.learn(node);
        const chain = model.chain(node.id);
        if (parent !== undefined) same(node.parent, parent.id, "the parent of what was received");
        else
          same(
            chain.flatMap(({ messages }) => messages).map(({ content }) => content),
            [...(systemPrompt === undefined ? [] : [systemPrompt]), content],
            "a transcript that begins",
          );
        same(node.messages.at(-1), { role: "user", content }, "what was received");
        if (messageId !== undefined) {
          same(node.id, messageId, "the id of what was received");
          same((await keep().receive(given)).id, messageId, "what was received again");
        }
        await checkNode(keep(), node.id);
      },
    ],
    extend: [
      8,
      async () => {
        const node = some(nodes().filter(({ id, sealed }) => !sealed && model.children(id).length === 0));
        if (node === undefined) return;
        const given = messages();
        const grown = await keep().extend(node.id, given);
        same(grown.messages, given, "what extend added");
        model.learn({ ...grown, messages: [...node.messages, ...given] });
        await checkNode(keep(), node.id);
      },
    ],
    extendSealed: [
      1,
      async () => {
        const node = some(nodes().filter(({ id, sealed }) => sealed || model.children(id).length > 0));
        if (node !== undefined) await fails(keep().extend(node.id, [message()]), "sealed");
      },
    ],
    seal: [
      4,
      async () => {
        const node = some(nodes());
        if (node === undefined) return fails(keep().at("nowhere").seal(), "missing-node");
        model.learn(await keep().at(node.id).seal());
        same(model.nodes.get(node.id).sealed, true, "seal");
      },
    ],
    alias: [
      4,
      async () => {
        const node = some(nodes());
        if (node === undefined) return;
        const taken = some([...model.aliases]);
        if (taken !== undefined && taken[1] !== node.id && chance(0.3)) return fails(keep().at(node.id).alias(taken[0]), "id-taken");
        const name = `out-${word()}`;
        await keep().at(node.id).alias(name);
        model.aliases.set(name, node.id);
        await checkNode(keep(), name);
      },
    ],
    fork: [
      3,
      async () => {
        const [from, to] = [of(HEADS), of(HEADS)];
        const on = keep();
        if (!model.heads.has(from)) return fails(on.thread(from).fork(to), "missing-thread", "thread-taken");
        if (model.heads.has(to)) return fails(on.thread(from).fork(to), "thread-taken");
        const chain = model.chain(model.heads.get(from));
        const places = [0];
        for (const { messages } of chain) places.push(places.at(-1) + messages.length);
        const at = 1 + below(chain.length);
        const whole = places[at];
        const node = await (await on.thread(from).fork(to, { atIndex: chance(0.3) && at === chain.length ? undefined : whole })).head();
        // A node without messages has the same place as the one before it.
        same(places[model.chain(node.id).length], whole, `fork(${from}, ${to}, ${whole})`);
        model.heads.set(to, node.id);
        await checkHead(keep(), to);
      },
    ],
    setHead: [
      2,
      async () => {
        const [head, node] = [of(HEADS), some(nodes())];
        if (node === undefined) return fails(keep().thread(head).moveTo("nowhere"), "missing-node");
        await keep().thread(head).moveTo(node.id);
        model.heads.set(head, node.id);
        await checkHead(keep(), head);
      },
    ],
    clear: [
      2,
      async () => {
        const head = of(HEADS);
        const node = model.heads.get(head);
        model.heads.delete(head);
        const gone = [];
        // What only this head leads to: from its node up, until something else needs it.
        const pointed = new Set(model.heads.values());
        for (
          let at = node === undefined ? undefined : model.nodes.get(node);
          at !== undefined;
          at = at.parent === null ? undefined : model.nodes.get(at.parent)
        ) {
          if (pointed.has(at.id) || model.children(at.id).some(({ id }) => !gone.some((one) => one.id === id))) break;
          gone.push(at);
        }
        same(await keep().thread(head).clear(), model.remove(gone), `clear(${head})`);
        await checkHead(keep(), head);
      },
    ],
    deleteBranch: [
      1,
      async () => {
        const node = some(nodes());
        if (node === undefined) return fails(keep().at("nowhere").deleteBranch(), "missing-node");
        const gone = model.below(node.id);
        const above = node.parent;
        // A head in what is deleted moves up to what is left.
        const moved = [...model.heads].filter(([, id]) => gone.some((one) => one.id === id)).map(([head]) => head);
        const on = keep();
        same(await on.at(node.id).deleteBranch(), model.remove(gone), "deleteBranch");
        for (const head of moved) {
          const now = (await on.thread(head).head())?.id ?? null;
          if (now !== null && now !== above) throw new Error(`after its branch was deleted the head ${head} points at ${now}, not at ${above} or nothing`);
          if (now !== null) model.heads.set(head, now);
        }
        for (const head of HEADS) await checkHead(keep(), head);
        await checkNode(keep(), node.id);
      },
    ],
    deleteTranscript: [
      1,
      async () => {
        const node = nodes().length > 60 || chance(0.2) ? some(nodes()) : undefined;
        if (node === undefined) return fails(keep().transcript("nowhere").delete(), "missing-transcript");
        same(
          await keep().transcript(node.transcript).delete(),
          model.remove(nodes().filter(({ transcript }) => transcript === node.transcript)),
          "deleteTranscript",
        );
        for (const head of HEADS) await checkHead(keep(), head);
      },
    ],
    compact: [
      2,
      async () => {
        const head = of(HEADS);
        if (!model.heads.has(head)) return fails(keep().thread(head).compact({ encoding: "estimate" }), "missing-node", "missing-thread");
        const summarize = chance(0.5) ? { summarize: async () => JSON.stringify({ statements: [`Summary ${word()}.`], facts: [] }), summarizer: "script" } : {};
        await keep()
          .thread(head)
          .compact({ encoding: "estimate", keepTurns: below(4), ...summarize })
          .catch((error) => {
            if (error.code !== "summary-refused") throw error;
          });
        // The originals stay. What is found worth remembering is the compaction's.
        model.facts = new Map((await keep().memory.facts()).map(({ id, fact }) => [id, fact]));
        await checkHead(keep(), head);
      },
    ],
    context: [
      5,
      async () => {
        const head = of(HEADS);
        const most = 50 + below(3000);
        if (!model.heads.has(head)) return fails(keep().thread(head).context(), "missing-node", "missing-thread");
        const given = of(["openai-chat", "anthropic", "gemini", "ollama", "openai-responses"]);
        const { tokens, overBudget, ledger, messages } = await keep()
          .thread(head)
          .context({ encoding: "estimate", provider: given, budget: { maxTokens: most } });
        if (!overBudget && tokens > most) throw new Error(`context(${head}) has ${tokens} tokens of ${most}`);
        same(
          ledger.reduce((sum, { tokensAfter }) => sum + tokensAfter, 0),
          tokens,
          `the ledger of context(${head})`,
        );
        const newest = model.messages(head).findLast(({ role }) => role === "user");
        if (newest !== undefined && !messages.some((one) => written(one.content) === written(newest.content)))
          throw new Error(`context(${head}) lacks the newest user message ${written(newest)}; the ledger ends with ${written(ledger.slice(-4))}`);
      },
    ],
    search: [
      4,
      async () => {
        const spoken = nodes().filter(({ messages }) => messages.length > 0);
        const node = some(spoken);
        if (node === undefined) return;
        const index = below(node.messages.length);
        const { content } = node.messages[index];
        const found = /word\w+/.exec(typeof content === "string" ? content : JSON.stringify(content))?.[0];
        if (found === undefined) return;
        const hits = (await keep().search(found, { limit: 50 })).filter(({ node }) => node !== undefined && node !== null);
        const has = (message) => new RegExp(`\\b${found}\\b`).test(JSON.stringify([message.content, message.reasoning ?? "", message.tool_calls ?? []]));
        const wanted = spoken.flatMap(({ id, messages }) => messages.flatMap((one, at) => (has(one) ? [`${id} ${at}`] : []))).sort();
        // An episode that has the word is found as well, and names a message that it was made of.
        const places = hits.filter(({ kind }) => kind === "message").map(({ node, index }) => `${node} ${index}`);
        // Words that are nearly the same may be found, too, after those; what was deleted may not.
        // With many transcripts a search notices what other keeps wrote after a while only.
        const current = mates.length === 1 || new Set(nodes().map(({ transcript }) => transcript)).size <= 20;
        if (current) same(places.slice(0, wanted.length).sort(), wanted, `search(${found})`);
        for (const { node } of hits) if (!model.nodes.has(node)) throw new Error(`search(${found}) finds ${node}, which is not there`);
      },
    ],
    remember: [
      2,
      async () => {
        const fact = `${word()} ${word()} ${word()}`;
        const { id } = await keep().memory.remember({ fact, kind: "preference" });
        model.facts.set(id, fact);
        await checkFacts(keep());
      },
    ],
    forget: [
      1,
      async () => {
        const id = some([...model.facts.keys()]) ?? "none";
        same(await keep().memory.forget(id), model.facts.delete(id), "forget");
        await checkFacts(keep());
      },
    ],
    send: [
      4,
      async () => {
        const [from, to, content, messageId] = [of(PARTIES), of(PARTIES), texts(), `mail-${word()}`];
        if (from === to) return;
        const answered = some(model.box(from));
        const replyTo = answered !== undefined && chance(0.5) ? { replyTo: answered.messageId } : {};
        await keep()
          .mailbox(from)
          .send({ to, content, messageId, ...replyTo });
        for (const party of [from, to]) {
          const newest = (await keep().mailbox(party).messages({ dismissed: true })).at(-1);
          model.deliver(party, newest?.number, { messageId, from, to, strings: [content], ...replyTo });
        }
        for (const party of [from, to]) await checkBox(keep(), party);
      },
    ],
    dismiss: [
      2,
      async () => {
        const party = of(PARTIES);
        const mail = some(model.box(party));
        if (mail === undefined) return fails(keep().mailbox(party).dismiss(1), "missing-mail");
        await keep().mailbox(party).dismiss(mail.number);
        mail.dismissed = true;
        await checkBox(keep(), party);
      },
    ],
    records: [
      4,
      async () => {
        const name = of(NAMES);
        if (!model.records.has(name)) model.records.set(name, new Map());
        const held = model.records.get(name);
        const key = () => `key${below(20)}`;
        const [puts, deletes, absent] = [
          [
            [key(), word()],
            [key(), word()],
          ],
          [key()],
          chance(0.3) ? [key()] : [],
        ];
        const bytes = puts.map(([key, text]) => [key, new TextEncoder().encode(text)]);
        const committed = keep().records(name).commit({ puts: bytes, deletes, absent });
        if (absent.some((key) => held.has(key))) await fails(committed, "conflict");
        else {
          await committed;
          for (const key of deletes) held.delete(key);
          for (const [key, text] of puts) held.set(key, text);
        }
        await checkRecords(keep(), name);
      },
    ],
    agent: [
      3,
      async () => {
        const on = keep();
        const [question, said, result] = [texts(), texts(), word()];
        const steps = 1 + below(2);
        scripts.set(question, { said, result, steps });
        const name = `agent${below(2)}`;
        const agent = createAgent({
          keep: on,
          name,
          user: "user",
          builtIn: [],
          compaction: false,
          context: { encoding: "estimate" },
          model: scripted,
          tools: { look: { execute: ({ question }) => scripts.get(question).result } },
        });
        const replyTo = chance(0.6) ? some(nodes())?.id : undefined;
        const { outcome, reason, text, node, reply } = await agent.send(question, replyTo === undefined ? {} : { replyTo });
        if (outcome !== "answered")
          throw new Error(
            `a turn came to ${written({ outcome, reason, text, node, reply, box: await on.mailbox(name).messages({ dismissed: true }), users: await on.mailbox("user").messages({ dismissed: true }) })}`,
          );
        // The model does not follow these mailboxes; what deleting everything leaves counts their numbers too.
        for (const party of ["user", name]) model.numbers.set(party, (await on.mailbox(party).messages({ dismissed: true })).at(-1).number);
        same(text, said, "a turn's text");
        if (!mailText(reply).endsWith(said)) throw new Error(`the reply says ${mailText(reply)}`);
        const chain = await on.chain(node);
        for (const one of chain) model.learn(one);
        if (replyTo !== undefined) same(chain.at(-1).parent, replyTo, "the parent of a turn");
        same(
          chain.at(-1).messages.map(({ role }) => role),
          steps === 2 ? ["user", "assistant", "tool", "assistant"] : ["user", "assistant"],
          "a turn's messages",
        );
        // The reply stands for the node that it came from.
        model.aliases.set(reply.messageId, node);
        await checkNode(keep(), node);
        await checkNode(keep(), reply.messageId);
        agent.close();
      },
    ],
    transfer: [
      0.3,
      async () => {
        const text = await keep().export().text();
        const other = await fresh();
        await other.import(text);
        for (const head of model.heads.keys()) same(await other.thread(head).messages(), model.messages(head), `${head} after an export and import`);
        same(
          (await other.stats()).messages,
          nodes().reduce((sum, { messages }) => sum + messages.length, 0),
          "messages after an export and import",
        );
        await other.close();
        // What was imported before is known.
        await keep().import(text);
        for (const head of HEADS) await checkHead(keep(), head);
      },
    ],
    reopen: [
      1,
      async () => {
        const at = below(mates.length);
        await mates[at].close();
        mates[at] = await open(at);
        await checkHead(mates[at], of(HEADS));
      },
    ],
    everything: [0.2, () => checkAll(keep())],
    deleteAll: [
      0.03,
      async () => {
        await keep().deleteAll();
        model.clear();
        for (const on of mates) await checkAll(on);
      },
    ],
  };

  const names = Object.keys(CALLS).filter((name) => !skip.includes(name));
  const total = names.reduce((sum, name) => sum + CALLS[name][0], 0);
  const choose = () => {
    let left = (below(1 << 30) / (1 << 30)) * total;
    return names.find((name) => (left -= CALLS[name][0]) < 0) ?? names[0];
  };
  try {
    for (act = 1; act <= acts; act += 1) {
      let name = choose();
      // The model reads itself again and again: what lies there stays small enough for that.
      if (nodes().length > 400) name = of(["deleteTranscript", "clear", "deleteBranch"]);
      counts[name] = (counts[name] ?? 0) + 1;
      try {
        await CALLS[name][1]();
      } catch (error) {
        error.message = `act ${act} of seed ${seed}, ${name}: ${error.message}`;
        throw error;
      }
      if (act % 500 === 0) progress(act);
    }
    for (const on of mates) await checkAll(on);
    for (const [at] of mates.entries()) {
      await mates[at].close();
      mates[at] = await open(at);
    }
    await checkAll(mates[0]);
    same(await mates[0].lint().then((found) => found.filter(({ rule }) => /parent|cycle/.test(rule ?? ""))), [], "lint()");
  } finally {
    await Promise.all(mates.map((mate) => mate.close().catch(() => {})));
  }
  return counts;
}
