// Trouble that is not in the files: a full disk, a database that is deleted, an engine that stops. The page says what
// happened, offers a way on, and what was kept stays.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { archive } from "./generate.mjs";
import { launchToKill } from "./support/browser.mjs";
import { oneFile, small } from "./support/chatgpt.mjs";
import { tear } from "./support/leveldb.mjs";
import { scratch } from "./support/package.mjs";
import { Guard, Site, openSite } from "./support/site.mjs";

const EXPORT = { name: "conversations.json", data: oneFile(small()) };
let site, files;

before(async () => {
  files = scratch("trouble");
  site = await openSite();
});
after(async () => {
  await site?.close();
  files?.remove();
});

test("a full disk ends an import with a clear message, and all that was stored stays", () =>
  site.visit(
    async (tab) => {
      await tab.pick(EXPORT);
      const kept = await tab.exportAll();
      const file = join(files.folder, "large.json");
      const { conversations } = archive(file, { megabytes: 6, conversations: 60, big: 1 });
      // A browser does not let a test use up its quota in reasonable time, so the writes of the engine's thread fail the
      // way they do then: the transaction is aborted, and it alone says why.
      const [worker] = tab.page.workers();
      await worker.evaluate(() => {
        let room = 30;
        const { commit } = IDBTransaction.prototype;
        IDBTransaction.prototype.commit = function () {
          room -= 1;
          if (room >= 0) return commit.call(this);
          Object.defineProperty(this, "error", { value: new DOMException("the disk is full", "QuotaExceededError") });
          this.abort();
        };
      });
      const report = await tab.pick(file);
      assert.match(report.failed ?? "", /full/i, report.text);
      await tab.page.reload();
      await tab.ready();
      const body = kept.data.subarray(kept.data.indexOf("\n") + 1);
      assert.ok((await tab.exportAll()).data.includes(body), "what was stored before is as it was");
      // With room again, the same import goes on where it had to stop.
      const again = await tab.pick(file);
      assert.ok(again.added > 0 && again.unchanged > 0, again.text);
      assert.equal(again.added + again.unchanged, conversations, "every conversation was there whole or not at all");
      assert.equal(Number((await tab.get("tally").innerText()).replace(/\D/g, "")), 4 + conversations);
    },
    { mayFail: true },
  ));

test("a database deleted by somebody else is noticed, and a restart begins anew and says what was lost", () =>
  site.visit(
    async (tab, context) => {
      await tab.pick(EXPORT);
      const kept = await tab.exportAll();
      await tab.closeReport();
      const other = await context.newPage();
      await other.goto(`${tab.address}icon.svg`);
      const names = await other.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
      assert.ok(names.length > 0);
      await other.evaluate(
        (all) => Promise.all(all.map((name) => new Promise((done, fail) => Object.assign(indexedDB.deleteDatabase(name), { onsuccess: done, onerror: fail })))),
        names,
      );
      // The next thing that needs the store meets the loss.
      await tab.row("Markdown of every kind").click();
      const banner = tab.get("engine-failed");
      await banner.waitFor();
      assert.match(await banner.innerText(), /deleted|gone/i);
      await tab.get("restart").click();
      await banner.waitFor({ state: "detached" });
      await tab.page.goto(`${tab.address}#/`);
      await tab.get("empty").waitFor();
      await tab.get("loss").waitFor();
      assert.match(await tab.get("loss").innerText(), /4 threads/);
      const restored = await tab.pick({ name: kept.name, data: kept.data });
      assert.equal(restored.added, 4, restored.text);
      assert.ok((await tab.exportAll()).data.equals(kept.data));
    },
    { mayFail: true },
  ));

test("data that the browser removed between two visits is missed, not passed over", () =>
  site.visit(async (tab, context) => {
    await tab.pick(EXPORT);
    await tab.page.goto(`${tab.address}icon.svg`);
    await tab.page.evaluate(async () => {
      for (const { name } of await indexedDB.databases())
        await new Promise((done, fail) => Object.assign(indexedDB.deleteDatabase(name), { onsuccess: done, onerror: fail }));
    });
    await tab.open();
    await tab.get("loss").waitFor();
    assert.match(await tab.get("loss").innerText(), /4 threads/);
    assert.equal(context.pages().length, 1);
  }));

