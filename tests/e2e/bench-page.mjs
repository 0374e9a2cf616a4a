// The page's promises, measured: a large archive coming in, a long conversation opened and scrolled. Run by
// `cargo xtask bench page`; prints one row a figure, with the target and whether it was met.
//
// THREADKEEP_LARGE: megabytes of the archive (100); THREADKEEP_LONG: messages of the long conversation (10,000); ROUNDS: how often it is opened (7).
import { join } from "node:path";
import { archive, transcript } from "./generate.mjs";
import { importUnderLoad, median, quantile, scrollThrough, timeToOpen, watchMemory } from "./support/measure.mjs";
import { scratch } from "./support/package.mjs";
import { count } from "./support/random.mjs";
import { openSite, Site } from "./support/site.mjs";

const MEGABYTE = 1_000_000;
const megabytes = count("THREADKEEP_LARGE", 100);
const messages = count("THREADKEEP_LONG", 10_000);
const ROUNDS = count("ROUNDS", 7);

function row(measure, value, unit, target) {
  const shown = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ${unit}`;
  const verdict = target === undefined ? ["", ""] : [`< ${shown(target)}`, value < target ? "ok" : "missed"];
  console.log(["BENCH", measure, shown(value), ...verdict].join("\t"));
}

const files = scratch("bench");
const site = await openSite();
try {
  const file = join(files.folder, "conversations.json");
  const made = archive(file, { megabytes, conversations: megabytes * 10 });
  const context = await site.browser.newContext({ viewport: { width: 1280, height: 860 }, serviceWorkers: "block" });
  await watchMemory(context);
  const tab = new Site(await context.newPage(), site.address);
  await tab.open();
  const load = await importUnderLoad(tab, file);
  if (load.report.added !== made.conversations) throw new Error(`the import went wrong: ${load.report.text}`);
  const what = `import of ${megabytes} MB, ${made.conversations} conversations`;
  row(`${what}: time`, load.seconds, "s");
  row(`${what}: engine's memory`, load.memory / MEGABYTE, "MB", (3 * made.largest) / MEGABYTE + 64);
  row(`${what}: input to paint, worst of ${load.inputs}`, load.durations.at(-1) ?? 0, "ms", 100);
  row(`${what}: input to paint, 99 %`, quantile(load.durations, 0.99), "ms", 100);
  row(`${what}: worst gap between frames`, load.gaps.at(-1), "ms", 100);
  const again = await importUnderLoad(tab, file);
  row(`${what}: second import`, again.seconds, "s");
  await context.close();

  const long = join(files.folder, "long.json");
  const text = transcript(long, { messages }).first;
  await site.visit(async (reader) => {
    await reader.pick(long, { timeout: 5 * 60_000 });
    await reader.closeReport();
    const [warm, cold] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      await reader.page.goto(`${reader.address}#/`);
      await reader.page.reload();
      await reader.ready();
      cold.push(await timeToOpen(reader, "A long conversation", text));
      await reader.page.evaluate(() => (location.hash = "#/"));
      await reader.get("message").first().waitFor({ state: "detached" });
      warm.push(await timeToOpen(reader, "A long conversation", text));
    }
    const opened = `${messages} messages: click to readable text`;
    row(`${opened}, warm, median of ${warm.length}`, median(warm), "ms", 300);
    row(`${opened}, cold, median of ${cold.length}`, median(cold), "ms", 1000);
    const { gaps, blank } = await scrollThrough(reader.page);
    row(`${messages} messages: frames over 50 ms while scrolling, of ${gaps.length}`, gaps.filter((gap) => gap > 50).length, "frames");
    row(`${messages} messages: worst frame while scrolling`, Math.max(...gaps), "ms");
    row(`${messages} messages: frames without a message in view`, blank, "frames");
  });
} finally {
  await site.close();
  files.remove();
}
