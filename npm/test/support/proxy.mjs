// A way to a server that can be made to lose an answer: the server has done what it was told, and its client never hears of it.
import { connect, createServer } from "node:net";

/**
 * Opens it. `loseAnswer()` cuts the connection on which the server answers next; `cut()` all of them at once. `lead(port)` leads connections to another
 * server from now on.
 */
export async function startProxy(first) {
  let port = first;
  const pairs = new Set();
  let losing = false;
  let lost = 0;
  const proxy = createServer((client) => {
    const server = connect({ port, host: "127.0.0.1" });
    const pair = { client, server };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) for (const event of ["error", "close"]) socket.on(event, end);
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      if (!losing) return void client.write(bytes);
      losing = false;
      lost += 1;
      end();
    });
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const { client, server } of [...pairs]) {
      client.destroy();
      server.destroy();
    }
  };
  return {
    port: proxy.address().port,
    lost: () => lost,
    loseAnswer() {
      losing = true;
    },
    cut,
    lead(other) {
      port = other;
    },
    async close() {
      cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
