// The texts that tokenizers are measured on, by kind: each call of a kind's function gives messages that were not there
// before. English and chats come from real conversations where the folder `shared/data` is beside the checkout; otherwise
// from this checkout's own prose and sources. Code and JSON are this checkout's; the rest is put together from words. The
// same every time, since all choices come from one seeded generator.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";

import * as words from "./words.mjs";

// A small seeded generator (xorshift).
export function generator(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const pick = (random, list) => list[Math.floor(random() * list.length)];
// The first words far more often than the last, as in speech.
const draw = (random, list) => list[Math.floor(random() ** 2 * list.length)];

function files(folder, endings, found = []) {
  for (const name of readdirSync(folder).sort()) {
    if (["node_modules", "target", "dist", ".git"].includes(name)) continue;
    const path = join(folder, name);
    if (statSync(path).isDirectory()) files(path, endings, found);
    else if (endings.includes(extname(name))) found.push(path);
  }
  return found;
}

const read = (paths) => paths.map((path) => readFileSync(path, "utf8")).join("\n");

// All strings in a JSON value that are long enough to be said.
function strings(value, found) {
  if (typeof value === "string") {
    if (value.length > 80) found.push(value);
  } else if (value && typeof value === "object") {
    Object.values(value).forEach((inner) => strings(inner, found));
  }
  return found;
}

function conversations(folder) {
  const found = [];
  for (const path of files(folder, [".json", ".jsonl"])) {
    const lines = path.endsWith(".jsonl") ? readFileSync(path, "utf8").split("\n") : [readFileSync(path, "utf8")];
    for (const line of lines) {
      try {
        strings(JSON.parse(line), found);
      } catch {
        // Damaged lines are part of real archives.
      }
    }
  }
  return found.join("\n");
}

// Hands out consecutive stretches of a text, from the start again when it ends, but shifted, so that none is seen twice.
function stretches(text) {
  let at = 0;
  return (length) => {
    if (at + length > text.length) at = (at + length) % 997;
    const stretch = text.slice(at, at + length);
    at += length;
    return stretch;
  };
}

function sentences(random, lists, space, stops) {
  return (length) => {
    let text = "";
    while (text.length < length) {
      const list = pick(random, lists);
      const count = 5 + Math.floor(random() * 14);
      for (let word = 0; word < count; word++) {
        text += (word > 0 ? space : "") + draw(random, list);
        if (random() < 0.08) text += pick(random, stops.slice(1));
      }
      text += stops[0] + (random() < 0.15 ? "\n\n" : space);
    }
    return text.slice(0, length);
  };
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// `of(kind, size, length)` gives messages of that kind, `size` characters in all.
export function texts(root, seed) {
  const random = generator(seed);
  const data = join(root, "..", "shared", "data");
  const real = [data, join(root, "..", "..", "shared", "data")].find((folder) => existsSync(folder));
  const sources = [join(root, "crates"), join(root, "web"), join(root, "xtask"), join(root, "npm")];
  const code = sources.flatMap((folder) => files(folder, [".rs", ".ts", ".mjs", ".css"]));
  const prose = [...files(root, [".md"])];
  const json = files(root, [".json", ".jsonl"]);
  const comments = read(code)
    .split("\n")
    .filter((line) => /^\s*\/\//u.test(line))
    .map((line) => line.replace(/^\s*\/\/[/!]? ?/u, ""));
  const english = real ? ["oasst-trees", "beam"].map((name) => conversations(join(real, name))).join("\n") : `${read(prose)}\n${comments.join("\n")}`;
  const spoken = real ? conversations(join(real, "claude-code-sessions")) : `${read(prose)}\n${read(code)}`;

  const asian = sentences(random, [words.chinese, words.chinese, words.japanese], "", ["。", ",", "、"]);
  const korean = sentences(random, [words.korean], " ", [".", ","]);
  const foreign = [
    ...[words.russian, words.german, words.french, words.arabic, words.hindi].map((list) => sentences(random, [list], " ", [".", ","])),
    sentences(random, [words.thai], "", [" ", " "]),
    korean,
  ];
  const en = stretches(english);
  const lines = stretches(read(code));
  const said = stretches(spoken);
  const made = {
    en,
    code: lines,
    json: stretches(read(json)),
    cjk: (length) => (random() < 0.85 ? asian(length) : korean(length)),
    i18n: (length) => pick(random, foreign)(length),
    b64: (length) => Array.from({ length }, (_, at) => (at % 77 === 76 ? "\n" : pick(random, BASE64))).join(""),
    chat: (length) => {
      const kind = random();
      if (kind < 0.5) return said(length);
      if (kind < 0.7) return `${en(length >> 1)} ${draw(random, words.emoji)}\n\`\`\`\n${lines(length >> 1)}\n\`\`\``;
      if (kind < 0.85) return `${asian(length >> 1)}${draw(random, words.emoji)} ${en(length >> 1)}`;
      return pick(random, foreign)(length);
    },
  };
  return {
    kinds: Object.keys(made),
    real: Boolean(real),
    of(kind, size, length) {
      const messages = [];
      for (let sum = 0; sum < size; sum += length) messages.push(made[kind](length).toWellFormed?.() ?? made[kind](length));
      return messages;
    },
  };
}

// Texts that some tokenizers take minutes for, a million characters each.
export const pathological = {
  "1 MB of one character": () => "a".repeat(1_000_000),
  "1 MB of blanks": () => " ".repeat(1_000_000),
  "1 MB of random letters": () => {
    const random = generator(7);
    return Array.from({ length: 1_000_000 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join("");
  },
};
