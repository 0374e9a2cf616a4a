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
const pages = [
  "README.md",
  "npm/README.md",
  ...["docs", "docs/frameworks", "docs/stores"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
];
const { exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));

/** The name of the package that an import is from; nothing for Node's own modules and for files. */
const packageOf = (name) =>
  /^(node:|\.|\/)/.test(name)
    ? undefined
    : name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/");
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
    const told = new Set(
      [...text.matchAll(/npm (?:install|i) ([^\n`#]+)/g)]
        .flatMap(([, names]) => names.trim().split(/\s+/))
        .map((name) => packageOf(name.replace(/(.)@[^/]*$/, "$1"))),
    );
    told.add("threadkeep");
    for (const name of importsOf(code)) {
      assert.ok(packageOf(name) === undefined || told.has(packageOf(name)), `${page} imports ${name} and does not say to install it`);
      if (packageOf(name) !== "threadkeep") continue;
      const entry = exports[name.replace("threadkeep", ".")];
      assert.ok(entry !== undefined, `${page} imports ${name}, which the package does not have`);
      const file = join(installed, "dist", `${name === "threadkeep" ? "index" : name.slice("threadkeep/".length)}.js`);
      const own = ["frameworks", "stores", "services", "tools", "."]
        .map((folder) => join(installed, "dist", folder, `${name === "threadkeep" ? "index" : name.slice("threadkeep/".length)}.js`))
        .find((path) => existsSync(path));
      assert.ok(own !== undefined, `${file}: where is ${name}?`);
      for (const peer of needs(own)) assert.ok(told.has(peer), `${page} imports ${name}, which needs ${peer}, and does not say to install it`);
    }
  });

const require = createRequire(join(source, "package.json"));
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");

/** What the compiler says of TypeScript in the project of a user. */
function compiled(name, code, options = {}, file = "user.ts") {
  const folder = join(project, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), code);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
    types: ["node"],
    typeRoots: [join(source, "node_modules/@types")],
    skipLibCheck: true,
    ...options,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: [file] }));
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
  rmSync(folder, { recursive: true, force: true });
  return stdout + stderr;
}

/** The README's examples, with what each takes for granted, as the official clients have it. */
const TYPED = {
  agent:
    'import OpenAI from "openai";\nimport { createAgent, type Threadkeep } from "threadkeep";\ndeclare const keep: Threadkeep;\ndeclare const show: (...what: unknown[]) => void;\ndeclare const weatherIn: (town: string, signal: AbortSignal) => Promise<object>;\nconst openai = new OpenAI();\n',
  "six steps": 'import type { AssistantMessage } from "threadkeep";\ndeclare const model: (payload: unknown) => Promise<AssistantMessage>;\n',
  "reply chains": "",
  threads: "",
  memory: "",
  prompts:
    'import type { AnthropicPayload, MessageInput } from "threadkeep";\ndeclare const history: MessageInput[];\ndeclare const send: (payload: AnthropicPayload) => Promise<object>;\n',
  functions:
    'import { compressHistory, countTokens, render, trimMessages, validate, type MessageInput } from "threadkeep";\ndeclare const history: MessageInput[];\n',
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

/** What pages take for granted, with its type. A block also knows what the blocks before it on its page import and declare. */
const GIVEN = {
  "docs/cli.md":
    'import { writeFile } from "node:fs/promises";\nimport type { Thread, Threadkeep } from "threadkeep";\ndeclare const keep: Threadkeep, thread: Thread, options: object;',
  "docs/tools.md":
    'declare const anthropic: import("@anthropic-ai/sdk").Anthropic, model: string, max_tokens: number, messages: { role: "user"; content: string }[], signal: AbortSignal;',
  "docs/frameworks/ai-sdk.md":
    'import { DefaultChatTransport, ToolLoopAgent, generateId, type LanguageModel, type StreamTextResult, type ToolSet, type UIMessage } from "ai";\nimport { branchingTransport, trimSteps } from "threadkeep/ai-sdk";\nimport type { Threadkeep as Keep } from "threadkeep";\n' +
    'declare const keep: Keep, id: string, chatId: string, model: LanguageModel, tools: ToolSet, instructions: string, result: StreamTextResult<ToolSet, any, any>;\ndeclare const useChat: (options: { id: string, transport: import("ai").ChatTransport<UIMessage>, messages: UIMessage[] }) => unknown;',
  "docs/frameworks/assistant-ui.md":
    'import { useAui, useLocalRuntime, useRemoteThreadListRuntime, type ChatModelAdapter } from "@assistant-ui/react";\nimport { useMemo, useState } from "react";\nimport type { Threadkeep as Keep } from "threadkeep";\ndeclare const keep: Keep, model: ChatModelAdapter;',
  "docs/stores/agentcore.md":
    'import type { Threadkeep } from "threadkeep";\nimport { hybrid } from "threadkeep/hybrid";\ndeclare const userIdOf: (jwt: string) => string, jwt: string, keep: Threadkeep;',
  "docs/stores/mem0.md": 'import type { Threadkeep } from "threadkeep";\nimport { hybrid } from "threadkeep/hybrid";\ndeclare const keep: Threadkeep;',
  "docs/stores/file.md": "",
  "docs/stores/your-own.md": 'import { Threadkeep, type StoreAdapter } from "threadkeep";\ndeclare const myStore: (place: string) => StoreAdapter;',
};

for (const page of pages.filter((page) => page.startsWith("docs/")))
  test(`${page}: its code compiles`, { timeout: 240_000 }, () => {
    const text = readFileSync(join(root, page), "utf8");
    const blocks = [...text.matchAll(/```(?:js|jsx|ts|tsx)\n([^]*?)```/g)].map(([, block]) => block);
    if (blocks.length === 0) return;
    // Later blocks may declare a name again, so that each is a scope within the one before it.
    // Blocks that run by themselves import the same names.
    const imports = new Set();
    const named = new Map();
    const note = (line) => {
      const [, names, from] = /^import \{([^}]*)\} from ("[^"]+");\n$/.exec(line) ?? [];
      if (names === undefined) return imports.add(line);
      const known = named.get(from) ?? new Set();
      for (const name of names.split(",")) if (name.trim() !== "") known.add(name.trim());
      return named.set(from, known);
    };
    const scopes = blocks.map((block) => {
      const body = block.replace(/^import [^]*?;\n/gm, (line) => (note(line), ""));
      return body.replace(/^return /m, "const response = ");
    });
    // The page tells those who write TypeScript.
    const last = scopes.length - 1;
    scopes[last] = scopes[last].replace(/, \/\/ in TypeScript: `as any`/, " as any,");
    const all = [...imports, ...Array.from(named, ([from, names]) => `import { ${[...names].join(", ")} } from ${from};\n`)];
    const code = `${all.join("")}${GIVEN[page] ?? ""}\n${scopes.join("\n{\n")}\n${"}".repeat(last)}\nexport {};\n`;
    // The code is JavaScript, which looks at what it has just stored without asking whether it is there.
    const options = { noImplicitAny: false, strictNullChecks: false, jsx: "react-jsx" };
    assert.equal(compiled(`docs-${page.replaceAll("/", "-")}`, code, options, "user.tsx"), "", code);
  });
