// The answer of `fetch`: server-sent events, or one JSON text.

import { reported, ModelError } from "./failure.js";

/** The JSON values of a response, as they come. */
export async function* valuesOf(response: Response): AsyncGenerator<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok) {
    const text = await response.text();
    throw reported(parsed(text) ?? (type.includes("html") ? response.statusText : text), response.status);
  }
  if (!type.includes("event-stream")) {
    const text = await response.text();
    const value = parsed(text);
    if (value === undefined) throw new ModelError("bad-answer", `what came is no JSON: ${JSON.stringify(text.trim().slice(0, 80))}`);
    yield value;
    return;
  }
  for await (const data of events(response)) {
    if (data === "" || data === "[DONE]") continue;
    const value = parsed(data);
    if (value === undefined) throw new ModelError("bad-answer", `an event of the stream is no JSON: ${JSON.stringify(data.slice(0, 80))}`);
    yield value;
  }
}

/** The data of the events of a stream, wherever it was cut into chunks. */
async function* events(response: Response): AsyncGenerator<string> {
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (let done = false; !done; ) {
      const chunk = await reader.read();
      done = chunk.done;
      rest += done ? decoder.decode() : decoder.decode(chunk.value, { stream: true });
      // A CR at the end may be half of a line's end.
      const lines = rest.split(done ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
      // The last is not ended; at the end of the stream nothing ends it any more, and what began is no event.
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        else if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        }
      }
    }
  } finally {
    // Whoever stops reading ends the request.
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
