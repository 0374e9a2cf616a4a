// Chromium, started in two ways: by Playwright for tests of the page, and as a process group of its own for tests that
// kill it. Both use the same program and the same switches.
import { spawn } from "node:child_process";
import { accessSync, constants, readFileSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const SWITCHES = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Names under which systems have the browser. */
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser's program: the variable CHROMIUM, else the first on PATH. */
export function program() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not here.
      }
    }
  }
  throw new Error("there is no Chromium: install it, or name its program in CHROMIUM");
}

/** A browser with a profile that is thrown away. */
export function launch(options = {}) {
  const { args = [], ...others } = options;
  return chromium.launch({ executablePath: program(), args: [...SWITCHES, ...args], ...others });
}

/**
 * A browser that can be killed: a process group of its own over a profile that outlives it. Gives its Playwright
 * browser, its first context, and `kill`, which sends SIGKILL to the whole group and waits until nobody holds the
 * profile.
 */
export async function launchToKill(profile) {
  const child = spawn(
    program(),
    [...SWITCHES, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "--disable-breakpad", "--no-default-browser-check", "about:blank"],
    { detached: true, stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const address = await devtools(child);
  const browser = await chromium.connectOverCDP(address);
  const kill = async () => {
    killGroup(child.pid);
    await ended;
    await browser.close().catch(() => {});
    for (let tries = 0; ; tries += 1) {
      const left = holders(profile);
      if (left.length === 0) return;
      if (tries === 200) throw new Error(`these processes still hold the profile: ${left.join(", ")}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  return { browser, context: browser.contexts()[0], kill, pid: child.pid };
}

function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** The processes whose command line names the profile; none where there is no /proc. */
function holders(profile) {
  let entries;
  try {
    entries = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return entries.filter((id) => {
    try {
      return Number(id) !== process.pid && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(`--user-data-dir=${profile}`);
    } catch {
      return false;
    }
  });
}

/** Waits for the line in which the browser says where it listens. */
function devtools(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text) => {
      said = (said + text).slice(-20_000);
      const found = /DevTools listening on (ws:\S+)/.exec(said);
      if (found) resolve(found[1]);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`the browser ended with ${code ?? signal}:\n${said}`)));
  });
}
