// The token vocabularies: assets of their own, read when something is first counted by them and never before.

import { ThreadkeepError, badArgument, wordsOf } from "./errors.js";
import { asset, need, now, partBytes, type InitSource } from "./runtime.js";
import { inNode, nodeModule } from "./platform.js";
import type { Encoding } from "./generated/context.js";

/** The vocabularies that are assets of this package. */
export type VocabularyName = Exclude<Encoding, "estimate">;

const NAMES: ReadonlySet<unknown> = new Set<VocabularyName>(["o200k_base", "cl100k_base"]);

const loading = new Map<VocabularyName, Promise<void>>();
const loaded = new Set<unknown>(["estimate"]);

/**
 * Loads a vocabulary. What counts does so by itself when it first needs one, so call this only to load it early, or to say
 * where it lies. Calling it again does nothing more; after a failure it tries again.
 *
 * @param source where it comes from, if not from beside this package: an address, the bytes of the file (packed or not), or a
 * response that brings them
 * @throws ThreadkeepError `bad-request` (the bytes are not that vocabulary, say), `init-failed` when it cannot be had
 *
 * @example
 * ```ts
 * await loadVocabulary("o200k_base", "/assets/o200k_base.gz");
 * ```
 */
export function loadVocabulary(encoding: VocabularyName, source?: InitSource | Promise<InitSource>): Promise<void> {
  if (!NAMES.has(encoding)) return Promise.reject(badArgument("encoding", 'must be "o200k_base" or "cl100k_base"'));
  let promise = loading.get(encoding);
  if (promise === undefined) {
    promise = load(encoding, source).catch((error: unknown) => {
      loading.delete(encoding);
      throw error;
    });
    loading.set(encoding, promise);
  }
  return promise;
}

/** Whether nothing needs to be loaded to count like this. @internal */
export function isLoaded(encoding: unknown): boolean {
  return loaded.has(encoding);
}

/** Loads what is needed to count like this; what is no encoding is left to whoever refuses it. @internal */
export async function needEncoding(encoding: unknown): Promise<void> {
  const missing = !loaded.has(encoding) && NAMES.has(encoding);
  await (missing ? loadVocabulary(encoding as VocabularyName) : need("prompts"));
}

async function load(encoding: VocabularyName, source: InitSource | Promise<InitSource> | undefined): Promise<void> {
  // The vocabulary is read and unpacked while the module is compiled.
  const module = need("prompts");
  const bytes = read(encoding, source);
  // If both fail, the module's error is the one to tell.
  bytes.catch(() => {});
  await module;
  const unpacked = await bytes;
  now((wasm) => wasm.loadVocabulary(encoding, unpacked));
  loaded.add(encoding);
}

async function read(encoding: VocabularyName, source: InitSource | Promise<InitSource> | undefined): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const given = await source;
    const bytes = await (given === undefined ? partBytes(`${encoding}.gz`) : asset(given));
    // A server may have unpacked it on the way, then there is nothing to do.
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? await unpack(bytes) : bytes;
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    const why = wordsOf(error);
    throw new ThreadkeepError("init-failed", `the vocabulary cannot be loaded: ${why}`, {}, error);
  }
}

/** More than a vocabulary takes, unpacked. */
const ROOM = 2 ** 21;

/** Unpacks gzip: by Node's own function, since its streams take longer to begin than the work takes. */
async function unpack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (!inNode()) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  const { gunzip } = await nodeModule<{
    gunzip(bytes: Uint8Array, options: object, done: (error: Error | null, bytes: Uint8Array<ArrayBuffer>) => void): void;
  }>("node:zlib");
  return new Promise((resolve, reject) => {
    gunzip(bytes, { chunkSize: ROOM, maxOutputLength: ROOM }, (error, unpacked) => (error ? reject(error) : resolve(unpacked)));
  });
}
