// assistant-ui's list of threads in a keep: which there are, what they are called, and whether they are put away.

import type { RemoteThreadListAdapter, ThreadMessage } from "@assistant-ui/core";
import * as check from "../../check.js";
import { ThreadkeepError } from "../../errors.js";
import { recordKey, recordRange } from "../../record-keys.js";
import type { Threadkeep } from "../../threadkeep.js";
import { discard } from "../shared/append.js";
import { Queues } from "../shared/queues.js";
import { plain } from "../shared/json.js";
import { keyPart } from "../shared/keys.js";

type Metadata = Awaited<ReturnType<RemoteThreadListAdapter["fetch"]>>;
type AssistantStream = Awaited<ReturnType<RemoteThreadListAdapter["generateTitle"]>>;

/** Options of {@link threadList}. */
export interface ThreadListOptions {
  /** What the names of the keep's threads begin with, as in the options of `threadHistory`. */
  prefix?: string;
  /** Makes a thread's title of its messages; the beginning of what was said first without it. */
  title?: (messages: readonly ThreadMessage[]) => string | Promise<string>;
}

/** What is kept of a thread beside its conversation. */
interface Kept {
  id: string;
  status: "regular" | "archived";
  title?: string;
  custom?: Record<string, unknown>;
  /** When it was begun, in milliseconds since 1970. */
  at: number;
}

/**
 * The list of threads of assistant-ui, in a keep: what of a `RemoteThreadListAdapter` is no React. The conversations are histories
 * of the same keep (`threadHistory`), which `unstable_useAdapters` provides.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```tsx
 * const adapter = {
 *   ...threadList(keep),
 *   unstable_useAdapters: () => {
 *     const aui = useAui();
 *     const [history] = useState(() => threadHistory(keep, () => aui.threadListItem));
 *     return useMemo(() => ({ history }), [history]);
 *   },
 * };
 * const runtime = useRemoteThreadListRuntime({ adapter, runtimeHook: () => useLocalRuntime(model) });
 * ```
 */
export function threadList(keep: Threadkeep, options?: ThreadListOptions): RemoteThreadListAdapter {
  const { prefix = "", title = beginning } = check.options(options, "options", { prefix: check.text, title: check.callback }) as ThreadListOptions;
  const records = keep.records("assistant-ui");
  const queues = new Queues();
  const key = async (id: string): Promise<string> => recordKey(prefix, await keyPart(check.id(id, "remoteId")));
  const known = async (id: string): Promise<Kept | undefined> => {
    const bytes = await records.get(await key(id));
    return bytes === undefined ? undefined : (JSON.parse(new TextDecoder().decode(bytes)) as Kept);
  };
  const write = async (id: string, kept: Kept): Promise<void> => records.commit({ puts: [[await key(id), new TextEncoder().encode(JSON.stringify(kept))]] });
  const change = (id: string, fields: (kept: Kept) => Kept): Promise<void> =>
    queues.run(id, async () => {
      const kept = await known(id);
      if (kept === undefined) throw missing(id);
      await write(id, fields(kept));
    });
  const called = async (id: string, name: string): Promise<void> => {
    await change(id, (kept) => ({ ...kept, title: name }));
    const head = await keep.thread(prefix + id).head();
    if (head !== null) await keep.transcript(head.transcript).rename(name);
  };
  return {
    async list() {
      const [rows, heads, transcripts] = await Promise.all([records.scan(recordRange(prefix)), keep.threads(), keep.transcripts()]);
      const times = new Map(transcripts.map(({ id, updatedAt }) => [id, updatedAt]));
      const at = new Map(heads.map(({ name, transcript }) => [name, times.get(transcript)]));
      const threads = rows.map(([, bytes]) => {
        const kept = JSON.parse(new TextDecoder().decode(bytes)) as Kept;
        return { kept, time: at.get(prefix + kept.id) ?? kept.at };
      });
      threads.sort((left, right) => right.time - left.time);
      return { threads: threads.map(({ kept, time }) => about(kept, time)) };
    },
    async initialize(threadId) {
      await queues.run(threadId, async () => {
        if ((await known(threadId)) === undefined) await write(threadId, { id: threadId, status: "regular", at: Date.now() });
      });
      return { remoteId: threadId, externalId: undefined };
    },
    rename: (id, name) => called(id, check.text(name, "newTitle")),
    updateCustom: (id, custom) => change(id, ({ custom: _, ...kept }) => ({ ...kept, ...(custom === undefined ? {} : { custom: plain(custom) }) })),
    archive: (id) => change(id, (kept) => ({ ...kept, status: "archived" })),
    unarchive: (id) => change(id, (kept) => ({ ...kept, status: "regular" })),
    async delete(id) {
      await queues.run(id, async () => {
        await discard(keep, prefix + id);
        await records.commit({ deletes: [await key(id)] });
      });
    },
    async generateTitle(id, messages) {
      const name = await title(messages);
      if (name !== "") await called(id, name);
      return spoken(name);
    },
    async fetch(id) {
      const kept = await known(id);
      if (kept === undefined) throw missing(id);
      const head = await keep.thread(prefix + id).head();
      const told = head === null ? undefined : (await keep.transcripts()).find((transcript) => transcript.id === head.transcript);
      return about(kept, told?.updatedAt ?? kept.at);
    },
  };
}

function about({ id, status, title, custom }: Kept, time: number | null | undefined): Metadata {
  return {
    remoteId: id,
    status,
    ...(title === undefined ? {} : { title }),
    ...(custom === undefined ? {} : { custom }),
    ...(time === undefined || time === null ? {} : { lastMessageAt: new Date(time) }),
  };
}

function missing(id: string): ThreadkeepError {
  return new ThreadkeepError("missing-transcript", `there is no thread ${id}`, { transcript: id });
}

function beginning(messages: readonly ThreadMessage[]): string {
  const first = messages.find(({ role }) => role === "user");
  const text = (first?.content ?? [])
    .map((part) => (part.type === "text" ? part.text : ""))
    .join(" ")
    .trim();
  return text.length > 60 ? `${text.slice(0, 59).trimEnd()}…` : text;
}

/** A text as assistant-ui streams it. */
function spoken(text: string): AssistantStream {
  return new ReadableStream({
    start(controller) {
      if (text !== "") {
        controller.enqueue({ type: "part-start", part: { type: "text" }, path: [] });
        controller.enqueue({ type: "text-delta", textDelta: text, path: [0] });
        controller.enqueue({ type: "part-finish", path: [0] });
      }
      controller.close();
    },
  }) as AssistantStream;
}
