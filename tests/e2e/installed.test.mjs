// The page as an app: without a network, a newer build, files that the system opens with it, and what is shared with it.
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { allotment, compact, TITLE } from "./support/allotment.mjs";
import { launch } from "./support/browser.mjs";
import { scratch } from "./support/package.mjs";
import { serve } from "./support/serve.mjs";
import { Guard, Site } from "./support/site.mjs";

const BUILT = process.env.THREADKEEP_SITE ?? resolve(fileURLToPath(new URL("../../target/site", import.meta.url)));

let browser;

before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** A copy of the page behind a server that can be stopped, with its service worker in place. */
async function installed(run, prepare = () => {}) {
  const copy = scratch("installed");
  cpSync(BUILT, copy.folder, { recursive: true });
  const server = await serve({ "/": copy.folder });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-US" });
  const guard = new Guard(context, server.address);
  await guard.watch();
  await prepare(context);
  try {
    const tab = new Site(await context.newPage(), server.address, guard);
    await tab.open();
    await tab.page.evaluate(() => navigator.serviceWorker.ready);
    await tab.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await run(tab, { context, server, folder: copy.folder });
    guard.check();
  } finally {
    await context.close();
    await server.close();
    copy.remove();
  }
}

test("without its server the page starts, imports, counts, compacts and finds", () =>
  installed(async (tab, { server }) => {
    await server.close();
    await tab.open();
    await tab.pick(allotment());
    await tab.closeReport();
    await tab.openThread(TITLE);
    const promised = await compact(tab);
    assert.ok(promised.after < promised.before);
    await tab.get("filter").fill("garlic");
    await tab.get("hit").first().waitFor();
    await tab.page.reload();
    await tab.ready();
    assert.equal((await tab.list()).length, 2);
  }));

test("a newer build says so, begins at a press, and leaves the draft and the other tab whole", () =>
  installed(async (tab, { context, folder }) => {
    await tab.pick(allotment());
    await tab.closeReport();
    await tab.openThread(TITLE);
    await tab.get("compose").fill("A draft that must stay");
    const other = new Site(await context.newPage(), tab.address, tab.guard);
    await other.open();

    // A build that differs in its style sheet alone.
    const style = `${readFileSync(`${folder}/style.css`, "utf8")}\nbody{--newer:1}\n`;
    writeFileSync(`${folder}/style.css`, style);
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(style))).toString("base64");
    const list = readFileSync(`${folder}/files.js`, "utf8").replace(/"style\.css":"[^"]*"/, `"style.css":"sha256-${digest}"`);
    writeFileSync(`${folder}/files.js`, list);
    const newer = () => getComputedStyle(document.body).getPropertyValue("--newer");

    await tab.page.evaluate(async () => (await navigator.serviceWorker.getRegistration()).update());
    await tab.get("notice-act").waitFor();
    assert.match(await tab.get("status").innerText(), /A newer version is ready/);
    await tab.page.reload();
    await tab.ready();
    assert.equal(await tab.page.evaluate(newer), "", "nothing changes before the press");
    await tab.get("notice-act").click();
    for (const one of [tab, other]) await one.page.waitForFunction(() => getComputedStyle(document.body).getPropertyValue("--newer") === "1");
    await tab.ready();
    await tab.get("compose").waitFor();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=compose]").value === "A draft that must stay");
    await other.ready();
    // Files of the older build are gone.
    const stored = await tab.page.evaluate(async () => (await (await caches.open("threadkeep")).keys()).map((request) => request.url));
    assert.equal(stored.filter((url) => url.includes("style.css")).length, 1);
  }));

test("a build that is only half there is not taken", () =>
  installed(async (tab, { folder }) => {
    writeFileSync(`${folder}/style.css`, "body{--newer:1}");
    const list = readFileSync(`${folder}/files.js`, "utf8").replace(/"style\.css":"[^"]*"/, `"style.css":"sha256-${"A".repeat(43)}="`);
    writeFileSync(`${folder}/files.js`, list);
    await tab.page.evaluate(async () => {
      const registration = await navigator.serviceWorker.getRegistration();
      await registration.update();
      const coming = registration.installing;
      if (coming !== null) await new Promise((done) => coming.addEventListener("statechange", () => coming.state === "redundant" && done()));
    });
    await tab.page.reload();
    await tab.ready();
    assert.equal(await tab.get("notice-act").count(), 0);
    // The digest that does not fit is an error on the console of the worker.
    tab.guard.errors.length = 0;
  }));

test("shared text becomes a draft, and shared files are imported", () =>
  installed(async (tab) => {
    const share = (fields) =>
      tab.page.evaluate((given) => {
        const form = Object.assign(document.createElement("form"), { method: "post", action: "./shared", enctype: "multipart/form-data" });
        for (const [name, value] of Object.entries(given)) {
          const input = Object.assign(document.createElement("input"), { name, type: name === "files" ? "file" : "text" });
          if (name === "files") {
            const list = new DataTransfer();
            list.items.add(new File([value.data], value.name));
            input.files = list.files;
          } else input.value = value;
          form.append(input);
        }
        document.body.append(form);
        // What shares is the system, which no policy of the page concerns.
        return fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" }).then(() => form.remove());
      }, fields);
    await share({ title: "On soil", text: "What does loam hold?", url: "https://example.org/soil" });
    await tab.open("?shared");
    await tab.get("compose").waitFor();
    await tab.page.waitForFunction(() => document.querySelector("[data-testid=compose]").value.includes("What does loam hold?"));
    assert.equal(await tab.get("compose").inputValue(), "On soil\nWhat does loam hold?\nhttps://example.org/soil");
    await share({ files: { name: "conversations.json", data: allotment().data } });
    await tab.open("?shared");
    assert.equal((await tab.report()).added > 0, true);
    await tab.row(TITLE).waitFor();
    // Taken once.
    await tab.page.reload();
    await tab.ready();
    assert.equal(await tab.get("report").count(), 0);
  }));

test("files that the system opens with the page are imported", () =>
  installed(
    async (tab) => {
      await tab.page.waitForFunction(() => window.launch !== undefined);
      await tab.page.evaluate(({ name, data }) => window.launch({ files: [{ getFile: async () => new File([data], name) }] }), {
        name: "conversations.json",
        data: allotment().data,
      });
      assert.equal((await tab.report()).added > 0, true);
    },
    // The system's own way to hand files over, which a test cannot press.
    (context) =>
      context.addInitScript(() => {
        Object.defineProperty(window, "launchQueue", { value: { setConsumer: (consumer) => (window.launch = consumer) } });
      }),
  ));

test("after an import the page asks once whether the browser shall keep the threads", () =>
  installed(async (tab) => {
    await tab.pick(allotment());
    await tab.get("keep-asked").waitFor();
    await tab.get("keep-asked").getByRole("button", { name: "Ask it to keep them" }).click();
    await tab.page
      .locator("p.keep-asked")
      .filter({ hasText: /Granted|said no for now/ })
      .waitFor();
    await tab.pick(allotment(20));
    assert.equal(await tab.page.locator(".keep-asked").count(), 0);
    await tab.page.reload();
    await tab.ready();
    await tab.pick(allotment(24));
    assert.equal(await tab.page.locator(".keep-asked").count(), 0);
  }));

test("the manifest is one that browsers install", () =>
  installed(async (tab, { context }) => {
    const devtools = await context.newCDPSession(tab.page);
    const { errors } = await devtools.send("Page.getAppManifest");
    assert.deepEqual(errors, []);
    const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
    const real = installabilityErrors.filter((one) => one.errorId !== "in-incognito");
    assert.deepEqual(real, []);
  }));
