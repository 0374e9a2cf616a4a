// Connections on the page: adding, choosing, removing, and keys, which stay in memory or lie on the disk under a passphrase.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { serveModel } from "./support/model.mjs";
import { openSite, Site } from "./support/site.mjs";

const KEY = "sk-test-0123456789abcdef";
const PASSPHRASE = "correct horse battery";

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

async function opened(tab) {
  await tab.get("connections-open").click();
  await tab.get("connections").waitFor();
}

/** Adds a connection; with `passphrase`, its key is kept. */
async function add(tab, { preset = "openai", name = "Work", key = KEY, passphrase, model = "gpt-4.1-mini" } = {}) {
  await tab.get(`preset-${preset}`).click();
  await tab.get("connection-name").fill(name);
  if (key) await tab.get("connection-secret").fill(key);
  await tab.get("connection-model").fill(model);
  if (passphrase) {
    await tab.get("connection-keep").check();
    await tab.get("connection-passphrase").fill(passphrase);
  }
  await tab.get("connection-save").click();
  await entry(tab, name).waitFor();
}

const entry = (tab, name) => tab.get("connection").filter({ hasText: name });
const keyOf = (tab, name) => entry(tab, name).getByTestId("connection-key").innerText();

/** Everything that the page has put on the disk or shows, as one text. */
function traces(page) {
  return page.evaluate(async () => {
    const found = [location.href, document.documentElement.outerHTML, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })];
    const fields = [...document.querySelectorAll("input, textarea")].filter((field) => field.type !== "password");
    found.push(...fields.map((field) => field.value));
    for (const { name } of await indexedDB.databases()) {
      const database = await new Promise((resolve, reject) => {
        const asked = indexedDB.open(name);
        asked.onsuccess = () => resolve(asked.result);
        asked.onerror = () => reject(asked.error);
      });
      for (const store of database.objectStoreNames) {
        const rows = await new Promise((resolve, reject) => {
          const asked = database.transaction(store).objectStore(store).getAll();
          asked.onsuccess = () => resolve(asked.result);
          asked.onerror = () => reject(asked.error);
        });
        const decode = (value) => (value instanceof Uint8Array || value instanceof ArrayBuffer ? new TextDecoder().decode(value) : JSON.stringify(value));
        found.push(...rows.map(decode));
      }
      database.close();
    }
    return found.join("\n");
  });
}

test("connections are added from presets, chosen, edited and removed", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("connections-none").waitFor();
    await add(tab);
    assert.equal(await entry(tab, "Work").getByTestId("connection-use").isChecked(), true, "the first is in use");
    assert.match(await entry(tab, "Work").innerText(), /gpt-4.1-mini at api\.openai\.com/);
    await add(tab, { preset: "ollama", name: "Mine", key: "", model: "qwen3" });
    assert.match(await entry(tab, "Mine").innerText(), /qwen3 at localhost:11434.*no key/s);
    assert.equal(await entry(tab, "Mine").getByTestId("connection-use").isChecked(), true, "what was just added is in use");
    await entry(tab, "Work").getByTestId("connection-use").check();

    await entry(tab, "Mine").getByTestId("connection-edit").click();
    await tab.get("connection-model").fill("");
    await tab.get("connection-save").click();
    await tab.get("connection-said").filter({ hasText: "Choose a model" }).waitFor();
    await tab.get("connection-model").fill("llama4");
    await tab.get("connection-save").click();
    await entry(tab, "Mine").filter({ hasText: "llama4" }).waitFor();

    await tab.page.reload();
    await tab.ready();
    await opened(tab);
    assert.equal(await entry(tab, "Work").getByTestId("connection-use").isChecked(), true, "the choice is kept");
    await entry(tab, "Mine").getByTestId("connection-remove").click();
    assert.equal(await tab.get("connection").count(), 2, "asked first");
    await tab.get("connection-confirm").click();
    await entry(tab, "Mine").waitFor({ state: "detached" });
    assert.doesNotMatch(await traces(tab.page), /llama4/);
  }));

