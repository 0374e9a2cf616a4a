// Runs an example in the page that shows it.

/** How a value is shown: text as it is, everything else as JSON, an error by its message. */
function shown(value) {
  if (typeof value === "string") return value;
  return value instanceof Error ? String(value) : (JSON.stringify(value, null, 2) ?? String(value));
}

/**
 * Runs `code` as a module that imports `threadkeep` from `address`. `say` gets each line that it logs. Resolves when the module has
 * run to its end, and rejects with its error.
 */
export async function run(code, address, say) {
  const name = `threadkeepExample${crypto.randomUUID()}`;
  globalThis[name] = { log: (...values) => say(values.map(shown).join(" ")) };
  // On one line with the first of the example, so that its line numbers hold.
  const module = `const console = globalThis[${JSON.stringify(name)}]; ${code.replaceAll('from "threadkeep"', `from ${JSON.stringify(address)}`)}`;
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  try {
    await import(/* @vite-ignore */ url);
  } finally {
    URL.revokeObjectURL(url);
    delete globalThis[name];
  }
}
