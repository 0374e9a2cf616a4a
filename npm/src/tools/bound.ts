// How much a model is given at once: texts measured in tokens, cut where they are too long, and lists that end where the budget does.

import { countTokens } from "../prompts.js";
import type { Encoding } from "../generated/context.js";

/** A text that was cut. */
export interface Piece {
  /** What is shown of it. */
  text: string;
  /** Where it ends in the whole, as JavaScript counts characters. */
  to: number;
}

/**
 * A measure of answers. `estimate` weighs characters (see {@link estimated}), and rather counts too much than too little; a
 * vocabulary counts exactly, and is loaded when it is first used.
 */
export class Measure {
  /** The most tokens of one answer. */
  readonly most: number;
  readonly #encoding: Encoding;

  constructor(most: number, encoding: Encoding) {
    this.most = most;
    this.#encoding = encoding;
  }

  /** A measure of the same kind with another limit, never a greater one. */
  limited(most: number | undefined): Measure {
    return most === undefined || most >= this.most ? this : new Measure(most, this.#encoding);
  }

  /** The tokens of a text. */
  async tokens(text: string): Promise<number> {
    if (this.#encoding !== "estimate") return countTokens(text, this.#encoding);
    return estimated(text);
  }

  /** The tokens of a value as JSON text. */
  async json(value: unknown): Promise<number> {
    return this.tokens(JSON.stringify(value));
  }

  /**
   * As much of `text`, from the character `from` on, as fits `budget` tokens when it is written as JSON; at least one character, so
   * that who reads on gets on. It ends at a line or a word where one ends nearby.
   */
  async cut(text: string, from: number, budget: number): Promise<Piece> {
    // A token may stand for many characters; no more than these are looked at.
    let to = Math.min(text.length, from + Math.max(16, budget * 16));
    for (;;) {
      to = whole(text, from, to);
      const shown = text.slice(from, to);
      const tokens = await this.json(shown);
      if (tokens <= budget || to - from <= 2) break;
      to = from + Math.max(1, Math.floor((to - from) * Math.min(0.95, budget / tokens)));
    }
    if (to < text.length) to = whole(text, from, from + ending(text.slice(from, to)));
    return { text: text.slice(from, to), to };
  }
}

/** The first items of a list that fit `budget` tokens as JSON, at least one; and how many those are. */
export async function fitting<T>(items: readonly T[], measure: Measure, budget: number): Promise<T[]> {
  const fit: T[] = [];
  let left = budget;
  for (const item of items) {
    left -= (await measure.json(item)) + 1;
    if (left < 0 && fit.length > 0) break;
    fit.push(item);
  }
  return fit;
}

/** A run of letters and digits from this length on, with some digits in it, is no word but an id. */
const ID = 16;
const ID_DIGITS = 3;

/**
 * About how many tokens a text has: a quarter for each byte of UTF-8, as prose in any script has fewer; more for digits, signs and
 * ids, which vocabularies cut into small pieces.
 */
export function estimated(text: string): number {
  let quarters = 0;
  let run = 0;
  let digits = 0;
  const ended = (): void => {
    if (run >= ID && digits >= ID_DIGITS) quarters += (run - digits) * 1.4 + digits * 0.4;
    else if (digits > 0) quarters += run - digits;
    run = 0;
    digits = 0;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const digit = code > 0x2f && code < 0x3a;
    const letter = (code > 0x60 && code < 0x7b) || (code > 0x40 && code < 0x5b);
    if (digit || letter) {
      quarters += digit ? 2 : code < 0x5b ? 1.5 : 1;
      run += 1;
      digits += digit ? 1 : 0;
      continue;
    }
    ended();
    if (code < 0x80) quarters += code === 0x20 ? 1 : 2;
    else quarters += code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 4 : 3;
  }
  ended();
  return Math.ceil(quarters / 4);
}

/** The bytes of a text in UTF-8. */
export function bytes(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    // Halves of a pair have two bytes each.
    count += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2;
  }
  return count;
}

/** A place at or after `to` (before it, if there is room) that parts no pair of halves. */
function whole(text: string, from: number, to: number): number {
  const after = text.charCodeAt(to);
  if (to <= 0 || to >= text.length || after < 0xdc00 || after > 0xdfff) return to;
  return to - 1 > from ? to - 1 : to + 1;
}

/** Where a text had better end: behind its last line or word, unless that is far from its end. */
function ending(text: string): number {
  const line = text.lastIndexOf("\n") + 1;
  if (line > text.length * 0.8) return line;
  const word = text.lastIndexOf(" ") + 1;
  return word > text.length * 0.9 ? word : text.length;
}
