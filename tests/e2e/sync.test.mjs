// Sync on the page: two browsers over a WebDAV server, a folder, and what is said where something is wrong.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serveWebdav } from "../support/webdav.mjs";
import { rules } from "./support/axe.mjs";
import { openSite } from "./support/site.mjs";

const authorization = `Basic ${Buffer.from("ann:pass").toString("base64")}`;
const TITLE = "How long does it boil?";
let site, server;

before(async () => {
  [site, server] = await Promise.all([openSite(), serveWebdav({ authorization })]);
});
after(async () => {
  await Promise.all([site?.close(), server?.close()]);
});

/** A file of messages, the first of a user. */
const chat = (...texts) => ({ name: "chat.json", data: JSON.stringify(texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }))) });

/** Opens the dialog. */
async function open(tab) {
  await tab.get("storage").click();
  await tab.get("sync").click();
  await tab.get("sync-now").waitFor();
}

/** Fills in the server and syncs; gives what is said then. */
async function syncWith(tab, { passphrase = "six words", device, password = "pass" }) {
  if ((await tab.get("sync-where").inputValue()) !== "server") await tab.get("sync-where").selectOption("server");
  await tab.get("sync-url").fill(`${server.address}/dav/threads`);
  await tab.get("sync-user").fill("ann");
  await tab.get("sync-password").fill(password);
  await tab.get("sync-passphrase").fill(passphrase);
  await tab.get("sync-device").fill(device);
  await tab.get("sync-now").click();
  return told(tab);
}

async function told(tab) {
  const said = tab.get("sync-done").or(tab.get("sync-error"));
  await said.waitFor();
  return said.innerText();
}

test("two browsers sync over a WebDAV server: threads come, deletions too, and can be taken back", { timeout: 120_000 }, async () => {
  await site.visit(
    async (laptop) => {
      await laptop.pick(chat("How long does it boil?", "Ten minutes."));
      await open(laptop);
      assert.match(await syncWith(laptop, { device: "laptop <b>one</b>" }), /^0 messages came in/);
      await site.visit(
        async (phone) => {
          await open(phone);
          assert.match(await syncWith(phone, { device: "phone" }), /^2 messages came in/);
          assert.match(await phone.get("sync-devices").innerText(), /laptop <b>one<\/b>/);
          const looks = rules(phone.page);
          await looks.look("the report of a sync", "dialog");
          looks.check();
          await phone.page.keyboard.press("Escape");
          await phone.row(TITLE).click();
          await phone.page.getByText("Ten minutes.").waitFor();

          // The laptop deletes it; on the phone it goes to the bin.
          await laptop.page.keyboard.press("Escape");
          await laptop.row(TITLE).click();
          await laptop.get("delete-thread").click();
          await laptop.row(TITLE).waitFor({ state: "detached" });
          await open(laptop);
          await syncWith(laptop, { device: "laptop" });
          await open(phone);
          assert.match(await syncWith(phone, { device: "phone" }), /2 messages went to the bin/);
          await phone.row(TITLE).waitFor({ state: "detached" });
          // Another passphrase is refused.
          assert.match(await syncWith(phone, { device: "phone", passphrase: "other" }), /another one than before/);
          await phone.page.reload();
          await phone.ready();
          // Where and as what is kept, passphrase and password are not.
          await open(phone);
          assert.equal(await phone.get("sync-url").inputValue(), `${server.address}/dav/threads`);
          assert.equal(await phone.get("sync-passphrase").inputValue(), "");
          assert.equal(await phone.get("sync-password").inputValue(), "");
          assert.ok(!JSON.stringify(await phone.page.evaluate(() => ({ ...localStorage }))).includes("six words"));
          assert.match(await syncWith(phone, { device: "phone", password: "wrong" }), /answered with 401/);
        },
        { allowed: [server.address], mayFail: true },
      );
    },
    { allowed: [server.address] },
  );
  for (const bytes of server.files.values()) assert.ok(!bytes.includes("boil"));
});

test("a folder is chosen by the browser's own dialog; without one, the dialog says what is missing", { timeout: 60_000 }, async () => {
  await site.visit(
    async (tab) => {
      await tab.pick(chat("Is it ripe?", "When it is yellow."));
      await open(tab);
      await tab.get("sync-now").click();
      assert.match(await told(tab), /Choose a folder/);
      await tab.get("sync-folder").click();
      await tab.page.getByRole("button", { name: "Folder threads" }).waitFor();
      await tab.get("sync-now").click();
      await tab.page.getByText("Write the passphrase").waitFor();
      await tab.get("sync-passphrase").fill("six words");
      await tab.get("sync-now").click();
      await tab.get("sync-done").waitFor();
      const files = await tab.page.evaluate(async () => {
        const names = [];
        for await (const name of (await (await navigator.storage.getDirectory()).getDirectoryHandle("threads")).keys()) names.push(name);
        return names;
      });
      assert.equal(files.filter((name) => name.endsWith(".head")).length, 1);
      assert.equal(files.filter((name) => name.endsWith(".pack")).length, 2);
    },
    {
      prepare: (context) =>
        context.addInitScript(() => {
          window.showDirectoryPicker = async () => (await navigator.storage.getDirectory()).getDirectoryHandle("threads", { create: true });
        }),
    },
  );
});
