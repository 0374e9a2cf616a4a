// Several devices of one person act at random and sync over a remote that loses, cuts, doubles and delays files, beside a plain model: the
// nodes that were made, and those that were deleted. At the end all devices must have the same, which is all that was not deleted.

import { numbers } from "./random-program.mjs";

/** A remote as each device sees it: some writes fail before or after they are done, files come late, cut or twice. */
export class Faulty {
  files = new Map();
  calm = false;
  #chance;
  /** What a device saw when it looked last: it may be given that again. */
  #seen = new Map();

  constructor(chance) {
    this.#chance = chance;
  }

  /** All bytes that ever lay there. */
  ever = [];

  of(device) {
    const wrong = (chance) => !this.calm && this.#chance(chance);
    const put = (name, bytes) => {
      this.files.set(name, bytes);
      this.ever.push(bytes);
    };
    return {
      id: "shared",
      list: async () => {
        if (wrong(0.05)) throw new Error("not now");
        const now = new Map(this.files);
        const given = wrong(0.2) ? (this.#seen.get(device) ?? now) : now;
        this.#seen.set(device, now);
        return [...given.keys()];
      },
      read: async (name) => {
        if (wrong(0.03)) throw new Error("not now");
        // A file of before, as a folder that is synced elsewhere gives.
        if (wrong(0.1)) return this.#seen.get(device)?.get(name);
        return this.files.get(name);
      },
      write: async (name, bytes) => {
        if (wrong(0.03)) throw new Error("not now");
        if (wrong(0.03)) {
          put(name, bytes.slice(0, bytes.length >> 1));
          throw new Error("cut off");
        }
        put(name, bytes);
        if (wrong(0.05)) put(`${name} (conflicted copy)`, bytes);
        if (wrong(0.03)) throw new Error("lost the answer");
      },
      remove: async (name) => {
        if (wrong(0.05)) throw new Error("not now");
        this.files.delete(name);
      },
    };
  }

  /** Damages or loses a file, for good. */
  damage(pick) {
    const names = [...this.files.keys()];
    const name = pick(names);
    if (name === undefined) return;
    if (this.#chance(0.5)) this.files.delete(name);
    else this.files.set(name, this.files.get(name).slice(0, 100));
  }
}

/** What a keep holds that all devices must agree on. */
export async function digest(keep) {
  const nodes = {};
  const titles = {};
  for (const { id } of await keep.transcripts()) {
    // One that nobody chose is made of what came first.
    titles[id] =
      (await keep.export({ transcript: id }).text())
        .split("\n")
        .findLast((line) => /^\{"seq":\d+,"info":\{.*"title"/.test(line))
        ?.replace(/.*"title":("[^"]*").*/, "$1") ?? null;
    for (const node of await nodesOf(keep, id)) {
      const { id, parent = null, messages, sealed } = node;
      nodes[id] = [parent, JSON.stringify(messages), sealed];
    }
  }
  const heads = Object.fromEntries((await keep.threads()).map(({ name, node }) => [name, node]));
  const [strategies, pins, settings, checkpoints] = [{}, {}, { "": await keep.settings.get(null, { own: true }) }, {}];
  for (const name of Object.keys(heads)) {
    strategies[name] = await keep.thread(name).strategy();
    pins[name] = (await keep.thread(name).pins()).sort();
    settings[name] = await keep.settings.get(name, { own: true });
    checkpoints[name] = (await keep.thread(name).checkpoints()).map(({ id }) => id).sort();
  }
  const byId = (list) => Object.fromEntries(list.map((record) => [record.id, JSON.stringify(record)]).sort());
  const memory = { ...byId(await keep.memory.facts({ superseded: true })), ...byId(await keep.memory.episodes()) };
  const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    nodes: sorted(nodes),
    titles: sorted(titles),
    heads: sorted(heads),
    strategies: sorted(strategies),
    pins: sorted(pins),
    settings: sorted(settings),
    checkpoints: sorted(checkpoints),
    memory: sorted(memory),
  };
}

async function nodesOf(keep, transcript) {
  const lines = (await keep.export({ transcript }).text()).split("\n").filter((line) => line.startsWith('{"seq":'));
  const nodes = new Map();
  for (const { node, extend, seal } of lines.map((line) => JSON.parse(line))) {
    if (node) nodes.set(node.id, node);
    if (extend) nodes.get(extend.node).messages.push(...extend.messages);
    if (seal) nodes.get(seal.node).sealed = true;
  }
  return [...nodes.values()];
}

/** The first difference of two values, in words. */
export function difference(a, b, at = "") {
  if (JSON.stringify(a) === JSON.stringify(b)) return undefined;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return `${at}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = difference(a[key], b[key], `${at}.${key}`);
    if (found !== undefined) return found;
  }
  return `${at}: another order`;
}

/**
 * Runs `acts` random acts on `devices` keeps.
 *
 * - `package`: `{ Threadkeep, sync }`
 * - `open(at)`: the keep of the device number `at`; called again for one that was closed
 *
 * Gives how often each act was made, and the remote.
 */
export async function syncProgram({ package: { sync }, open, devices = 3, seed, acts, volatile = false }) {
  const { below, of, chance } = numbers(seed);
  const faulty = new Faulty(chance);
  const keeps = [];
  for (let at = 0; at < devices; at += 1) keeps.push(await open(at));
  const NAMES = ["laptop", "phone", "desk", "tablet"];
  const counts = {};
  let [made, act] = [0, 0];
  const word = () => `secret${((made += 1)).toString(36)}y${seed.toString(36)}`;
  /** Each node that was ever made, with its parent; and those that somebody deleted. */
  const [parents, gone] = [new Map(), new Set()];
  const learn = (nodes) => {
    for (const { id, parent } of nodes) {
      parents.set(id, parent ?? null);
      // What was deleted and is there by somebody's act, is there again.
    }
  };
  const all = async (keep) => (await Promise.all((await keep.transcripts()).map(({ id }) => nodesOf(keep, id)))).flat();
  const threads = async (keep) => (await keep.threads()).map(({ name }) => name);
  const says = (role) => ({ role, content: `${word()} ${"and more ".repeat(below(20))}` });
  /** Does `work`, and notes what it deleted. */
  const deleting = async (keep, work) => {
    const before = (await all(keep)).map(({ id }) => id);
    await work();
    const after = new Set((await all(keep)).map(({ id }) => id));
    for (const id of before) if (!after.has(id)) gone.add(id);
  };

  const doSync = async (at) => {
    try {
      return await sync(keeps[at], faulty.of(at), { passphrase: "a b c", device: NAMES[at] });
    } catch (error) {
      // The remote's own failures; nothing else may come out.
      if (!(faulty.calm ? ["remote-damaged"] : ["remote-failed", "remote-damaged"]).includes(error.code)) throw error;
      return undefined;
    }
  };

  const ACTS = {
    append: [
      10,
      async (keep) => {
        const name = chance(0.7) ? of([...(await threads(keep)), "main"]) : of(["main", "side", "third"]);
        const messages = Array.from({ length: 1 + below(3) }, (_, at) => says(at % 2 === 0 ? "user" : "assistant"));
        await keep.thread(name).append(messages);
        learn(await all(keep));
      },
    ],
    turn: [
      3,
      async (keep) => {
        const nodes = await all(keep);
        const parent = chance(0.7) && nodes.length > 0 ? of(nodes).id : undefined;
        const node = await keep.receive({ messageId: word(), from: "ann", content: word(), ...(parent && { replyTo: parent }) });
        await keep.extend(node.id, [says("assistant")]);
        await keep.at(node.id).seal();
        learn(await all(keep));
      },
    ],
    fork: [
      2,
      async (keep) => {
        const names = await threads(keep);
        if (names.length === 0 || names.length > 12) return;
        await keep.thread(of(names)).fork(`fork ${word()}`);
      },
    ],
    move: [
      2,
      async (keep) => {
        const [names, nodes] = [await threads(keep), await all(keep)];
        if (names.length > 0) await keep.thread(of(names)).moveTo(of(nodes).id);
      },
    ],
    pin: [
      2,
      async (keep) => {
        const nodes = await all(keep);
        if (nodes.length > 0) await (chance(0.6) ? keep.at(of(nodes).id).pin() : keep.at(of(nodes).id).unpin());
      },
    ],
    rename: [
      1,
      async (keep) => {
        const list = await keep.transcripts();
        if (list.length > 0) await keep.transcript(of(list).id).rename(word());
      },
    ],
    strategy: [
      1,
      async (keep) => {
        const names = await threads(keep);
        if (names.length > 0) await keep.thread(of(names)).setStrategy(of(["sliding-window", "hierarchical", null]));
      },
    ],
    settings: [
      1,
      async (keep) => {
        const at = of([null, ...(await threads(keep))]);
        await keep.settings.set(at, chance(0.7) ? { systemPrompt: word() } : null);
      },
    ],
    remember: [
      2,
      async (keep) => {
        const facts = await keep.memory.facts();
        const how = facts.length === 0 ? 2 : below(6);
        if (how === 0) await keep.memory.editFact(of(facts).id, { fact: word() });
        else if (how === 1) await keep.memory.pin(of(facts).id, chance(0.5));
        else await keep.memory.remember({ fact: `${word()} ${word()}` });
      },
    ],
    forget: [
      1,
      async (keep) => {
        const facts = await keep.memory.facts();
        if (facts.length > 0) await keep.memory.forget(of(facts).id);
      },
    ],
    compact: [
      1,
      async (keep) => {
        const names = await threads(keep);
        if (names.length === 0) return;
        const summarize = async () => JSON.stringify({ statements: [`It was ${word()}.`], facts: [] });
        const refused = await keep
          .thread(of(names))
          .compact({ keepTurns: below(2), summarize, summarizer: "script" })
          .then(() => false)
          .catch((error) => error.code === "summary-refused" || Promise.reject(error));
        if (!refused) counts.compacted = (counts.compacted ?? 0) + 1;
      },
    ],
    deleteBranch: [
      1.5,
      async (keep) => {
        const nodes = await all(keep);
        if (nodes.length > 0) await deleting(keep, () => keep.at(of(nodes).id).deleteBranch());
      },
    ],
    deleteTranscript: [
      0.4,
      async (keep) => {
        const list = await keep.transcripts();
        if (list.length > 0) await deleting(keep, () => keep.transcript(of(list).id).delete());
      },
    ],
    sync: [8, async (_, at) => void (await doSync(at))],
    both: [1, async () => void (await Promise.all(keeps.map((_, at) => doSync(at))))],
    damage: [0.5, async () => faulty.damage(of)],
    reopen: [
      volatile ? 0 : 1,
      async (keep, at) => {
        await keep.close();
        keeps[at] = await open(at);
      },
    ],
  };
  const names = Object.keys(ACTS);
  const total = names.reduce((sum, name) => sum + ACTS[name][0], 0);
  const choose = () => {
    let left = (below(1 << 30) / (1 << 30)) * total;
    return names.find((name) => (left -= ACTS[name][0]) < 0) ?? names[0];
  };

  for (act = 1; act <= acts; act += 1) {
    const [name, at] = [choose(), below(devices)];
    counts[name] = (counts[name] ?? 0) + 1;
    try {
      await ACTS[name][1](keeps[at], at);
    } catch (error) {
      error.message = `act ${act} of seed ${seed}, ${name}: ${error.message}`;
      throw error;
    }
  }

  // All sync without faults until nothing is sent any more.
  faulty.calm = true;
  let rounds = 0;
  for (let quiet = 0; quiet < devices; rounds += 1) {
    if (rounds > 20 * devices) throw new Error(`seed ${seed}: the devices do not come to rest`);
    // A new device cannot know that its passphrase is right while nothing opens.
    const { sent, skipped } = (await doSync(rounds % devices)) ?? { sent: { files: 1 } };
    quiet = sent.files === 0 ? quiet + 1 : 0;
    if (quiet === devices && skipped.length > 0) throw new Error(`seed ${seed}: at rest, ${JSON.stringify(skipped)}`);
  }
  const digests = [];
  for (const keep of keeps) digests.push(await digest(keep));
  for (const other of digests.slice(1)) {
    const found = difference(digests[0], other);
    if (found !== undefined) throw new Error(`seed ${seed}: two devices differ at ${found.slice(0, 600)}`);
  }
  const isGone = (id) => gone.has(id) || (parents.get(id) != null && isGone(parents.get(id)));
  const wanted = [...parents.keys()].filter((id) => !isGone(id)).sort();
  const found = difference(Object.keys(digests[0].nodes).sort(), wanted);
  if (found !== undefined) throw new Error(`seed ${seed}: the nodes are not those that were made and not deleted: ${found}`);
  for (const bytes of faulty.ever) if (new TextDecoder("latin1").decode(bytes).includes("secret")) throw new Error(`seed ${seed}: plain text on the remote`);
  for (const keep of keeps) await keep.close();
  return { counts, rounds, nodes: wanted.length, files: faulty.files.size };
}
