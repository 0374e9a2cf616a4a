/// <reference types="node" />
// `threadkeep doctor`: reads all that is kept, says what is damaged, and opens a damaged folder without that.

import { ThreadkeepError } from "../index.js";
import { openPlace, Trouble, type Place } from "./place.js";
import { count, dye, print, say } from "./print.js";

/** What to do about a folder that cannot be opened. */
const REPAIR = "threadkeep doctor --repair leaves out what is damaged, says what that is, and keeps the file as it was.";
/** What to do about what opens, and cannot be read as a whole. */
const EXPORT = "threadkeep export FILE writes what is whole, and threadkeep import FILE brings it into another place.";

/** Reads everything, and repairs a folder where that is asked for. Fails where something is damaged. */
export async function doctor(place: Place, repair: boolean, json: boolean): Promise<void> {
  if (repair && place.sqlite !== undefined) throw new Trouble(`a SQLite file is not repaired where it is. ${EXPORT}`);
  const keep = await openPlace(place, repair).catch((error: unknown) => {
    if (error instanceof ThreadkeepError && error.code === "corrupt" && place.sqlite === undefined) throw new Trouble(`${error.message}\n${REPAIR}`);
    throw error;
  });
  try {
    // What opening left out is lost; what reading finds is still there.
    const lost = (await keep.stats()).damaged;
    const findings = await keep.lint();
    const { transcripts, messages, damaged } = await keep.stats();
    const unreadable = damaged.slice(lost.length);
    if (json) print(JSON.stringify({ transcripts, messages, lost, unreadable, findings }));
    else {
      for (const { what } of lost) print(`${dye("yellow", "lost")}  ${what}`);
      for (const { transcript, what } of unreadable) print(`${dye("red", "damaged")}  ${transcript ?? ""}  ${what}`);
      print(`${count(transcripts, "thread")}, ${count(messages, "message")} read.`);
    }
    if (findings.length > 0) say(`${count(findings.length, "place")} where a model may stumble, such as calls without results: prompts mend them.`);
    if (lost.length > 0) say("The file as it was is beside the new one: its name begins with damaged-.");
    if (unreadable.length > 0) throw new Trouble(`${count(unreadable.length, "record")} cannot be read. ${EXPORT}`);
    if (!json) print(lost.length > 0 ? "Repaired." : "Sound.");
  } finally {
    await keep.close();
  }
}
