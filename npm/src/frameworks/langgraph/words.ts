// Ranking by words, for stores that no embedding model was given: BM25 over the texts of the items at hand.

/** How much a word that comes again and again counts, and how much longer texts are held back (the usual values of BM25). */
const SATURATION = 1.2;
const LENGTH = 0.75;

/** The words of a text, lower case and without accents; scripts without spaces give pairs of characters. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [run] of text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(run)) words.push(stem(run));
    else {
      const chars = [...run];
      if (chars.length === 1) words.push(run);
      for (let at = 0; at + 1 < chars.length; at += 1) words.push(`${chars[at]}${chars[at + 1]}`);
    }
  }
  return words;
}

/** Scores of texts for a query, in their order; 0 where no word of the query occurs. */
export function rank(query: string, texts: readonly (readonly string[])[]): number[] {
  const asked = [...new Set(wordsOf(query))];
  const counts = texts.map((words) => {
    const count = new Map<string, number>();
    for (const word of words) count.set(word, (count.get(word) ?? 0) + 1);
    return count;
  });
  const average = texts.reduce((sum, words) => sum + words.length, 0) / Math.max(1, texts.length);
  const scores = texts.map(() => 0);
  for (const word of asked) {
    const having = counts.filter((count) => count.has(word)).length;
    const weight = Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
    for (const [at, count] of counts.entries()) {
      const times = count.get(word) ?? 0;
      const length = (texts[at] as readonly string[]).length / Math.max(1, average);
      scores[at] = (scores[at] as number) + (weight * times * (SATURATION + 1)) / (times + SATURATION * (1 - LENGTH + LENGTH * length));
    }
  }
  return scores;
}

/** Plural and singular of an English word are one. */
function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}
