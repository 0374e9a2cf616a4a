// A chat of assistant-ui whose threads live in the browser: several threads, edits and other answers as branches, all there after a reload.
// The model here only repeats what it is told; put yours in its place.
//
//   npm install threadkeep react react-dom @assistant-ui/react
//   and a page with <div id="root"></div> that a bundler puts this into
import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  BranchPickerPrimitive,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  ThreadPrimitive,
  useAui,
  useLocalRuntime,
  useRemoteThreadListRuntime,
} from "@assistant-ui/react";
import { useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Threadkeep } from "threadkeep";
import { threadHistory, threadList } from "threadkeep/assistant-ui";

let answers = 0;
const model = {
  async *run({ messages }) {
    const said = messages.at(-1).content.map((part) => part.text ?? "").join("");
    answers += 1;
    for (const text of [`You said`, `You said: ${said} (answer ${answers})`]) yield { content: [{ type: "text", text }] };
  },
};

/** Threads of the keep, each with its history. */
function adapterFor(keep) {
  function useAdapters() {
    const aui = useAui();
    const [history] = useState(() => threadHistory(keep, () => aui.threadListItem));
    return useMemo(() => ({ history }), [history]);
  }
  return { ...threadList(keep), unstable_useAdapters: useAdapters };
}

function Branches() {
  return (
    <BranchPickerPrimitive.Root hideWhenSingleBranch>
      <BranchPickerPrimitive.Previous>‹</BranchPickerPrimitive.Previous>
      <BranchPickerPrimitive.Number /> of <BranchPickerPrimitive.Count />
      <BranchPickerPrimitive.Next>›</BranchPickerPrimitive.Next>
    </BranchPickerPrimitive.Root>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts />
      <ActionBarPrimitive.Root>
        <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
        <ActionBarPrimitive.Reload>Another answer</ActionBarPrimitive.Reload>
      </ActionBarPrimitive.Root>
      <Branches />
    </MessagePrimitive.Root>
  );
}

function Editor() {
  return (
    <ComposerPrimitive.Root className="editor">
      <ComposerPrimitive.Input />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

function Item() {
  return (
    <ThreadListItemPrimitive.Root className="thread">
      <ThreadListItemPrimitive.Trigger>
        <ThreadListItemPrimitive.Title fallback="New thread" />
      </ThreadListItemPrimitive.Trigger>
    </ThreadListItemPrimitive.Root>
  );
}

function App({ adapter }) {
  const runtime = useRemoteThreadListRuntime({ adapter, runtimeHook: () => useLocalRuntime(model) });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadListPrimitive.Root>
        <ThreadListPrimitive.New>New</ThreadListPrimitive.New>
        <ThreadListPrimitive.Items components={{ ThreadListItem: Item }} />
      </ThreadListPrimitive.Root>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages components={{ Message, UserEditComposer: Editor }} />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root id="composer">
          <ComposerPrimitive.Input placeholder="Say something" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

const keep = await Threadkeep.open({ name: "assistant-ui" });
createRoot(document.getElementById("root")).render(<App adapter={adapterFor(keep)} />);
