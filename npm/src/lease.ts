// One at a time under a name, among everybody who has the same storage open: other processes, other machines. Browsers have Web
// Locks for it; a database has none, so whoever holds the lease shows that he lives by counting up in a record.

import { ThreadkeepError } from "./errors.js";
import { recordKey, recordRange, type Records } from "./records.js";

/** Times in milliseconds. @internal */
export interface LeaseTimes {
  /** How often the holder counts up. */
  beat: number;
  /** How long his count may stand still before another takes over. Measured by the waiting one's clock, so that clocks need not agree. */
  stale: number;
  /** How often one who waits looks. */
  look: number;
}

const TIMES: LeaseTimes = { beat: 1_000, stale: 5_000, look: 200 };

/**
 * Does `work` while nobody else does any under this name. A holder that has died is replaced after a while; one whose process stood
 * still for as long may find that another has begun.
 *
 * @internal
 */
export async function leased<T>(records: Records, name: string, work: () => Promise<T>, times = TIMES): Promise<T> {
  const lease = await acquire(records, name, times);
  let count = 0;
  let beating = Promise.resolve();
  const write = (value: string) =>
    // A lease that somebody took over is not written to: its record is gone.
    records.commit({ present: [lease], puts: [[lease, new TextEncoder().encode(value)]], durability: "relaxed" }).catch(() => undefined);
  const timer = setInterval(() => (beating = beating.then(() => write(String((count += 1))))), times.beat);
  // Node would wait for it, though a keep that is open keeps no process alive.
  (timer as { unref?: () => void }).unref?.();
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await beating;
    await write("");
  }
}

/**
 * Waits for the lease; gives the key of its record. Each holder's key is random, so nobody holds a key that somebody had before: not even
 * after all records were deleted.
 */
async function acquire(records: Records, name: string, { stale, look }: LeaseTimes): Promise<string> {
  let [seen, since] = ["", 0];
  for (;;) {
    const [last] = await records.scan({ ...recordRange(name), limit: 1 });
    if (last === undefined) {
      // A lease that nobody holds, under a key that is the same for all: only one can make it.
      const free = recordKey(name, 0);
      await commit(records, { absent: [free], puts: [[free, new Uint8Array()]] });
      continue;
    }
    const state = new TextDecoder().decode(last[1]);
    const now = performance.now();
    const same = seen === `${last[0]} ${state}`;
    if (state === "" || (same && now - since >= stale)) {
      const mine = recordKey(name, crypto.randomUUID());
      if (await commit(records, { present: [last[0]], deletes: [last[0]], puts: [[mine, new TextEncoder().encode("0")]] })) return mine;
      continue;
    }
    if (!same) [seen, since] = [`${last[0]} ${state}`, now];
    await new Promise((resolve) => setTimeout(resolve, look));
  }
}

/** Commits; gives whether nobody else was first. */
async function commit(records: Records, changes: Parameters<Records["commit"]>[0]): Promise<boolean> {
  try {
    await records.commit({ ...changes, durability: "relaxed" });
    return true;
  } catch (error) {
    if (!(error instanceof ThreadkeepError && error.code === "conflict")) throw error;
    return false;
  }
}
