// Archives in and out: the part of the module for them, the files that come in, and the writer of what goes out.

import * as check from "./check.js";
import { ThreadkeepError, badArgument, reportUncaught, type ErrorDetails } from "./errors.js";
import { Export } from "./export.js";
import type { Link } from "./link.js";
import { EXPORT, IMPORT, WRITTEN, type ExportOptions, type ImportOptions } from "./options.js";
import { need, run } from "./runtime.js";
import { sources, type ImportData } from "./sources.js";
import type { FoundSecret, ImportProgress, ImportReport } from "./generated/archive.js";

/** Imports conversations. @internal */
export async function imported(link: Link, data: ImportData, options: ImportOptions | undefined): Promise<ImportReport> {
  const { format, onProgress, signal } = check.options(options, "options", IMPORT) as ImportOptions;
  void link.engine;
  const [files] = await Promise.all([sources(data), need("archives")]);
  const progress = (json: string): boolean => {
    try {
      onProgress?.(JSON.parse(json) as ImportProgress);
    } catch (error) {
      reportUncaught(error);
    }
    return signal?.aborted === true;
  };
  const { engine } = link;
  if (signal?.aborted === true) throw cancelled({});
  const listener = onProgress === undefined && signal === undefined ? undefined : progress;
  const report = JSON.parse(await run(() => engine.importArchives(files, format, listener) as Promise<string>)) as ImportReport;
  if (report.stopped) throw cancelled({ report });
  return report;
}

/** An export, which reads nothing before it is asked for. @internal */
export function exported(link: Link, options: ExportOptions | undefined): Export {
  const wanted = options?.format;
  const [name, type] = WRITTEN[wanted !== undefined && Object.hasOwn(WRITTEN, wanted) ? wanted : "threadkeep"];
  return new Export(name, type, async (sink) => {
    const { format = "threadkeep", transcript, branches, redact = false } = check.options(options, "options", EXPORT) as ExportOptions;
    if (branches !== undefined && (format === "threadkeep" || format === "memory"))
      throw badArgument("options.branches", `has no meaning for the format ${format}`);
    if (redact !== false && format === "memory") throw badArgument("options.redact", "has no meaning for the format memory");
    const { leave = [], also = [] } = typeof redact === "boolean" ? {} : redact;
    const [left, more] = [redact === false ? undefined : Uint32Array.from(leave), also.join(" ")];
    if (format === "threadkeep") return found(await link.managing((engine) => engine.exportArchive(transcript, left, more, sink) as Promise<string>));
    void link.engine;
    await need("archives");
    const { engine } = link;
    return found(await run(() => engine.exportAs(format, transcript, branches === true, left, more, sink) as Promise<string>));
  });
}

function found(json: string): FoundSecret[] {
  return JSON.parse(json) as FoundSecret[];
}

function cancelled(details: ErrorDetails): ThreadkeepError {
  return new ThreadkeepError("cancelled", "the import was cancelled; what was stored until then stays", details);
}
