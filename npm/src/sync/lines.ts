// An exported transcript, read line by line: what it holds, and what of it another device may take in.

import { canonical, keyOf } from "./registers.js";

/** What the lines of a transcript say. */
export interface Said {
  /** The lines of the log. */
  log: string;
  /** Lines with requests. */
  beside: string;
  /** The ids of its nodes. */
  nodes: string[];
  /** The number of the entry by which nodes were deleted last; -1 for none. */
  removed: number;
  /** Registers that the log speaks for. */
  registers: Map<string, string>;
}

/** An entry of a log, as far as it matters here. */
interface Entry {
  seq: number;
  node?: { id: string; parent?: string | null };
  restored?: { id: string };
  extend?: { node: string };
  seal?: { node: string };
  alias?: { id: string; node: string };
  head?: unknown;
  strategy?: unknown;
  info?: { title?: string; leaf?: string };
  checkpoint?: { anchor: string };
  removed?: unknown;
  pin?: string;
  unpin?: string;
}

const isLog = (line: string): boolean => line.startsWith('{"seq":');
const isBeside = (line: string): boolean => line.startsWith('{"request');

/** Reads the export of one transcript. */
export function read(transcript: string, text: string): Said {
  const [log, beside, nodes]: [string[], string[], string[]] = [[], [], []];
  const registers = new Map<string, string>();
  let removed = -1;
  for (const line of text.split("\n")) {
    if (isBeside(line)) beside.push(line, "\n");
    if (!isLog(line)) continue;
    log.push(line, "\n");
    const entry = JSON.parse(line) as Entry;
    if (entry.node) nodes.push(entry.node.id);
    if (entry.removed) removed = entry.seq;
    if (entry.info?.title !== undefined) registers.set(keyOf("title", transcript), canonical(entry.info.title));
    if (entry.pin !== undefined) registers.set(keyOf("pin", entry.pin), "true");
    if (entry.unpin !== undefined) registers.delete(keyOf("pin", entry.unpin));
  }
  return { log: log.join(""), beside: beside.join(""), nodes, removed, registers };
}

/**
 * What another device takes of a transcript, as a file of our own format: the nodes that are not deleted, and what belongs to them. What
 * registers decide is left to them. `undefined` where nothing is left.
 */
export function taken(transcript: string, log: string, beside: string, isGone: (node: string) => boolean): string | undefined {
  const kept: string[] = [];
  const here = new Set<string>();
  for (const line of log.split("\n")) {
    if (line === "") continue;
    const entry = JSON.parse(line) as Entry;
    if (entry.node) {
      const { id, parent } = entry.node;
      if (isGone(id) || (parent && !here.has(parent))) continue;
      here.add(id);
    } else {
      const { restored, extend, seal, alias, checkpoint, info } = entry;
      const of = restored?.id ?? extend?.node ?? seal?.node ?? alias?.node ?? checkpoint?.anchor ?? info?.leaf;
      if (of !== undefined && !here.has(of)) continue;
      if (entry.head || entry.strategy || entry.pin !== undefined || entry.unpin !== undefined) continue;
    }
    kept.push(line);
  }
  if (here.size === 0) return undefined;
  const id = JSON.stringify(transcript);
  return `{"transcript":${id}}\n${kept.join("\n")}\n{"end":${id},"entries":${kept.length}}\n${beside}`;
}
