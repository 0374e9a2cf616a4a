// The commands of Anthropic's memory tool (`memory_20250818`), with the answers that its documentation prescribes: Claude knows these
// words. What the files are, and how they are kept, is in files.ts.

import { wellFormed } from "../check.js";
import { FileFailure, memoryPath, below, ROOT } from "./path.js";
import type { Measure } from "./bound.js";
import type { MemoryFile, MemoryFiles } from "./files.js";
import { short } from "./render.js";
import { shown } from "./schema.js";

/** A command as a model writes it. */
export interface MemoryCommand {
  command: "view" | "create" | "str_replace" | "insert" | "delete" | "rename";
  path?: string;
  view_range?: number[] | null;
  file_text?: string;
  old_str?: string;
  new_str?: string;
  insert_line?: number;
  insert_text?: string;
  old_path?: string;
  new_path?: string;
}

type Given = Readonly<Record<string, unknown>>;

const MOST_LINES = 999_999;
const LINES_NAMED = 20;
/** How many lines of a snippet stand around what was changed. */
const AROUND = 2;
const SNIPPET_LINES = 40;
const SNIPPET_LINE = 500;

/**
 * Carries a command out. What is wrong with it is thrown as a {@link FileFailure} in the documented words.
 *
 * @internal
 */
export async function run(files: MemoryFiles, measure: Measure, given: Given): Promise<string> {
  switch (given["command"]) {
    case "view":
      return view(files, measure, given);
    case "create":
      return create(files, given);
    case "str_replace":
      return replace(files, given);
    case "insert":
      return insert(files, given);
    case "delete":
      return remove(files, given);
    case "rename":
      return rename(files, given);
    default:
      throw new FileFailure(`Error: Unknown command ${shown(given["command"])}. There are: view, create, str_replace, insert, delete, rename`);
  }
}

async function view(files: MemoryFiles, measure: Measure, given: Given): Promise<string> {
  const path = memoryPath(given["path"]);
  const text = await files.read(path);
  if (text !== undefined) return viewFile(path, text, given["view_range"], measure);
  const all = await files.list();
  const inside = all.filter((file) => below(file.path, path));
  if (inside.length === 0 && path !== ROOT) throw new FileFailure(`The path ${path} does not exist. Please provide a valid path.`);
  return viewFolder(path, inside, measure);
}

async function viewFile(path: string, text: string, range: unknown, measure: Measure): Promise<string> {
  const lines = text.split("\n");
  if (lines.length > MOST_LINES) throw new FileFailure(`File ${path} exceeds maximum line limit of 999,999 lines.`);
  const [first, last] = viewRange(range, lines.length);
  const header = `Here's the content of ${path} with line numbers:`;
  const wanted = lines.slice(first - 1, last).map((line, at) => numbered(line, first + at));
  const whole = wanted.join("\n");
  // Lines of a long file are mostly short, and counting a megabyte takes its time: most files are decided by their size.
  if (whole.length <= measure.most || (await measure.tokens(whole)) <= measure.most) return `${header}\n${whole}`;
  const out: string[] = [];
  let left = measure.most - 60;
  for (const line of wanted) {
    left -= (await measure.tokens(line)) + 1;
    if (left < 0) break;
    out.push(line);
  }
  if (out.length === 0) {
    const { text: part } = await measure.cut(wanted[0] ?? "", 0, measure.most - 60);
    return `${header}\n${part}\n[Line ${first} has ${lines[first - 1]?.length} characters, this is its beginning. ${rest(first + 1, last)}]`;
  }
  return `${header}\n${out.join("\n")}\n[${rest(first + out.length, last)}]`;
}

function rest(from: number, last: number): string {
  return from > last ? "That was the last line." : `Lines ${from} to ${last} are not shown. View them with view_range [${from}, ${last}].`;
}

function viewRange(range: unknown, lines: number): [number, number] {
  if (range === undefined || range === null || (Array.isArray(range) && range.length === 0)) return [1, lines];
  const wrong = (why: string): FileFailure => new FileFailure(`Error: Invalid \`view_range\` parameter: ${shown(range)}. ${why}`);
  if (!Array.isArray(range) || range.length !== 2 || !range.every(Number.isInteger))
    throw wrong("It should be two whole numbers, the first line and the last one, or -1 for the end of the file");
  const [from, to] = range as [number, number];
  const first = Math.max(1, from);
  const last = to === -1 ? lines : Math.min(to, lines);
  if (first > lines) throw wrong(`Its first line should be within the range of lines of the file: [1, ${lines}]`);
  if (last < first) throw wrong("Its last line should not come before its first one");
  return [first, last];
}

