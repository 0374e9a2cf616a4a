// `threadkeep/sync`: the same conversations on all devices of a person, over any place that keeps files.

import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { locks } from "./locks.js";
import { type Threadkeep, inside } from "./threadkeep.js";
import { syncKeep } from "./sync/keep.js";
import type { SyncRemote } from "./sync/remote.js";
import { type SyncDevice, type SyncOptions, type SyncReport, devicesOn, removeFrom, syncOnce } from "./sync/session.js";

export type { Traffic as SyncTraffic } from "./sync/packs.js";
export type { SyncRemote } from "./sync/remote.js";
export { directoryRemote, folderRemote, recordsRemote, s3Remote, webdavRemote } from "./sync/remotes.js";
export type { SyncDevice, SyncOptions, SyncProgress, SyncReport } from "./sync/session.js";
export type { HttpRemoteOptions, SyncDirectory, SyncFile } from "./sync/remotes.js";

const OPTIONS = { passphrase: check.text, device: check.text, onProgress: check.callback<unknown>, signal: check.signal } as const;

/**
 * Brings this keep and a remote to the same state: conversations of other devices come in, what changed here goes out, encrypted. Trees come
 * together as unions. Of a title, a setting, a pin, a fact or the head of a thread that two devices changed, the later change counts; a
 * thread that went on in two ways keeps both, the second one under a name with the device's. What was deleted on one device is deleted on all, and
 * stays deleted. Mailboxes and records of your own stay here.
 *
 * A remote needs no locks: each device writes only files of its own. What is cut off, lost, doubled or late there is left for the next
 * sync. A first sync joins what is here and there; {@link Threadkeep.deleteAll} empties this device alone, which then is a new one.
 *
 * @throws ThreadkeepError `bad-request`; `remote-failed` if the remote does not answer; `remote-damaged` if nothing of it opens: the passphrase is
 * another one, or the files are damaged; `cancelled` by the signal; the storage's codes
 *
 * @example
 * ```ts
 * import { folderRemote, sync } from "threadkeep/sync";
 *
 * const { messages, others } = await sync(keep, folderRemote("/media/stick/threads"), { passphrase, device: "laptop" });
 * console.log(`${messages} messages came in from ${others.map(({ name }) => name).join(", ")}`);
 * ```
 */
export async function sync(keep: Threadkeep, remote: SyncRemote, options: SyncOptions): Promise<SyncReport> {
  const given = check.options(options, "options", OPTIONS) as SyncOptions;
  if (typeof given.passphrase !== "string" || given.passphrase === "") throw badArgument("options.passphrase", "must be a text that is not empty");
  const where = inside(keep).shared ?? "alone";
  return locks().request(`threadkeep-sync ${where} ${keep.scope ?? ""} ${remote.id}`, () => syncOnce(syncKeep(keep), remote, given));
}

/**
 * The devices on a remote, by name.
 *
 * @throws ThreadkeepError as {@link sync}
 *
 * @example
 * ```ts
 * for (const { name, at } of await syncDevices(remote, { passphrase })) console.log(name, new Date(at));
 * ```
 */
export async function syncDevices(remote: SyncRemote, options: Pick<SyncOptions, "passphrase">): Promise<SyncDevice[]> {
  return devicesOn(remote, options.passphrase);
}

/**
 * Removes a device from a remote, with all that only it has there. Its conversations stay on the devices that took them in. If it syncs again, it is
 * there again.
 *
 * @param device its id
 * @throws ThreadkeepError `bad-request`, `remote-failed`
 *
 * @example
 * ```ts
 * await removeSyncDevice(remote, lost.id);
 * ```
 */
export async function removeSyncDevice(remote: SyncRemote, device: string): Promise<void> {
  if (!/^[0-9a-f]{16}$/.test(check.text(device, "device"))) throw badArgument("device", "must be the id of a device: 16 hex digits");
  await removeFrom(remote, device);
}
