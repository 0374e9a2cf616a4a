// A storage adapter as a user of the package would write it: a sorted map, shared by all handles of one name.
const places = new Map();

export class MapAdapter {
  constructor(name, asynchronous) {
    if (!places.has(name)) places.set(name, new Map());
    this.map = places.get(name);
    this.asynchronous = asynchronous;
  }
  answer(work) {
    if (!this.asynchronous) return work();
    return new Promise((resolve, reject) => {
      setTimeout(() => {
        try { resolve(work()); } catch (error) { reject(error); }
      }, 0);
    });
  }
  get(key) {
    return this.answer(() => this.map.get(key));
  }
  scan({ start, end, limit = Infinity, reverse }) {
    return this.answer(() => {
      const keys = [...this.map.keys()].filter((key) => start <= key && key < end).sort();
      if (reverse) keys.reverse();
      return keys.slice(0, limit).map((key) => [key, this.map.get(key)]);
    });
  }
  commit({ absent, present, deletes, deleteRanges, puts, durability }) {
    return this.answer(() => {
      if (durability !== "strict" && durability !== "relaxed") throw new TypeError("durability");
      const conflict = (key) => Object.assign(new Error(`conflict on ${key}`), { code: "conflict", key });
      for (const key of absent) if (this.map.has(key)) throw conflict(key);
      for (const key of present) if (!this.map.has(key)) throw conflict(key);
      for (const key of deletes) this.map.delete(key);
      for (const [start, end] of deleteRanges)
        for (const key of [...this.map.keys()]) if (start <= key && key < end) this.map.delete(key);
      for (const [key, value] of puts) this.map.set(key, value);
    });
  }
  close() {
    this.closed = (this.closed ?? 0) + 1;
    return this.answer(() => undefined);
  }
}

export function mapAdapter(name, asynchronous) {
  return new MapAdapter(name, asynchronous);
}

// An adapter whose methods are given as source text; what is not given works and finds nothing.
export function adapterOf(get, scan, commit, close) {
  const make = (source, otherwise) => (source === "" ? otherwise : new Function("argument", source));
  return {
    get: make(get, () => undefined),
    scan: make(scan, () => []),
    commit: make(commit, () => undefined),
    close: make(close, () => undefined),
  };
}

// Any value, from its source text.
export function evaluate(source) {
  return new Function(`return (${source});`)();
}
