// Numbers that look random and come again with the same seed: what a failing run printed can be run again.

/** A seed from the environment (THREADKEEP_SEED), or a new one. */
export function seed() {
  const given = Number(process.env.THREADKEEP_SEED);
  return Number.isSafeInteger(given) && given > 0 ? given : Math.floor(Math.random() * 0xffff_ffff) + 1;
}

/** A generator of numbers from 0 (in) to 1 (out): Mulberry32, which is enough for choosing moments and words. */
export function random(start) {
  let state = start >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    /** A whole number from `low` to `high`, both in. */
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    /** One of a list. */
    of: (list) => list[Math.floor(next() * list.length)],
  };
}

/** A whole number from the environment, or `otherwise`. */
export function count(name, otherwise) {
  const given = process.env[name];
  if (given === undefined || given === "") return otherwise;
  const number = Number(given);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${name} must be a whole number, not ${given}`);
  return number;
}
