// Archives: what can be imported, and what an import reports.

/** A format that can be imported. Without one it is found from the content. */
export type ImportFormat =
  | "ai-studio"
  | "chatbot-ui"
  | "chatgpt"
  | "claude-ai"
  | "claude-code"
  | "codex"
  | "gemini-cli"
  | "gemini-takeout"
  | "librechat"
  | "memory"
  | "oasst"
  | "open-webui"
  | "openai-messages"
  | "pi"
  | "sharegpt"
  | "sillytavern"
  | "threadkeep";

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

/** How far an import is. */
export interface ImportProgress {
  /** The file that is being read. */
  file: string;
  /** Bytes read so far, over all files. */
  bytes: number;
  /** Bytes in all; 0 where that is not known. */
  totalBytes: number;
  /** Conversations found so far. */
  conversations: number;
  /** Messages stored so far. */
  messages: number;
}

/** How to import. */
export interface ImportOptions {
  /** The format; without it, it is found from the content. */
  format?: ImportFormat;
  /** Called while the import runs. What it throws is reported as an uncaught error and does not stop the import. */
  onProgress?: (progress: ImportProgress) => void;
  /**
   * Ends the import when it is aborted: it rejects with `cancelled`, and `details.report` says what was done. What was stored
   * until then stays, each conversation whole; importing the same again goes on from there.
   */
  signal?: AbortSignal;
}

/** One thing that an import left out, or took with something missing. */
export interface Skipped {
  /** Where: file, conversation, line or node. */
  place: string;
  /** Why, and what to do about it. */
  reason: string;
  /**
   * A stable word for the reason, such as `not-a-conversation`. `salvaged`: a message could not be read, and a note stands in its
   * place until a whole copy of the file is imported. `message-differs`, `memory-differs`: the same id says something else here.
   * `branch-differs`: a thread's head or the shown branch is elsewhere here, and stays. `thread-taken`, `id-taken`: the name is used in another
   * transcript. `unpinned`: facts of a file that is no backup of this keep come in unpinned, with the tag `imported`.
   */
  code: string;
  /** Whether the thing came in all the same, with something missing. */
  salvaged: boolean;
}

/** What an import did. */
export interface ImportReport {
  /** The formats that were found. */
  formats: string[];
  /** Conversations that are new here. */
  added: number;
  /** Conversations that were here and gained something. */
  updated: number;
  /** Conversations that were here already, with nothing new. */
  unchanged: number;
  /** Messages that were stored. */
  messages: number;
  /** Episodes and facts that were stored. */
  memories: number;
  /** The transcripts that were added or updated, in the order of the archive; the first 1,000. */
  transcripts: string[];
  /** What was left out or came in damaged; the first 1,000. */
  skipped: Skipped[];
  /** How many were left out or came in damaged in all. */
  skippedCount: number;
  /** Whether it was ended before all was read. Only in `details.report` of the error `cancelled` can it be true. */
  stopped: boolean;
}

/**
 * A format that is written: our own; OpenAI chat messages as JSON Lines; ShareGPT, a JSON array; Markdown to read; the files of
 * an agent's memory (raw traces, episodes, facts, working context), which {@link Export.files} gives one by one.
 */
export type ExportFormat = "markdown" | "memory" | "openai-messages" | "sharegpt" | "threadkeep";

/** What to export, and how. */
export interface ExportOptions {
  /** The format, `threadkeep` without it: the only one that restores everything exactly. */
  format?: ExportFormat;
  /** One transcript; all of them, with the threads, without it. */
  transcript?: string;
  /**
   * All branches, for `openai-messages`, `sharegpt` and `markdown`; without it the chosen branch of each transcript. Our own
   * format always has all of them, `memory` one.
   */
  branches?: boolean;
}
