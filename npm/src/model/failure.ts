// What a model's function throws, as a code and words that are stored and shown.

import { isObject } from "../check.js";
import type { ModelFailureCode } from "./model.js";

const CODES: ReadonlySet<unknown> = new Set<ModelFailureCode>([
  "unreachable",
  "blocked",
  "unauthorized",
  "not-found",
  "rate-limited",
  "overloaded",
  "too-long",
  "refused",
  "bad-answer",
  "cut-off",
  "stalled",
  "failed",
]);
/** What providers say of a prompt that does not fit. */
const TOO_LONG =
  /context.?(length|window|size)|(prompt|input) (is )?too long|too many tokens|token limit|request_too_large|maximum (number of tokens|prompt length)/i;
/** What clients say of a stream that ends too early: the AI SDK's, Google's, Ollama's. */
const CUT_OFF = /without a finish reason|incomplete json segment|did not receive done/i;
/** Errors inside a stream come without a status; these are Anthropic's and OpenAI's words for one. */
const KINDS: Readonly<Record<string, number>> = {
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  invalid_request_error: 400,
  api_error: 500,
  server_error: 500,
  overloaded_error: 529,
  timeout_error: 408,
};
/** What looks like a key. Messages of errors are stored, and keys never are. */
const KEY = /\b(?:sk|pk|key|gsk|xai)-[\w-]{8,}|\bAIza[\w-]{16,}|\bBearer\s+[\w.~+/=-]+/g;

/** A model's failure whose code is known here. */
export class ModelError extends Error {
  readonly code: ModelFailureCode;

  constructor(code: ModelFailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** An error that a provider reports: an answer's status and body, or an event in its stream. */
export function reported(body: unknown, status?: number): ModelError {
  const error = isObject(body) && body["error"] !== undefined ? body["error"] : body;
  const field = (name: string): string => (isObject(error) && typeof error[name] === "string" ? error[name] : "");
  const said = typeof error === "string" ? error : field("message") || field("type") || field("code");
  const number = isObject(error) && typeof error["code"] === "number" ? error["code"] : undefined;
  const known = status ?? KINDS[field("type")] ?? KINDS[field("code")] ?? number;
  const words = [status === undefined ? "" : `status ${status}`, said.replace(/\s+/g, " ").trim().slice(0, 500)].filter((word) => word !== "");
  return new ModelError(ofStatus(known, `${field("code")} ${said}`), words.join(": ") || "the provider reports an error without words");
}

/** What was thrown, as the engine takes it: JSON text of `{code, message}`. `begun`: whether something of the answer had come. */
export function failure(error: unknown, begun: boolean): string {
  const message = (words(error) || "the model failed without a word").replace(KEY, "…");
  const code = codeOf(error);
  return JSON.stringify({ code: begun && code === "unreachable" ? "cut-off" : code, message });
}

/** What was thrown, in words. */
export function words(error: unknown): string {
  if (!(error instanceof Error) && !isObject(error)) return String(error ?? "");
  // OpenAI's and Anthropic's clients have the provider's words below; Anthropic's message is the whole body.
  const body = (error as { error?: unknown }).error;
  const own = isObject(body) ? text(isObject(body["error"]) ? body["error"]["message"] : body["message"]) : "";
  const said = own === "" ? text(error.message) : [(error as { status?: unknown }).status, own].filter(Boolean).join(" ");
  // `fetch failed` alone helps nobody; why stands below it.
  const cause = isObject(error["cause" as never]) ? (error["cause" as never] as { message?: unknown }).message : undefined;
  return typeof cause === "string" && cause !== "" && !said.includes(cause) ? `${said} (${cause})` : said;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function codeOf(error: unknown, deep = 0): ModelFailureCode {
  if (!isObject(error)) return "failed";
  if (CODES.has(error["code"])) return error["code"] as ModelFailureCode;
  // The status may be that of an answer that went wrong later.
  const status = [error["status"], error["statusCode"], error["status_code"]].find((status) => typeof status === "number" && status >= 400) as
    | number
    | undefined;
  if (status !== undefined) return ofStatus(status, `${String(error["code"])} ${words(error)}`);
  // The AI SDK tries again, and says at last what the last failure was; others wrap it.
  for (const within of [error["lastError"], error["cause"], error["error"]]) {
    const found = deep < 4 && isObject(within) ? codeOf(within, deep + 1) : "failed";
    if (found !== "failed") return found;
  }
  const kind = KINDS[text(error["type"])];
  if (kind !== undefined) return ofStatus(kind, words(error));
  const name = [error["name"], (error as { constructor?: { name?: string } }).constructor?.name].join(" ");
  if (/timeout/i.test(name)) return "stalled";
  if (/quotaexceeded/i.test(name)) return "too-long";
  if (/connection|network/i.test(name) || unreachable(error)) return "unreachable";
  if (error instanceof SyntaxError || /parse/i.test(name)) return "bad-answer";
  if (CUT_OFF.test(words(error))) return "cut-off";
  return TOO_LONG.test(words(error)) ? "too-long" : "failed";
}

/** What `fetch` throws where there is no connection: a `TypeError` in all browsers and Node, with words of their own. */
function unreachable(error: object): boolean {
  if (/^(ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|UND_ERR)/.test(String((error as { code?: unknown }).code))) return true;
  return error instanceof TypeError && /fetch|network|load failed|terminated/i.test(error.message);
}

function ofStatus(status: number | undefined, said: string): ModelFailureCode {
  if (status === undefined) return TOO_LONG.test(said) ? "too-long" : "failed";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "not-found";
  if (status === 408 || status === 504) return "stalled";
  if (status === 413) return "too-long";
  if (status === 429) return "rate-limited";
  if (status >= 500) return "overloaded";
  return TOO_LONG.test(said) ? "too-long" : "refused";
}
