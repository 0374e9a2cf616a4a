// Real servers for the tests of the stores on them: each on a free port of this machine, with a folder of its own among the
// temporary ones. A server belongs to a guard, a process of its own, which ends it and removes its folder when it is told to
// or when whoever started it is gone, however that came about.
import { execFileSync, spawn } from "node:child_process";
import { accessSync, chownSync, constants, existsSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const GUARD = join(dirname(fileURLToPath(import.meta.url)), "guard.mjs");
/** How long a server may take to start, in milliseconds. */
const START = 60_000;

/** The password of every server here. */
export const PASSWORD = "not-a-secret";

/** A Redis server with a password, which writes each commit to its log's disk before it answers. `settings` come last. */
export async function startRedis({ settings = [], port: wanted } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-redis-"));
  const port = wanted ?? (await freePort());
  const basic = ["--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const args = ["--port", String(port), "--requirepass", PASSWORD, ...basic, ...settings];
  const server = await guarded({ program: redisServer(), args, folder, end: "SIGTERM", crash: "SIGKILL" }, () => answersRedis(port));
  return { ...server, port, url: `redis://:${PASSWORD}@127.0.0.1:${port}` };
}

/** A PostgreSQL server with the user `threadkeep` and a password. `settings` come last. */
export async function startPostgres({ settings = {} } = {}) {
  const bin = postgresBin();
  const user = whoever();
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-postgres-"));
  writeFileSync(join(folder, "password"), PASSWORD);
  if (user.uid !== undefined) for (const path of [folder, join(folder, "password")]) chownSync(path, user.uid, user.gid);
  const who = ["--username=threadkeep", `--pwfile=${join(folder, "password")}`, "--auth=scram-sha-256"];
  execFileSync(join(bin, "initdb"), ["-D", join(folder, "data"), ...who, "--encoding=UTF8", "--no-locale", "--no-sync"], {
    ...user,
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return postgresIn({ bin, user, folder, settings });
}

/** A standby of a server that {@link startPostgres} has started, which follows it from a copy of its data. Its name for the primary is `standby`. */
export async function startStandby({ port }, { settings = {} } = {}) {
  const bin = postgresBin();
  const user = whoever();
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-postgres-"));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const from = `host=127.0.0.1 port=${port} user=threadkeep application_name=standby`;
  execFileSync(
    join(bin, "pg_basebackup"),
    ["-D", join(folder, "data"), "-d", from, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"],
    {
      ...user,
      cwd: folder,
      env: { ...process.env, PGPASSWORD: PASSWORD },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  return postgresIn({ bin, user, folder, settings });
}

/** A server over the data in a folder. */
async function postgresIn({ bin, user, folder, settings }) {
  const port = await freePort();
  const all = { listen_addresses: "127.0.0.1", unix_socket_directories: "", shared_buffers: "32MB", logging_collector: "off", ...settings };
  const args = ["-D", join(folder, "data"), "-p", String(port), ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const program = { program: join(bin, "postgres"), args, folder, user, end: "SIGINT", crash: "SIGQUIT" };
  const connectionString = `postgres://threadkeep:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const server = await guarded(program, () => answersPostgres(connectionString));
  return { ...server, port, connectionString };
}

/** Starts a server under its guard and waits until `answers` says so. */
async function guarded(server, answers) {
  // A group of its own: an interrupt at the terminal is not for the guard.
  const guard = spawn(process.execPath, [GUARD], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const told = createInterface({ input: guard.stdout })[Symbol.asyncIterator]();
  const gone = new Promise((resolve) => guard.once("exit", resolve));
  // Nobody shall wait for a guard but whoever has told it something.
  const hold = (how) => [guard, guard.stdin, guard.stdout].forEach((it) => it[how]());
  const tell = async (order) => {
    hold("ref");
    guard.stdin.write(`${JSON.stringify(order)}\n`);
    const { value } = await told.next();
    hold("unref");
    return JSON.parse(value ?? '{"said":"the guard is gone"}');
  };
  await tell({ server });
  const start = async () => {
    const deadline = Date.now() + START;
    for (;;) {
      await tell({ start: true });
      while (!(await answers())) {
        const { running, said } = await tell({ look: true });
        if (Date.now() > deadline) throw new Error(`${server.program} does not start:\n${said}`);
        // What it left behind when it crashed may be in its way for a moment.
        if (!running) break;
        await sleep(30);
      }
      if ((await tell({ look: true })).running) return;
      await sleep(100);
    }
  };
  const close = async () => {
    hold("ref");
    guard.stdin.end();
    await gone;
  };
  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    folder: server.folder,
    start,
    /** Ends it in the middle of whatever it does. */
    crash: () => tell({ end: server.crash }),
    /** Ends it in order. */
    stop: () => tell({ end: server.end }),
    close,
  };
}

/**
 * A port that was free a moment ago, below those that systems give to outgoing connections: while a server is down, one of those
 * could be given away, even to a client that tries to reach it and so meets itself.
 */
async function freePort() {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
  throw new Error("no port is free");
}

/** A port of which the one 10,000 above is free too: servers of a Redis cluster talk to each other there. */
export async function freePortOfCluster() {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = 12_000 + Math.floor(Math.random() * 8_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
  throw new Error("no port is free");
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

function answersRedis(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: 2_000 });
    const done = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => socket.write(`AUTH ${PASSWORD}\r\nPING\r\n`));
    let said = "";
    socket.on("data", (bytes) => {
      said += bytes;
      if (/PONG|LOADING/.test(said)) done(said.includes("PONG"));
    });
    for (const event of ["error", "timeout", "close"]) socket.once(event, () => done(false));
  });
}

async function answersPostgres(connectionString) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

function redisServer() {
  const found = process.env.REDIS_SERVER || onPath("redis-server");
  if (!found) throw new Error("redis-server is missing: `cargo xtask setup` installs it, or set REDIS_SERVER");
  return found;
}

function postgresBin() {
  if (process.env.POSTGRES_BIN) return process.env.POSTGRES_BIN;
  const program = onPath("postgres");
  const versions = "/usr/lib/postgresql";
  const known = existsSync(versions)
    ? readdirSync(versions)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, "bin"))
    : [];
  const found = [...(program ? [dirname(realpathSync(program))] : []), ...known].find((folder) => existsSync(join(folder, "initdb")));
  if (!found) throw new Error("PostgreSQL is missing: `cargo xtask setup` installs it, or set POSTGRES_BIN");
  return found;
}

function onPath(name) {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** PostgreSQL refuses to run as root: somebody with fewer rights then. */
function whoever() {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, name], { stdio: ["ignore", "pipe", "ignore"] })));
      return { uid, gid };
    } catch {
      // There is no such user.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`");
}
