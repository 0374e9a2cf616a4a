// One headless Chromium with a profile of its own on the disk, so that storage is real and outlives a restart.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { onPath } from "./module.mjs";

export const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

export function findChromium() {
  const found = process.env.CHROMIUM ?? onPath("chromium", "chromium-browser", "google-chrome-stable", "google-chrome");
  if (!found) throw new Error("Chromium is missing: install it, or name it in CHROMIUM");
  return found;
}

// A profile folder: on a disk, not in memory, unless THREADKEEP_BENCH_PROFILE says where.
export function profile() {
  const folder = mkdtempSync(join(process.env.THREADKEEP_BENCH_PROFILE ?? tmpdir(), "threadkeep-bench-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }) };
}

// Starts the browser on the profile and opens the page. What the page logs as an error ends the measurement.
export async function start(folder, address) {
  const browser = await chromium.launchPersistentContext(folder, {
    executablePath: findChromium(),
    headless: true,
    args: ARGUMENTS,
  });
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error));
  await page.goto(address);
  await page.waitForFunction("globalThis.bench !== undefined", undefined, { timeout: 30_000 });
  return { browser, page, errors };
}
