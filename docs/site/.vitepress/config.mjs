// How the site looks and where its links lead. `../build.mjs` has put all chapters into `../.source`.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

const REPOSITORY = "https://github.com/threadkeep/threadkeep";
const source = join(dirname(fileURLToPath(import.meta.url)), "../.source");

/** A chapter's entry in the side bar: its first heading, and where it is. */
function chapter(path) {
  const heading = /^# (.+)$/m.exec(readFileSync(join(source, path), "utf8"));
  return { text: (heading?.[1] ?? path).replace(/`|\\/g, ""), link: `/${path.slice(0, -3)}` };
}

/** The chapters that the reader meets first. */
const FIRST = ["README.md", "npm/README.md", "docs/try.md", "docs/compared.md", "docs/measured.md"];

/** The other chapters of a folder, without those below it. */
const chapters = (folder) =>
  readdirSync(join(source, folder))
    .filter((name) => name.endsWith(".md") && name !== "README.md" && !FIRST.includes(`${folder}/${name}`))
    .sort()
    .map((name) => chapter(`${folder}/${name}`));

/** The package's entries in the reference. The overview of each lists its names. */
const entries = readdirSync(join(source, "api"), { recursive: true })
  .filter((path) => path.endsWith("/README.md"))
  .map((path) => ({ text: path.slice(0, -"/README.md".length), link: `/api/${path.slice(0, -3)}` }))
  .sort((one, other) => one.text.localeCompare(other.text));

const GUIDE = [
  {
    text: "Start",
    items: [{ text: "Overview", link: "/README" }, { text: "In six steps", link: "/npm/README" }, ...FIRST.slice(2).map(chapter)],
  },
  { text: "Use", items: [{ text: "All integrations", link: "/docs/README" }, ...chapters("docs")] },
  { text: "Stores and memory services", items: chapters("docs/stores") },
  { text: "Frameworks", items: chapters("docs/frameworks") },
  {
    text: "Inside",
    items: [chapter("ARCHITECTURE.md"), ...chapters("docs/dev"), chapter("CONTRIBUTING.md"), chapter("SECURITY.md"), chapter("CHANGELOG.md")],
  },
];

/** Leads a link that leaves the site's chapters (to a source file, a folder) to the repository. */
function toRepository(markdown) {
  markdown.core.ruler.push("to-repository", ({ tokens, env }) => {
    const links = tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "link_open");
    for (const link of links) {
      const [path, part] = link.attrGet("href").split("#");
      if (path === "" || path.startsWith("/") || /^[a-z]+:/.test(path)) continue;
      const target = posix.join(posix.dirname(env.relativePath), decodeURI(path));
      if (target.endsWith(".md") && existsSync(join(source, target))) continue;
      link.attrSet("href", `${REPOSITORY}/blob/main/${target}${part === undefined ? "" : `#${part}`}`);
    }
  });
}

const base = process.env.THREADKEEP_BASE ?? "/";

export default defineConfig({
  base,
  title: "Threadkeep",
  description: "Conversation memory for LLM agents that lives in the browser",
  lang: "en",
  srcDir: ".source",
  cleanUrls: false,
  // What leads nowhere fails the build. The live demo is put beside the pages afterwards.
  ignoreDeadLinks: [/^\/app\//],
  head: [["link", { rel: "icon", href: `${base}icon.svg`, type: "image/svg+xml" }]],
  markdown: { config: toRepository, theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } },
  themeConfig: {
    logo: "/icon.svg",
    nav: [
      { text: "Guide", link: "/npm/README" },
      { text: "Reference", link: "/api/threadkeep/README" },
      { text: "Try it here", link: "/docs/try" },
      { text: "Open the page", link: "/app/index.html", target: "_self" },
    ],
    sidebar: { "/api/": [{ text: "Reference", link: "/api/README", items: entries }], "/": GUIDE },
    outline: [2, 3],
    // The button says its keys in its text, so that its name has them; the theme shows them as keys beside it.
    search: { provider: "local", options: { translations: { button: { buttonText: "Search (Ctrl K)", buttonAriaLabel: "Search (Ctrl K)" } } } },
    socialLinks: [{ icon: "github", link: REPOSITORY }],
  },
});
