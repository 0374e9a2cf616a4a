// Messages for the measurements of stores and of the engine, and the median of what was measured.

const WORDS = "the agent reads each file before it decides what to change because tests fail where parsing of dates goes wrong".split(" ");

/** Messages as people and models write them: 20 to 150 words. */
export function messages(count, salt) {
  return Array.from({ length: count }, (_, index) => {
    const length = 20 + ((index * 37 + Math.abs(salt) * 11) % 130);
    const content = Array.from({ length }, (_, at) => WORDS[(at * 7 + index + Math.abs(salt)) % WORDS.length]).join(" ");
    return { role: index % 2 === 0 ? "user" : "assistant", content };
  });
}

export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
