// Writing behind any node: the head is put there and moves on with what is appended.

import { ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import type { MessageInput } from "../../message.js";

/** How often a write is tried again after somebody else wrote in between. */
export const TRIES = 20;

/**
 * Appends messages behind a node; `undefined` where another tab or process moved the head in the same moment, and all is to be looked
 * at anew.
 *
 * @param parent the node; `undefined` where the head is not there yet
 * @param leaf where the head points now
 */
export async function appendAfter(
  keep: Threadkeep,
  context: string,
  parent: string | undefined,
  leaf: string | null,
  messages: readonly MessageInput[],
): Promise<NodeInfo[] | undefined> {
  if (parent !== undefined && leaf !== null)
    try {
      return await keep.thread(context).append(messages, { after: parent, expect: leaf });
    } catch (error) {
      if (error instanceof ThreadkeepError && ["conflict", "missing-thread", "missing-node"].includes(error.code)) return undefined;
      throw error;
    }
  const made = await keep.thread(context).append(messages);
  const [first, last] = [made[0], made.at(-1)];
  if (first === undefined || last === undefined || first.parent === first.transcript) return made;
  // Another one began the head in the same moment: take it back, unless something follows already.
  try {
    if ((await keep.at(last.id).children()).length === 0) await keep.at(first.id).deleteBranch();
  } catch (error) {
    // Whoever it hung below took that back.
    if (!(error instanceof ThreadkeepError && error.code === "missing-node")) throw error;
  }
  return undefined;
}

/** Deletes the transcript of a head; where other heads point into it, only what they do not need. Gives how many messages that were. */
export async function discard(keep: Threadkeep, context: string): Promise<number> {
  const head = await keep.thread(context).head();
  if (head === null) return 0;
  const shared = (await keep.threads()).some((other) => other.transcript === head.transcript && other.name !== context);
  return shared ? keep.thread(context).clear() : keep.transcript(head.transcript).delete();
}
