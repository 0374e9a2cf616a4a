// A model's answer on the page, measured: how soon its first word is on the screen after it has arrived, and whether frames are dropped while
// 500 tokens a second come in below a long thread. Run by `cargo xtask bench talk`; prints one row a figure, with the target.
//
// THREADKEEP_LONG: messages of the thread (5,000); ROUNDS: how many first words (9); SECONDS: how long the long answer lasts (6).
import { createServer } from "node:http";
import { join } from "node:path";
import { transcript } from "./generate.mjs";
import { median, quantile, watchFrames } from "./support/measure.mjs";
import { scratch } from "./support/package.mjs";
import { count } from "./support/random.mjs";
import { openSite } from "./support/site.mjs";

const messages = count("THREADKEEP_LONG", 5_000);
const ROUNDS = count("ROUNDS", 9);
const RATE = 500;
const SECONDS = count("SECONDS", 6);

function row(measure, value, unit, target) {
  const shown = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ${unit}`;
  const verdict = target === undefined ? ["", ""] : [`< ${shown(target)}`, value < target ? "ok" : "missed"];
  console.log(["BENCH", measure, shown(value), ...verdict].join("\t"));
}

/** A server that answers with what `say` writes; `sentAt` is when the first word was handed to the connection. */
async function serve() {
  const state = { say: undefined, sentAt: 0 };
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
  const server = createServer(async (request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, headers).end();
    for await (const _ of request);
    response.writeHead(200, { ...headers, "content-type": "text/event-stream" });
    response.flushHeaders();
    const chunk = (delta, finish_reason = null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    await state.say((words) => response.write(words.map((content) => chunk({ content })).join("")));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() });
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const files = scratch("bench");
const model = await serve();
const site = await openSite();
try {
  const long = join(files.folder, "long.json");
  const text = transcript(long, { messages }).first;
  const connection = { id: "bench", preset: "custom", name: "Bench", provider: "openai-chat", baseUrl: `${model.address}/v1`, model: "bench", tools: "none" };
  const prepare = (context) =>
    context.addInitScript(
      (book) => {
        if (location.protocol === "http:") localStorage["threadkeep.connections"] = book;
      },
      JSON.stringify({ chosen: "bench", list: [connection] }),
    );
  await site.visit(
    async (tab) => {
      await tab.pick(long, { timeout: 5 * 60_000 });
      await tab.closeReport();
      await tab.get("thread-row").first().click();
      await tab
        .message(text)
        .first()
        .waitFor()
        .catch(() => {});
      await tab.get("compose").waitFor();

      const firsts = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        model.say = async (write) => {
          // The page is at rest when the first word comes.
          await wait(600);
          model.sentAt = Date.now();
          write([`Word${round} `]);
          await wait(300);
        };
        const seen = tab.page.evaluate(
          (word) =>
            new Promise((resolve) => {
              const look = () => {
                const there = [...document.querySelectorAll("[data-testid=live-text]")].some((one) => one.textContent.includes(word));
                // The next frame shows it.
                if (there) requestAnimationFrame(() => resolve(Date.now()));
                return there;
              };
              if (!look()) {
                const observer = new MutationObserver(() => look() && observer.disconnect());
                observer.observe(document.body, { childList: true, subtree: true, characterData: true });
              }
            }),
          `Word${round}`,
        );
        await tab.get("compose").fill(`question ${round}`);
        await tab.page.keyboard.press("Enter");
        firsts.push((await seen) - model.sentAt);
        await tab.get("send").waitFor();
      }
      row(`first word on the screen after it was sent, ${messages} messages, median of ${ROUNDS}`, median(firsts), "ms", 50);
      row("the same, worst", Math.max(...firsts), "ms");

      let sent = 0;
      model.say = async (write) => {
        const begun = performance.now();
        while (performance.now() - begun < SECONDS * 1000) {
          const due = Math.floor(((performance.now() - begun) / 1000) * RATE);
          // Words of a token each, with a paragraph now and then.
          const words = Array.from({ length: due - sent }, (_, at) => ((sent + at) % 60 === 59 ? "end.\n\n" : "word "));
          sent = due;
          if (words.length > 0) write(words);
          await wait(4);
        }
      };
      await tab.get("compose").fill("much");
      await tab.page.keyboard.press("Enter");
      await tab.get("live-text").first().waitFor();
      const frames = await watchFrames(tab.page);
      await wait((SECONDS - 1) * 1000);
      const { gaps, lasted } = await frames.stop();
      await tab.get("send").waitFor({ timeout: 30_000 });
      const rising = [...gaps].sort((a, b) => a - b);
      const what = `${Math.round(sent / SECONDS)} tokens a second below ${messages} messages`;
      row(`${what}: frames a second`, (gaps.length / lasted) * 1000, "fps");
      row(`${what}: frames dropped (over 33 ms) of ${gaps.length}`, gaps.filter((gap) => gap > 33).length, "frames", 1);
      row(`${what}: gap between frames, 99 %`, quantile(rising, 0.99), "ms");
      row(`${what}: worst gap between frames`, rising.at(-1), "ms");
    },
    { allowed: [model.address], prepare },
  );
} finally {
  await site.close();
  model.close();
  files.remove();
}
