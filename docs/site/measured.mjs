// The tables of `docs/measured.md`, from what `cargo xtask bench --keep` wrote.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const escaped = (text) => text.replace(/[|<>{}]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A table in Markdown for each file of `folder`. A file's first line says when and where, the others are rows. */
export function tables(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith(".tsv"));
  return names
    .sort()
    .map((name) => table(name.slice(0, -4), readFileSync(join(folder, name), "utf8")))
    .join("\n");
}

function table(name, text) {
  const [where, ...rows] = text.trim().split("\n");
  const cells = (row) => Array.from({ length: 4 }, (_, at) => escaped(row.split("\t")[at] ?? ""));
  const lines = rows.map((row) => `| ${cells(row).join(" | ")} |`);
  return `## ${name}\n\n${escaped(where)}\n\n| measure | value | target | verdict |\n|---|---:|---:|---|\n${lines.join("\n")}\n`;
}
