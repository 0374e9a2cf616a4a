// Measurements of the page under load: how long frames and inputs take, how much memory the engine has, how soon a thread
// can be read, how smoothly it scrolls. Tests check them against generous limits; the benchmark prints them.
import { setTimeout as sleep } from "node:timers/promises";

/** Lets the tests look at the worker's wasm memory: `memory(page)` tells its size. To be called before the page is opened. */
export async function watchMemory(context) {
  await context.route("**/*loader*.js", async (route) => {
    const answer = await route.fetch();
    // Imports come first wherever they stand, so this runs before anything is instantiated.
    const patch = `
      for (const name of ["instantiate", "instantiateStreaming"]) {
        const original = WebAssembly[name];
        WebAssembly[name] = async (...all) => {
          const made = await original.apply(WebAssembly, all);
          // The parts that come later have no memory of their own.
          globalThis.wasmMemory = (made.instance ?? made).exports.memory ?? globalThis.wasmMemory;
          return made;
        };
      }`;
    await route.fulfill({ response: answer, body: `${patch}\n${await answer.text()}` });
  });
}

/** The size in bytes of the wasm memory of the page's worker. It never shrinks, so it is the most there ever was. */
export async function memory(page) {
  const [worker] = page.workers();
  const size = await worker.evaluate(() => globalThis.wasmMemory?.buffer.byteLength ?? null);
  if (size === null) throw new Error("the worker's memory cannot be seen");
  return size;
}

/** Begins to note frames and inputs in the page; `stop` gives what was noted. */
export async function watchFrames(page) {
  await page.evaluate(() => {
    const noted = { gaps: [], inputs: [], begun: performance.now() };
    let last = performance.now();
    let running = true;
    const frame = (now) => {
      if (!running) return;
      noted.gaps.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame((now) => {
      last = now;
      requestAnimationFrame(frame);
    });
    const observer = new PerformanceObserver((list) => {
      for (const { name, duration, startTime, processingStart } of list.getEntries())
        noted.inputs.push({ name, duration, delay: processingStart - startTime, startTime });
    });
    observer.observe({ type: "event", durationThreshold: 16 });
    window.stopWatching = () => {
      running = false;
      for (const { name, duration, startTime, processingStart } of observer.takeRecords())
        noted.inputs.push({ name, duration, delay: processingStart - startTime, startTime });
      observer.disconnect();
      return { ...noted, lasted: performance.now() - noted.begun };
    };
  });
  return { stop: () => page.evaluate(() => window.stopWatching()) };
}

/** Types into the filter, empties it, clicks about and scrolls the list, until `done()`. Gives how many inputs that were. */
export async function keepBusy(tab, done) {
  const filter = tab.get("filter");
  const box = await filter.boundingBox();
  const list = await tab.get("thread-list").boundingBox();
  let inputs = 0;
  while (!done()) {
    await tab.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    for (const key of ["l", "o", "o", "Backspace", "Backspace", "Backspace"]) {
      if (done()) return inputs;
      await tab.page.keyboard.press(key);
      inputs += 1;
      await sleep(40);
    }
    if (list !== null) {
      await tab.page.mouse.move(list.x + list.width / 2, list.y + 90);
      await tab.page.mouse.wheel(0, 300);
      await tab.page.mouse.click(list.x + list.width / 2, list.y + 90);
      inputs += 2;
    }
    await sleep(40);
  }
  return inputs;
}

/**
 * Imports a large archive while somebody types and clicks. Gives the report, the seconds it took, the engine's memory, the
 * gaps between frames and the durations of inputs (to the next paint), all in milliseconds, sorted.
 */
export async function importUnderLoad(tab, file, { timeout = 15 * 60_000 } = {}) {
  await tab.closeReport();
  const start = performance.now();
  const frames = await watchFrames(tab.page);
  await tab.get("drop-input").first().setInputFiles(file);
  await tab.get("import-progress").waitFor();
  let over = false;
  const finished = tab.report({ timeout }).finally(() => (over = true));
  const inputs = await keepBusy(tab, () => over);
  const report = await finished;
  const seconds = (performance.now() - start) / 1000;
  const noted = await frames.stop();
  const rising = (list) => [...list].sort((a, b) => a - b);
  return {
    report,
    seconds,
    memory: await memory(tab.page),
    inputs,
    gaps: rising(noted.gaps),
    durations: rising(noted.inputs.map(({ duration }) => duration)),
    delays: rising(noted.inputs.map(({ delay }) => delay)),
  };
}

/** Begins to note how long the page's thread is held by one task. */
export async function watchTasks({ page }) {
  await page.evaluate(() => {
    window.tasks = [];
    const note = (list) => window.tasks.push(...list.map(({ duration }) => duration));
    const observer = new PerformanceObserver((list) => note(list.getEntries()));
    observer.observe({ type: "longtask" });
    window.noteTasks = () => note(observer.takeRecords());
  });
}

/** The longest task since {@link watchTasks}, and the median time of a fixed piece of work (some 10 ms where nothing else runs), in milliseconds. */
export async function longestTask({ page }) {
  return page.evaluate(async () => {
    window.noteTasks();
    const longest = Math.max(0, ...window.tasks);
    const times = [];
    for (let round = 0; round < 9; round += 1) {
      const start = performance.now();
      for (let at = 0, sum = 0; at < 1e7; at += 1) sum = (sum + at * 31) | 0;
      times.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve));
    }
    return { longest: Math.round(longest), speed: times.sort((a, b) => a - b)[4] };
  });
}

