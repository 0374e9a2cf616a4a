/// <reference types="node" />
// What the command line prints: results on stdout, everything else on stderr, colours only where somebody looks.

import process from "node:process";
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** A text in a colour, where stdout is a terminal and nobody asked for none (`NO_COLOR`). */
export function dye(style: Style, text: string): string {
  return process.stdout.isTTY && !process.env["NO_COLOR"] ? styleText(style, text) : text;
}

/** Prints a result. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Says something to people. */
export function say(text: string): void {
  clear();
  process.stderr.write(`${text}\n`);
}

/** Shows how far something is, on a terminal only; the next words take its place. */
export function progress(done: number, of: number): void {
  if (!process.stderr.isTTY || of === 0) return;
  const share = Math.min(1, done / of);
  const width = 30;
  const bar = "█".repeat(Math.round(share * width)).padEnd(width, "·");
  process.stderr.write(`\r${bar} ${Math.round(share * 100)} %`);
}

function clear(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
}

/** Rows in columns: numbers to the right, all else to the left. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)));
  const widths = texts.reduce<number[]>((most, row) => row.map((cell, at) => Math.max(most[at] ?? 0, cell.length)), []);
  const joined = (row: string[], at: number): string =>
    row.map((cell, column) => (typeof rows[at]?.[column] === "number" ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join("  ");
  return texts.map((row, at) => joined(row, at).trimEnd()).join("\n");
}

/** A number with its noun: `1 thread`, `1,204 threads`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A day and time in the reader's zone: `2026-07-24 09:05`. */
export function when(time: number | null): string {
  if (time === null) return "";
  const date = new Date(time);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The first characters of a text on one line. */
export function line(text: string, most: number): string {
  return beginning(text.replace(/\s+/g, " ").trim(), most);
}

/** The first characters of a text, as it is. */
export function beginning(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
