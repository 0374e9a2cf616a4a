// The code in the docs, as somebody has it who follows a page: every package that it imports is one that the page tells to install, and
// the TypeScript compiler takes what is written for the clients of providers.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { installed, project, source } from "./support/installed.mjs";

const root = join(source, "..");
const pages = ["README.md", "npm/README.md", ...["docs", "docs/frameworks", "docs/stores"].flatMap((folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => `${folder}/${name}`))];
const { exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));

/** The name of the package that an import is from; nothing for Node's own modules and for files. */
const packageOf = (name) => (/^(node:|\.|\/)/.test(name) ? undefined : name.split("/").slice(0, name.startsWith("@") ? 2 : 1).join("/"));
const importsOf = (code) => [...code.matchAll(/(?:from|import)\s*\(?\s*"([^"\n]+)"/g)].map(([, name]) => name);

/** The packages that a module of ours imports at once, itself or through others of ours. */
function needs(file, seen = new Set()) {
  if (seen.has(file)) return [];
  seen.add(file);
  const code = readFileSync(file, "utf8");
  const found = [...code.matchAll(/^(?:import|export)\s(?:[^;"]*?\sfrom\s)?"([^"\n]+)"/gm)].map(([, name]) => name);
  return found.flatMap((name) => (name.startsWith(".") ? needs(resolve(dirname(file), name), seen) : (packageOf(name) ?? [])));
}

for (const page of pages)
  test(`${page}: what its code imports is what it tells to install`, () => {
    const text = readFileSync(join(root, page), "utf8");
    const code = [...text.matchAll(/```(?:js|jsx|ts|tsx|javascript|typescript)\n([^]*?)```/g)].map(([, block]) => block).join("\n");
    const told = new Set([...text.matchAll(/npm (?:install|i) ([^\n`#]+)/g)].flatMap(([, names]) => names.trim().split(/\s+/)).map((name) => packageOf(name.replace(/(.)@[^/]*$/, "$1"))));
    told.add("threadkeep");
    for (const name of importsOf(code)) {
      assert.ok(packageOf(name) === undefined || told.has(packageOf(name)), `${page} imports ${name} and does not say to install it`);
      if (packageOf(name) !== "threadkeep") continue;
      const entry = exports[name.replace("threadkeep", ".")];
      assert.ok(entry !== undefined, `${page} imports ${name}, which the package does not have`);
      const file = join(installed, "dist", `${name === "threadkeep" ? "index" : name.slice("threadkeep/".length)}.js`);
      const own = ["frameworks", "stores", "services", "tools", "."].map((folder) => join(installed, "dist", folder, `${name === "threadkeep" ? "index" : name.slice("threadkeep/".length)}.js`)).find((path) => existsSync(path));
      assert.ok(own !== undefined, `${file}: where is ${name}?`);
      for (const peer of needs(own)) assert.ok(told.has(peer), `${page} imports ${name}, which needs ${peer}, and does not say to install it`);
    }
  });

const require = createRequire(join(source, "package.json"));
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");

/** What the compiler says of TypeScript in the project of a user. */
function compiled(name, code) {
  const folder = join(project, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "user.ts"), code);
  const compilerOptions = { strict: true, noEmit: true, target: "es2022", module: "nodenext", moduleResolution: "nodenext", lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"], types: ["node"], typeRoots: [join(source, "node_modules/@types")], skipLibCheck: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["user.ts"] }));
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  rmSync(folder, { recursive: true, force: true });
  return stdout + stderr;
}

/** The README's examples, with what each takes for granted, as the official clients have it. */
const TYPED = {
  agent: 'import OpenAI from "openai";\nimport { createAgent, type Threadkeep } from "threadkeep";\ndeclare const keep: Threadkeep;\ndeclare const show: (...what: unknown[]) => void;\ndeclare const weatherIn: (town: string, signal: AbortSignal) => Promise<object>;\nconst openai = new OpenAI();\n',
  "ten lines": 'import type { MessageInput } from "threadkeep";\ndeclare const model: (prompt: unknown[]) => Promise<MessageInput>;\n',
  "reply chains": "",
  "message store": "",
  prompts: 'import type { AnthropicPayload, MessageInput } from "threadkeep";\ndeclare const history: MessageInput[];\ndeclare const send: (payload: AnthropicPayload) => Promise<object>;\n',
  functions: 'import { compressHistory, countTokens, render, trimMessages, validate, type MessageInput } from "threadkeep";\ndeclare const history: MessageInput[];\n',
  mailbox: 'import { mailText } from "threadkeep";\n',
  search: "",
  changes: "",
  records: "",
};
const OPEN = 'import { Threadkeep, writeDepth } from "threadkeep";\nconst keep = await Threadkeep.open();\ndeclare const show: (...what: unknown[]) => void;\n';

test("the examples of the README compile, with the official clients of providers", { timeout: 240_000 }, () => {
  const readme = readFileSync(join(installed, "README.md"), "utf8");
  const examples = new Map([...readme.matchAll(/<!-- example: (.+?) -->\n```js\n(.+?)```/gs)].map(([, name, code]) => [name, code]));
  const code = Object.entries(TYPED).map(([name, before]) => {
    const own = /import \{ Threadkeep|declare const keep/.test(before + examples.get(name)) ? "" : OPEN;
    return [name, `${own}${before}${examples.get(name)}`];
  });
  for (const [name, text] of code) assert.equal(compiled(`docs-${name.replaceAll(" ", "-")}`, text), "", name);
});

test("the examples of agents compile, with the clients that they import", { timeout: 240_000 }, () => {
  for (const name of readdirSync(join(installed, "examples")).filter((name) => /^agent-.*\.mjs$/.test(name))) {
    const text = readFileSync(join(installed, "examples", name), "utf8");
    assert.equal(compiled(`docs-${name}`, text), "", name);
  }
});
