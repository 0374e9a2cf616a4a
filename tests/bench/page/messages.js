// The messages that every contender stores: the same objects, with contents of about 500 characters.

const WORDS =
  "the store keeps what was said and gives it back in the order in which it was written however long ago that may have been while another tab reads the same tree of replies and a third one closes without a word".split(
    " ",
  );

// Deterministic, so that every run stores the same.
export function generator(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

export function entries(count) {
  const next = generator(7);
  const ids = Array.from({ length: count }, () =>
    Array.from({ length: 8 }, () =>
      next(2 ** 32)
        .toString(16)
        .padStart(8, "0"),
    ).join(""),
  );
  return ids.map((id, seq) => {
    let content = "";
    const length = 400 + next(200);
    while (content.length < length) content += `${WORDS[next(WORDS.length)]} `;
    return {
      id,
      parent: seq === 0 ? null : ids[seq - 1],
      seq,
      created_at: 1_750_000_000_000 + seq * 1000,
      message: { role: seq % 2 === 0 ? "user" : "assistant", content },
    };
  });
}
