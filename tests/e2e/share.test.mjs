// A thread for others: its secrets are listed and masked, and the page that is saved works by itself and does nothing else.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import { rules } from "./support/axe.mjs";
import { launch } from "./support/browser.mjs";
import { oneFile, Tree } from "./support/chatgpt.mjs";
import { scratch } from "./support/package.mjs";
import { openSite } from "./support/site.mjs";

const KEY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
let site, files, browser;

before(async () => {
  files = scratch("share");
  [site, browser] = await Promise.all([openSite(), launch()]);
});
after(async () => {
  await Promise.all([site?.close(), browser?.close()]);
  files?.remove();
});

/** What a message may say to a page that is careless. */
function hostile() {
  const run = "window.hacked=1";
  const ways = [
    `<script>${run}</script>`,
    `</script><script>${run}</script>`,
    `<!--<script>${run}</script>-->`,
    `<img src=x onerror="${run}">`,
    `<svg onload="${run}"><a xlink:href="javascript:${run}">x</a></svg>`,
    `[x](javascript:${run})`,
    `[x](JaVaScRiPt:${run} "t")`,
    `[x](data:text/html,<script>${run}</script>)`,
    `![x](https://example.com/pixel.png)`,
    `![x](data:image/svg+xml,<svg onload="${run}"/>)`,
    `<iframe src="https://example.com/"></iframe>`,
    `<link rel=stylesheet href="https://example.com/a.css">`,
    `<meta http-equiv=refresh content="0;url=https://example.com/">`,
    `<base href="https://example.com/">`,
    `<form action="https://example.com/"><button autofocus onfocus="${run}">x</button></form>`,
    `<details open ontoggle="${run}">x</details>`,
    `<style>@import url(https://example.com/a.css)</style>`,
    `<math><mtext></mtext><style><img src=x onerror=${run}></style></math>`,
    `\u2028${run}\u2029`,
    `[x]: javascript:${run}\n\n[x]`,
  ];
  const frames = [
    (text) => text,
    (text) => `> ${text}`,
    (text) => `# ${text}`,
    (text) => `- ${text}`,
    (text) => `| a |\n|---|\n| ${text.replaceAll("|", "\\|").replaceAll("\n", " ")} |`,
    (text) => `\`\`\`html\n${text}\n\`\`\``,
    (text) => `**${text}**`,
    (text) => `[${text}](https://example.com/)`,
    (text) => `a\n\n${text}\n\nb`,
    (text) => `\`${text}\``,
  ];
  return ways.flatMap((way) => frames.map((frame) => frame(way)));
}

/** Opens a saved page; gives what it asked for, besides itself. */
async function opened(data, name, use) {
  const path = join(files.folder, name);
  writeFileSync(path, data);
  const address = pathToFileURL(path).href;
  const page = await browser.newPage({ viewport: { width: 900, height: 700 } });
  const asked = [];
  const faults = [];
  page.on("request", (request) => request.url() !== address && asked.push(request.url()));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("dialog", (dialog) => faults.push(dialog.message()));
  await page.goto(address);
  await page.locator("article").first().waitFor();
  await use(page);
  assert.deepEqual([asked, faults], [[], []]);
  await page.close();
}

