// ChatGPT exports of our own making, in the real shapes: conversations as trees with hidden nodes, branches and a chosen
// leaf; the single file, the folder of numbered files with its manifest, and the zip.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";

/** A conversation that grows message by message. */
export class Tree {
  #count = 0;
  #time;

  constructor(id, title, time = 1_700_000_000) {
    this.#time = time;
    this.id = id;
    this.json = {
      title,
      create_time: time,
      update_time: time,
      mapping: {},
      moderation_results: [],
      current_node: null,
      plugin_ids: null,
      conversation_id: id,
      conversation_template_id: null,
      gizmo_id: null,
      is_archived: false,
      is_starred: null,
      safe_urls: [],
      default_model_slug: "gpt-4o",
      voice: null,
      id,
    };
    this.root = this.#put(null, null);
    // Every conversation opens with an empty system node that nobody sees.
    this.start = this.say(this.root, "system", "", {
      create_time: null,
      end_turn: true,
      weight: 0,
      metadata: { is_visually_hidden_from_conversation: true },
    });
  }

  /** A message of text below `parent`; gives its node's id. */
  say(parent, role, text, changes = {}) {
    return this.put(parent, role, { content_type: "text", parts: [text] }, changes);
  }

  /** A message of any content below `parent`; gives its node's id. */
  put(parent, role, content, changes = {}) {
    const { name = null, metadata, ...others } = changes;
    this.#time += 17.25;
    const id = `${this.id}-n${this.#count}`;
    this.json.update_time = this.#time;
    return this.#put(parent, {
      id,
      author: { role, name, metadata: {} },
      create_time: this.#time,
      update_time: null,
      content,
      status: "finished_successfully",
      end_turn: role === "assistant" ? true : null,
      weight: 1,
      metadata: metadata ?? (role === "assistant" ? { model_slug: "gpt-4o", finish_details: { type: "stop" } } : {}),
      recipient: "all",
      channel: null,
      ...others,
    });
  }

  /** Chooses the leaf that the export says was open. */
  choose(id) {
    this.json.current_node = id;
    return this;
  }

  #put(parent, message) {
    const id = message?.id ?? `${this.id}-root`;
    this.#count += 1;
    this.json.mapping[id] = { id, message, parent, children: [] };
    if (parent !== null) this.json.mapping[parent].children.push(id);
    this.json.current_node = id;
    return id;
  }
}

/** What the script in a message would do if it ran. */
export const SCRIPT = `<script>window.hacked = true</script><img src=x onerror="window.hacked = true"><iframe srcdoc="x"></iframe>`;

/** Four conversations: branches, tools, markdown, and text that would do harm if it ran. */
export function small() {
  const bread = new Tree("c0ffee00-0001-4000-8000-000000000001", "Sourdough for beginners", 1_710_000_000);
  const ask = bread.say(bread.start, "user", "How do I begin a sourdough starter?");
  const first = bread.say(ask, "assistant", "Mix equal weights of **flour** and **water** and wait a day.");
  const second = bread.say(ask, "assistant", "Take fifty grams of rye flour and fifty of water, stir, cover.");
  bread.say(bread.say(first, "user", "How warm should it stand?"), "assistant", "About 26 degrees is a good place.");
  const rye = bread.say(second, "user", "Why rye?");
  const wild = bread.say(rye, "assistant", "Rye brings more wild yeast with it.");
  const how = ["How often do I feed it?", "Can I keep it in the fridge?", "What if it smells sour?"].map((text) => bread.say(wild, "user", text));
  const ends = how.map((node, at) => bread.say(node, "assistant", ["Once a day.", "Yes, for a week.", "Good, it should."][at]));
  bread.choose(ends[1]);

  const sums = new Tree("c0ffee00-0002-4000-8000-000000000002", "Adding up a column", 1_710_100_000);
  const column = sums.say(sums.start, "user", "What is the sum of the squares from 1 to 10?");
  const call = sums.put(
    column,
    "assistant",
    { content_type: "code", language: "unknown", text: "print(sum(n * n for n in range(1, 11)))" },
    { recipient: "python", end_turn: false },
  );
  const result = sums.put(
    call,
    "tool",
    { content_type: "execution_output", text: "385" },
    { name: "python", metadata: { aggregate_result: { status: "success" } } },
  );
  sums.say(result, "assistant", "The sum is **385**.");

  const marks = new Tree("c0ffee00-0003-4000-8000-000000000003", "Markdown of every kind", 1_710_200_000);
  const show = marks.say(marks.start, "user", "Show me what you can do.\nOn two lines.");
  marks.say(
    show,
    "assistant",
    '# A heading\n\nA *slanted* word, `code`, and [a link](https://example.com/page).\n\n1. one\n2. two\n\n| knot | use |\n|---|---|\n| reef | bundles |\n\n```rust\nfn main() { println!("warp"); }\n```\n\n> quoted\n',
  );

  const harm = new Tree("c0ffee00-0004-4000-8000-000000000004", `A title with <b>marks</b> & "quotes"`, 1_710_300_000);
  const say = harm.say(harm.start, "user", `Please say this: ${SCRIPT}`);
  harm.say(
    say,
    "assistant",
    `Here: ${SCRIPT}\n\n[press](javascript:window.hacked=true) ![x](javascript:window.hacked=true)\n\n<div onclick="window.hacked=true">raw</div>`,
  );

  return [bread, sums, marks, harm].map((tree) => tree.json);
}

/** The older export's one file. */
export function oneFile(conversations) {
  return JSON.stringify(conversations);
}

/** The newer export's files, by name: a manifest and numbered parts of at most `each` conversations. */
export function parts(conversations, each = 2) {
  const files = {};
  const names = [];
  for (let at = 0; at < conversations.length; at += each) {
    const name = `conversations-${String(names.length).padStart(3, "0")}.json`;
    names.push(name);
    files[name] = JSON.stringify(conversations.slice(at, at + each));
  }
  files["export_manifest.json"] = JSON.stringify({
    version: 2,
    logical_files: { "conversations.json": { files: names } },
  });
  files["conversation_asset_file_names.json"] = "{}";
  files["user.json"] = JSON.stringify({ id: "user-1", email: "reader@example.com" });
  return files;
}

/** Writes files by name into a folder. */
export function toFolder(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Files by name as a zip. */
export function toZip(files) {
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])), { level: 6 });
}
