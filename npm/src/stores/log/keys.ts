// The ordered keys of a store, in memory: a list of leaves of some hundred keys each, so that a change moves few of them however
// many there are. It knows nothing of values; what is kept beside a key is the caller's.

/** A leaf is split when it has more keys than this. */
const MOST = 256;

interface Leaf<E> {
  keys: string[];
  entries: E[];
  /** In which age it was made; one of an earlier age may be part of a snapshot, and is copied before it is changed. */
  age: number;
}

/** Some consecutive keys, never none, and what is kept beside them. */
export interface Part<E> {
  readonly keys: readonly string[];
  readonly entries: readonly E[];
}

/** Keys in ascending order, each with an entry. */
export class Keys<E> {
  #leaves: Leaf<E>[] = [];
  #size = 0;
  #age = 0;

  /** How many keys there are. */
  get size(): number {
    return this.#size;
  }

  /** The entry of a key. */
  get(key: string): E | undefined {
    const leaf = this.#leaves[this.#leafOf(key)];
    if (leaf === undefined) return undefined;
    const at = lowerBound(leaf.keys, key);
    return leaf.keys[at] === key ? leaf.entries[at] : undefined;
  }

  /** Puts a key; gives the entry that it had. */
  set(key: string, entry: E): E | undefined {
    const place = this.#leafOf(key);
    if (this.#leaves[place] === undefined) {
      this.#leaves.push({ keys: [key], entries: [entry], age: this.#age });
      this.#size = 1;
      return undefined;
    }
    const leaf = this.#own(place);
    const at = lowerBound(leaf.keys, key);
    if (leaf.keys[at] === key) {
      const before = leaf.entries[at];
      leaf.entries[at] = entry;
      return before;
    }
    this.#size += 1;
    const atTheEnd = place === this.#leaves.length - 1 && at === leaf.keys.length;
    if (atTheEnd && at >= MOST) {
      // Keys that come in order leave full leaves behind.
      this.#leaves.push({ keys: [key], entries: [entry], age: this.#age });
      return undefined;
    }
    leaf.keys.splice(at, 0, key);
    leaf.entries.splice(at, 0, entry);
    if (leaf.keys.length > MOST) {
      const half = leaf.keys.length >> 1;
      this.#leaves.splice(place + 1, 0, { keys: leaf.keys.splice(half), entries: leaf.entries.splice(half), age: this.#age });
    }
    return undefined;
  }

  /** Removes a key; gives the entry that it had. */
  delete(key: string): E | undefined {
    const place = this.#leafOf(key);
    const found = this.#leaves[place];
    if (found === undefined) return undefined;
    const at = lowerBound(found.keys, key);
    if (found.keys[at] !== key) return undefined;
    const before = found.entries[at];
    this.#cut(place, at, at + 1);
    return before;
  }

  /** Removes the keys from `start` (in) to `end` (out); `gone` hears of each entry, with its key. */
  deleteRange(start: string, end: string, gone: (entry: E, key: string) => void): void {
    if (start >= end) return;
    let place = this.#leafOf(start);
    while (place < this.#leaves.length) {
      const leaf = this.#leaves[place]!;
      const from = lowerBound(leaf.keys, start);
      const to = lowerBound(leaf.keys, end);
      for (let at = from; at < to; at += 1) gone(leaf.entries[at]!, leaf.keys[at]!);
      const last = to < leaf.keys.length;
      // A leaf that is gone altogether, or joined to its neighbour, is no longer in this place.
      const left = from < to ? this.#cut(place, from, to) : true;
      if (last) return;
      if (left) place += 1;
    }
  }

  /** The keys from `start` (in) to `end` (out) in order, or from the greatest down; at most `limit`. */
  range(start: string, end: string, limit: number, reverse: boolean): [key: string, entry: E][] {
    const found: [string, E][] = [];
    if (start >= end || this.#leaves.length === 0) return found;
    if (reverse) {
      for (let place = this.#leafOf(end); place >= 0; place -= 1) {
        const { keys, entries } = this.#leaves[place]!;
        for (let at = lowerBound(keys, end) - 1; at >= 0; at -= 1) {
          if (found.length >= limit || keys[at]! < start) return found;
          found.push([keys[at]!, entries[at]!]);
        }
      }
      return found;
    }
    for (let place = this.#leafOf(start); place < this.#leaves.length; place += 1) {
      const { keys, entries } = this.#leaves[place]!;
      for (let at = lowerBound(keys, start); at < keys.length; at += 1) {
        if (found.length >= limit || keys[at]! >= end) return found;
        found.push([keys[at]!, entries[at]!]);
      }
    }
    return found;
  }

  /** All keys as they are now, in parts; later changes do not show in it. */
  snapshot(): readonly Part<E>[] {
    this.#age += 1;
    return this.#leaves.slice();
  }

  /** Calls `look` with every entry and its key, in order. */
  each(look: (entry: E, key: string) => void): void {
    for (const { keys, entries } of this.#leaves) for (let at = 0; at < keys.length; at += 1) look(entries[at]!, keys[at]!);
  }

  /** Which leaf has a key, or would take it. */
  #leafOf(key: string): number {
    let low = 0;
    let high = this.#leaves.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#leaves[middle]!.keys[0]! <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** A leaf that may be changed. */
  #own(place: number): Leaf<E> {
    const leaf = this.#leaves[place]!;
    if (leaf.age === this.#age) return leaf;
    const own = { keys: leaf.keys.slice(), entries: leaf.entries.slice(), age: this.#age };
    this.#leaves[place] = own;
    return own;
  }

  /** Removes keys of a leaf; says whether there is still a leaf in this place that was not looked at anew. */
  #cut(place: number, from: number, to: number): boolean {
    this.#size -= to - from;
    const { length } = this.#leaves[place]!.keys;
    if (to - from === length) {
      this.#leaves.splice(place, 1);
      return false;
    }
    const leaf = this.#own(place);
    leaf.keys.splice(from, to - from);
    leaf.entries.splice(from, to - from);
    const before = this.#leaves[place - 1];
    if (before === undefined || leaf.keys.length > MOST / 8 || before.keys.length > MOST / 2) return true;
    // So that many small deletions do not leave many small leaves.
    const owned = this.#own(place - 1);
    owned.keys.push(...leaf.keys);
    owned.entries.push(...leaf.entries);
    this.#leaves.splice(place, 1);
    return false;
  }
}

/** The first place whose key is not below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