/** The value below which the given share of a rising list lies. */
export function quantile(rising, share) {
  return rising.length === 0 ? 0 : rising[Math.min(rising.length - 1, Math.ceil(share * rising.length) - 1)];
}

export function median(list) {
  return quantile(
    [...list].sort((a, b) => a - b),
    0.5,
  );
}

/** Clicks a thread in the list; gives the milliseconds from the click to the first frame in which `text` can be read. */
export async function timeToOpen(tab, title, text) {
  const row = tab.row(title);
  await row.waitFor();
  const opened = tab.page.evaluate(
    ([text]) =>
      new Promise((resolve, reject) => {
        let start;
        addEventListener("click", (event) => (start = event.timeStamp), { capture: true, once: true });
        const begun = performance.now();
        const readable = () => {
          const scroller = document.querySelector("[data-testid=messages]");
          const view = scroller?.getBoundingClientRect();
          return [...document.querySelectorAll("[data-testid=message]")].some((message) => {
            const box = message.getBoundingClientRect();
            return box.height > 0 && box.bottom > view.top && box.top < view.bottom && message.textContent.includes(text);
          });
        };
        const look = () => {
          if (start !== undefined && readable()) {
            // It is painted at the end of this frame, which is before the next task.
            const channel = new MessageChannel();
            channel.port1.onmessage = () => resolve(performance.now() - start);
            channel.port2.postMessage(null);
          } else if (performance.now() - begun > 60_000) reject(new Error("nothing to read within a minute"));
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
    [text],
  );
  await sleep(50);
  await row.click();
  return opened;
}

/**
 * Scrolls the open thread as a finger or a wheel does, `pixels` far at `speed` pixels a second. Gives the gaps between
 * frames in milliseconds, how far it came, and in how many frames no message was in view.
 */
export async function scrollThrough(page, { pixels = 60_000, speed = 6_000 } = {}) {
  await page.evaluate(() => {
    const scroller = document.querySelector("[data-testid=messages]");
    const noted = { gaps: [], blank: 0 };
    const from = scroller.scrollTop;
    let last = performance.now();
    let running = true;
    const frame = (now) => {
      if (!running) return;
      noted.gaps.push(now - last);
      last = now;
      const view = scroller.getBoundingClientRect();
      const inView = [...scroller.querySelectorAll("[data-testid=message]")].some((message) => {
        const box = message.getBoundingClientRect();
        return box.bottom > view.top && box.top < view.bottom;
      });
      if (!inView) noted.blank += 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    window.stopScrolling = () => {
      running = false;
      return { ...noted, gaps: noted.gaps.slice(1), pixels: scroller.scrollTop - from, height: scroller.scrollHeight };
    };
  });
  const box = await page.getByTestId("messages").boundingBox();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Input.synthesizeScrollGesture", {
    x: Math.round(box.x + box.width / 2),
    y: Math.round(box.y + box.height / 2),
    yDistance: -pixels,
    speed,
    gestureSourceType: "mouse",
  });
  await devtools.detach();
  return page.evaluate(() => window.stopScrolling());
}