test("sharing lists the secrets of a thread, and saves a page without those that have a tick", () =>
  site.visit(async (tab) => {
    const tree = new Tree("5ha2e000-0000-4000-8000-000000000000", "A key for the shop");
    const ask = tree.say(tree.start, "user", `The key is ghp_${KEY}.`);
    tree.say(ask, "assistant", `Never say sk-ant-api03-${KEY} aloud.`);
    const other = tree.say(ask, "assistant", "I have **noted** it. Write to ann@example.com.");
    tree.say(other, "user", "Thanks. | a | b |");
    await tab.pick({ name: "conversations.json", data: oneFile([tree.json]) });
    await tab.closeReport();
    await tab.openThread("A key for the shop");
    await tab.get("share-thread").click();
    const found = tab.get("share-found");
    await found.getByRole("checkbox").first().waitFor();
    assert.equal(await found.getByRole("checkbox").count(), 2);
    assert.match(await found.innerText(), /GitHub token: The key is ghp_x+…/);
    const looks = rules(tab.page);
    await looks.look("the dialog");
    looks.check();
    await tab.page.getByLabel("E-mail addresses").check();
    await found.getByText("E-mail address").waitFor();
    await found.getByRole("checkbox").first().uncheck();
    const { name, data } = await tab.save(() => tab.get("share-page").click());
    assert.equal(name, "a-key-for-the-shop.html");
    const html = data.toString();
    assert.deepEqual([html.split(`ghp_${KEY}`).length, html.split(KEY).length], [2, 2], "one stays, as was said");
    assert.ok(!html.includes("ann@example.com"));

    await opened(html, "thread.html", async (page) => {
      assert.equal(await page.title(), "A key for the shop");
      const said = () => page.locator("article").allInnerTexts();
      assert.equal((await said()).length, 3);
      assert.equal(await page.locator("article strong").innerText(), "noted");
      await page.getByRole("button", { name: "Previous branch" }).click();
      await page.getByText("Never say sk-ant-xxxxx-xxxx").waitFor();
      assert.equal((await said()).length, 2);
      await page.getByRole("searchbox").fill("thanks");
      await page.getByRole("button", { name: /Thanks\./ }).click();
      await page.locator("article:focus").getByText("Thanks.").waitFor();
      const looks = rules(page);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await looks.look(colorScheme);
      }
      looks.check();
      await page.setViewportSize({ width: 320, height: 640 });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing runs out of a phone's width");
    });

    await tab.get("share-thread").click();
    await tab.page.getByText("2 finds that may be secret").waitFor();
    const lines = await tab.save(() => tab.get("share-lines").click());
    assert.equal(lines.name, "a-key-for-the-shop.threadkeep.jsonl");
    assert.ok(!lines.data.includes(KEY));
  }));

test("200 hostile texts in a shared page run nothing and ask for nothing", () =>
  site.visit(async (tab) => {
    const texts = hostile();
    assert.equal(texts.length, 200);
    const chat = texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
    await tab.pick({ name: "chat.json", data: JSON.stringify(chat) });
    await tab.closeReport();
    await tab.get("share-thread").click();
    const { data } = await tab.save(() => tab.get("share-page").click());
    await opened(data, "hostile.html", async (page) => {
      await page.waitForFunction((count) => document.querySelectorAll("article").length === count, texts.length);
      await page.getByRole("button", { name: "Open or close all cards" }).click();
      const bad = await page.evaluate(() => {
        const all = [...document.querySelectorAll("main *")];
        const names = all
          .map((element) => element.localName)
          .filter((name) => /^(?:script|iframe|link|meta|base|form|svg|math|style|object|embed)$/.test(name));
        const hooks = all.flatMap((element) => element.getAttributeNames()).filter((name) => name.startsWith("on"));
        const ways = [...document.querySelectorAll("main a, main img")]
          .map((element) => element.href ?? element.src)
          .filter((way) => /^(?:javascript|data:text)/i.test(way));
        return { names, hooks, ways, hacked: window.hacked };
      });
      assert.deepEqual(bad, { names: [], hooks: [], ways: [], hacked: undefined });
    });
  }));

test("a copied payload has no secret, unless the reader wants it with them", () =>
  site.visit(
    async (tab) => {
      await tab.pick({ name: "chat.json", data: JSON.stringify([{ role: "user", content: `The key is ghp_${KEY}.` }]) });
      await tab.closeReport();
      await tab.page.locator("article").first().waitFor();
      await tab.get("inspector-toggle").click();
      await tab.page.locator("[data-testid=inspector][aria-busy=false]").waitFor();
      const masked = await tab.copied(() => tab.get("copy-payload").click());
      assert.ok(!masked.includes(KEY) && masked.includes("ghp_xxxx"), masked);
      JSON.parse(masked);
      await tab.page.getByText("Masked in it: 1 secret.").waitFor();
      const whole = await tab.copied(() => tab.page.getByRole("button", { name: "Copy with them" }).click());
      assert.equal(whole.replace(KEY, "x".repeat(KEY.length)), masked);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));
