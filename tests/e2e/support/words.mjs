// Text that nobody wrote: sentences, lists and code from a list of words, the same for the same numbers.

const WORDS = (
  "loom warp weft shuttle thread spindle yarn knot basket river stone bridge lantern harbour ledger compass kettle orchard " +
  "window garden letter engine signal paper ribbon copper velvet timber marble saffron cinder meadow pebble harvest winter " +
  "summer quiet narrow ancient gentle hollow bright distant careful sudden patient crooked simple heavy golden silver " +
  "carries follows gathers answers measures remembers crosses opens closes mends borrows returns keeps counts turns holds " +
  "under over beside between through without until because while although therefore again often never always slowly " +
  "the a of and in with from that which every some each other two three seven größer naïve façade søster"
).split(" ");

const CODE = [
  "let total = 0;",
  "for (const row of rows) total += row.weight;",
  "if (total > limit) return null;",
  "print(sum(x * x for x in range(10)))",
  "SELECT name FROM knots WHERE length > 3;",
  "fn weave(warp: &str) -> usize { warp.len() }",
];

/** A sentence of 6 to 18 words. */
export function sentence(numbers) {
  const words = Array.from({ length: numbers.between(6, 18) }, () => numbers.of(WORDS));
  words[0] = words[0][0].toUpperCase() + words[0].slice(1);
  return `${words.join(" ")}.`;
}

/** A title of two to four words. */
export function title(numbers) {
  return Array.from({ length: numbers.between(2, 4) }, () => numbers.of(WORDS)).join(" ");
}

/** Markdown of about `length` characters: paragraphs, lists, code. */
export function prose(numbers, length) {
  const parts = [];
  let sum = 0;
  while (sum < length) {
    const kind = numbers.next();
    let part;
    if (kind < 0.1) part = "```\n" + Array.from({ length: numbers.between(2, 6) }, () => numbers.of(CODE)).join("\n") + "\n```";
    else if (kind < 0.2) part = Array.from({ length: numbers.between(2, 5) }, () => `- ${sentence(numbers)}`).join("\n");
    else part = Array.from({ length: numbers.between(1, 4) }, () => sentence(numbers)).join(" ");
    parts.push(part);
    sum += part.length + 2;
  }
  return parts.join("\n\n");
}
