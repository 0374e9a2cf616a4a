/// <reference types="node" />
// Where a program of ours keeps conversations: options of its command line, and the keep that they name.

import { homedir } from "node:os";
import process from "node:process";
import { Threadkeep, ThreadkeepError } from "../index.js";
import type { StoreAdapter } from "../stores/adapter.js";
import { defaultStore } from "../stores/file.js";

/** The options, for `parseArgs`. */
export const PLACE = {
  folder: { type: "string" },
  sqlite: { type: "string" },
  name: { type: "string" },
  scope: { type: "string" },
  memory: { type: "boolean" },
} as const;

/** What `--help` says of them. */
export const PLACE_HELP = `  --folder <path>      the folder where conversations are kept, for one program at a time; .threadkeep in the working folder without it
  --sqlite <file>      keep them in this SQLite file instead, which several programs may have open at once
  --name <name>        which of the keeps there; threadkeep without it
  --scope <name>       only the data of this scope, such as a user's id
  --memory             keep nothing: everything is gone with the process`;

/** Their values. */
export interface Place {
  folder?: string | undefined;
  sqlite?: string | undefined;
  name?: string | undefined;
  scope?: string | undefined;
  memory?: boolean | undefined;
}

/** Why a program cannot go on, in words for people. */
export class Trouble extends Error {}

/**
 * What a program says of an error, and whether it was called in a way that it does not understand. `blocked` says what to do where another
 * program has the place.
 */
export function explained(error: unknown, blocked: string): { words: string; misuse: boolean } {
  const misuse = (error as { code?: unknown } | null)?.code?.toString().startsWith("ERR_PARSE_ARGS") === true;
  if (misuse) return { words: `${(error as Error).message}\nTry --help.`, misuse };
  if (error instanceof Trouble) return { words: error.message, misuse };
  if (error instanceof ThreadkeepError) return { words: error.code === "blocked" ? `${error.message} ${blocked}` : `${error.message} (${error.code})`, misuse };
  return { words: error instanceof Error ? (error.stack ?? error.message) : String(error), misuse };
}

/** Opens the keep that the options name; with `repair`, a damaged folder without what is damaged. */
export async function openPlace({ folder, sqlite, name, scope, memory }: Place, repair = false): Promise<Threadkeep> {
  const chosen = [folder !== undefined && "--folder", sqlite !== undefined && "--sqlite", memory === true && "--memory"].filter(Boolean);
  if (chosen.length > 1) throw new Trouble(`${chosen.join(" and ")} cannot be used together: choose one place for the conversations`);
  if (folder !== undefined) process.env["THREADKEEP_HOME"] = atHome(folder);
  const storage =
    sqlite !== undefined ? await inSqlite(sqlite, name) : memory === true ? "memory" : repair ? defaultStore(name ?? "threadkeep", true).store : undefined;
  return Threadkeep.open({
    ...(name === undefined ? {} : { name }),
    ...(scope === undefined ? {} : { scope }),
    ...(storage === undefined ? {} : { storage }),
  });
}

/** Hosts start programs without a shell, which would have known what ~ is. */
function atHome(path: string): string {
  return path.replace(/^~(?=$|[\\/])/, () => homedir());
}

/** The keep of this name in a SQLite file: each has a table of its own. */
async function inSqlite(file: string, name: string | undefined): Promise<StoreAdapter> {
  const { sqliteStore } = await import("../stores/sqlite.js");
  return sqliteStore({ path: atHome(file), ...(name === undefined ? {} : { table: name }) });
}
