// The documentation as a static site: the Markdown of the repository as it is, the API reference, the figures of the measurements,
// the page as live demo, and the npm package for the examples that run in it.
// `node docs/site/build.mjs PAGE API TARBALL OUT` makes it in OUT from the built page, the reference and the packed package.
// THREADKEEP_BASE is the path at which it will be served, with a slash at both ends: `/` unless set.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { tables } from "./measured.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const [page, api, tarball, out] = process.argv.slice(2).map((path) => resolve(path));

// VitePress reads one folder. The chapters stand in it as they do in the repository, so that their links hold.
const source = join(here, ".source");
const CHAPTERS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "npm/README.md", "tests/e2e/README.md", "xtask/README.md"];
const OTHERS = new Set(["site", "api-tools", "node_modules"]);
rmSync(source, { recursive: true, force: true });
for (const chapter of CHAPTERS) cpSync(join(root, chapter), join(source, chapter));
for (const entry of readdirSync(join(root, "docs")).filter((name) => !OTHERS.has(name)))
  cpSync(join(root, "docs", entry), join(source, "docs", entry), { recursive: true });
cpSync(api, join(source, "api"), { recursive: true });
cpSync(join(here, "index.md"), join(source, "index.md"));
const figures = join(source, "docs/measured.md");
writeFileSync(
  figures,
  readFileSync(figures, "utf8").replace("<!-- tables -->", () => tables(join(here, "measured"))),
);
mkdirSync(join(source, "public"), { recursive: true });
cpSync(join(page, "icon.svg"), join(source, "public/icon.svg"));

await build(here, { outDir: out });
cpSync(page, join(out, "app"), { recursive: true });
execFileSync("tar", ["-xzf", tarball, "-C", out]);
