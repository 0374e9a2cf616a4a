// What a user imports, in any of the usual forms, as the files that the engine reads piece by piece.

import * as check from "./check.js";
import { badArgument } from "./errors.js";

/** A `Blob` or `File`, or anything of the same shape. */
export interface BlobLike {
  /** Its length in bytes. */
  readonly size: number;
  /** The bytes `start..end`, as another one of these. */
  slice(start?: number, end?: number): BlobLike;
  /** Its bytes. */
  arrayBuffer(): Promise<ArrayBuffer>;
  /** A `File`'s name. */
  readonly name?: string;
}

/** Bytes in any of the usual forms. A string is written as UTF-8. */
export type ImportBytes = string | Uint8Array | ArrayBuffer | BlobLike;

/** Bytes with a file name. */
export interface NamedData {
  /** A file name or a path in a folder, for the report and for formats of several files. */
  name: string;
  /** What is in it. */
  data: ImportBytes;
}

/**
 * What {@link Threadkeep.import} takes: one file, a list of files (an unpacked export's folder), or a stream of bytes.
 * Files (`Blob`, `File`) are read piece by piece and never as a whole; a stream is gathered into a `Blob` first, since
 * zip files are read from their end.
 */
export type ImportData = ImportBytes | NamedData | Iterable<BlobLike | NamedData> | AsyncIterable<Uint8Array | string>;

/** One file, as the wasm side reads it. */
export interface Source {
  readonly name: string;
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** The files in `data`. */
export async function sources(data: ImportData): Promise<Source[]> {
  const one = blobOf(data);
  if (one !== undefined) return [source(nameOf(data) ?? "data", one)];
  if (isNamed(data)) return [named(data, "data")];
  if (isStream(data)) return [source("data", await gather(data))];
  if (isIterable(data)) return [...data].map((file, index) => fileOf(file, `data[${index}]`));
  throw badArgument("data", "must be a string, bytes, a Blob or File, { name, data }, a list of files, or a stream of bytes");
}

function fileOf(file: unknown, argument: string): Source {
  if (isNamed(file)) return named(file, argument);
  if (isBlob(file)) return source(nameOf(file) ?? argument, file);
  throw badArgument(argument, "must be a File, a Blob or { name, data }");
}

function named(file: { name: unknown; data: unknown }, argument: string): Source {
  const name = check.text(file.name, `${argument}.name`);
  const blob = blobOf(file.data);
  if (blob === undefined) throw badArgument(`${argument}.data`, "must be a string, bytes, or a Blob");
  return source(name, blob);
}

function source(name: string, blob: BlobLike): Source {
  return {
    name,
    size: blob.size,
    async read(offset, length) {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    },
  };
}

/** Strings and bytes become a Blob, which copies them: what the caller does to them later changes nothing. */
function blobOf(data: unknown): BlobLike | undefined {
  if (typeof data === "string" || check.isBuffer(data) || ArrayBuffer.isView(data))
    return new Blob([data as string | ArrayBuffer | ArrayBufferView<ArrayBuffer>]);
  return isBlob(data) ? data : undefined;
}

function isBlob(data: unknown): data is BlobLike {
  const blob = data as Partial<BlobLike> | null | undefined;
  return typeof blob === "object" && typeof blob?.size === "number" && typeof blob.slice === "function" && typeof blob.arrayBuffer === "function";
}

function isNamed(data: unknown): data is { name: unknown; data: unknown } {
  return check.isObject(data) && "name" in data && "data" in data;
}

/** A file's path in its folder where the browser knows it (folders dropped or chosen), else its name. */
function nameOf(data: unknown): string | undefined {
  const { webkitRelativePath, name } = data as { webkitRelativePath?: unknown; name?: unknown };
  return [webkitRelativePath, name].find((given): given is string => typeof given === "string" && given !== "");
}

type Stream = AsyncIterable<unknown> | ReadableStream<unknown>;

function isStream(data: unknown): data is Stream {
  return typeof data === "object" && data !== null && (Symbol.asyncIterator in data || "getReader" in data);
}

function isIterable(data: unknown): data is Iterable<unknown> {
  return typeof data === "object" && data !== null && Symbol.iterator in data;
}

async function gather(stream: Stream): Promise<BlobLike> {
  const chunks: (string | Uint8Array<ArrayBuffer>)[] = [];
  for await (const chunk of chunksOf(stream)) {
    if (typeof chunk !== "string" && !check.isBytes(chunk)) throw badArgument("data", "must be a stream of Uint8Array or string chunks");
    // Copied, since some streams hand out the same buffer again and again.
    chunks.push(typeof chunk === "string" ? chunk : new Uint8Array(chunk));
  }
  return new Blob(chunks);
}

/** Safari's ReadableStream cannot be iterated, so all of that kind are read the way that works everywhere. */
async function* chunksOf(stream: Stream): AsyncGenerator<unknown> {
  if (!("getReader" in stream)) {
    yield* stream;
    return;
  }
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    reader.releaseLock();
  }
}
