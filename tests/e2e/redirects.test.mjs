// A model's server that redirects, in a real browser: nothing arrives at the other origin, and the reader is told why.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openSite } from "./support/site.mjs";
import { connect, quiet, say } from "./support/talk.mjs";

const ALLOW = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "*" };

let site;

before(async () => {
  site = await openSite();
});
after(() => site?.close());

/** A server that allows every origin to ask it; what it was asked is in `heard`. */
async function serve(answer) {
  const heard = [];
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    if (request.method === "OPTIONS") return response.writeHead(204, ALLOW).end();
    answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  return { heard, address, url: `${address}/v1`, close: () => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))) };
}

for (const status of [302, 307])
  test(`a model's server that redirects with ${status} takes no prompt to another origin`, async () => {
    const thief = await serve((_, response) =>
      response.writeHead(200, { ...ALLOW, "content-type": "application/json" }).end('{"choices":[{"message":{"content":"Thanks."}}]}'),
    );
    const server = await serve((request, response) => response.writeHead(status, { ...ALLOW, location: `${thief.address}${request.url}` }).end());
    try {
      await site.visit(
        async (tab) => {
          await tab.get("new").click();
          await say(tab, "a secret question");
          const failed = tab.message("redirects");
          await failed.waitFor();
          await quiet(tab);
          assert.ok(
            server.heard.some((line) => line.startsWith("POST ")),
            server.heard.join(),
          );
          assert.deepEqual(thief.heard, []);
          assert.equal(await tab.message("Thanks.").count(), 0);
        },
        // Chromium announces the request that it then does not send: what counts is what the other server heard.
        { allowed: [server.address, thief.address], prepare: (context) => connect(context, server, "memory") },
      );
      assert.deepEqual(thief.heard, []);
    } finally {
      await server.close();
      await thief.close();
    }
  });
