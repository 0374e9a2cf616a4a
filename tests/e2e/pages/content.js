// What the crash tests write: a text that follows from its number alone, so that any loss, tear or mix-up shows, on both
// sides of the crash. Used by the page and by the test.

const WORDS = ["loom", "warp", "weft", "Faden", "nœud", "線", "🧵", "thread", '"quoted"', "line\nbreak", "tab\t", "\\"];

function mix(number) {
  let mixed = Math.imul(number ^ 0x9e3779b9, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function sum(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** The message of that number: the number, a checksum of the rest, and up to a few thousand characters of words. */
export function content(stream, number) {
  const start = mix(number);
  // Now and then a long one, so that records span several pages of the database.
  const length = start % 17 === 0 ? 2000 : start % 40;
  const words = Array.from({ length }, (_, at) => WORDS[mix(start + at) % WORDS.length]);
  const rest = `${stream} ${words.join(" ")}`;
  return `${number}|${sum(rest)}|${rest}`;
}

/** The size of the batch that begins at that number. */
export function batchSize(number) {
  return 2 + (mix(number) % 39);
}

/** How many messages the turn of that number gains after its first. */
export function turnSize(number) {
  return mix(number) % 4;
}

/** The message of that number in a conversation that is compacted: something is decided in it, so that there is something to keep. */
export function decision(number) {
  return `We decided to use port ${1000 + number} for service ${number}. ${content("compacted", number)}`;
}
