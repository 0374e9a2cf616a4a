// The claims on an agent's turns: who holds one carries the turn out, and nobody else does, in this tab, in other tabs of the same data,
// or in other processes.

import { Leases } from "../lease.js";
import { locks } from "../locks.js";
import { inside, type Threadkeep } from "../threadkeep.js";

/** What everybody holds in this module, by keep and name, in the order of asking. */
const queues = new WeakMap<Threadkeep, Map<string, Promise<void>>>();
const leases = new WeakMap<Threadkeep, Leases>();

/**
 * Waits until nobody else holds the claim on this turn, and takes it. Gives what gives it back.
 *
 * @internal
 */
export async function claim(keep: Threadkeep, agent: string, node: string): Promise<() => void> {
  const name = `${agent}/${node}`;
  const held = [await queued(keep, name)];
  const end = async (): Promise<void> => {
    for (const release of held.reverse()) await release();
  };
  try {
    held.push(await locked(keep, name), await leased(keep, name));
  } catch (error) {
    void end();
    throw error;
  }
  return () => void end();
}

async function queued(keep: Threadkeep, name: string): Promise<() => void | Promise<void>> {
  const all = queues.get(keep) ?? new Map<string, Promise<void>>();
  queues.set(keep, all);
  const before = all.get(name);
  let end = (): void => {};
  const mine = new Promise<void>((resolve) => (end = resolve));
  all.set(name, mine);
  await before;
  return () => {
    if (all.get(name) === mine) all.delete(name);
    end();
  };
}

/** A lock, if others may have the same data open. */
function locked(keep: Threadkeep, name: string): Promise<() => void> {
  const { shared } = inside(keep);
  if (shared === undefined) return Promise.resolve(() => {});
  return new Promise((resolve, reject) => {
    const work = () => new Promise<void>((end) => resolve(end));
    locks().request(`threadkeep-agent-${shared}-${name}`, work).catch(reject);
  });
}

/** A lease, since other processes can have an adapter's data open, and no lock of a browser reaches them. */
async function leased(keep: Threadkeep, name: string): Promise<() => void | Promise<void>> {
  if (keep.storage !== "adapter") return () => {};
  const own = leases.get(keep) ?? new Leases(keep.records("agents"));
  leases.set(keep, own);
  return own.hold(name);
}