test("a key that is not kept is in memory alone, and gone after a reload", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await add(tab);
    assert.equal(await keyOf(tab, "Work"), "key in memory");
    assert.ok(!(await traces(tab.page)).includes(KEY), "the key is nowhere in clear");
    // Nor in the form that edits it.
    await entry(tab, "Work").getByTestId("connection-edit").click();
    assert.equal(await tab.get("connection-secret").inputValue(), "");
    assert.ok(!(await traces(tab.page)).includes(KEY));
    await tab.page.keyboard.press("Escape");
    await tab.page.reload();
    await tab.ready();
    await opened(tab);
    assert.equal(await keyOf(tab, "Work"), "no key");
  }));

test("a kept key is encrypted, unlocks after a reload, and a wrong passphrase is said", () =>
  site.visit(async (tab, context) => {
    await opened(tab);
    await tab.get("preset-openai").click();
    await tab.get("connection-secret").fill(KEY);
    await tab.get("connection-model").fill("m");
    await tab.get("connection-keep").check();
    await tab.get("connection-passphrase").fill("short");
    await tab.get("connection-save").click();
    await tab.get("connection-said").filter({ hasText: "at least 8 characters" }).waitFor();
    await tab.page.keyboard.press("Escape");
    await add(tab, { passphrase: PASSPHRASE });
    assert.equal(await keyOf(tab, "Work"), "key kept, unlocked");
    const sealed = await tab.page.evaluate(() => JSON.parse(JSON.parse(localStorage["threadkeep.connections"]).list[0].sealed));
    assert.ok(sealed.rounds >= 600_000, `${sealed.rounds} rounds`);
    assert.deepEqual([atob(sealed.salt).length, atob(sealed.nonce).length], [16, 12]);
    for (const secret of [KEY, PASSPHRASE]) assert.ok(!(await traces(tab.page)).includes(secret), "nothing lies in clear");

    // Another key goes under the same passphrase.
    await tab.get("preset-anthropic").click();
    await tab.get("connection-name").fill("Second");
    await tab.get("connection-secret").fill("sk-second");
    await tab.get("connection-model").fill("m");
    await tab.get("connection-keep").check();
    await tab.get("connection-passphrase").fill("another passphrase");
    await tab.get("connection-save").click();
    await tab.get("connection-said").filter({ hasText: "have another passphrase" }).waitFor();
    await tab.get("connection-passphrase").fill(PASSPHRASE);
    await tab.get("connection-save").click();
    await entry(tab, "Second").waitFor();

    const again = new Site(await context.newPage(), site.address, tab.guard);
    await again.open();
    await opened(again);
    assert.equal(await keyOf(again, "Work"), "key kept, locked");
    await again.get("unlock-passphrase").fill("correct horse batter");
    await again.get("unlock").click();
    await again.get("unlock-said").filter({ hasText: "not the passphrase" }).waitFor();
    assert.equal(await keyOf(again, "Work"), "key kept, locked");
    await again.get("unlock-passphrase").fill(PASSPHRASE);
    await again.page.keyboard.press("Enter");
    await again.get("unlock").waitFor({ state: "detached" });
    assert.deepEqual([await keyOf(again, "Work"), await keyOf(again, "Second")], ["key kept, unlocked", "key kept, unlocked"]);
    for (const secret of [KEY, "sk-second", PASSPHRASE]) assert.ok(!(await traces(again.page)).includes(secret), "unlocking shows nothing");

    // Forgetting takes it from the disk, and from the other tab's list too.
    await entry(again, "Work").getByTestId("connection-edit").click();
    await again.get("key-forget").click();
    await again.page.keyboard.press("Escape");
    await entry(again, "Work").waitFor();
    assert.equal(await keyOf(again, "Work"), "no key");
    assert.equal(await again.page.evaluate(() => JSON.parse(localStorage["threadkeep.connections"]).list[0].sealed), undefined);
  }));