async function viewFolder(path: string, inside: readonly MemoryFile[], measure: Measure): Promise<string> {
  const header = `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`;
  const sizes = new Map<string, number>();
  let total = 0;
  for (const file of inside) {
    total += file.bytes;
    const names = file.path.slice(path.length + 1).split("/");
    for (let deep = 1; deep <= Math.min(2, names.length); deep += 1) {
      const name = names[deep - 1];
      if (name === undefined || name.startsWith(".") || name === "node_modules") break;
      const item = names.slice(0, deep).join("/") + (deep < names.length ? "/" : "");
      sizes.set(item, (sizes.get(item) ?? 0) + file.bytes);
    }
  }
  const items = [...sizes].sort(([a], [b]) => (order(a) < order(b) ? -1 : 1));
  const lines = [`${size(total)}\t${path}`];
  let left = measure.most - 60 - (await measure.tokens(header));
  for (const [item, bytes] of items) {
    const line = `${size(bytes)}\t${path}/${item}`;
    left -= (await measure.tokens(line)) + 1;
    if (left < 0) {
      lines.push(`[${items.length - lines.length + 1} more are not shown. View a directory to see what is in it.]`);
      break;
    }
    lines.push(line);
  }
  return [header, ...lines].join("\n");
}

/** Names compare part by part, so that a directory's items stand below it. */
function order(item: string): string {
  return item.replaceAll("/", "\0");
}

function size(bytes: number): string {
  const units = ["B", "K", "M", "G"];
  const unit = bytes === 0 ? 0 : Math.min(3, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** unit;
  return (Number.isInteger(value) ? String(value) : value.toFixed(1)) + units[unit];
}

async function create(files: MemoryFiles, given: Given): Promise<string> {
  const path = memoryPath(given["path"]);
  await files.create(path, textOf(given, "file_text"));
  return `File created successfully at: ${path}`;
}

async function replace(files: MemoryFiles, given: Given): Promise<string> {
  const path = memoryPath(given["path"]);
  const old = textOf(given, "old_str");
  const put = given["new_str"] === undefined || given["new_str"] === null ? "" : textOf(given, "new_str");
  if (old === "") throw new FileFailure("Error: old_str must not be empty. To add text, use insert");
  let at = 0;
  const text = await files.edit(path, `Error: The path ${path} does not exist. Please provide a valid path.`, (text) => {
    const places = occurrences(text, old);
    if (places.length === 0) throw new FileFailure(`No replacement was performed, old_str \`${quoted(old)}\` did not appear verbatim in ${path}.`);
    if (places.length > 1) {
      const lines = places.slice(0, LINES_NAMED).map((place) => lineAt(text, place));
      const more = places.length > LINES_NAMED ? ", …" : "";
      throw new FileFailure(
        `No replacement was performed. Multiple occurrences of old_str \`${quoted(old)}\` in lines: ${[...new Set(lines)].join(", ")}${more}. Please ensure it is unique`,
      );
    }
    at = places[0] ?? 0;
    return text.slice(0, at) + put + text.slice(at + old.length);
  });
  const lines = text.split("\n");
  const from = Math.max(1, lineAt(text, at) - AROUND);
  const to = Math.min(lines.length, lineAt(text, at + put.length) + AROUND);
  const snippet = lines.slice(from - 1, Math.min(to, from - 1 + SNIPPET_LINES)).map((line, index) => numbered(quoted(line), from + index));
  return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet.join("\n")}`;
}

async function insert(files: MemoryFiles, given: Given): Promise<string> {
  const path = memoryPath(given["path"]);
  const put = textOf(given, "insert_text").replace(/\n$/, "");
  const line = given["insert_line"];
  await files.edit(path, `Error: The path ${path} does not exist`, (text) => {
    const lines = text.split("\n");
    if (typeof line !== "number" || !Number.isInteger(line) || line < 0 || line > lines.length)
      throw new FileFailure(
        `Error: Invalid \`insert_line\` parameter: ${typeof line === "number" ? line : shown(line)}. It should be within the range of lines of the file: [0, ${lines.length}]`,
      );
    lines.splice(line, 0, put);
    return lines.join("\n");
  });
  return `The file ${path} has been edited.`;
}

async function remove(files: MemoryFiles, given: Given): Promise<string> {
  const path = memoryPath(given["path"]);
  if (path === ROOT) throw new FileFailure(`Error: Cannot delete the ${ROOT} directory itself`);
  await files.delete(path);
  return `Successfully deleted ${path}`;
}

async function rename(files: MemoryFiles, given: Given): Promise<string> {
  const from = memoryPath(given["old_path"], "old_path");
  const to = memoryPath(given["new_path"], "new_path");
  if (from === ROOT) throw new FileFailure(`Error: Cannot rename the ${ROOT} directory itself`);
  await files.rename(from, to);
  return `Successfully renamed ${from} to ${to}`;
}

function textOf(given: Given, name: string): string {
  const text = given[name];
  if (typeof text !== "string") throw new FileFailure(`Error: ${name} must be a string, it is ${shown(text)}`);
  return wellFormed(text);
}

/** Where `part` stands in `text`, places that overlap too; no more than are told. */
function occurrences(text: string, part: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1 && places.length <= LINES_NAMED; at = text.indexOf(part, at + 1)) places.push(at);
  return places;
}

/** What a model wrote, in an answer to it: not a whole file again. */
function quoted(text: string): string {
  return short(text, SNIPPET_LINE);
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function numbered(line: string, number: number): string {
  return `${String(number).padStart(6)}\t${line}`;
}
