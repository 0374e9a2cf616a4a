// The public types of the package in one text: for each entry, the declaration of each thing that it exports, without comments, in the
// order of their names. `node docs/api-tools/surface.mjs FOLDER` prints it for the package in FOLDER.
import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { alone } from "./alone.mjs";

/** The text for the package in `folder`. */
export function surface(folder) {
  const copy = alone(folder);
  try {
    return text(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function text(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.entries(exports).filter(([, entry]) => entry.import?.types !== undefined);
  const files = entries.map(([, entry]) => join(folder, entry.import.types));
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
    noEmit: true,
  });
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed });
  const seen = new Map();
  const parts = entries.map(([name], at) => {
    const entry = `threadkeep${name.slice(1)}`;
    const module = checker.getSymbolAtLocation(program.getSourceFile(files[at]));
    if (module === undefined) throw new Error(`${entry}: there is no ${files[at]}`);
    const symbols = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1));
    // The slim entry is the main one; what an entry only hands on is named.
    const lines = symbols.map((symbol) => {
      const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const first = seen.get(real);
      if (first !== undefined) return { also: first, name: symbol.name };
      seen.set(real, entry);
      const declarations = real.declarations ?? [];
      if (declarations.some((node) => !resolve(node.getSourceFile().fileName).startsWith(resolve(folder, "dist")))) return { text: `export { ${symbol.name} } of another package` };
      return { text: declarations.map((node) => print(printer, node)).join("\n") };
    });
    const own = lines.filter(({ text }) => text !== undefined).map(({ text }) => text);
    const handed = [...group(lines)].map(([from, names]) => `// of ${from}: ${own.length === 0 && names.length === symbols.length ? "all" : names.join(", ")}`);
    return [`// ===== ${entry} =====`, ...handed, ...own].join("\n\n");
  });
  return `// The public types, as npm/test/api.test.mjs compares them. To write this anew: node npm/test/api.test.mjs --update\n\n${parts.join("\n\n\n")}\n`;
}

/** What is handed on, by the entry that it is of. */
function group(lines) {
  const groups = new Map();
  for (const { also, name } of lines) if (also !== undefined) groups.set(also, [...(groups.get(also) ?? []), name]);
  return groups;
}

/** A declaration; of a variable, the whole statement. */
function print(printer, node) {
  const whole = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return printer.printNode(ts.EmitHint.Unspecified, whole, whole.getSourceFile());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(surface(resolve(process.argv[2] ?? ".")));
