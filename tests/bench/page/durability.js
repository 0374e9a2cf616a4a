// What runs in the browser while the script outside kills it: a writer that reports every acknowledged entry.

import init, { Writer } from "/module/threadkeep_tests.js";

const DATABASE = "durability";
const code = (error) => String(error?.message ?? error);

// Writes from the writer's `own`th entry on, `count` of them or until killed; reports each to `acknowledged`.
async function write(name, own, count) {
  const writer = await Writer.open(DATABASE, name);
  let guess = 0;
  for (let index = own; index < own + count; index += 1) {
    guess = (await writer.append(index, guess)) + 1;
    globalThis.acknowledged?.(index);
  }
  return count;
}

// The number of entries in the database, or what is wrong with them.
async function check() {
  const writer = await Writer.open(DATABASE, 0);
  try {
    return await writer.check();
  } finally {
    writer.free();
  }
}

// Writes values until the quota is used up; then what the store said, and whether the log is as it was and goes on.
async function exhaust(size, most) {
  const writer = await Writer.open(DATABASE, 0);
  const before = await writer.check();
  let said = "nothing";
  for (let number = 0; number < most && said === "nothing"; number += 1) {
    await writer.fill(number, size).catch((error) => (said = code(error)));
  }
  const after = await writer.check();
  return { said, before, after };
}

async function relieve() {
  const writer = await Writer.open(DATABASE, 0);
  await writer.unfill();
  return writer.check();
}

// Holds a writer while the site's data is cleared outside; what each call says then, and whether a new one starts afresh.
let held;
async function hold() {
  held = await Writer.open(DATABASE, 7);
  return held.check();
}
async function after() {
  const said = await held.append(0, 0).then(() => "nothing", code);
  const again = await held.append(0, 0).then(() => "nothing", code);
  const fresh = await Writer.open(DATABASE, 0);
  return { said, again, fresh: await fresh.check() };
}

// What a new opening finds, and how many entries.
async function begin() {
  const writer = await Writer.open(DATABASE, 0);
  return { beginning: writer.beginning(), there: await writer.check() };
}

await init({ module_or_path: "/module/threadkeep_tests_bg.wasm" });
globalThis.bench = { write, check, exhaust, relieve, hold, after, begin };
