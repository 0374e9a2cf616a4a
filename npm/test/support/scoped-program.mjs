// The random program in several scopes of one store at once, each with words of its own. Whatever a keep gives, tells or asks a model is
// searched for words of the other scopes. In the end the scopes are deleted one by one. It runs under Node and in pages.
import { program } from "./random-program.mjs";

/** The data outside all scopes, and two scopes. */
const SCOPES = [undefined, "ann", "bob/ü"];

/** Finds words of one program in anything: its words end with its seed. */
function finder(seed) {
  const end = `x${seed.toString(36)}`;
  return (text) => (text.match(/word[0-9a-z]+/g) ?? []).filter((word) => word.endsWith(end));
}

/** What a value says, as text. */
function said(value) {
  const bytes = (item) => (ArrayBuffer.isView(item) ? new TextDecoder().decode(item) : item);
  return JSON.stringify(bytes(value), (_, item) => (typeof item === "bigint" ? String(item) : bytes(item))) ?? "";
}

/** Whether a value is data, and no handle. */
function isData(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Runs `acts` random calls in each scope, interleaved. Gives how often each call was made.
 *
 * - `open(scope)`: a keep in a scope, with `encoding: "estimate"`
 * - `raw()`: every record of the store, as a line of text that begins with its key
 * - `storage`: what `Threadkeep.scopes` and `Threadkeep.deleteScope` take
 * - `package`: `{ Threadkeep, createAgent, mailText }`, and `memoryTools` if tools are to be tried
 * - the rest is as for `program`
 */
export async function scopedProgram({ open: ask, ...options }) {
  const opened = [];
  const open = async (scope) => {
    const keep = await ask(scope);
    opened.push(keep);
    return keep;
  };
  try {
    return await inScopes({ open, ...options });
  } finally {
    await Promise.all(opened.map((keep) => keep.close()));
  }
}

async function inScopes({ package: pack, open, raw, storage, seed, ...rest }) {
  const scopes = SCOPES;
  // Seeds of the same length: no word of one program ends as one of another.
  const seeds = scopes.map((_, at) => 36 ** 4 + ((seed * scopes.length + at) % (35 * 36 ** 4)));
  const finders = seeds.map(finder);
  const keeps = new WeakMap();

  /** Fails if a value of one scope has a word of another. */
  const look = (at, value, words) => {
    const text = said(value);
    for (const [other, find] of finders.entries()) {
      if (other === at) continue;
      const [word] = find(text);
      if (word !== undefined) throw new Error(`${words} of the scope ${scopes[at]} has ${word} of the scope ${scopes[other]}`);
    }
    return value;
  };
  /** A handle whose every answer is looked at. */
  const watched = (at, handle) => {
    const see = (value, name) => {
      if (value instanceof Promise)
        return value.then(
          (given) => see(given, name),
          (error) => Promise.reject(look(at, error, `the error of ${name}`)),
        );
      return isData(value) ? look(at, value, name) : watched(at, value);
    };
    const seen = new Proxy(handle, {
      get(target, name) {
        const value = target[name];
        if (typeof value === "function") return (...given) => see(value.apply(target, given), String(name));
        return isData(value) ? value : watched(at, value);
      },
    });
    keeps.set(seen, handle);
    return seen;
  };

  const heard = scopes.map(() => 0);
  const opened = async (at) => {
    const keep = await open(scopes[at]);
    if (keep.scope !== scopes[at]) throw new Error(`the keep says that its scope is ${keep.scope}`);
    keep.on("change", (event) => {
      heard[at] += 1;
      look(at, event, "an event");
    });
    return watched(at, keep);
  };
  const createAgent = (at) => (options) => {
    const agent = pack.createAgent({
      ...options,
      keep: keeps.get(options.keep),
      model: (request) => {
        const { signal: _, ...asked } = request;
        look(at, asked, "a prompt");
        return options.model(request);
      },
    });
    return { send: async (...given) => look(at, await agent.send(...given), "a turn"), close: () => agent.close() };
  };

  const counts = await Promise.all(
    scopes.map((_, at) =>
      program({ ...rest, package: { ...pack, createAgent: createAgent(at) }, open: () => opened(at), seed: seeds[at] }).catch((error) => {
        error.message = `in the scope ${scopes[at]}: ${error.message}`;
        throw error;
      }),
    ),
  );
  if (heard.some((count) => count === 0)) throw new Error(`events that were heard: ${heard}`);

  // Everything that can be read of a whole keep, and questions for what belongs to others.
  const others = [];
  for (const [at] of scopes.entries()) {
    const keep = await opened(at);
    const own = keeps.get(keep);
    others.push({ text: await keep.export().text(), nodes: (await keep.transcripts()).map(({ id }) => id) });
    for (const format of ["openai-messages", "sharegpt", "markdown"]) await keep.export({ format, branches: true }).text();
    look(at, await own.export({ format: "memory" }).files(), "the export of memory");
    look(at, await own.memory.episodes(), "the episodes");
    for (const tool of pack.memoryTools?.(own) ?? []) {
      if (!tool.readOnly) continue;
      for (const input of [{}, { query: "word and so that" }, { path: "/memories" }]) look(at, await tool.answer(input, {}), `the tool ${tool.name}`);
    }
    await own.close();
  }
  for (const [at] of scopes.entries()) {
    const keep = await opened(at);
    const foreign = others.flatMap(({ text, nodes }, other) => (other === at ? [] : [{ nodes, words: finders[other](text) }]));
    for (const { nodes, words } of foreign) {
      for (const word of new Set([words[0], words.at(-1), words[words.length >> 1]].filter(Boolean))) {
        await keep.search(`"${word}"`);
        // An answer may repeat the question: it must find nothing.
        for (const tool of pack.memoryTools?.(keeps.get(keep)) ?? [])
          if (tool.name === "search_memory" && /"hits":\s*\[\s*\{/.test(said(await tool.answer({ query: `"${word}"` }, {})).replaceAll("\\", "")))
            throw new Error(`${tool.name} in the scope ${scopes[at]} finds ${word}`);
      }
      for (const id of nodes.slice(0, 5)) {
        if ((await keep.node(id)) !== null) throw new Error(`the scope ${scopes[at]} has the node ${id} of another`);
        await keep
          .transcript(id)
          .delete()
          .then(
            () => Promise.reject(new Error(`the scope ${scopes[at]} deletes ${id} of another`)),
            ({ code }) => code === "missing-transcript" || Promise.reject(new Error(code)),
          );
      }
    }
    await keep.close();
  }

  const exported = async (scope) => {
    const keep = await open(scope);
    const text = await keep.export().text();
    await keep.close();
    return text;
  };
  const listed = async () => {
    const names = [];
    for await (const name of pack.Threadkeep.scopes(storage)) names.push(name);
    return names.sort();
  };
  const named = scopes.filter((scope) => scope !== undefined);
  for (const scope of named) {
    const keep = await open(scope);
    await keep.thread("last").append([{ role: "user", content: "so that there is something to delete" }]);
    await keep.close();
  }
  for (const [done, scope] of named.entries()) {
    equal(await listed(), named.slice(done).sort(), "the scopes");
    const still = await open(scope);
    await still.search("word");
    const rest = scopes.filter((other) => other !== scope);
    const before = await Promise.all(rest.map(exported));
    await pack.Threadkeep.deleteScope(scope, storage);
    const left = await raw();
    const prefix = `@${scope.replace("/", "%2f").replace("ü", "%c3%bc")}/`;
    equal(
      left.filter((line) => line.startsWith(prefix)),
      [],
      `the keys of the scope ${scope} after its deletion`,
    );
    equal(finders[scopes.indexOf(scope)](left.join("\n")), [], `the words of the scope ${scope} after its deletion`);
    equal(await Promise.all(rest.map(exported)), before, "the other scopes after a deletion");
    equal([await still.threads(), await still.transcripts(), [...(await still.search("word"))]], [[], [], []], `the open scope ${scope} after its deletion`);
    await still.close();
    // A search stores that there is an index, even of nothing.
    await pack.Threadkeep.deleteScope(scope, storage);
  }
  equal(await listed(), [], "the scopes");
  return counts;
}

function equal(got, wanted, words) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${words}: ${a.slice(0, 300)}; it must be ${b.slice(0, 300)}`);
}