test("a key is in no export", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await add(tab, { passphrase: PASSPHRASE });
    await tab.page.keyboard.press("Escape");
    await tab.get("dialog").waitFor({ state: "detached" });
    await tab.pick({
      name: "chat.json",
      data: JSON.stringify([
        { role: "user", content: "hello" },
        { role: "assistant", content: "there" },
      ]),
    });
    await tab.closeReport();
    const { data } = await tab.exportAll();
    assert.ok(data.length > 0 && !data.toString().includes(KEY) && !data.toString().includes("api.openai.com"));
  }));

test("a test says in words what happened: it works, the key is wrong, nobody is there", async () => {
  const model = await serveModel({ key: KEY, plan: () => ({ text: "Good day to you." }) });
  const gone = await serveModel();
  await gone.close();
  try {
    await site.visit(
      async (tab) => {
        await opened(tab);
        await tab.get("preset-custom").click();
        await tab.get("connection-name").fill("Own");
        await tab.get("connection-url").fill(model.url);
        await tab.get("connection-secret").fill(KEY);
        await tab.get("connection-models").click();
        await tab.get("connection-said").filter({ hasText: "2 models" }).waitFor();
        assert.deepEqual(await tab.page.locator("datalist option").evaluateAll((all) => all.map((one) => one.value)), ["tiny-1", "tiny-2"]);
        await tab.get("connection-model").fill("tiny-2");
        await tab.get("connection-try").click();
        await tab.get("connection-result").filter({ hasText: "It works: tiny-2" }).waitFor();
        assert.match(await tab.get("connection-result").innerText(), /“Good day to you\.”/);
        await tab.get("connection-save").click();
        await entry(tab, "Own").getByTestId("connection-test").click();
        await entry(tab, "Own").getByTestId("connection-result").filter({ hasText: "It works" }).waitFor();

        await entry(tab, "Own").getByTestId("connection-edit").click();
        await tab.get("connection-secret").fill("sk-wrong-key");
        await tab.get("connection-try").click();
        const refused = tab.get("connection-result").filter({ hasText: /key/i });
        await refused.waitFor();
        assert.doesNotMatch(await refused.innerText(), /sk-wrong-key|It works/);
        await tab.get("connection-url").fill(gone.url);
        await tab.get("connection-try").click();
        await tab.get("connection-result").filter({ hasText: gone.address }).waitFor();
        assert.ok(await tab.get("connection-result").evaluate((said) => said.classList.contains("bad")));
      },
      { allowed: [model.address, gone.address], mayFail: true },
    );
    assert.equal(model.asked[0].model, "tiny-2");
  } finally {
    await model.close();
  }
});

test("the offline demo needs no key, and says what it is", () =>
  site.visit(async (tab) => {
    await opened(tab);
    await tab.get("preset-demo").click();
    const demo = entry(tab, "Offline demo (scripted)");
    await demo.waitFor();
    assert.match(await demo.innerText(), /no model: it answers from a script/);
    assert.ok(await tab.get("preset-demo").isDisabled(), "once is enough");
    await demo.getByTestId("connection-test").click();
    await demo.getByTestId("connection-result").filter({ hasText: "offline demo" }).waitFor();
  }));

for (const colorScheme of ["light", "dark"])
  test(`connections pass the accessibility rules in ${colorScheme}, also on a phone`, async () => {
    for (const phone of [false, true])
      await site.visit(
        async (tab) => {
          const { look, check } = rules(tab.page);
          // An empty page has no list with a foot on a phone.
          await tab.pick({
            name: "chat.json",
            data: JSON.stringify([
              { role: "user", content: "hello" },
              { role: "assistant", content: "there" },
            ]),
          });
          await tab.closeReport();
          await tab.open();
          await opened(tab);
          await look("none");
          await add(tab, { passphrase: PASSPHRASE });
          await look("list");
          await entry(tab, "Work").getByTestId("connection-edit").click();
          await look("form");
          await tab.page.reload();
          await tab.ready();
          await opened(tab);
          await tab.get("unlock").waitFor();
          await look("locked");
          const wide = await tab.get("dialog").evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth);
          assert.equal(wide, 0, "nothing sticks out");
          check();
        },
        phone ? { colorScheme, viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } : { colorScheme },
      );
  });
