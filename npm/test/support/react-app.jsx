// What the React tests look at: every hook, shown as text, and `window.app` to act through them.
import { StrictMode, useEffect, useLayoutEffect, useState } from "react";
import { hydrateRoot } from "react-dom/client";
import { KeepProvider, useAgent, useBranch, useContextLedger, useKeep, useSearch, useThread, useThreads } from "threadkeep/react";

const NAME = "talk";

async function model({ messages, onDelta, signal }) {
  const words = `You said: ${messages.at(-1).content} / ${crypto.randomUUID()}`;
  const pause = Number(globalThis.pause ?? 0);
  let said = "";
  for (const word of words.split(/(?<= )/)) {
    if (signal.aborted) break;
    said += word;
    onDelta(word);
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return said;
}

function Node({ node }) {
  const { versions, index, choose } = useBranch(NAME, node.id);
  // As soon as it can be seen, not some time after.
  useLayoutEffect(() => {
    app.choosers.set(node.id, { versions, choose });
    return () => app.choosers.delete(node.id);
  });
  return node.messages.map(({ role, content }, at) => (
    <p className="message" key={at} data-node={node.id} data-versions={`${index + 1}/${versions.length}`}>
      {role}: {content}
    </p>
  ));
}

function Talk() {
  const { nodes, status, error } = useThread(NAME);
  const { value: context, error: wrong } = useContextLedger(NAME, { encoding: "estimate" });
  const { value: threads = [] } = useThreads();
  const [query, setQuery] = useState("");
  const { value: hits = [] } = useSearch(query);
  const agent = useAgent({ model, context: { encoding: "estimate" } });
  const { keep } = useKeep();
  useEffect(() => void Object.assign(app, { keep, nodes, context, threads, hits, setQuery, agent, status }));
  return (
    <main id={status}>
      {nodes.map((node) => (
        <Node key={node.id} node={node} />
      ))}
      {agent.turns.map((turn) => turn.text !== "" && (
        <p className="message" key={turn.key}>
          assistant: {turn.text}
        </p>
      ))}
      <footer>{String(error ?? wrong ?? agent.error ?? "")}</footer>
    </main>
  );
}

/** The whole of it; `shown` false leaves the provider without anything to do. */
export function App() {
  const [shown, setShown] = useState(true);
  useEffect(() => void Object.assign(app, { setShown, shown }));
  return <KeepProvider options={{ name: "react-test" }}>{shown && <Talk />}</KeepProvider>;
}

const app = { choosers: new Map() };
if (typeof document !== "undefined") {
  Object.assign(globalThis, { app });
  hydrateRoot(
    document.getElementById("root"),
    <StrictMode>
      <App />
    </StrictMode>,
    { onRecoverableError: (error) => console.error(String(error)) },
  );
}
