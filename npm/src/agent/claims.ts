// The claims on turns: whoever holds the claim on a node carries its turn out, and nobody else does. That holds for all agents of a keep in
// this tab, in other tabs of the same data, and in other processes.

import { digest, unique } from "../digest.js";
import { Leases } from "../lease.js";
import { locks } from "../locks.js";
import { inside, type Threadkeep } from "../threadkeep.js";

type Release = () => void | Promise<void>;

const leases = new WeakMap<Threadkeep, Leases>();
/** The names of keeps whose data has no name of its own. */
const names = new WeakMap<Threadkeep, string>();

/**
 * Waits until nobody else holds the claim on this turn, and takes it. Claims are given in the order of asking. Gives what gives it back.
 *
 * @internal
 */
export async function claim(keep: Threadkeep, node: string): Promise<() => void> {
  const held: Release[] = [];
  const end = async (): Promise<void> => {
    for (const release of held.reverse()) await release();
  };
  try {
    // One after the other, so that a lease that fails gives the lock back.
    held.push(await locked(keep, node));
    held.push(await leased(keep, node));
  } catch (error) {
    void end();
    throw error;
  }
  return () => void end();
}

/** A lock, which others in this process wait for, and other tabs of the same data. */
function locked(keep: Threadkeep, node: string): Promise<Release> {
  const name = `threadkeep-agent-${inside(keep).shared ?? ownName(keep)}-${node}`;
  return new Promise((resolve, reject) => {
    const work = () => new Promise<void>((end) => resolve(end));
    locks().request(name, work).catch(reject);
  });
}

function ownName(keep: Threadkeep): string {
  const name = names.get(keep) ?? unique();
  names.set(keep, name);
  return name;
}

/** A lease, since other processes can have an adapter's data open, and no lock of a browser reaches them. */
async function leased(keep: Threadkeep, node: string): Promise<Release> {
  if (keep.storage !== "adapter") return () => {};
  const own = leases.get(keep) ?? new Leases(keep.records("agents"));
  leases.set(keep, own);
  // The id of a message may be too long for a key.
  return own.hold(await digest(node));
}
