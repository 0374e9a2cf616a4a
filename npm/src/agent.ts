// Agents: what stands between the engine, which knows what a turn is, and the functions of a user: models, tools, listeners.

import { Host } from "./agent/host.js";
import { NAME, OPTIONS, SEND, USER, params, type Checked, type AgentOptions, type HybridKeep, type SendOptions } from "./agent/options.js";
import * as check from "./check.js";
import { readDepth } from "./depth.js";
import { ThreadkeepError, badArgument } from "./errors.js";
import { claim } from "./agent/claims.js";
import { FILTER, FOLLOW, mailText, read, spoken, type FollowOptions, type MailText } from "./mail.js";
import { textOf } from "./model/assembly.js";
import { need, now, run } from "./runtime.js";
import { Threadkeep, inside } from "./threadkeep.js";
import { Turn, type TurnResult } from "./turn.js";
import type { Context } from "./generated/context.js";
import type { Provider } from "./generated/provider.js";
import type { Mail, MailFilter } from "./generated/mail.js";
import type { NodeInfo } from "./lost.js";
import { needEncoding } from "./vocabulary.js";
import type { AgentEvent, Outcome } from "./generated/agent.js";

/** What the engine has of an agent. */
interface Handle {
  catchUp(): Promise<number>;
  again(node: string, thread: string | undefined, hear: (json: string) => void): Promise<string>;
  goOn(node: string, thread: string | undefined, hear: (json: string) => void): Promise<string>;
  resume(node: string, hear: (json: string) => void): Promise<string>;
  interrupted(): Promise<string>;
  nextRequest(json: string): Promise<string>;
  stop(node?: string): void;
  free(): void;
}

/** A request that a message would bring about. */
export interface NextRequest {
  /** Its prompt, with the ledger. */
  context: Context;
  /** Its body, as the endpoint would get it. A function of your own that asks the model gets it as `payload`. */
  body: Record<string, unknown>;
  /** Whether the history would be compacted first. The body is then another one: a summary takes the place of old messages. */
  compacts: boolean;
}

/** Options of a turn below a node. */
const BELOW = { conversation: SEND.conversation, signal: SEND.signal };

/** How much later than the engine's clock a timer looks, in milliseconds, so that it does not come too early. */
const LATER = 15;

/** Lets `watcher` hear all that an agent does; what comes back ends that. @internal */
export let watched: (agent: Agent, watcher: (event: AgentEvent, keep: Threadkeep) => void) => () => void;

/**
 * An agent, which answers the messages of its mailbox. A message that answers a known message continues that message's chain. A message
 * that names a conversation continues that conversation. Any other message begins a transcript. Two answers to the same message are two
 * branches. The agent answers different conversations at the same time, and the messages of one conversation in order. It stores
 * messages, answers and tool results before the next step. If a crash or a closed tab interrupts a turn, the turn stays readable, and
 * {@link resume} carries it on. With the option `resume`, the next call of {@link catchUp}, {@link run} or {@link send} does so.
 */
export class Agent {
  /** Its name, under which it has a mailbox. */
  readonly name: string;
  /** Who talks to it where nobody says. */
  readonly user: string;
  readonly #keep: Threadkeep;
  readonly #hybrid: HybridKeep | undefined;
  readonly #options: Checked;
  readonly #watchers = new Set<(event: AgentEvent) => void>();
  #opening: Promise<Handle> | undefined;
  #handle: Handle | undefined;
  #closed = false;

  static {
    watched = (agent, watcher) => agent.#watch((event) => watcher(event, agent.#keep));
  }

  /** What was begun and is not over. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** What ends turns that take too long, by node. */
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  /** @internal */
  constructor(options: Checked) {
    const { keep } = options;
    this.#hybrid = keep instanceof Threadkeep ? undefined : keep;
    this.#keep = keep instanceof Threadkeep ? keep : keep.keep;
    this.#options = options;
    this.name = options.name ?? NAME;
    this.user = options.user ?? USER;
  }

