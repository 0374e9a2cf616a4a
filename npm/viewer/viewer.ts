// The page of a shared thread, by itself in one file: it asks no server for anything. It shows the chosen branch, turns to others, and searches.

import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { chain, last, siblings, threads, type Node, type Thread } from "./tree.js";
import { pieces, words, type Piece } from "./text.js";

const WHO: Readonly<Record<string, string>> = { user: "User", assistant: "Assistant", system: "System", developer: "System", tool: "Tool" };

/** So many messages are drawn before the browser may paint. */
const STRETCH = 50;

const all = threads(find("threads").textContent ?? "");
let leaf: Node | null = all[0]?.leaf ?? null;
let drawing = 0;

function find(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the file lacks its part ${id}`);
  return found;
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, fields: { class?: string; text?: string } = {}, ...inside: Element[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (fields.class !== undefined) made.className = fields.class;
  if (fields.text !== undefined) made.textContent = fields.text;
  made.append(...inside);
  return made;
}

function drawn(piece: Piece): Element {
  if (piece.kind === "picture") {
    const picture = make("img", { class: "picture" });
    picture.src = piece.url;
    picture.alt = "Picture of this message";
    return picture;
  }
  if (piece.kind === "card") return make("details", { class: "card" }, make("summary", { text: piece.title }), make("pre", { text: piece.text }));
  // Raw HTML comes out as text, and addresses of other schemes than those of the web and of mail as nothing: micromark's defaults. In a
  // template nothing loads, so that pictures of servers become links before they are asked for.
  const template = make("template");
  template.innerHTML = micromark(piece.text, { extensions: [gfm()], htmlExtensions: [gfmHtml()] });
  for (const picture of template.content.querySelectorAll("img")) picture.replaceWith(link(picture.src, picture.alt || picture.src));
  for (const anchor of template.content.querySelectorAll("a")) anchor.rel = "noreferrer noopener";
  const prose = make("div", { class: "prose" });
  prose.dir = "auto";
  prose.append(template.content);
  return prose;
}

function link(address: string, text: string): HTMLAnchorElement {
  const made = make("a", { text });
  made.href = address;
  made.rel = "noreferrer noopener";
  return made;
}

function article(thread: Thread, node: Node): HTMLElement {
  const role = node.messages.find((message) => message.role === "user" || message.role === "assistant")?.role ?? node.messages[0]?.role ?? "assistant";
  const made = make("article", { class: `message role-${Object.hasOwn(WHO, role) ? role : "other"}` });
  made.dataset.node = node.id;
  const head = make("header", {}, make("h2", { class: "who", text: WHO[role] ?? role }));
  for (const [name, text] of facts(node)) head.append(make("span", { class: name, text }));
  const branches = siblings(thread, node);
  if (branches.length > 1) head.append(fork(branches, node));
  made.append(head);
  for (const message of node.messages) made.append(...pieces(message).map(drawn));
  return made;
}

function facts({ depth, model, createdAt, pinned, hidden, messages }: Node): (readonly [string, string])[] {
  const counts = messages.some(({ role }) => role === "user" || role === "assistant");
  return [
    ["depth", counts ? `depth ${depth}` : ""] as const,
    ["fact", model ?? ""] as const,
    ["fact", createdAt === null ? "" : new Date(createdAt).toLocaleString()] as const,
    ["fact", pinned ? "pinned" : ""] as const,
    ["fact", hidden ? "hidden" : ""] as const,
  ].filter(([, text]) => text !== "");
}

function fork(branches: readonly Node[], node: Node): HTMLElement {
  const at = branches.indexOf(node);
  const turn = (text: string, label: string, to: Node | undefined): HTMLButtonElement => {
    const made = make("button", { text });
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.disabled = to === undefined;
    made.addEventListener("click", () => {
      if (!to) return;
      leaf = last(to);
      show(to);
    });
    return made;
  };
  const made = make("span", { class: "fork" }, turn("‹", "Previous branch", branches[at - 1]));
  made.append(make("span", { text: `${at + 1}/${branches.length}` }), turn("›", "Next branch", branches[at + 1]));
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", `Branch ${at + 1} of ${branches.length}`);
  return made;
}

/** Draws the branch; where a node is named, it is led to. */
function show(to?: Node): void {
  const thread = all.find(({ nodes }) => leaf !== null && nodes.get(leaf.id) === leaf);
  const main = find("thread");
  main.replaceChildren();
  if (!thread) return;
  document.title = thread.title || "A shared thread";
  find("title").textContent = document.title;
  const nodes = chain(leaf).filter(({ messages }) => messages.some((message) => pieces(message).length > 0));
  find("facts").textContent = `${nodes.reduce((sum, { messages }) => sum + messages.length, 0).toLocaleString()} messages in this branch`;
  drawing += 1;
  const mine = drawing;
  const stretch = (from: number): void => {
    if (mine !== drawing) return;
    main.append(...nodes.slice(from, from + STRETCH).map((node) => article(thread, node)));
    const there = to && main.querySelector<HTMLElement>(`[data-node="${CSS.escape(to.id)}"]`);
    if (there) {
      to = undefined;
      there.tabIndex = -1;
      there.focus({ preventScroll: true });
      there.scrollIntoView({ block: "start" });
    }
    if (from + STRETCH < nodes.length) setTimeout(() => stretch(from + STRETCH));
  };
  stretch(0);
}

/** Hits in all branches, the shown one's included. */
function search(query: string): void {
  const list = find("hits");
  const wanted = query.trim().toLowerCase();
  list.replaceChildren();
  list.hidden = wanted === "";
  if (wanted === "") return;
  let hits = 0;
  for (const { title, nodes } of all)
    for (const node of new Set(nodes.values())) {
      const text = node.messages.map((message) => words(pieces(message))).join("\n");
      const at = text.toLowerCase().indexOf(wanted);
      if (at < 0) continue;
      hits += 1;
      if (hits > 50) continue;
      const button = make("button", { text: `${all.length > 1 ? `${title}: ` : ""}…${text.slice(Math.max(0, at - 40), at + wanted.length + 60).replace(/\s+/g, " ")}…` });
      button.type = "button";
      button.addEventListener("click", () => {
        if (!chain(leaf).includes(node)) leaf = last(node);
        show(node);
      });
      list.append(make("li", {}, button));
    }
  const said = hits > 50 ? `The first 50 of ${hits.toLocaleString()} messages` : `${hits} message${hits === 1 ? "" : "s"}`;
  list.prepend(make("li", { class: "fact", text: said }));
}

function pick(): void {
  const choice = find("choice") as HTMLSelectElement;
  choice.hidden = all.length < 2;
  choice.append(...all.map(({ title, id }) => make("option", { text: title || id })));
  choice.addEventListener("change", () => {
    leaf = all[choice.selectedIndex]?.leaf ?? null;
    show();
  });
}

const field = find("search") as HTMLInputElement;
field.addEventListener("input", () => search(field.value));
find("cards").addEventListener("click", () => {
  const cards = [...document.querySelectorAll("details")];
  const open = cards.some((card) => !card.open);
  for (const card of cards) card.open = open;
});
pick();
show();
