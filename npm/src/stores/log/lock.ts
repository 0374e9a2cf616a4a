/// <reference types="node" />
// That one process at a time writes to a folder. Everybody who wants it makes a file whose name says who they are, and then looks who
// else has one; who finds another that lives takes the own one back. A name is never used twice, so that what a dead process has left
// can be deleted by anybody at any time.

import childProcess from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { storeError } from "./folder.js";

const NAME = /^lock-(\d+)-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}$/;
/** So often (in milliseconds) a holder says that it lives, to those who cannot see its process. */
const BEAT = 10_000;
/** Who has not for so long does not. */
const SILENCE = 60_000;
/** So often somebody tries who meets somebody else, about half a second in all: the other may be about to close. */
const TRIES = 10;

/** A folder that was taken. */
export interface Lock {
  /** Throws if the lock's file is gone or another's: then others may have taken the folder. */
  check(): void;
  /** Lets go of the folder. */
  release(): void;
}

/** Takes a folder. */
export async function lock(folder: string): Promise<Lock> {
  const name = `lock-${process.pid}-${startOf(process.pid) ?? 0}-${here()}-${crypto.randomBytes(4).toString("hex")}`;
  const own = path.join(folder, name);
  for (let tries = 1; ; tries += 1) {
    let other: string | undefined;
    try {
      fs.writeFileSync(own, `process ${process.pid} on ${os.hostname()} has this folder open since ${new Date().toISOString()}\n`, { flag: "wx", mode: 0o600 });
      other = others(folder, name)[0];
    } catch (error) {
      // A full disk takes the name and not the words. Left there, it would keep this process out of the folder for good.
      fs.rmSync(own, { force: true });
      throw error;
    }
    if (other === undefined) break;
    fs.rmSync(own, { force: true });
    if (tries === TRIES) throw held(folder, other);
    // Two who begin at once both step back; chance says who is first next time.
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60));
  }
  const beat = setInterval(() => fs.utimes(own, new Date(), new Date(), () => {}), BEAT);
  // In a test runner's DOM a timer is a number.
  (beat as { unref?: () => void }).unref?.();
  const { ino } = fs.statSync(own);
  return {
    check: () => {
      if (fs.statSync(own, { throwIfNoEntry: false })?.ino === ino) return;
      throw storeError(
        "storage-gone",
        `the lock ${name} in the folder ${folder} was deleted while this process had the folder open, so that another process may write there. Nothing more was written: close the store and open it again`,
        { folder, lock: name },
      );
    },
    release: () => {
      clearInterval(beat);
      fs.rmSync(own, { force: true });
    },
  };
}

/** The files of others who live. Those of the dead are deleted. */
function others(folder: string, own: string): string[] {
  const now = fs.statSync(path.join(folder, own)).mtimeMs;
  return fs.readdirSync(folder).filter((name) => {
    if (name === own || !NAME.test(name)) return false;
    if (lives(folder, name, now)) return true;
    fs.rmSync(path.join(folder, name), { force: true });
    return false;
  });
}

function lives(folder: string, name: string, now: number): boolean {
  const [, pid, start, where] = NAME.exec(name) ?? [];
  if (where !== here()) {
    // Of another machine, another start of this one, or another container: only the file itself can tell.
    const beat = fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.mtimeMs;
    return beat !== undefined && now - beat < SILENCE;
  }
  const started = startOf(Number(pid));
  // Where nobody knows when a process began, one with that number counts as the one.
  return started !== undefined && (started === Number(start) || started === 0 || start === "0");
}

/**
 * When a process began, in a unit of the platform's; 0 where only its being there is known, `undefined` where there is none. With it a
 * number that was given to another process is told from the first.
 */
function startOf(pid: number): number | undefined {
  if (process.platform === "linux") {
    try {
      // The name, in parentheses, may have any characters; the fields are counted behind it.
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return fields[0] === "Z" || fields[0] === "X" ? undefined : Number(fields[19]);
    } catch {
      // That it cannot be read (too many open files, a /proc that hides others' processes) does not mean that there is none.
      return signalled(pid);
    }
  }
  if (signalled(pid) === undefined) return undefined;
  if (process.platform === "win32") return 0;
  const { stdout } = childProcess.spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } });
  const began = Date.parse(stdout ?? "");
  return Number.isNaN(began) ? 0 : began;
}

function signalled(pid: number): number | undefined {
  try {
    process.kill(pid, 0);
    return 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? undefined : 0;
  }
}

let place: string | undefined;

/** Where process numbers mean the same: this start of this machine, and this container of it. */
function here(): string {
  if (place === undefined) {
    const read = (what: () => string): string => {
      try {
        return what();
      } catch {
        return "";
      }
    };
    const boot = read(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
    const space = read(() => fs.readlinkSync("/proc/self/ns/pid"));
    place = crypto
      .createHash("sha256")
      .update(JSON.stringify([os.hostname(), boot, space]))
      .digest("hex")
      .slice(0, 8);
  }
  return place;
}

function held(folder: string, name: string): Error {
  const [, pid, , where] = NAME.exec(name) ?? [];
  const same = Number(pid) === process.pid && where === here();
  const who = where !== here() ? `process ${pid} of another machine or container` : same ? `this process (${pid}), in another thread,` : `process ${pid}`;
  const what = same
    ? "Open it in one thread and let the others ask that one"
    : where === here()
      ? "Close it there, end that process, or give this one a folder (or name) of its own"
      : `Close it there. If that process is gone, wait a minute, or delete ${path.join(folder, name)}`;
  return storeError(
    "blocked",
    `${who} has the folder ${folder} open, and only one may: both would overwrite what the other writes. ${what}. For several processes at once use threadkeep/sqlite, threadkeep/redis or threadkeep/postgres`,
    { folder, pid: Number(pid), lock: name },
  );
}
