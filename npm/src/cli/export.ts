/// <reference types="node" />
// What `threadkeep export` writes: everything or one thread, in any format, with or without secrets.

import { createWriteStream } from "node:fs";
import process from "node:process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Threadkeep } from "../index.js";
import { WRITTEN, type ExportOptions } from "../options.js";
import { sharePage } from "../share.js";
import { count, say } from "./print.js";

/** The formats: those of `keep.export`, and a page to share. */
export const FORMATS: readonly string[] = [...Object.keys(WRITTEN), "html"];

/** How many finds are named one by one. */
const NAMED = 20;

/** Writes to a file, or to stdout without one. What is masked is said first; a page never has secrets. */
export async function exported(
  keep: Threadkeep,
  transcript: string | undefined,
  format: string | undefined,
  redact: boolean,
  file: string | undefined,
): Promise<void> {
  const one = transcript === undefined ? {} : { transcript };
  const page = format === "html";
  const options = { ...one, ...(page || format === undefined ? {} : { format }), redact: redact || page } as ExportOptions;
  const written = keep.export(options);
  if (options.redact === true) {
    const found = await written.secrets();
    for (const { kind, preview, transcript, node } of found.slice(0, NAMED)) {
      say(`${kind}: ${preview} (${[transcript && `thread ${transcript}`, node && `message ${node}`].filter(Boolean).join(", ")})`);
    }
    if (found.length > NAMED) say(`and ${found.length - NAMED} more`);
    say(`${count(found.length, "secret")} masked. Pictures are not searched.`);
  }
  const pieces = page ? Readable.from([await sharePage(keep, one)]) : written;
  await pipeline(pieces, file === undefined ? process.stdout : createWriteStream(file), { end: file !== undefined });
  if (file !== undefined) say(`Written: ${file}`);
}
