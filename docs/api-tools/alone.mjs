import { cpSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A copy of a package's types in a folder of their own: the packages of others are not there, whose types would take long to read and are not ours to describe. */
export function alone(folder) {
  const copy = mkdtempSync(join(tmpdir(), "threadkeep-types-"));
  cpSync(join(folder, "package.json"), join(copy, "package.json"));
  cpSync(join(folder, "dist"), join(copy, "dist"), { recursive: true, filter: (path) => statSync(path).isDirectory() || path.endsWith(".d.ts") });
  return copy;
}
