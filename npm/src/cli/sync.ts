/// <reference types="node" />
// `threadkeep sync`: this machine's keep and a folder or WebDAV server become the same.

import { hostname } from "node:os";
import process from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Threadkeep } from "../index.js";
import { type SyncRemote, folderRemote, sync, syncDevices, webdavRemote } from "../sync.js";
import { Trouble } from "./place.js";
import { count, print, progress, say, table, when } from "./print.js";

/** The variable with the passphrase. */
const PASSPHRASE = "THREADKEEP_PASSPHRASE";
/** The variables with a server's user and password. */
const [USER, PASSWORD] = ["THREADKEEP_WEBDAV_USER", "THREADKEEP_WEBDAV_PASSWORD"];

/** Asks for the passphrase; gives what syncs once and says what came and went, or with `devices` what lists who is there. */
export async function syncer(keep: Threadkeep, where: string | undefined, devices: boolean, json: boolean): Promise<() => Promise<void>> {
  if (where === undefined) throw new Trouble("name a folder or the address of a WebDAV server: threadkeep sync ~/Dropbox/threads");
  const remote = remoteAt(where);
  const passphrase = await asked();
  return () => (devices ? listed(remote, passphrase, json) : synced(keep, remote, passphrase, json));
}

async function listed(remote: SyncRemote, passphrase: string, json: boolean): Promise<void> {
  const found = await syncDevices(remote, { passphrase });
  print(json ? JSON.stringify(found) : table(found.map(({ name, id, at }) => [name, id, when(at)])));
}

async function synced(keep: Threadkeep, remote: SyncRemote, passphrase: string, json: boolean): Promise<void> {
  const report = await sync(keep, remote, { passphrase, device: hostname(), onProgress: ({ done, total }) => progress(done, total) });
  if (json) return print(JSON.stringify(report));
  for (const { place, reason } of report.skipped) say(`${place}: ${reason}`);
  for (const { thread, other } of report.apart) print(`${thread} went on in two ways: the other one is ${other}`);
  const { messages, deleted, sent, received, others } = report;
  const gone = deleted === 0 ? "" : `, ${count(deleted, "node")} deleted`;
  print(`${count(messages, "message")} came in${gone}; ${size(received.bytes)} read, ${size(sent.bytes)} written`);
  if (others.length > 0) print(table(others.map(({ name, at }) => [name, when(at)])));
}

function remoteAt(where: string): SyncRemote {
  if (!/^https?:\/\//.test(where)) return folderRemote(where);
  const [user, password] = [process.env[USER], process.env[PASSWORD]];
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return webdavRemote(where, user === undefined ? {} : { headers: { authorization } });
}

/** The passphrase: of the environment, or typed unseen. No argument has it, since other users of the machine can read those. */
async function asked(): Promise<string> {
  const given = process.env[PASSPHRASE];
  if (given !== undefined && given !== "") return given;
  if (!process.stdin.isTTY) throw new Trouble(`set ${PASSPHRASE} to the passphrase that all your devices have`);
  process.stderr.write("Passphrase, the same on all devices: ");
  const unseen = new Writable({ write: (_piece, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: unseen, terminal: true });
  const typed = await reader.question("");
  reader.close();
  process.stderr.write("\n");
  if (typed === "") throw new Trouble("the passphrase must not be empty");
  return typed;
}

function size(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
