// `threadkeep/sessions`: a branch written as a session of a coding agent, so that it goes on there.

import * as check from "./check.js";
import { ThreadkeepError, badArgument } from "./errors.js";
import type { Threadkeep } from "./threadkeep.js";
import { claudeCode } from "./sessions/claude-code.js";
import { codex } from "./sessions/codex.js";
import { pi } from "./sessions/pi.js";
import { branchOf } from "./sessions/turns.js";

/** The programs whose sessions can be written. */
export const SESSION_FORMATS = ["claude-code", "codex", "pi"] as const;

/** A program whose sessions can be written. */
export type SessionFormat = (typeof SESSION_FORMATS)[number];

/** Which branch, for which program. */
export interface SessionOptions {
  /** The program. */
  format: SessionFormat;
  /** The end of the branch: a node's id, or a thread's name. */
  leaf: string;
  /** The folder in which the program is to go on, absolute: it lists sessions by it. */
  cwd: string;
}

/** A session that was written. */
export interface WrittenSession {
  /** Where it belongs, below the program's folder of sessions: `~/.claude/projects`, `~/.codex/sessions`, `~/.pi/agent/sessions`. */
  file: string;
  /** The file's text: JSON Lines. */
  text: string;
  /** The command that goes on with it. */
  resume: string;
  /** How many messages were left out: instructions, which the program has of its own, and results of calls that nobody made. */
  left: number;
}

const OPTIONS = { format: (value: unknown, argument: string) => check.oneOf(value, SESSION_FORMATS, argument), leaf: check.id, cwd: check.text } as const;

/**
 * Writes a branch as a session of Claude Code, Codex or pi. Texts, pictures, calls and results come along. Reasoning does not, since
 * providers take only what they signed; a call without a result gets one that says so. The session is a new one, with ids of its own.
 *
 * @throws ThreadkeepError `bad-request`, `missing-node`; the storage's codes
 *
 * @example
 * ```ts
 * import { writeSession } from "threadkeep/sessions";
 *
 * const { file, text, resume } = await writeSession(keep, { format: "claude-code", leaf: "ann-42", cwd: process.cwd() });
 * await writeFile(join(homedir(), ".claude/projects", file), text);
 * console.log(resume); // claude --resume 0b7c…
 * ```
 */
export async function writeSession(keep: Threadkeep, options: SessionOptions): Promise<WrittenSession> {
  const { format, leaf, cwd } = check.options(options, "options", OPTIONS) as SessionOptions;
  for (const [name, value] of Object.entries({ format, leaf, cwd })) if (value === undefined) throw badArgument(`options.${name}`, "is missing");
  const end = (await keep.thread(leaf).head())?.id ?? leaf;
  const nodes = await keep.chain(end);
  const { steps, left } = branchOf(nodes);
  if (steps.length === 0) throw new ThreadkeepError("missing-node", `nobody says anything on the branch that ends at ${leaf}`, { node: leaf });
  const title = (await keep.transcripts()).find(({ id }) => id === nodes[0]?.transcript)?.title ?? "";
  const { lines, file, resume } = format === "claude-code" ? claudeCode(steps, title, cwd) : format === "codex" ? codex(steps, cwd) : pi(steps, title, cwd);
  return { file, text: lines.map((line) => `${JSON.stringify(line)}\n`).join(""), resume, left };
}
