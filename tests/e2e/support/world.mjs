// A plain model of what the page must keep: every message that it has acknowledged, and what it answers. Compared with the page's own
// export, which is read here as anybody could read it.
import assert from "node:assert/strict";

/** The nodes of an export by id: `{ id, transcript, parent, messages: [{ role, text }] }`. */
export function readExport(data) {
  const nodes = new Map();
  let transcript;
  for (const line of data.toString("utf8").split("\n").filter(Boolean)) {
    const entry = JSON.parse(line);
    if (entry.transcript !== undefined) transcript = entry.transcript;
    if (entry.node)
      nodes.set(entry.node.id, { id: entry.node.id, transcript, parent: entry.node.parent ?? null, messages: (entry.node.messages ?? []).map(plain) });
    if (entry.extend) nodes.get(entry.extend.node).messages.push(...entry.extend.messages.map(plain));
  }
  return nodes;
}

const plain = ({ role, content, kind }) => ({
  role,
  text: typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""),
  failed: kind?.type === "error",
});

/** The texts from the root to the end of a node, without instructions. */
export function chain(nodes, id) {
  const above = [];
  for (let at = nodes.get(id); at !== undefined; at = nodes.get(at.parent)) above.unshift(at);
  return above
    .flatMap(({ messages }) => messages)
    .filter(({ role }) => role !== "system")
    .map(({ text }) => text);
}

/** The ids of a node and of all that follows it. */
export function below(nodes, id) {
  const found = new Set([id]);
  for (const node of nodes.values()) if (found.has(node.parent)) found.add(node.id);
  return found;
}

/** What the page must hold. */
export class World {
  /** Text of a message → the texts of its chain up to it, both in. Each text is said once in a run. */
  #kept = new Map();
  /** Texts that may be there: an answer that was broken off, a message whose acknowledgement was not seen. */
  #possible = new Set();
  #gone = new Set();

  /** A message was acknowledged below these texts. */
  keep(above, text) {
    this.#kept.set(text, [...above, text]);
  }

  /** A text may be there, whole or in part. */
  allow(text) {
    this.#possible.add(text);
  }

  /** A node and what follows it are deleted. A question that was asked twice stays with its other answer. */
  remove(nodes, ids) {
    const left = new Set([...nodes.values()].filter(({ id }) => !ids.has(id)).flatMap(({ messages }) => messages.map(({ text }) => text)));
    for (const id of ids)
      for (const { text } of nodes.get(id).messages.filter(({ text }) => !left.has(text))) {
        this.#kept.delete(text);
        this.#gone.add(text);
      }
  }

  get size() {
    return this.#kept.size;
  }

  /** Holds an export against it. */
  check(nodes) {
    const chains = new Map();
    for (const node of nodes.values()) {
      const texts = chain(nodes, node.id);
      const own = node.messages.filter(({ role }) => role !== "system");
      own.forEach(({ text }, at) => {
        const list = chains.get(text) ?? chains.set(text, []).get(text);
        list.push(texts.slice(0, texts.length - own.length + at + 1));
      });
    }
    for (const [text, wanted] of this.#kept) {
      const found = chains.get(text);
      assert.ok(found !== undefined, `a message is lost: ${JSON.stringify(text)}`);
      assert.ok(
        found.some((one) => same(one, wanted)),
        `${JSON.stringify(text)} is somewhere else: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`,
      );
    }
    const known = [...this.#possible];
    for (const text of chains.keys()) {
      assert.ok(!this.#gone.has(text), `what was deleted is there again: ${JSON.stringify(text)}`);
      const expected = this.#kept.has(text) || text === "" || known.some((one) => one.startsWith(text));
      assert.ok(expected, `nobody said ${JSON.stringify(text)}`);
    }
  }
}

const same = (one, other) => one.length === other.length && one.every((text, at) => text === other[at]);
