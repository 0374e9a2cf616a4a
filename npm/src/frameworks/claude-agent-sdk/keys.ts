// Under which records the entries of a session lie: numbered pages of lines, a mark that changes with every write, and a summary
// for each main transcript.

import { badArgument } from "../../errors.js";
import * as check from "../../check.js";
import { recordKey, recordRange } from "../../record-keys.js";
import { keyPart } from "../shared/keys.js";
import type { SessionKey } from "@anthropic-ai/claude-agent-sdk";

/** The namespace of the records. */
export const NAMESPACE = "claude-agent-sdk";

/** A range of keys, the second out. */
export type Range = [start: string, end: string];

/** The keys of one transcript: a session's, or a subagent's. */
export interface Keys {
  /** What is in it, from a page on. */
  pages(from?: number): Range;
  page(number: number): string;
  marks: Range;
  mark(name: string): string;
  /** Of the main transcript only. */
  summary: string;
}

/** Where a transcript lies. */
export async function keysOf({ projectKey, sessionId, subpath }: SessionKey): Promise<Keys> {
  const parts = [await keyPart(projectKey), await keyPart(sessionId), await keyPart(subpath ?? "")] as const;
  return {
    pages: (from = 0) => [recordKey("e", ...parts, from), range("e", ...parts)[1]],
    page: (number) => recordKey("e", ...parts, number),
    marks: range("t", ...parts),
    mark: (name) => recordKey("t", ...parts, name),
    summary: recordKey("s", parts[0], parts[1]),
  };
}

/** Everything of a session, its subagents' too: pages and marks. */
export async function ofSession({ projectKey, sessionId }: SessionKey): Promise<Range[]> {
  const parts = [await keyPart(projectKey), await keyPart(sessionId)] as const;
  return [range("e", ...parts), range("t", ...parts)];
}

/** The marks of a session and of its subagents. */
export async function marksOf(key: SessionKey): Promise<Range> {
  return (await ofSession(key))[1] as Range;
}

/** The summaries of a project's sessions. */
export async function summariesOf(projectKey: string): Promise<Range> {
  return range("s", await keyPart(check.text(projectKey, "projectKey")));
}

/** A key as it is given, checked. */
export function checked(key: unknown, argument = "key"): SessionKey {
  if (!check.isObject(key)) throw badArgument(argument, "must be an object");
  const { projectKey, sessionId, subpath } = key;
  for (const [name, value] of Object.entries({ projectKey, sessionId, ...(subpath === undefined ? {} : { subpath }) }))
    if (check.text(value, `${argument}.${name}`) === "") throw badArgument(`${argument}.${name}`, "must not be empty");
  return key as SessionKey;
}

function range(...parts: string[]): Range {
  const { start, end } = recordRange(...parts);
  return [start, end];
}
