// Values that were written or read lately, up to so many bytes. An append reads the end of its transcript, which the append before
// has just written.

/** About how many bytes a value takes beside its own; empty ones are values, too. */
const BESIDE = 64;

/** Values by what they belong to; those that were not asked for longest go first. */
export class Cache<K extends object> {
  readonly #values = new Map<K, Uint8Array>();
  #bytes = 0;

  constructor(readonly most: number) {}

  get(owner: K): Uint8Array | undefined {
    const value = this.#values.get(owner);
    if (value !== undefined) {
      this.#values.delete(owner);
      this.#values.set(owner, value);
    }
    return value;
  }

  /** Takes a value, unless it is so large that it would drive many others out. */
  set(owner: K, value: Uint8Array): void {
    if (value.length + BESIDE > this.most / 8) return;
    this.delete(owner);
    this.#values.set(owner, value);
    this.#bytes += value.length + BESIDE;
    for (const old of this.#values.keys()) {
      if (this.#bytes <= this.most) break;
      this.delete(old);
    }
  }

  delete(owner: K): void {
    const value = this.#values.get(owner);
    if (value === undefined) return;
    this.#values.delete(owner);
    this.#bytes -= value.length + BESIDE;
  }
}
