// `threadkeep/share`: what leaves for others, without secrets.

import * as check from "./check.js";
import { now } from "./runtime.js";
import type { ExportRedaction } from "./generated/archive.js";
import type { Threadkeep } from "./threadkeep.js";
import { pageOf } from "./share/html.js";

/**
 * A text without what looks like a secret: each letter and digit of one becomes an `x`. For a log line, a report, a message; JSON stays JSON.
 *
 * @throws ThreadkeepError `bad-request`, `not-initialised`
 *
 * @example
 * ```ts
 * await init();
 * maskSecrets("postgres://ann:s3cret@host/db"); // "postgres://ann:xxxxxx@host/db"
 * ```
 */
export function maskSecrets(text: string): string {
  return now((wasm) => wasm.maskSecrets(check.text(text, "text")));
}

/** Which thread, and what of it stays as it is. */
export interface ShareOptions extends ExportRedaction {
  /** One transcript; all of them without it. */
  transcript?: string;
}

/**
 * Threads as one HTML file that any browser opens: all branches, cards of tools, depths, a search, light and dark. It asks no server for
 * anything and runs no script but its own. What looks like a secret is masked, and what is remembered, settings and requests are left out, as in
 * {@link Threadkeep.export} with `redact`.
 *
 * @throws ThreadkeepError `bad-request`, `missing-transcript`; the storage's codes
 *
 * @example
 * ```ts
 * import { sharePage } from "threadkeep/share";
 *
 * const html = await sharePage(keep, { transcript });
 * ```
 */
export async function sharePage(keep: Threadkeep, { transcript, ...redact }: ShareOptions = {}): Promise<string> {
  const lines: string[] = [];
  for await (const piece of keep.export({ ...(transcript === undefined ? {} : { transcript }), redact })) lines.push(piece);
  return pageOf(lines).join("");
}
