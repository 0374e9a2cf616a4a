// How a UI message of the AI SDK lies in a transcript. One UI message is several messages of ours: what the model said in each
// step, with its calls, and a result for each call, so that budgets, search and compaction see them as such. What those cannot
// say rides along in the field `ai_sdk`, as small steps that make the UI message again; texts, arguments and results are not
// written twice, the steps point at them. Reading is a fold over the chain.

/** The field of our messages that belongs to the AI SDK. */
export const FIELD = "ai_sdk";

/** A part of a UI message. */
export interface Part {
  type: string;
  [field: string]: unknown;
}

/** A UI message, whatever its type parameters are. */
export interface Ui {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: Part[];
  [field: string]: unknown;
}

/** A place in the message that carries a step: the k-th text or the k-th address of its content, its reasoning, the arguments of its k-th call, its result. */
export type Source = ["text", number] | ["url", number] | ["reasoning"] | ["input", number] | ["result"] | ["json"];

/** One step that makes UI messages. */
export interface Op {
  /** Which message of the chain, from 0; the newest without it. */
  to?: number;
  /** Begins a message: all its fields but the parts. */
  new?: Record<string, unknown>;
  /** All its fields but the parts, anew. */
  head?: Record<string, unknown>;
  /** The place of a part, there already or next. */
  at?: number;
  /** Fields of the part. */
  set?: Record<string, unknown>;
  /** Fields that the part has no more. */
  unset?: string[];
  /** Fields of the part that stand in the message already. */
  take?: Record<string, Source>;
  /** What its text goes on with: a text, or where it stands. */
  add?: string | Source;
}

/** What rides along. */
export interface Ride {
  ops: Op[];
  /** How the answer ended that was not complete: `cancelled`, `failed`, `cut-off`. */
  ended?: string;
}

/** A UI message on a chain. */
export interface Entry {
  ui: Ui;
  /** The places on the chain of the node with which it begins, and of the last that added to it itself. */
  start: number;
  end: number;
  /** Whether it begins in the middle of a node, so that nothing can be put directly before it. */
  inside: boolean;
  /** Whether somebody else wrote it, and the UI message is made up of what there is. */
  foreign: boolean;
  /** Whether it came without an id. Each chat that shows it makes one up, until it is stored with the first of them. */
  nameless?: true;
  /** How it ended, where it was not complete. */
  ended?: string;
}
