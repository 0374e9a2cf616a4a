// One tokenizer each, loaded the way its documentation says: `load()` gives a function from text to its count.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const ours = (encoding, root) => async () => {
  const folder = process.env.THREADKEEP_BENCH_WASM;
  // As in the npm package: the vocabulary is read and unpacked while the module is compiled.
  const [{ readFile }, { gunzip }] = await Promise.all([import("node:fs/promises"), import("node:zlib")]);
  const packed = await readFile(join(root, "crates", "tokens", "vocabulary", `${encoding}.gz`));
  const unpacked = promisify(gunzip)(packed, { chunkSize: 2 ** 21 });
  const glue = await import(pathToFileURL(join(folder, "threadkeep_tests.js")));
  const { memory } = glue.initSync({ module: await WebAssembly.compile(await readFile(join(folder, "threadkeep_tests_bg.wasm"))) });
  const counter = new glue.TokenBench(encoding, await unpacked);
  const encoder = new TextEncoder();
  let room = 0;
  let view = new Uint8Array();
  return (text) => {
    if (text.length * 3 > room || view.buffer !== memory.buffer) {
      room = Math.max(text.length * 3, room);
      const at = counter.room(room);
      view = new Uint8Array(memory.buffer, at, room);
    }
    return counter.count(encoder.encodeInto(text, view).written);
  };
};

export const names = ["ours", "gpt-tokenizer", "ai-tokenizer", "js-tiktoken", "tiktoken"];

export function loader(name, encoding, root) {
  switch (name) {
    case "ours":
      return ours(encoding, root);
    case "gpt-tokenizer":
      return async () => {
        const { countTokens } = await import(`gpt-tokenizer/encoding/${encoding}`);
        const plain = { disallowedSpecial: new Set() };
        return (text) => countTokens(text, plain);
      };
    case "ai-tokenizer":
      return async () => {
        const [{ Tokenizer }, ranks] = await Promise.all([import("ai-tokenizer"), import(`ai-tokenizer/encoding/${encoding}`)]);
        const tokenizer = new Tokenizer(ranks);
        return (text) => tokenizer.encode(text, [], []).length;
      };
    case "js-tiktoken":
      return async () => {
        const [{ Tiktoken }, ranks] = await Promise.all([import("js-tiktoken/lite"), import(`js-tiktoken/ranks/${encoding}`)]);
        const tokenizer = new Tiktoken(ranks.default);
        return (text) => tokenizer.encode(text, [], []).length;
      };
    case "tiktoken":
      return async () => {
        const { get_encoding } = await import("tiktoken");
        const tokenizer = get_encoding(encoding);
        return (text) => tokenizer.encode_ordinary(text).length;
      };
    default:
      throw new Error(`there is no tokenizer ${name}`);
  }
}
