// What the page's worker asks of `npm/src/sync`: a sync of the page's engine, which answers as `web/src/worker/sync.rs` says.

import { base64 } from "../bytes.js";
import { ThreadkeepError, fromWasm } from "../errors.js";
import { locks } from "../locks.js";
import type { SyncKeep } from "./keep.js";
import type { SyncRemote } from "./remote.js";
import { type SyncDirectory, directoryRemote, webdavRemote } from "./remotes.js";
import { removeFrom, syncOnce } from "./session.js";

/** What the page hands over. */
interface Given {
  /** Asks the engine: JSON in, JSON out. */
  ask(question: string): Promise<string>;
  /** Hears how far it is. */
  tell(step: string, done: number, total: number): void;
  /** What the reader chose, as JSON text: see {@link Choice}. */
  choice: string;
  /** The folder that the reader chose, if it is one. */
  directory: SyncDirectory | null;
}

interface Choice {
  /** Of a WebDAV server. */
  url: string;
  user: string;
  password: string;
  passphrase: string;
  device: string;
  /** The device that is to be removed in place of a sync. */
  remove: string | null;
}

/** Syncs once, or removes a device; gives `{ report }` or `{ error }` as JSON text. */
export async function run({ ask, tell, choice, directory }: Given): Promise<string> {
  const { url, user, password, passphrase, device, remove } = JSON.parse(choice) as Choice;
  try {
    const remote: SyncRemote =
      directory === null
        ? webdavRemote(url, user === "" ? {} : { headers: { authorization: `Basic ${base64(new TextEncoder().encode(`${user}:${password}`))}` } })
        : directoryRemote(directory);
    if (remove !== null) await removeFrom(remote, remove);
    const options = { passphrase, device, onProgress: ({ step, done, total }: { step: string; done: number; total: number }) => tell(step, done, total) };
    const report = await locks().request(`threadkeep-sync page ${remote.id}`, () => syncOnce(pageKeep(ask), remote, options));
    return JSON.stringify({ report });
  } catch (error) {
    const { code, message } = error instanceof ThreadkeepError ? error : { code: "internal", message: error instanceof Error ? error.message : String(error) };
    return JSON.stringify({ error: { code, message, details: null } });
  }
}

/** The page's engine as a keep. */
function pageKeep(ask: Given["ask"]): SyncKeep {
  const call = async <T>(name: string, fields: object = {}): Promise<T> => {
    try {
      return JSON.parse(await ask(JSON.stringify({ ask: name, ...fields }))) as T;
    } catch (error) {
      throw fromWasm(error);
    }
  };
  return {
    records: {
      async get(key) {
        const text = await call<string | null>("record", { key });
        return text === null ? undefined : new TextEncoder().encode(text);
      },
      commit: ({ puts = [], deletes = [] }) => call("commit", { puts: puts.map(([key, value]) => [key, new TextDecoder().decode(value)]), deletes }),
    },
    transcripts: () => call("transcripts"),
    threads: () => call("threads"),
    exported: (transcript) => call("exported", { transcript }),
    importOwn: (text) => call("import", { text }),
    isDamaged: () => call("damaged"),
    way: async (node) => (await call<string[] | null>("way", { node })) ?? undefined,
    end: async (thread) => (await call<string | null>("end", { thread })) ?? undefined,
    moveTo: (thread, node) => call("moveTo", { thread, node }),
    strategy: (thread) => call("strategy", { thread }),
    setStrategy: (thread, strategy) => call("setStrategy", { thread, strategy }),
    settings: (at) => call("settings", { at }),
    setSettings: (at, settings) => call("setSettings", { at, settings: settings ?? {} }),
    rename: (transcript, title) => call("rename", { transcript, title }),
    pin: (node, pinned) => call("pin", { node, pinned }),
    deleteBranch: (node) => call("deleteBranch", { node }),
    deleteTranscript: (transcript) => call("deleteTranscript", { transcript }),
    episodes: () => call("episodes"),
    facts: () => call("facts"),
    forget: (id) => call("forget", { id }),
  };
}
