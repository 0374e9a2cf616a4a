// A chat in React: threads that live in the browser, answers as they come, edits and other answers as branches, a search, and a meter of the next
// prompt. All of it is there after a reload, and a second tab follows. The model here only repeats what it is told; put yours in its place,
// such as `connect({ provider: "ollama", baseUrl: "http://localhost:11434", model: "llama3.2" })` of threadkeep.
//
//   npm install threadkeep react react-dom
//   and a page with <div id="root"></div> that a bundler puts this into
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { KeepProvider, useAgent, useBranch, useContextLedger, useKeep, useSearch, useThread, useThreads } from "threadkeep/react";

let answers = 0;
async function model({ messages, onDelta }) {
  answers += 1;
  const words = `You said: ${messages.at(-1).content} (answer ${answers})`;
  for (const word of words.split(/(?<= )/)) {
    onDelta(word);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return words;
}

/** The switch between the versions of a node. */
function Versions({ name, node }) {
  const { versions, index, choose } = useBranch(name, node);
  if (versions.length < 2) return null;
  return (
    <span className="versions">
      <button onClick={() => choose(index - 1)} disabled={index === 0}>
        ‹
      </button>
      {index + 1} of {versions.length}
      <button onClick={() => choose(index + 1)} disabled={index === versions.length - 1}>
        ›
      </button>
    </span>
  );
}

function Message({ role, text, children }) {
  return (
    <div className="message">
      <b>{role}</b> <span className="text">{text}</span> {children}
    </div>
  );
}

function Chat({ name }) {
  const { nodes, status, error } = useThread(name);
  const { value: context } = useContextLedger(name);
  const { turns, send, again, stop, error: failure } = useAgent({ model });
  const [editing, setEditing] = useState();
  function say(form) {
    // An edited question is another child of what stands before it.
    const replyTo = editing?.parent ?? undefined;
    setEditing(undefined);
    // Nobody waits for the answer: what one types meanwhile stays. `error` says why there is none.
    send(form.get("text"), { conversation: name, replyTo }).catch(() => {});
  }
  if (status === "loading") return <p>Reading the thread …</p>;
  return (
    <section>
      <h2>{name}</h2>
      {nodes.map((node) =>
        node.messages.map((message, at) => (
          <Message key={`${node.id} ${at}`} role={message.role} text={message.content}>
            {at === 0 && <Versions name={name} node={node.id} />}
            {message.role === "user" && node.parent !== null && <button onClick={() => setEditing(node)}>Edit</button>}
            {message.role === "assistant" && <button onClick={() => again(node.id, { conversation: name }).catch(() => {})}>Another answer</button>}
          </Message>
        )),
      )}
      {turns.map((turn) => turn.text !== "" && <Message key={turn.key} role="assistant" text={turn.text} />)}
      <form action={say}>
        <input name="text" placeholder="Say something" key={editing?.id} defaultValue={editing?.messages[0].content} />
        <button>Send</button>
        {turns.length > 0 && <button type="button" onClick={stop}>Stop</button>}
        {context && <small>{context.tokens} tokens</small>}
      </form>
      {(error ?? failure) && <p role="alert">{(error ?? failure).message}</p>}
    </section>
  );
}

function App() {
  const { status, error, retry } = useKeep();
  const { value: threads = [] } = useThreads();
  const [name, setName] = useState("thread-1");
  const [query, setQuery] = useState("");
  const { value: hits = [] } = useSearch(query, { limit: 5 });
  if (status === "failed")
    return (
      <p role="alert">
        {error.message} <button onClick={retry}>Try again</button>
      </p>
    );
  return (
    <>
      <nav>
        <input type="search" placeholder="Search" value={query} onChange={({ target }) => setQuery(target.value)} />
        {hits.map((hit) => (
          <p className="hit" key={`${hit.kind} ${hit.id ?? hit.node} ${hit.index}`}>
            {hit.snippet}
          </p>
        ))}
        {threads.map((thread) => (
          <button className="thread" key={thread.name} onClick={() => setName(thread.name)}>
            {thread.name}
          </button>
        ))}
        <button onClick={() => setName(`thread-${threads.length + 1}`)}>New</button>
      </nav>
      <Chat key={name} name={name} />
    </>
  );
}

createRoot(document.getElementById("root")).render(
  <KeepProvider options={{ name: "react-chat" }}>
    <App />
  </KeepProvider>,
);
