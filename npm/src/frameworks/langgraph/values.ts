// The values of a graph's channels, beside its checkpoints. A value is stored when its channel changed; checkpoints that carry it on refer to it.
// A list that only grows, as `messages` does, is stored in pieces: a new version stores what is new and refers to the pieces before.
// Pieces are joined when they are not larger than what is written anyway, so there are about log n of them, and a list that grew
// to n elements has cost about n log n bytes rather than n².

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ThreadkeepError } from "../../errors.js";
import type { Records } from "../../records.js";
import { recordKey } from "../../record-keys.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { frame, unframe } from "./frame.js";

/** Where a channel's value lies: one record, or the first so many elements of several. */
export type Ref = { v: number | string; at: string } | { v: number | string; list: [token: string, count: number][] };

/** What has to be written so that a reference can be followed. */
export interface Written {
  ref: Ref;
  puts: StoreRecord[];
  /** Records that it refers to, beside those. */
  needs: string[];
}

/** The channel of a thread that a value belongs to. */
export interface Place {
  thread: string;
  ns: string;
  channel: string;
}

/** A serialised value: its type, and its bytes. */
export type Typed = [type: string, bytes: Uint8Array];

/** How many lists, and how many of their bytes, are remembered, so that growing one reads nothing. */
const LISTS = 32;
const LIST_BYTES = 16 << 20;

/** The values of channels in a keep's records. */
export class ChannelValues {
  readonly #records: Records;
  readonly #serde: () => SerializerProtocol;
  /** The newest list of each channel that was written here, as bytes; newest last. */
  readonly #lists = new Map<string, { list: string; elements: Typed[]; size: number }>();

  constructor(records: Records, serde: () => SerializerProtocol) {
    this.#records = records;
    this.#serde = serde;
  }

