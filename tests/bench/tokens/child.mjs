// One tokenizer in a process of its own, so that none pays for another's heap: `child.mjs NAME ENCODING ROOT`. Says how long
// it took to the first count, then answers each list of texts with the milliseconds that they took and the sum of counts.

import { loader } from "./counters.mjs";

const [name, encoding, root] = process.argv.slice(2);
const start = performance.now();
const count = await loader(name, encoding, root)();
count("The first count.");
process.send({ start: performance.now() - start });

process.on("message", ({ before, texts }) => {
  // It waited for its turn, and others have filled the processor's caches since then.
  before.forEach(count);
  const begin = performance.now();
  let sum = 0;
  for (const text of texts) sum += count(text);
  process.send({ ms: performance.now() - begin, sum });
});
