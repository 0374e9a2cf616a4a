// The built page in a browser, with what tests of it share: bringing files in, reading the list and a thread, and a guard
// that notes whatever a careful page must not do.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { scratch, unpacked } from "./package.mjs";
import { serve } from "./serve.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));

/** The page's address: THREADKEEP_URL, else a server of our own over THREADKEEP_SITE or `target/site`, and the npm package beside it. */
async function address(withPackage) {
  if (process.env.THREADKEEP_URL && !withPackage) return { address: process.env.THREADKEEP_URL, close: async () => {} };
  const folder = process.env.THREADKEEP_SITE ?? resolve(here, "../../target/site");
  if (!existsSync(folder)) throw new Error(`there is no page in ${folder}: run \`cargo xtask build\`, or set THREADKEEP_SITE`);
  const beside = withPackage ? unpacked() : { mounts: {}, remove: () => {} };
  const server = await serve({ ...beside.mounts, "/": folder });
  return { address: server.address, close: () => server.close().finally(beside.remove) };
}

/** A browser and the page's address, for all tests of a file. With `withPackage` the npm package is at `/package/`; the rest is the browser's. */
export async function openSite({ withPackage = false, ...options } = {}) {
  const server = await address(withPackage);
  const browser = await launch(options);
  return {
    browser,
    address: server.address,
    close: async () => {
      await browser.close();
      await server.close();
    },
    /**
     * The page in a context of its own, so with an empty store. `run` gets it; afterwards the guard looks back. With
     * `mayFail`, errors on the console are no surprise; `prepare` gets the context before the page is opened; `allowed` are
     * the only origins elsewhere that may be asked; the other options are the context's. The page's service worker is left out
     * unless `serviceWorkers` is "allow": tests cannot stop or change what it asks for.
     */
    async visit(run, { mayFail = false, prepare = () => {}, allowed = [], ...options } = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-US", serviceWorkers: "block", ...options });
      const guard = new Guard(context, server.address, allowed);
      await guard.watch();
      await prepare(context);
      try {
        const site = new Site(await context.newPage(), server.address, guard);
        await site.open();
        await run(site, context);
        if (mayFail) guard.errors.length = 0;
        guard.check();
      } finally {
        await context.close();
      }
    },
  };
}

/** Notes errors on the console, violations of the content policy, and requests that leave the page's origin. */
export class Guard {
  errors = [];
  violations = [];
  abroad = [];

  /** `allowed` are addresses elsewhere that may be asked: those of the test's own models. */
  constructor(context, address, allowed = []) {
    this.context = context;
    this.origin = new URL(address).origin;
    this.allowed = allowed;
  }

  async watch() {
    await this.context.exposeBinding("noteViolation", (_, text) => this.violations.push(text));
    await this.context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) =>
        window.noteViolation(`${event.violatedDirective}: ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`),
      );
    });
    this.context.on("console", (message) => {
      if (message.type() === "error") this.errors.push(`${message.text()} (${message.location().url})`);
    });
    this.context.on("weberror", (error) => this.errors.push(String(error.error())));
    this.context.on("request", (request) => {
      const url = new URL(request.url());
      const local = [this.origin, ...this.allowed].includes(url.origin) || ["data:", "blob:", "about:"].includes(url.protocol);
      if (!local) this.abroad.push(request.url());
    });
  }

  check() {
    assert.deepEqual(this.errors, [], "the console has no errors");
    assert.deepEqual(this.violations, [], "nothing goes against the content policy");
    assert.deepEqual(this.abroad, [], "no request leaves the page's origin");
  }
}

/** One tab of the page. */
export class Site {
  constructor(page, address, guard) {
    this.page = page;
    this.address = address;
    this.guard = guard;
    page.setDefaultTimeout(30_000);
  }

  get(id) {
    return this.page.getByTestId(id);
  }

  async open(path = "") {
    await this.page.goto(this.address + path);
    await this.ready();
  }

  /** The store is open and the list was read. */
  async ready() {
    await this.page.waitForFunction(() => {
      const tally = document.querySelector("[data-testid=tally]");
      return tally !== null && tally.textContent.trim() !== "";
    });
  }

