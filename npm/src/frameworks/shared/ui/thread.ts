// Reads the UI messages of a chain by folding its nodes; how they lie there is said in `types.ts`.

import { isObject } from "../../../check.js";
import type { NodeInfo } from "../../../lost.js";
import { lift } from "./lift.js";
import { FIELD, type Entry, type Op, type Part, type Ride, type Source, type Ui } from "./types.js";

/** The UI messages of a chain, grown node by node. */
export class Thread {
  entries: Entry[] = [];
  nodes: NodeInfo[] = [];
  /** For each node the entries that it changed or made, as they were before. */
  #before: Map<number, Entry | undefined>[] = [];

  constructor(chain: readonly NodeInfo[] = []) {
    for (const node of chain) this.push(node);
  }

  /** The thread of the first `count` nodes, by taking back what the others said: nothing is read again. */
  upTo(count: number): Thread {
    const made = new Thread();
    made.nodes = this.nodes.slice(0, count);
    made.#before = this.#before.slice(0, count);
    made.entries = [...this.entries];
    for (const before of this.#before.slice(count).reverse())
      for (const [at, entry] of [...before].reverse()) {
        if (entry === undefined) made.entries.length = at;
        else made.entries[at] = entry;
      }
    return made;
  }

  /** Goes on with the next node of the chain. */
  push(node: NodeInfo): void {
    const place = this.nodes.push(node) - 1;
    this.#before.push(new Map());
    node.messages.forEach((message, index) => {
      const fields = message as unknown as Record<string, unknown>;
      const ride = fields[FIELD] as Ride | undefined;
      if (!isObject(ride) || !Array.isArray(ride.ops)) {
        const last = this.#own(this.entries.length - 1);
        if (last !== undefined) last.ui = { ...last.ui, parts: [...last.ui.parts] };
        if (lift(this.entries, node, index, place)) this.#made();
        return;
      }
      for (const op of ride.ops) this.#apply(op, fields, place, index);
      const last = this.#own(this.entries.length - 1);
      if (last === undefined) return;
      if (typeof ride.ended === "string") last.ended = ride.ended;
      else if (last.end === place) delete last.ended;
    });
  }

  /** An entry as the node that is read may change it: other threads have it as it was. */
  #own(at: number): Entry | undefined {
    const entry = this.entries[at];
    const before = this.#before.at(-1);
    if (entry === undefined || before?.has(at) === true) return entry;
    before?.set(at, entry);
    return (this.entries[at] = { ...entry });
  }

  /** The newest entry is the node's. */
  #made(): void {
    this.#before.at(-1)?.set(this.entries.length - 1, undefined);
  }

  #apply(op: Op, message: Record<string, unknown>, place: number, index: number): void {
    if (op.new !== undefined) {
      const ui = { ...op.new, parts: [] } as unknown as Ui;
      this.entries.push({ ui, start: place, end: place, inside: index > 0, foreign: false, ...(ui.id === "" ? { nameless: true } : {}) });
      this.#made();
    }
    const to = op.to ?? this.entries.length - 1;
    const entry = this.#own(to);
    if (entry === undefined) return;
    const { ui } = entry;
    if (op.head !== undefined) entry.ui = { ...op.head, parts: ui.parts } as unknown as Ui;
    if (op.at !== undefined) {
      const part: Part = { ...(ui.parts[op.at] as Part | undefined), ...op.set } as Part;
      for (const name of op.unset ?? []) delete part[name];
      for (const [name, source] of Object.entries(op.take ?? {})) part[name] = taken(message, source);
      if (op.add !== undefined) part["text"] = `${String(part["text"] ?? "")}${String(typeof op.add === "string" ? op.add : taken(message, op.add))}`;
      // Who has the message as it was keeps it.
      const parts = [...ui.parts];
      parts[op.at] = part;
      entry.ui = { ...entry.ui, parts };
    }
    // What is said of an older message later on belongs to the node that says it.
    if (to === this.entries.length - 1) entry.end = place;
  }
}

function taken(message: Record<string, unknown>, [what, at = 0]: Source): unknown {
  const { content } = message;
  switch (what) {
    case "text":
    case "url": {
      if (!Array.isArray(content)) return content;
      const found = content.filter((part) => isObject(part) && (part["type"] === "text") === (what === "text"))[at] as
        | Record<string, Record<string, unknown>>
        | undefined;
      if (what === "text") return found?.["text"];
      return found?.["image_url"]?.["url"] ?? found?.["file"]?.["file_data"];
    }
    case "reasoning":
      return message["reasoning"];
    case "input": {
      const call = (message["tool_calls"] as { function: { arguments: string } }[] | undefined)?.[at];
      return call === undefined ? undefined : (JSON.parse(call.function.arguments) as unknown);
    }
    case "result":
      return content;
    default:
      return JSON.parse(String(content)) as unknown;
  }
}
