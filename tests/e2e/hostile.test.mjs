// What is broken, foreign or means harm ends in a clear message, and what was stored before stays as it was.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { oneFile, small } from "./support/chatgpt.mjs";
import { CASES } from "./support/hostile.mjs";
import { longestTask, memory, watchMemory, watchTasks } from "./support/measure.mjs";
import { scratch } from "./support/package.mjs";
import { openSite } from "./support/site.mjs";

const SOUND = { name: "conversations.json", data: oneFile(small()) };
/** All of these files are small, or claim to be, so the engine has no reason to take more, in bytes. */
const MOST_MEMORY = 64_000_000;
let site, files;

before(async () => {
  files = scratch("hostile");
  site = await openSite();
});
after(async () => {
  await site?.close();
  files?.remove();
});

for (const one of CASES) test(`${one.name}: a clear message, an intact store`, () => site.visit((tab) => meet(tab, one), { prepare: watchMemory }));

test("a picture and a web page dropped among sound files leave those alone, and the page stays", () =>
  site.visit(async (tab) => {
    const paths = ["holiday.png", "page.html"].map((name) => {
      const path = join(files.folder, name);
      writeFileSync(path, CASES.find(({ file }) => file === name).data);
      return path;
    });
    const sound = join(files.folder, "sound.json");
    writeFileSync(sound, SOUND.data);
    const address = tab.page.url();
    const report = await tab.drop([paths[0], sound, paths[1]]);
    assert.equal(report.added, 4, report.text);
    assert.equal(report.skipped, 2, report.text);
    assert.equal(tab.page.url(), address, "the browser did not open the dropped file");
    assert.equal(await tab.page.evaluate(() => window.hacked), undefined);
    assert.equal((await tab.list()).length, 4);
  }));

for (const marks of [10_000, 100_000])
  test(`a character with ${marks} combining marks is drawn in part, all of it on demand, and copied whole`, () =>
    site.visit(
      async (tab) => {
        const word = `z${"\u0301".repeat(marks)}algo`;
        await watchTasks(tab);
        const chat = [
          { role: "user", content: `Do you see ${word}?` },
          { role: "assistant", content: `A plain word and ${word}, and \`${word}\`.` },
        ];
        await tab.pick({ name: "chat.json", data: JSON.stringify(chat) });
        await tab.closeReport();
        const message = tab.message("A plain word");
        await message.waitFor();
        const drawn = () => message.locator(".body").evaluate((it) => it.textContent.match(/\u0301/g).length);
        // A long message is shown up to its first 24,000 characters, which is before the second word.
        assert.equal(await drawn(), marks > 24_000 ? 31 : 62, "31 marks stay on each character");
        await message.hover();
        const copied = await tab.copied(() => message.getByRole("button", { name: "Copy this message" }).click());
        assert.equal(copied, chat[1].content);
        await message.getByRole("button", { name: /^Show all/ }).click();
        await message.filter({ hasText: "◌" }).waitFor();
        assert.equal(await drawn(), 2 * marks);
        const { longest, speed } = await longestTask(tab);
        // A machine that is busy is slow at everything: what stands on it is measured against a fixed piece of work.
        assert.ok(longest < 40 * speed, `the longest task took ${longest} ms, where a fixed piece of work takes ${speed} ms`);
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    ));

/** Imports a hostile file into a store with sound conversations. */
async function meet(tab, { file, data, codes, least, most, updated }) {
  await tab.pick(SOUND);
  const kept = await tab.exportAll();
  const path = join(files.folder, file);
  writeFileSync(path, data);
  const report = await tab.pick(path, { timeout: 120_000 });
  assert.equal(report.failed, undefined);
  assert.ok(report.added >= least && report.added <= most, report.text);
  assert.equal(report.updated, updated, report.text);
  if (codes !== null) {
    const remark = report.remarks.find(({ code }) => codes.includes(code));
    assert.ok(remark, `a remark of ${codes.join(" or ")}, not ${JSON.stringify(report.remarks)}`);
    assert.ok(remark.place.startsWith(file), `the place names the file: ${remark.place}`);
    assert.ok(remark.reason.length > 15, `the reason is in words: ${remark.reason}`);
  }
  assert.ok((await memory(tab.page)) < MOST_MEMORY, "and the engine stays small");
  await intact(tab, kept, report.added);
  await tab.closeReport();
  if (report.added === 1) {
    // What came in can be read.
    for (const row of await tab.get("thread-row").all())
      if (!(await row.getAttribute("data-transcript")).includes("c0ffee00")) {
        assert.ok((await row.getAttribute("data-transcript")).length <= 512, "its id is one");
        await row.click();
      }
    await tab.get("thread").locator("[data-testid=title]").waitFor();
  }
  await tab.page.reload();
  await tab.ready();
  await intact(tab, kept, report.added);
}

/** What was stored before is there, to the byte, beside what came in. */
async function intact(tab, kept, added) {
  const now = await tab.exportAll();
  const [header, body] = [kept.data.subarray(0, kept.data.indexOf("\n") + 1), kept.data.subarray(kept.data.indexOf("\n") + 1)];
  assert.ok(now.data.subarray(0, header.length).equals(header));
  assert.ok(now.data.includes(body), "what was stored before is as it was");
  assert.match(await tab.get("tally").innerText(), new RegExp(`^${4 + added} threads`));
}
