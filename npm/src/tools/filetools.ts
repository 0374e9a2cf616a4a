// The memory files as tools of their own, one for each command, for models and hosts that know nothing of Anthropic's memory tool: so
// each says for itself whether it only reads or deletes.

import type { Measure } from "./bound.js";
import { run } from "./commands.js";
import type { MemoryFiles } from "./files.js";
import type { JsonSchema, ObjectSchema } from "./schema.js";
import type { ToolSpec } from "./tool.js";

const PATH: JsonSchema = { type: "string", minLength: 1, maxLength: 1024, description: "A path that begins with /memories, such as /memories/notes.md." };
const LARGE = 8 << 20;
const GROUP = "files" as const;

function schema(properties: Record<string, JsonSchema>, required: string[]): ObjectSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** The six tools. @internal */
export function fileTools(files: MemoryFiles, measure: Measure): ToolSpec[] {
  const command = (name: string) => (input: Record<string, unknown>) => run(files, measure, { ...input, command: name });
  return [
    {
      name: "memory_view",
      title: "Look into memory files",
      description:
        "Shows your memory directory, or a file in it with line numbers. /memories holds notes that you wrote in earlier conversations: look there before you begin a task.",
      group: GROUP,
      readOnly: true,
      inputSchema: schema(
        {
          path: { ...PATH, description: "A directory or a file: /memories, or what it lists." },
          view_range: {
            type: "array",
            items: { type: "integer" },
            maxItems: 2,
            description: "Of a file the first line and the last one, from 1; -1 as the last is the end.",
          },
        },
        ["path"],
      ),
      run: command("view"),
    },
    {
      name: "memory_create",
      title: "Write a memory file",
      description: "Writes a new memory file. Keep what will help in later conversations, and keep it short. A file that is there is not overwritten.",
      group: GROUP,
      readOnly: false,
      inputSchema: schema({ path: PATH, file_text: { type: "string", maxLength: LARGE, description: "The whole text of the file." } }, ["path", "file_text"]),
      run: command("create"),
    },
    {
      name: "memory_str_replace",
      title: "Change a memory file",
      description: "Replaces a text in a memory file by another. The text must be in the file exactly once.",
      group: GROUP,
      readOnly: false,
      destructive: true,
      inputSchema: schema(
        {
          path: PATH,
          old_str: { type: "string", maxLength: LARGE, description: "The text to replace, exactly as it is in the file." },
          new_str: { type: "string", maxLength: LARGE, description: "The text to put there; without it the old one is taken out." },
        },
        ["path", "old_str"],
      ),
      run: command("str_replace"),
    },
    {
      name: "memory_insert",
      title: "Add to a memory file",
      description: "Inserts lines into a memory file, behind the line of a number; 0 is the beginning.",
      group: GROUP,
      readOnly: false,
      inputSchema: schema(
        {
          path: PATH,
          insert_line: { type: "integer", description: "The number of the line behind which the text comes, from 0." },
          insert_text: { type: "string", maxLength: LARGE, description: "The text to insert." },
        },
        ["path", "insert_line", "insert_text"],
      ),
      run: command("insert"),
    },
    {
      name: "memory_delete",
      title: "Delete memory files",
      description: "Deletes a memory file, or a directory with all that is in it, for good.",
      group: GROUP,
      readOnly: false,
      destructive: true,
      idempotent: true,
      inputSchema: schema({ path: PATH }, ["path"]),
      run: command("delete"),
    },
    {
      name: "memory_rename",
      title: "Rename a memory file",
      description: "Gives a memory file or directory another path. What is at the new path is not overwritten.",
      group: GROUP,
      readOnly: false,
      inputSchema: schema({ old_path: PATH, new_path: PATH }, ["old_path", "new_path"]),
      run: command("rename"),
    },
  ];
}
