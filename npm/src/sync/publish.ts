// What changed here goes into packs. A log only grows, but for deletions, so that mostly what is new is sent.

import { digest } from "../digest.js";
import type { Look } from "./here.js";
import type { Known, OwnTranscript } from "./known.js";
import { type Files, PackWriter, type Piece } from "./packs.js";

/** Packs of fewer characters are small. */
const SMALL = 400_000;
/** So many small packs are written anew as one, and a text of so many pieces as one piece. */
const MANY = 16;

/** The size of a pack with something that was deleted: it is written anew, without that. */
const SPOILT = Number.MAX_SAFE_INTEGER;

/** The transcripts to write anew, whole: those of packs that are many and small, that are lost, or of which the most is not used any more. */
export function worn(known: Known, listed: { has(file: string): boolean }): Set<string> {
  const used = new Map<string, number>();
  for (const [pack, , length] of allPieces(known)) used.set(pack, (used.get(pack) ?? 0) + length);
  const small = [...known.packs].filter(([, size]) => size < SMALL).map(([pack]) => pack);
  const empty = [...known.packs].filter(([pack, size]) => !listed.has(pack) || (used.get(pack) ?? 0) < size / 2).map(([pack]) => pack);
  const old = new Set(small.length >= MANY ? [...small, ...empty] : empty);
  const isIn = ([, { log, beside }]: [string, OwnTranscript]) => [...log, ...beside].some(([pack]) => old.has(pack));
  return new Set([...known.transcripts].filter(isIn).map(([id]) => id));
}

function allPieces(known: Known): Piece[] {
  return [...known.transcripts.values()].flatMap(({ log, beside }) => [...log, ...beside]);
}

/** Writes what changed into packs, and notes it. */
export async function publish(
  known: Known,
  seen: Look,
  again: ReadonlySet<string>,
  files: Files,
  onSent: (done: number, total: number) => void,
): Promise<void> {
  const writer = new PackWriter(files, known.device);
  for (const [id, own] of known.transcripts) {
    if (known.removed.has(id)) continue;
    known.transcripts.delete(id);
    spoil(known, [...own.log, ...own.beside]);
  }
  let done = 0;
  for (const [id, said] of seen.changed) {
    onSent(done, seen.changed.size);
    done += 1;
    const before = again.has(id) ? undefined : known.transcripts.get(id);
    const digests: [string, string] = [await digest(said.log), await digest(said.beside)];
    const log = await pieces(writer, said.log, before?.log, before?.digests[0]);
    if (before !== undefined && before.log[0] !== log[0]) spoil(known, before.log);
    known.transcripts.set(id, {
      log,
      beside: await pieces(writer, said.beside, before?.beside, before?.digests[1]),
      mark: seen.marks.get(id) ?? "",
      digests,
      registers: [...said.registers],
    });
  }
  await writer.flush();
  for (const [pack, size] of writer.packs) known.packs.set(pack, size);
  const used = new Set(allPieces(known).map(([pack]) => pack));
  for (const pack of [...known.packs.keys()]) if (!used.has(pack)) known.packs.delete(pack);
}

/** Notes that packs have something that was deleted. */
function spoil(known: Known, pieces: readonly Piece[]): void {
  for (const [pack] of pieces) if (known.packs.has(pack)) known.packs.set(pack, SPOILT);
}

/** The pieces of a text: those of before, and one for what is new at its end. */
async function pieces(writer: PackWriter, text: string, before: readonly Piece[] = [], known = ""): Promise<Piece[]> {
  const length = before.reduce((sum, [, , length]) => sum + length, 0);
  const goesOn = before.length < MANY && length <= text.length && (await digest(text.slice(0, length))) === known;
  const kept = goesOn ? [...before] : [];
  const rest = goesOn ? text.slice(length) : text;
  if (rest !== "") kept.push(await writer.add(rest));
  return kept;
}