  /**
   * Sends the agent a message and has it answered: the turn begins when those are over that came before in its conversation. Iterate over
   * what comes back for events, await it for the answer. If another tab was first to answer, its answer comes. A message that was sent before
   * under the same `messageId`, and whose turn was interrupted, is answered now.
   *
   * @throws ThreadkeepError from the turn: `bad-request` (also for a blank message), `cancelled` by a signal before it was sent, `closed`, `init-failed`;
   * `missing-node` where the message was deleted before it was answered; the storage's codes. A model that fails is no error:
   * `outcome` and `reason` say so.
   *
   * @example
   * ```ts
   * const { text, reply } = await agent.send("What colour is the sky?");
   * const more = await agent.send("And at night?", { replyTo: reply });
   * // Or by name, which is found again after a restart.
   * await agent.send("What colour is the sky?", { conversation: "ann-42" });
   * ```
   */
  send(content: string | MailText, options?: SendOptions): Turn {
    return this.#turn(options?.signal, async (tell) => {
      const text = spoken(content, "content") as { strings: string[]; edgeNames?: string[] };
      // Providers refuse a request whose newest message is blank.
      if (mailText({ edgeNames: [], ...text }).trim() === "") throw badArgument("content", "must not be blank");
      const { from = this.user, signal, ...ids } = check.options(options, "options", SEND) as SendOptions & { replyTo?: string };
      if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "cancelled before the message was sent");
      return this.#until(async () => (await this.#keep.mailbox(from).send({ to: this.name, ...text, ...ids })).messageId, tell);
    });
  }

  /**
   * Answers all messages that have no answer yet: those of one conversation in order, others at the same time. {@link send} and
   * {@link run} do so too. Turns that were interrupted
   * stay as they are, unless the agent has the option `resume`.
   *
   * @returns how many turns it carried out
   * @throws ThreadkeepError `closed`, `bad-request` for options that the engine does not take; the storage's codes
   */
  async catchUp(): Promise<number> {
    this.#open();
    return this.#use((handle) => run(() => handle.catchUp()));
  }

  /**
   * Answers whatever arrives, from anybody, in this tab or others, until its signal: the events of all turns, each turn's in order. It begins
   * when it is first iterated. When it ends, a turn under way goes on to its end ({@link stop} ends it), and what arrives stays for
   * the next time.
   *
   * @throws ThreadkeepError from the iterator, as {@link catchUp}
   *
   * @example
   * ```ts
   * for await (const event of agent.run({ signal })) if (event.type === "sent") console.log(mailText(event.mail));
   * ```
   */
  run(options?: Pick<FollowOptions, "signal" | "poll">): AsyncGenerator<AgentEvent, void, undefined> {
    const { signal, poll } = check.options(options, "options", { signal: FOLLOW.signal, poll: FOLLOW.poll }) as FollowOptions;
    return this.#running(signal, poll);
  }

  /**
   * Answers once more what `nodeId` answered, as a branch beside it: the same question to the same parent. With a `conversation`, that thread
   * goes on from the new answer, as in a chat's "Regenerate"; without it all threads stay where they are.
   *
   * @throws ThreadkeepError from the turn: `missing-node`; `bad-request` where there is no question above
   *
   * @example
   * ```ts
   * const { node } = await agent.send("What colour is the sky?", { conversation: "ann-42" });
   * await agent.again(node, { conversation: "ann-42" });
   * ```
   */
  again(nodeId: string, options?: Pick<SendOptions, "conversation" | "signal">): Turn {
    return this.#below(nodeId, options, (handle, node, thread, hear) => handle.again(node, thread, hear));
  }

  /**
   * Lets the model go on below `nodeId` without another question: after a failure, or where a limit ended the turn. With a `conversation`,
   * that thread goes on from there.
   *
   * @throws ThreadkeepError from the turn: `missing-node`
   */
  goOn(nodeId: string, options?: Pick<SendOptions, "conversation" | "signal">): Turn {
    return this.#below(nodeId, options, (handle, node, thread, hear) => handle.goOn(node, thread, hear));
  }

  /**
   * Carries an interrupted turn to its end. One that no agent has, as after an import, becomes this agent's. A turn that has ended
   * meanwhile, here or in another tab, stays as it is.
   *
   * @throws ThreadkeepError from the turn: `missing-node`; `bad-request` for another agent's turn, or a node that something follows
   *
   * @example
   * ```ts
   * for (const { id } of await agent.interrupted()) await agent.resume(id);
   * ```
   */
  resume(nodeId: string, options?: Pick<SendOptions, "signal">): Turn {
    return this.#below(nodeId, options, (handle, node, _thread, hear) => handle.resume(node, hear));
  }

  /**
   * The turns that were begun and did not end, because the program ended before, and that can go on; oldest first. A turn that is
   * under way in this moment, here or in another tab, is among them.
   *
   * @throws ThreadkeepError `closed`; the storage's codes
   */
  async interrupted(): Promise<NodeInfo[]> {
    this.#open();
    const handle = await this.#ready();
    return JSON.parse(await run(() => handle.interrupted())) as NodeInfo[];
  }

  /**
   * The first request that a message would bring about, if the agent's user sent it now. Nothing is stored, and the model is not asked. The
   * same message sent with {@link send} gives this `body`, byte for byte, unless the thread, its settings or the memory change first.
   *
   * @throws ThreadkeepError `bad-request`, `closed`; the storage's codes
   *
   * @example
   * ```ts
   * const { body, context } = await agent.nextRequest("And at night?", { conversation: "ann-42" });
   * console.log(context.tokens, body);
   * ```
   */
  async nextRequest(text: string, options?: Pick<SendOptions, "conversation" | "replyTo">): Promise<NextRequest> {
    this.#open();
    const ids = check.options(options, "options", SEND);
    const json = check.toJson({ text: check.text(text, "text"), ...ids });
    return this.#asked((handle) => handle.nextRequest(json));
  }

  /** Ends all turns that are under way in this tab: what was said stays, and the next message is answered as ever. */
  stop(): void {
    now(() => this.#handle?.stop());
  }

  /** The messages of the agent's own mailbox, as {@link Mailbox.messages} gives them. */
  async listMessages(filter?: MailFilter): Promise<Mail[]> {
    return this.#keep.mailbox(this.name).messages(check.options(filter, "filter", FILTER) as MailFilter);
  }

  /** Lets go of it, when the turns under way and those that wait are over. The keep stays open. Closing twice is no error. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#underWay.size > 0) await Promise.allSettled([...this.#underWay]);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle !== undefined) now(() => handle.free());
  }

  /** A turn whose stop comes at the right time: when it has begun. */
  #turn(signal: AbortSignal | undefined, work: (tell: (event: AgentEvent) => void) => Promise<TurnResult>): Turn {
    let [node, stopped] = ["", false];
    const stop = (): void => {
      stopped = true;
      if (node !== "") now(() => this.#handle?.stop(node));
    };
    const listens = check.isObject(signal) && typeof signal.addEventListener === "function" ? signal : undefined;
    listens?.addEventListener("abort", stop);
    const done = async (tell: (event: AgentEvent) => void): Promise<TurnResult> => {
      try {
        this.#open();
        return await this.#track(work)((event) => {
          tell(event);
          if (event.type !== "began") return;
          node = event.node;
          if (stopped) stop();
        });
      } finally {
        listens?.removeEventListener("abort", stop);
      }
    };
    return new Turn(done, stop);
  }

  #below(nodeId: string, options: Pick<SendOptions, "conversation" | "signal"> | undefined, begin: Begin): Turn {
    return this.#turn(options?.signal, async (tell) => {
      const node = check.id(nodeId, "nodeId");
      const { conversation, signal } = check.options(options, "options", BELOW) as SendOptions;
      if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "cancelled before the turn began");
      const seen: AgentEvent[] = [];
      const hear = (json: string): void => {
        const event = JSON.parse(json) as AgentEvent;
        if (event.type === "sent") read(event.mail);
        seen.push(event);
        tell(event);
      };
      const made = await this.#asked<NodeInfo>((handle) => begin(handle, node, conversation, hear));
      if (made.sealed && !seen.some(({ type }) => type === "ended")) seen.push(...(await this.#elsewhere(made)));
      return this.#result(made, seen, undefined);
    });
  }

  /** Sends a message, and catches up until its turn is over, here or elsewhere. */
  async #until(send: () => Promise<string>, tell: (event: AgentEvent) => void): Promise<TurnResult> {
    const seen: AgentEvent[] = [];
    let over = (): void => {};
    const ended = new Promise<void>((resolve) => (over = resolve));
    let node: string | undefined;
    // A turn may begin before we hear that the message was sent, since others catch up too.
    let early: AgentEvent[] = [];
    const take = (event: AgentEvent): void => {
      if (node === undefined) return void early.push(event);
      if ((event.type === "sent" ? event.mail.node : event.node) !== node) return;
      seen.push(event);
      tell(event);
      if (event.type === "ended") over();
    };
    const isOver = (): boolean => seen.some(({ type }) => type === "ended");
    const unwatch = this.#watch(take);
    try {
      node = await send();
      early.forEach(take);
      early = [];
      // Others take longer: they are no reason to wait.
      const all = this.#use((handle) => run(() => handle.catchUp()));
      all.catch(() => undefined);
      await Promise.race([ended, all]);
      // Somebody else carries it out. Or it was sent before, and its turn was interrupted: whoever sends it again wants its answer.
      if (!isOver() && (await this.#isOpen(node))) await this.#use((handle) => run(() => handle.resume(node as string, () => {})));
    } finally {
      unwatch();
    }
    const info = await this.#keep.node(node);
    if (info === null) {
      const mails = await this.#keep.mailbox(this.name).messages({ dismissed: true });
      if (mails.some(({ messageId, dismissed }) => messageId === node && dismissed !== undefined))
        return { node: null, outcome: null, code: null, reply: null, text: "" };
      throw new ThreadkeepError("missing-node", `the message ${node} was deleted: send it again`, { node });
    }
    if (!isOver() && info.sealed) {
      for (const event of await this.#elsewhere(info)) {
        seen.push(event);
        tell(event);
      }
    }
    return this.#result(info, seen, node);
  }

  /** What the engine answers as JSON text. */
  async #asked<T>(question: (handle: Handle) => Promise<string>): Promise<T> {
    return JSON.parse(await this.#use((handle) => run(() => question(handle)))) as T;
  }

  async #isOpen(node: string): Promise<boolean> {
    const open = await this.#asked<NodeInfo[]>((handle) => handle.interrupted());
    return open.some(({ id }) => id === node);
  }

  /** The end of a turn that another tab carried out, or an earlier time. */
  async #elsewhere(info: NodeInfo): Promise<AgentEvent[]> {
    const mails = await this.#keep.mailbox(this.name).messages({ after: info.origin.number ?? 0, dismissed: true });
    const sent = mails.filter((mail) => mail.from === this.name && mail.node === info.id);
    const last = info.messages.filter(({ role }) => role === "assistant").at(-1);
    const end: { outcome: Outcome; code: string; reason?: string } = { outcome: "answered", code: last?.tags?.includes("cut-off") ? "length" : "stop" };
    if (last?.kind?.type === "error") {
      const { code, reason } = last.kind;
      Object.assign(end, { outcome: code === "cancelled" ? code : code === "limit" ? "limited" : "failed", code, reason });
    }
    return [...sent.map((mail) => ({ type: "sent" as const, mail })), { type: "ended", node: info.id, ...end }];
  }

  async #result(info: NodeInfo, seen: readonly AgentEvent[], about: string | undefined): Promise<TurnResult> {
    const end = seen.find((event) => event.type === "ended");
    const mails = seen.flatMap((event) => (event.type === "sent" ? [event.mail] : []));
    const reply = mails.filter(({ replyTo }) => replyTo !== undefined && (about === undefined || replyTo === about)).at(-1) ?? null;
    const last = info.messages.filter(({ role }) => role === "assistant").at(-1);
    const text = reply !== null && reply.isError !== true ? readDepth(mailText(reply)).text : textOf(last?.content);
    const unknown = info.unknownReply === true ? { unknownReply: true as const } : {};
    const { reason, usage } = end ?? {};
    const said = { ...(reason === undefined ? {} : { reason }), ...(usage === undefined ? {} : { usage }) };
    return { node: info.id, outcome: end?.outcome ?? null, code: end?.code ?? null, ...said, reply, ...unknown, text };
  }

  async *#running(signal: AbortSignal | undefined, poll: number | undefined): AsyncGenerator<AgentEvent, void, undefined> {
    const events: AgentEvent[] = [];
    let [ended, wake] = [false, (): void => {}];
    let failed: { error: unknown } | undefined;
    const end = (): void => {
      ended = true;
      wake();
    };
    // A turn under way keeps no other conversation waiting, so each look is a catching up of its own.
    const look = (): void => {
      if (ended) return;
      this.catchUp().catch((error: unknown) => {
        if (!ended) failed = { error };
        end();
      });
    };
    const hub = inside(this.#keep).events;
    const undo = [
      this.#watch((event) => {
        events.push(event);
        wake();
      }),
      hub.add((event) => event.type === "mail" && event.party === this.name && look()),
      hub.atEnd(end),
    ];
    signal?.addEventListener("abort", end);
    const every = poll ?? (this.#options.collectAfter || undefined);
    const timer = every === undefined ? undefined : setInterval(look, Math.min(every, check.MAX_WAIT));
    if (signal?.aborted === true) end();
    look();
    try {
      for (;;) {
        const event = events.shift();
        if (event !== undefined) yield event;
        else if (ended) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      end();
      clearInterval(timer);
      signal?.removeEventListener("abort", end);
      for (const undone of undo) undone();
    }
    if (failed !== undefined) throw failed.error;
  }

  #watch(watcher: (event: AgentEvent) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #open(): void {
    if (this.#closed) throw new ThreadkeepError("closed", "this agent is closed: make another one");
  }

  /** Work that {@link close} waits for. */
  #track<A extends unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return async (...args) => {
      const promise = work(...args);
      this.#underWay.add(promise);
      try {
        return await promise;
      } finally {
        this.#underWay.delete(promise);
      }
    };
  }

  /** Does something with the engine's agent. */
  #use<T>(job: (handle: Handle) => Promise<T>): Promise<T> {
    return this.#track(async () => job(await this.#ready()))();
  }

  /** The engine's agent, with what it needs loaded. */
  #ready(): Promise<Handle> {
    this.#opening ??= this.#make().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #make(): Promise<Handle> {
    const { encoding, policy: ofKeep } = inside(this.#keep);
    const json = params(this.#options, encoding, ofKeep);
    const { context, model, tools = [], compaction } = this.#options;
    await Promise.all([need("agent"), need("prompts"), needEncoding(context?.encoding ?? encoding)]);
    // Not before: who waited may have been closed meanwhile.
    const { engine } = inside(this.#keep);
    const summarize = compaction === false || compaction?.summarize === false ? undefined : compaction?.summarize;
    const recall = async (conversation: string, query: string) => (await this.#hybrid?.recall(conversation, query).catch(() => "")) ?? "";
    const host = new Host({ model, tools, summarize, recall, heard: (event) => this.#heard(event), hold: (node) => claim(this.#keep, node) });
    this.#handle = await run(() => engine.agent(json, host) as Promise<Handle>);
    return this.#handle;
  }

  #heard(event: AgentEvent): void {
    // The engine looks at its clock only when it hears something.
    if (event.type === "began") {
      const { node } = event;
      const millis = this.#options.limits?.millis;
      // A turn that ended with an error of the store has told nobody, and begins again here.
      clearTimeout(this.#timers.get(node));
      if (millis !== undefined)
        this.#timers.set(
          node,
          setTimeout(() => now(() => this.#handle?.stop(node)), Math.min(millis + LATER, check.MAX_WAIT)),
        );
    } else if (event.type === "ended") {
      clearTimeout(this.#timers.get(event.node));
      if (this.#hybrid !== undefined) void this.#track(() => this.#told(event.node))().catch(() => undefined);
      this.#timers.delete(event.node);
    }
    for (const watcher of [...this.#watchers]) watcher(event);
  }

  /** The memory service is told of a turn's messages, when its strategy says so. */
  async #told(node: string): Promise<void> {
    const info = await this.#keep.node(node);
    const mail = info?.origin.number === undefined ? null : await this.#keep.mailbox(this.name).message(info.origin.number);
    if (info !== null && mail?.conversation !== undefined) await this.#hybrid?.appended(mail.conversation, info.messages.length);
  }
}

/** Begins a turn at a node. */
type Begin = (handle: Handle, node: string, thread: string | undefined, hear: (json: string) => void) => Promise<string>;

/**
 * Makes an agent: a model, tools, and a keep in which its conversations and its mailbox lie. Nothing is loaded or done before
 * it is first asked for something.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * const agent = createAgent({
 *   keep,
 *   name: "lal",
 *   systemPrompt: "You know the weather.",
 *   modelName: "gpt-4o-mini",
 *   model: ({ payload, signal }) => openai.chat.completions.create(payload, { signal }),
 *   tools: {
 *     weather: {
 *       description: "The weather in a town.",
 *       parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
 *       execute: async ({ town }, { signal }) => (await fetch(`/weather/${town}`, { signal })).json(),
 *     },
 *   },
 * });
 * for await (const event of agent.send("Will it rain in Oslo?")) show(event);
 * ```
 */
export function createAgent<P extends Provider = "openai-chat", Sdk extends boolean = false>(options: AgentOptions<P, Sdk>): Agent {
  const checked = check.options(options, "options", OPTIONS) as unknown as Checked;
  for (const name of ["keep", "model"] as const) if (checked[name] === undefined) throw badArgument(`options.${name}`, "is missing");
  const own: readonly string[] = checked.builtIn ?? [];
  for (const [name] of checked.tools ?? [])
    if (own.includes(name)) throw badArgument(`options.tools.${name}`, "has the name of a built-in tool: rename it, or leave that out of builtIn");
  return new Agent(checked);
}
