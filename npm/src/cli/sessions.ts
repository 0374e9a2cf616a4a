/// <reference types="node" />
// Where agents keep their sessions, on Linux, macOS and Windows alike: below the home folder, unless a variable of theirs says otherwise.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { SessionFormat } from "../sessions.js";

/** A program, the variable that names its folder, that folder otherwise, and the sessions in it. */
const PROGRAMS: readonly [program: string, variable: string, folder: string, sessions: string][] = [
  ["Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "projects"],
  ["Codex", "CODEX_HOME", ".codex", "sessions"],
  ["Gemini CLI", "GEMINI_DIR", ".gemini", "tmp"],
  ["pi", "PI_CODING_AGENT_DIR", ".pi/agent", "sessions"],
];

/** The programs whose sessions are written, by their formats. */
const WRITTEN: Readonly<Record<SessionFormat, string>> = { "claude-code": "Claude Code", codex: "Codex", pi: "pi" };

/** The folder of a program's sessions. */
export function folderOf(format: SessionFormat, environment: NodeJS.ProcessEnv = process.env, home: string = homedir()): string {
  const [, variable = "", folder = "", inside = ""] = PROGRAMS.find(([program]) => program === WRITTEN[format]) ?? [];
  return join(environment[variable] || join(home, folder), inside);
}

/** The folders of sessions that are there, each with its program. */
export function sessions(environment: NodeJS.ProcessEnv = process.env, home: string = homedir()): { program: string; folder: string }[] {
  return PROGRAMS.map(([program, variable, folder, inside]) => ({ program, folder: join(environment[variable] || join(home, folder), inside) })).filter(
    ({ folder }) => existsSync(folder),
  );
}
