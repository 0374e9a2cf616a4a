// The API reference, in Markdown, a file for each entry, made from the types and comments of the package as it is shipped.
// `node docs/api-tools/reference.mjs FOLDER OUT` writes it for the package in FOLDER; it fails at the first warning: a link that leads
// nowhere, something undocumented, a type that is used and not exported.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Application } from "typedoc";

const [folder, out] = process.argv.slice(2).map((path) => resolve(path));
// TypeDoc would take the configuration of whatever project it is called from; here there is none.
process.chdir(dirname(fileURLToPath(import.meta.url)));
const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
// The slim entry is the main one once more.
const entries = Object.entries(exports).filter(([name, entry]) => entry.import?.types !== undefined && name !== "./slim");

const app = await Application.bootstrapWithPlugins({
  plugin: ["typedoc-plugin-markdown"],
  name: "Threadkeep",
  entryPoints: entries.map(([, entry]) => join(folder, entry.import.types)),
  basePath: join(folder, "dist"),
  compilerOptions: { target: "es2022", module: "nodenext", moduleResolution: "nodenext", types: [], strict: true },
  // What the types of others hold is theirs.
  skipErrorChecking: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  externalPattern: ["**/node_modules/!(threadkeep)/**"],
  disableSources: true,
  disableGit: true,
  readme: "none",
  validation: { notExported: true, invalidLink: true, notDocumented: true, rewrittenLink: true },
  requiredToBeDocumented: ["Class", "Interface", "Function", "Variable", "TypeAlias", "Method", "Enum"],
  out,
  router: "module",
  hideBreadcrumbs: true,
  entryFileName: "README",
});
const project = await app.convert();
if (project === undefined) process.exit(1);
// Modules by the names under which they are imported.
for (const module of project.children ?? []) {
  const [name] = entries.find(([, entry]) => entry.import.types === `./dist/${module.name}.d.ts`);
  module.name = `threadkeep${name.slice(1)}`;
}
app.validate(project);
await app.generateOutputs(project);
process.exit(app.logger.hasErrors() || app.logger.hasWarnings() ? 1 : 0);
