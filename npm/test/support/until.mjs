// Waiting for something to be so.

/** Waits until a condition holds, for up to `limit` milliseconds. */
export async function until(condition, what = "what was waited for", limit = 20_000) {
  for (const end = Date.now() + limit; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 5))) if (await condition()) return;
  throw new Error(`${what} did not happen`);
}
