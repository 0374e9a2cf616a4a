// The API reference, in Markdown, a folder for each entry and a file for each name, made from the types and comments of the package as it is shipped.
// `node docs/api-tools/reference.mjs FOLDER OUT` writes it for the package in FOLDER; it fails at the first warning: a link that leads
// nowhere, something undocumented, a type that is used and not exported.
import { readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Application, ReflectionKind } from "typedoc";
import { alone } from "./alone.mjs";

const [given, out] = process.argv.slice(2).map((path) => resolve(path));
const folder = alone(given);
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
  disableSources: true,
  disableGit: true,
  readme: "none",
  validation: { notExported: true, invalidLink: true, rewrittenLink: true },
  out,
  router: "member",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  entryFileName: "README",
});
// A link names what the main entry exports, or else another, whether or not the module that it stands in imports it.
app.converter.addUnknownSymbolResolver((reference, from, link) => {
  if (link === undefined) return undefined;
  const path = reference.symbolReference?.path?.map(({ path }) => path);
  const modules = [...(from.project.children ?? [])].sort((a, b) => Number(b.name === "index") - Number(a.name === "index"));
  const target = path && modules.map((module) => module.getChildByName(path)).find((found) => found !== undefined);
  return target && { target, caption: path.join(".") };
});
const { Class, Interface, TypeAlias, Variable, CallSignature, GetSignature } = ReflectionKind;
const DOCUMENTED = Class | Interface | TypeAlias | Variable | CallSignature | GetSignature;
/** Whether it is part of a type that is written out in the declaration of another, whose comment then is for both. */
const inLiteral = (reflection) => reflection !== undefined && (reflection.kind === ReflectionKind.TypeLiteral || inLiteral(reflection.parent));
/** Whether it has a comment; of a type of functions, either it or the function. */
const commented = (reflection) => reflection.hasComment() || (reflection.type?.declaration?.signatures ?? []).some((signature) => signature.hasComment());
/** Whether it is a member of an interface, which may be the shape of something well known. */
const inInterface = (reflection) => reflection !== undefined && (reflection.parent?.kind === Interface || inInterface(reflection.parent));

const project = await app.convert();
if (project === undefined) process.exit(1);
// Modules by the names under which they are imported.
for (const module of project.children ?? []) {
  const [name] = entries.find(([, entry]) => entry.import.types === `./dist/${module.name}.d.ts`);
  module.name = `threadkeep${name.slice(1)}`;
}
app.validate(project);
for (const reflection of project.getReflectionsByKind(DOCUMENTED))
  if (!commented(reflection) && !reflection.inheritedFrom && !reflection.flags.isExternal && !inLiteral(reflection) && !inInterface(reflection))
    app.logger.error(`${reflection.getFriendlyFullName()} has no comment`);
await app.generateOutputs(project);
rmSync(folder, { recursive: true });
process.exit(app.logger.hasErrors() || app.logger.hasWarnings() ? 1 : 0);
