// Real archives on the page, where a folder of them is found (THREADKEEP_DATA, or `shared/data` beside a folder above this
// one): all dropped at once, every thread opened, all of it exported and restored.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openSite } from "./support/site.mjs";

const data = find();
const skip = data === undefined && "there is no folder of real archives here";
let site;

before(async () => {
  if (!skip) site = await openSite();
});
after(() => site?.close());

test("real archives come in, every thread of theirs can be read, and they come back from an export as they were", { skip, timeout: 15 * 60_000 }, (t) =>
  site.visit(async (tab) => {
    const report = await tab.drop(data, { timeout: 5 * 60_000 });
    assert.ok(report.added > 0, report.text);
    for (const { place, reason } of report.remarks) assert.ok(place.length > 0 && reason.length > 15, `${place}: ${reason}`);
    const codes = Object.entries(report.remarks.reduce((sum, { code }) => Object.assign(sum, { [code]: (sum[code] ?? 0) + 1 }), {}));
    t.diagnostic(
      `${report.added} added, ${report.updated} updated, ${report.unchanged} unchanged, ${report.skipped} remarks (${codes.map(([code, many]) => `${code} ${many}`).join(", ")})`,
    );

    const again = await tab.drop(data, { timeout: 5 * 60_000 });
    assert.equal(again.added + again.updated, 0, `a second import adds nothing: ${again.text}`);
    await tab.closeReport();

    const first = await tab.exportAll();
    const ids = [...new Set(first.data.toString("utf8").match(/^\{"transcript":("(?:[^"\\]|\\.)*")\}$/gm))].map((line) => JSON.parse(line).transcript);
    assert.equal(ids.length, Number((await tab.get("tally").innerText()).replace(/\D/g, "")));
    let read = 0;
    for (const id of ids) {
      await tab.page.evaluate(() => (location.hash = "#/"));
      await tab.get("message").first().waitFor({ state: "detached" });
      await tab.page.evaluate((to) => (location.hash = to), `#/t/${encodeURIComponent(id)}`);
      await tab.page.locator("[data-testid=message], [data-testid=hidden], [data-testid=missing]").first().waitFor();
      assert.equal(await tab.get("missing").count(), 0, id);
      read += await tab.get("message").count();
    }
    t.diagnostic(`${ids.length} threads opened, ${read} messages were on the screen`);

    await tab.page.goto(`${tab.address}#/`);
    await tab.deleteAll();
    const restored = await tab.pick({ name: first.name, data: first.data }, { timeout: 5 * 60_000 });
    assert.equal(restored.added, ids.length, restored.text);
    assert.equal(restored.skipped, 0, restored.text);
    assert.ok((await tab.exportAll()).data.equals(first.data), "the second export is the first");
  }),
);

function find() {
  if (process.env.THREADKEEP_DATA) return resolve(process.env.THREADKEEP_DATA);
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "shared/data"))) return join(folder, "shared/data");
    if (folder === dirname(folder)) return undefined;
  }
}
