// The texts of an item at the paths by which LangGraph's stores are told what to index: `title`, `meta.title`, `chapters[*].text`,
// `authors[0].name`, `{title,summary}`, `*`, and `$` for the whole.

/** The texts at a path; a path that leads nowhere gives none. */
export function textsAt(value: unknown, path: string): string[] {
  if (path === "" || path === "$") return [JSON.stringify(value, null, 2)];
  return walk(value, tokens(path), 0);
}

/** All texts and numbers in a value, each by itself. */
export function allTexts(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(allTexts);
}

function walk(value: unknown, path: readonly string[], at: number): string[] {
  const token = path[at];
  if (token === undefined) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return [String(value)];
    return typeof value === "object" && value !== null ? [JSON.stringify(value, null, 2)] : [];
  }
  if (token.startsWith("[")) {
    if (!Array.isArray(value)) return [];
    const index = token.slice(1, -1);
    if (index === "*") return value.flatMap((item) => walk(item, path, at + 1));
    const place = Number.parseInt(index, 10);
    const item: unknown = value.at(place);
    return Number.isNaN(place) || item === undefined ? [] : walk(item, path, at + 1);
  }
  if (typeof value !== "object" || value === null) return [];
  if (token.startsWith("{")) {
    const names = token.slice(1, -1).split(",");
    return names.flatMap((name) => walk(value, tokens(name.trim()), 0));
  }
  if (token === "*") return Object.values(value).flatMap((item) => walk(item, path, at + 1));
  return Object.hasOwn(value, token) ? walk((value as Record<string, unknown>)[token], path, at + 1) : [];
}

/** `a.b[*].{c,d}` as `a`, `b`, `[*]`, `{c,d}`. */
function tokens(path: string): string[] {
  return path.match(/\[[^\]]*\]|\{[^}]*\}|[^.[\]{}]+/g) ?? [];
}
