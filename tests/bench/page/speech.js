// Made-up talk of realistic size, the same in every run: questions and answers as long as the ones in OpenAssistant's English
// trees (users' messages have 76 characters in the middle and 161 on average, assistants' 558 and 811; both spread like
// powers of e), words as frequent as in a language (the n-th about 1/n as often as the first), of 60,000 different ones. The
// most frequent are English, so that the language is told as it would be; the rest are syllables with English endings, now
// and then a number, an identifier, a list, or a word with an accent.

import { generator } from "./messages.js";

const SMALL = (
  "the of and to a in is that it for you with on as are be this was have or can not from by an at your if they which will one " +
  "we all but has there their more what when so about would do my how some no than into other them then its these two may any over such"
).split(" ");
const SYLLABLES = "ka ren tos mil ve dor sun pli gra ne bo shi wal tu fen cor ban lis mar pe stro qui den al ber".split(" ");
const ENDINGS = ["", "", "", "s", "ing", "ed", "er", "ation", "ly", "ness", "é"];
const DIFFERENT = 60_000;

export function speaker(seed) {
  const next = generator(seed);
  const real = () => (next(2 ** 31) + 1) / (2 ** 31 + 1);
  // Twelve evenly spread numbers are nearly normal.
  const normal = () => Array.from({ length: 12 }, real).reduce((sum, number) => sum + number, -6);
  const spell = (rank) => {
    let word = "";
    for (let rest = rank; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) word += SYLLABLES[rest % SYLLABLES.length];
    return word + ENDINGS[rank % ENDINGS.length];
  };
  const word = () => {
    const rank = Math.floor(DIFFERENT ** real());
    return SMALL[rank - 1] ?? spell(rank);
  };
  const piece = () => {
    const kind = next(60);
    if (kind === 0) return String(next(5000));
    if (kind === 1) return `\`${word()}_${word()}\``;
    return word();
  };
  // `middle` and `mean` of the lengths, in characters.
  const text = (middle, mean) => {
    const length = Math.min(30_000, middle * Math.exp(normal() * Math.sqrt(2 * Math.log(mean / middle))));
    const pieces = [];
    for (let size = 0, at = 1; size < length || at === 1; at += 1) {
      const one = piece() + (at % 90 === 0 ? "\n- " : at % 14 === 0 ? "." : "");
      size += one.length + 1;
      pieces.push(one);
    }
    return pieces.join(" ");
  };
  return {
    message: (at) => (at % 2 === 0 ? { role: "user", content: text(76, 161) } : { role: "assistant", content: text(558, 811) }),
    // One to six words that say something, one of them now and then frequent: as people ask.
    query: () =>
      Array.from({ length: 1 + next(6) }, () => (next(4) === 0 ? SMALL[next(SMALL.length)] : spell(30 + Math.floor((DIFFERENT / 30) ** real() * 30)))).join(
        " ",
      ),
  };
}
