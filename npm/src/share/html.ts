// The page of shared threads: one HTML file that asks no server for anything and runs no script but its own.

import { TEMPLATE } from "./template.js";

/** The page, in pieces, with lines of our own format, which come in pieces. */
export function pageOf(lines: readonly string[]): string[] {
  const [before = "", after = ""] = TEMPLATE.split("THREADS");
  // The lines stand in an element, which a text may not end. In JSON, `<` stands in strings only.
  return [before, ...lines.map((piece) => piece.replaceAll("<", "\\u003c")), after];
}