test("an engine that stops is said, and a restart brings everything back", () =>
  site.visit(
    async (tab) => {
      await tab.pick(EXPORT);
      const kept = await tab.exportAll();
      await tab.closeReport();
      const [worker] = tab.page.workers();
      await worker.evaluate(
        () =>
          void setTimeout(() => {
            throw new Error("stopped by the test");
          }),
      );
      const banner = tab.get("engine-failed");
      await banner.waitFor();
      assert.match(await banner.innerText(), /stopped/i);
      await tab.get("restart").click();
      await banner.waitFor({ state: "detached" });
      await tab.openThread("Sourdough for beginners");
      assert.ok((await tab.exportAll()).data.equals(kept.data));
    },
    { mayFail: true },
  ));

test("what is imported after a kill that tore the browser's log is there after the next start, with all from before", async () => {
  const profile = scratch("profile");
  const file = join(files.folder, "more.json");
  const { conversations } = archive(file, { megabytes: 1, conversations: 10, big: 0.2 });
  let running;
  const start = async () => {
    running = await launchToKill(profile.folder);
    const tab = new Site(await running.context.newPage(), site.address, new Guard(running.context, site.address));
    await tab.open();
    return tab;
  };
  const threads = async (tab) => Number((await tab.get("tally").innerText()).replace(/\D/g, ""));
  try {
    let tab = await start();
    assert.equal((await tab.pick(EXPORT)).added, 4);
    await running.kill();
    tear(profile.folder);
    tab = await start();
    assert.equal(await threads(tab), 4);
    assert.equal((await tab.pick(file)).added, conversations);
    await running.kill();
    tab = await start();
    assert.equal(await threads(tab), 4 + conversations);
  } finally {
    await running?.kill();
    profile.remove();
  }
});

test("an import can be stopped; what came in stays whole, and the same files go on from there", () =>
  site.visit(async (tab) => {
    const file = join(files.folder, "stopped.json");
    const { conversations } = archive(file, { megabytes: 30, conversations: 300, big: 1 });
    // Pressed as soon as there is something to lose.
    const stopping = tab.page.waitForFunction(() => {
      const button = document.querySelector("[data-testid=stop-import]");
      const some = /[1-9]\d* conversation/.test(document.querySelector("[data-testid=import-progress]")?.innerText ?? "");
      if (button !== null && some) button.click();
      return button !== null && some;
    });
    const [stopped] = await Promise.all([tab.pick(file), stopping]);
    assert.match(stopped.text, /stopped/i);
    assert.ok(stopped.added > 0 && stopped.added < conversations, stopped.text);
    await tab.page.reload();
    await tab.ready();
    assert.equal(Number((await tab.get("tally").innerText()).replace(/\D/g, "")), stopped.added);
    const rest = await tab.pick(file, { timeout: 120_000 });
    assert.deepEqual([rest.added, rest.unchanged], [conversations - stopped.added, stopped.added], rest.text);
  }));

test("a part of the page is loaded when it is first needed; where it cannot be, that is said, and the next try loads it", () => {
  const asked = [];
  const part = (url) => /\/(archives|prompts|shared)\.wasm$/.test(url);
  let broken = "offline";
  return site.visit(
    async (tab, context) => {
      assert.deepEqual(asked, [], "whoever only reads loads no part");
      await context.route(
        (url) => part(url.href),
        async (route) => {
          if (broken === "offline") return route.abort();
          const answer = await route.fetch();
          const bytes = await answer.body();
          // As after an update of the page: the module is the old one, the part the new one's.
          if (broken === "updated" && route.request().url().endsWith("/archives.wasm")) bytes[bytes.length - 1] ^= 1;
          return route.fulfill({ response: answer, body: bytes });
        },
      );
      for (broken of ["offline", "updated"]) {
        const report = await tab.pick(EXPORT);
        assert.match(report.failed ?? "", /part of the page could not be loaded/i, `${broken}: ${report.text}`);
      }
      broken = undefined;
      const report = await tab.pick(EXPORT);
      assert.equal(report.added, 4, report.text);
      assert.ok(asked.some((url) => url.endsWith("/archives.wasm")) && !asked.some((url) => url.endsWith("/prompts.wasm")), asked.join());
    },
    { mayFail: true, prepare: (context) => context.on("request", (request) => part(request.url()) && asked.push(request.url())) },
  );
});