  /** What to write for a value under the name `token`, given what the channel held before. */
  async write(place: Place, token: string, version: number | string, value: unknown, before: Ref | undefined): Promise<Written> {
    const elements = isPlainList(value) ? await Promise.all(value.map((element) => this.#dump(element))) : undefined;
    // A function in a list has no bytes of its own; within a list, JSON has a word for it.
    if (elements === undefined || elements.some(([, bytes]) => bytes.length === 0)) {
      const [type, bytes] = await this.#dump(value);
      return { ref: { v: version, at: token }, puts: [[keyOf(place, token), frame({ type }, [bytes])]], needs: [] };
    }
    const known = before !== undefined && "list" in before ? await this.#elements(place, before.list) : undefined;
    let shared = 0;
    while (known !== undefined && shared < elements.length && shared < known.length && same(elements[shared] as Typed, known[shared] as Typed)) shared += 1;
    const list = firstOf(before !== undefined && "list" in before ? before.list : [], shared);
    let size = sizeOf(elements, shared, elements.length);
    for (let last = list.at(-1); size > 0 && last !== undefined; last = list.at(-1)) {
      const joined = sizeOf(elements, shared - last[1], shared);
      if (joined > size) break;
      list.pop();
      shared -= last[1];
      size += joined;
    }
    const needs = list.map(([piece]) => keyOf(place, piece));
    const puts: StoreRecord[] = [];
    if (shared < elements.length) {
      list.push([token, elements.length - shared]);
      puts.push([keyOf(place, token), frameList(elements.slice(shared))]);
    }
    this.#remember(place, list, elements);
    return { ref: { v: version, list }, puts, needs };
  }

  /** The value that a reference leads to; `undefined` where a record of it is gone. */
  async read(place: Place, ref: Ref): Promise<{ value: unknown } | undefined> {
    if ("list" in ref) {
      const elements = await this.#stored(place, ref.list);
      if (elements === undefined) return undefined;
      return { value: await Promise.all(elements.map((element) => this.load(element))) };
    }
    const key = keyOf(place, ref.at);
    const bytes = await this.#records.get(key);
    if (bytes === undefined) return undefined;
    const { header, parts } = unframe<{ type: string }>(key, bytes);
    return { value: await this.load([header.type, parts[0] as Uint8Array]) };
  }

  /** Whether a reference leads to this very value, byte for byte. */
  async holds(place: Place, ref: Ref, value: unknown): Promise<boolean> {
    if ("list" in ref) {
      const stored = isPlainList(value) && (await this.#stored(place, ref.list));
      if (stored === false || stored === undefined || stored.length !== (value as unknown[]).length) return false;
      const elements = await Promise.all((value as unknown[]).map((element) => this.#dump(element)));
      return elements.every((element, at) => same(element, stored[at] as Typed));
    }
    const key = keyOf(place, ref.at);
    const bytes = await this.#records.get(key);
    if (bytes === undefined) return false;
    const { header, parts } = unframe<{ type: string }>(key, bytes);
    return same(await this.#dump(value), [header.type, parts[0] as Uint8Array]);
  }

  /** The records that a reference leads to. */
  needs(place: Place, ref: Ref): string[] {
    return "list" in ref ? ref.list.map(([piece]) => keyOf(place, piece)) : [keyOf(place, ref.at)];
  }

  /** A value of its bytes. */
  async load([type, bytes]: Typed): Promise<unknown> {
    return this.#serde().loadsTyped(type, bytes);
  }

  /** Forgets which lists were written. */
  forget(): void {
    this.#lists.clear();
  }

  async #dump(value: unknown): Promise<Typed> {
    return this.#serde().dumpsTyped(value);
  }

  /** The elements of a list that was written here or lies in the storage; `undefined` where a piece is gone. */
  async #elements(place: Place, list: [string, number][]): Promise<Typed[] | undefined> {
    const known = this.#lists.get(recordKey(place.thread, place.ns, place.channel));
    return known?.list === JSON.stringify(list) ? known.elements : this.#stored(place, list);
  }

  async #stored(place: Place, list: [string, number][]): Promise<Typed[] | undefined> {
    const pieces = await Promise.all(list.map(([piece]) => this.#records.get(keyOf(place, piece))));
    const elements: Typed[] = [];
    for (const [at, [piece, count]] of list.entries()) {
      const bytes = pieces[at];
      if (bytes === undefined) return undefined;
      const key = keyOf(place, piece);
      const { header, parts } = unframe<{ types: string | string[] }>(key, bytes);
      if (parts.length < count) throw new ThreadkeepError("corrupt", `the record ${key} holds ${parts.length} elements of ${count}`, { key });
      for (let index = 0; index < count; index += 1)
        elements.push([typeof header.types === "string" ? header.types : (header.types[index] as string), parts[index] as Uint8Array]);
    }
    return elements;
  }

  #remember(place: Place, list: [string, number][], elements: Typed[]): void {
    const key = recordKey(place.thread, place.ns, place.channel);
    this.#lists.delete(key);
    this.#lists.set(key, { list: JSON.stringify(list), elements, size: sizeOf(elements, 0, elements.length) });
    let bytes = 0;
    for (const { size } of this.#lists.values()) bytes += size;
    for (const [oldest, { size }] of this.#lists) {
      if (this.#lists.size <= LISTS && bytes <= LIST_BYTES) break;
      this.#lists.delete(oldest);
      bytes -= size;
    }
  }
}

/** The key of a value. */
function keyOf({ thread, ns, channel }: Place, token: string): string {
  return recordKey("b", thread, ns, channel, token);
}

/** A list without anything of its own beside its elements, and without holes. */
function isPlainList(value: unknown): value is unknown[] {
  return Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype && Object.keys(value).length === value.length;
}

function frameList(elements: readonly Typed[]): Uint8Array {
  const types = elements.map(([type]) => type);
  const one = types.every((type) => type === types[0]) ? types[0] : undefined;
  return frame(
    { types: one ?? types },
    elements.map(([, bytes]) => bytes),
  );
}

/** The pieces that hold the first `count` elements. */
function firstOf(list: readonly [string, number][], count: number): [string, number][] {
  const first: [string, number][] = [];
  let left = count;
  for (const [piece, held] of list) {
    if (left === 0) break;
    first.push([piece, Math.min(held, left)]);
    left -= Math.min(held, left);
  }
  return first;
}

function sizeOf(elements: readonly Typed[], start: number, end: number): number {
  let size = 0;
  for (let index = start; index < end; index += 1) size += (elements[index] as Typed)[1].length;
  return size;
}

function same([type, bytes]: Typed, [otherType, other]: Typed): boolean {
  if (type !== otherType || bytes.length !== other.length) return false;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] !== other[at]) return false;
  return true;
}
