// The guard of one server (see servers.mjs): takes orders as lines of JSON, answers each with one, and when there will be no
// more, ends the server and removes its folder.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";

let server;
let child;
let gone = Promise.resolve();
let said = "";

function start() {
  if (child !== undefined) return;
  const { program, args, folder, user } = server;
  const started = spawn(program, args, { ...user, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  child = started;
  for (const stream of [started.stdout, started.stderr])
    stream.on("data", (bytes) => {
      said = (said + bytes).slice(-4_000);
    });
  gone = new Promise((resolve) => {
    const ended = (why) => {
      if (why instanceof Error) said += why.message;
      if (child === started) child = undefined;
      resolve();
    };
    started.once("error", ended);
    started.once("exit", ended);
  });
}

async function end(signal) {
  child?.kill(signal);
  await gone;
}

// Whoever asked may be gone by now.
process.stdout.on("error", () => {});
const orders = createInterface({ input: process.stdin });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.stdin.destroy());
for await (const line of orders) {
  const order = JSON.parse(line);
  if (order.server !== undefined) server = order.server;
  if (order.start !== undefined) start();
  if (order.end !== undefined) await end(order.end);
  process.stdout.write(`${JSON.stringify({ running: child !== undefined, said })}\n`);
}
const hard = setTimeout(() => child?.kill("SIGKILL"), 10_000);
await end("SIGQUIT");
clearTimeout(hard);
if (server !== undefined) rmSync(server.folder, { recursive: true, force: true, maxRetries: 5 });
