// Chromium for the tests of what is built for browsers: the program of CHROMIUM, else the first on PATH.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

function program() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? "").split(delimiter))
    for (const name of NAMES) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // Not here.
      }
    }
  throw new Error("there is no Chromium: install it, or name its program in CHROMIUM");
}

/** A headless browser with a profile that is thrown away. */
export function launch() {
  return chromium.launch({
    executablePath: program(),
    args: ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
}
