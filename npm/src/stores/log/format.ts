// How a log is written: a line of JSON that says what a commit does, and behind it the values that it puts, each as it is and with
// a line's end behind it. In front of the line is its CRC-32; the line has those of the values.
//
//   1c291ca3 {"threadkeep":1,"store":"5f0c…","log":1,"n":0}
//   83dcefb7 {"n":1,"put":[["t/x",21,"8c736521"],["p/x/0001",34,"5f1b0b4a"]]}
//   {"title":"Sourdough"}
//   {"role":"user","content":"Why rye?"}
//
// Values that are no text are base64 in one line, where people read the file. The sums of lines begin with that of the store's
// id, so that a log inside a value (somebody may talk about one) is never taken for a part of this one.

import { base64, bytesOf } from "../../bytes.js";
import { hex } from "./crc.js";
import type { LogFolder } from "./folder.js";

/** The version of this way of writing. */
export const FORMAT = 1;

/** Where a value is: how many bytes it takes in the file, their sum, and whether they are base64, or were lost to damage. */
export type Put = [key: string, length: number, crc: string, how?: "base64" | "lost"];

/** The first line of a file. */
export interface Beginning {
  threadkeep: number;
  /** The store's id, 32 hex digits, the same in all its files. */
  store: string;
  /** The file's number. */
  log: number;
  /** The number of the last commit that its first part stands for. */
  n: number;
  /** The file from which the first part was copied; the file counts only when its {@link Whole} line is there. */
  replaces?: number;
}

/** A commit: deletes and ranges happen before puts. */
export interface Change {
  /** Commits are numbered without a gap. */
  n: number;
  delete?: string[];
  deleteRange?: [start: string, end: string][];
  put?: Put[];
}

/** A part of what a file that replaces another begins with. */
export interface Copied {
  /** Counts from 1. */
  part: number;
  put: Put[];
}

/** Everything of the file that this one replaces is in it. */
export interface Whole {
  /** How many parts there are. */
  whole: number;
  /** The number of the last commit before. */
  n: number;
}

/** A line behind the first. */
export type Line = Change | Copied | Whole;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
export const LINE_END = Uint8Array.of(10);
/** The sum, and a space. */
const SUM = 9;

/** A line with its sum and its end. `seed` is the sum of the store's id, or 0 for the first line of a file. */
export function writeLine(folder: LogFolder, line: Line | Beginning | object, seed: number): Uint8Array {
  const json = encoder.encode(JSON.stringify(line));
  const bytes = new Uint8Array(SUM + json.length + 1);
  bytes.set(encoder.encode(`${hex(folder.crc32(json, seed))} `));
  bytes.set(json, SUM);
  bytes[bytes.length - 1] = 10;
  return bytes;
}

/** Reads a line without its end: what it says, or `undefined` where that is no line of ours. */
export function readLine(folder: LogFolder, bytes: Uint8Array, seed: number): unknown {
  if (!looksLikeLine(bytes)) return undefined;
  const json = bytes.subarray(SUM);
  if (decoder.decode(bytes.subarray(0, SUM - 1)) !== hex(folder.crc32(json, seed))) return undefined;
  try {
    return JSON.parse(decoder.decode(json)) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether bytes begin as lines do, which few others do. */
export function looksLikeLine(bytes: Uint8Array): boolean {
  if (bytes.length < SUM + 2 || bytes[SUM - 1] !== 32 || bytes[SUM] !== 123) return false;
  for (let at = 0; at < SUM - 1; at += 1) {
    const byte = bytes[at]!;
    if (!((byte >= 48 && byte <= 57) || (byte >= 97 && byte <= 102))) return false;
  }
  return true;
}

/** The sum with which the sums of a store's lines begin. */
export function seedOf(folder: LogFolder, store: string): number {
  return folder.crc32(encoder.encode(store));
}

/** A value as it is written, and whether that is base64. */
export function encodeValue(folder: LogFolder, value: Uint8Array): { bytes: Uint8Array; base64: boolean } {
  if (!folder.readable || folder.isText(value)) return { bytes: value, base64: false };
  return { bytes: encoder.encode(base64(value)), base64: true };
}

/** A value that was written as base64. */
export function decodeBase64(bytes: Uint8Array): Uint8Array {
  return bytesOf(decoder.decode(bytes));
}
