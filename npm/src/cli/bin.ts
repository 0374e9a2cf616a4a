#!/usr/bin/env node
/// <reference types="node" />
// `threadkeep`: the command line. Results go to stdout, words to stderr. It ends with 0, with 1 where it failed, with 2 where it was called
// in a way that it does not understand.

import process from "node:process";
import { parseArgs } from "node:util";
import { VERSION } from "../version.js";
import { COMMANDS, type Call } from "./commands.js";
import { PLACE, PLACE_HELP, Trouble, explained } from "./place.js";
import { print, say, table } from "./print.js";

const OPTIONS = {
  ...PLACE,
  json: { type: "boolean" },
  watch: { type: "boolean" },
  repair: { type: "boolean" },
  redact: { type: "boolean" },
  update: { type: "boolean" },
  devices: { type: "boolean" },
  limit: { type: "string" },
  port: { type: "string" },
  thread: { type: "string" },
  format: { type: "string" },
  in: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

const HELP = `threadkeep ${VERSION}: your conversations with models, on this machine

${table(Object.entries(COMMANDS).map(([name, { usage, about }]) => [`  threadkeep ${name} ${usage}`.trimEnd(), about]))}
  threadkeep completion bash|zsh|fish

${PLACE_HELP}
  --json               one JSON document in place of words, for programs
  --help, --version
`;

/** The command line was not understood. */
class Misuse extends Trouble {}

/** What `eval "$(threadkeep completion bash)"` takes. */
const COMPLETIONS: Readonly<Record<string, (commands: string, options: string) => string>> = {
  bash: (commands, options) => `complete -W "${commands} ${options}" -o default threadkeep`,
  zsh: (commands, options) =>
    `autoload -Uz compinit && compinit\n_threadkeep() { [[ $CURRENT == 2 ]] && compadd ${commands}; compadd -- ${options}; _files }\ncompdef _threadkeep threadkeep`,
  fish: (commands, options) =>
    [
      `complete -c threadkeep -n __fish_use_subcommand -f -a "${commands}"`,
      ...options.split(" ").map((name) => `complete -c threadkeep -l ${name.slice(2)}`),
    ].join("\n"),
};

function completion(shell: string | undefined): string {
  const write = shell !== undefined && Object.hasOwn(COMPLETIONS, shell) ? COMPLETIONS[shell] : undefined;
  if (write === undefined) throw new Misuse(`completion is for ${Object.keys(COMPLETIONS).join(", ")}`);
  return write(
    Object.keys(COMMANDS).join(" "),
    Object.keys(OPTIONS)
      .map((name) => `--${name}`)
      .join(" "),
  );
}

function whole(name: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > most) throw new Misuse(`--${name} must be a whole number up to ${most}, it is ${text}`);
  return number;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const [name, ...words] = positionals;
  if (values.version === true) return print(VERSION);
  if (values.help === true || name === undefined) return print(HELP);
  if (name === "completion") return print(completion(words[0]));
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new Misuse(`there is no command ${name}`);
  const {
    json = false,
    watch = false,
    repair = false,
    redact = false,
    update = false,
    devices = false,
    limit,
    port,
    thread,
    format,
    in: program,
    help: _,
    version: __,
    ...place
  } = values;
  const call: Call = {
    words,
    place,
    json,
    watch,
    repair,
    redact,
    update,
    devices,
    thread,
    format,
    in: program,
    limit: whole("limit", limit, 20, 1_000),
    port: whole("port", port, 4_321, 65_535),
  };
  await command.run(call);
}

// Whoever reads no further, such as `head`, wants no more.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

main().catch((error: unknown) => {
  const { words, misuse } = explained(error, "Perhaps another program has it open: with --sqlite FILE in each, all share that file.");
  say(error instanceof Misuse ? `threadkeep: ${words}\nTry --help.` : `threadkeep: ${words}`);
  process.exitCode = misuse || error instanceof Misuse ? 2 : 1;
});