  /** Unfolds the settings in the panel Context, which is open. */
  async unfoldSettings() {
    const settings = this.get("settings");
    await settings.waitFor();
    if ((await settings.getAttribute("open")) === null) await settings.locator("summary").click();
  }

  /** Picks files in the file picker and waits for the report. Files are paths, or `{ name, data }`. */
  async pick(files, options) {
    await this.closeReport();
    const list = [files]
      .flat()
      .map((file) => (typeof file === "string" ? file : { name: file.name, mimeType: file.type ?? "application/json", buffer: Buffer.from(file.data) }));
    await this.get("drop-input").first().setInputFiles(list);
    return this.report(options);
  }

  /** Drops files and folders (paths) on the page, as a hand would, and waits for the report. */
  async drop(paths, options) {
    await this.closeReport();
    const devtools = await this.page.context().newCDPSession(this.page);
    const data = { items: [], files: [paths].flat(), dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"]) await devtools.send("Input.dispatchDragEvent", { type, x: 600, y: 400, data });
    await devtools.detach();
    return this.report(options);
  }

  /** What `act` puts on the clipboard. `waitForFunction` would not do: it takes the promise of a text for a true value. */
  async copied(act) {
    await this.page.evaluate(() => navigator.clipboard.writeText(""));
    await act();
    for (const end = Date.now() + 30_000; Date.now() < end; await this.page.waitForTimeout(20)) {
      const text = await this.page.evaluate(() => navigator.clipboard.readText());
      if (text !== "") return text;
    }
    throw new Error("nothing came on the clipboard");
  }

  async closeReport() {
    const close = this.get("close-report");
    if (await close.count()) await close.click();
  }

  /** Waits for the report of an import; gives its figures and its remarks. */
  async report({ timeout = 60_000 } = {}) {
    const card = this.page.locator("[data-testid=report], [data-testid=import-failed]");
    await card.waitFor({ timeout });
    if ((await card.getAttribute("data-testid")) === "import-failed") return { failed: await card.innerText() };
    const figure = async (name) => Number((await this.get(`report-${name}`).innerText()).replace(/\D/g, ""));
    const remarks = await card.locator("[data-testid=report-remarks] li").evaluateAll((items) =>
      items.map((item) => ({
        code: item.dataset.code,
        place: item.querySelector(".place").textContent,
        reason: item.querySelector("p:last-child").textContent,
      })),
    );
    return {
      added: await figure("added"),
      updated: await figure("updated"),
      unchanged: await figure("unchanged"),
      skipped: await figure("skipped"),
      remarks,
      text: await card.innerText(),
    };
  }

  /** The titles in the list, in its order, with what stands below each. */
  async list() {
    const rows = await this.get("thread-row").all();
    return Promise.all(
      rows.map(async (row) => ({
        title: await row.locator(".thread-title").innerText(),
        facts: await row.locator(".thread-facts").innerText(),
      })),
    );
  }

  row(title) {
    return this.page.locator("[data-testid=thread-row]").filter({ hasText: title });
  }

  async openThread(title) {
    await this.row(title).click();
    await this.get("message").first().waitFor();
  }

  /** The text of the messages on the screen, in order, without their heads. */
  async texts() {
    const bodies = await this.page.locator("[data-testid=message] .body").allInnerTexts();
    return bodies.map((text) => text.trim());
  }

  message(text) {
    return this.page.locator("[data-testid=message]").filter({ hasText: text });
  }

  /** Clicks something that saves a file; gives its bytes and its name. */
  async save(click) {
    const folder = scratch("download");
    try {
      // It waits longer than the click may take, so that a click that fails says itself why.
      const [download] = await Promise.all([this.page.waitForEvent("download", { timeout: 60_000 }), click()]);
      const path = `${folder.folder}/file`;
      await download.saveAs(path);
      return { name: download.suggestedFilename(), data: readFileSync(path) };
    } finally {
      folder.remove();
    }
  }

  exportAll() {
    return this.save(() => this.get("export").click());
  }

  /** Deletes everything through the dialogs, and waits for the empty state. */
  async deleteAll() {
    await this.get("storage").click();
    await this.get("delete-all").click();
    await this.get("confirm").click();
    await this.get("empty").waitFor();
  }
}
