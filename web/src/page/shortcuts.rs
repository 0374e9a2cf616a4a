//! The list of the page's keys.

use leptos::prelude::*;

/// The dialog's body.
#[component]
pub fn Shortcuts() -> impl IntoView {
    view! {
        <dl class="facts keys">
            <div><dt><kbd>"↑"</kbd>" "<kbd>"↓"</kbd></dt><dd>"Move in the list of threads, or on the map"</dd></div>
            <div><dt><kbd>"Enter"</kbd></dt><dd>"Open what is marked"</dd></div>
            <div>
                <dt><kbd>"Ctrl+K"</kbd></dt>
                <dd>"Go to any act, setting, thread or message"</dd>
            </div>
            <div>
                <dt><kbd>"/"</kbd></dt>
                <dd>"Search threads and messages; "<kbd>"Esc"</kbd>" there ends it"</dd>
            </div>
            <div><dt><kbd>"j"</kbd>" "<kbd>"k"</kbd></dt><dd>"Next and previous message"</dd></div>
            <div>
                <dt><kbd>"["</kbd>" "<kbd>"]"</kbd></dt>
                <dd>"Previous and next branch, at the focused message or the nearest fork above it"</dd>
            </div>
            <div><dt><kbd>"Alt+←"</kbd>" "<kbd>"Alt+→"</kbd></dt><dd>"The same, on a focused message"</dd></div>
            <div><dt><kbd>"Home"</kbd>" "<kbd>"End"</kbd></dt><dd>"First and last message"</dd></div>
            <div>
                <dt><kbd>"r"</kbd></dt>
                <dd>"Reply to the focused message; "<kbd>"Esc"</kbd>" leaves that again"</dd>
            </div>
            <div>
                <dt><kbd>"Enter"</kbd></dt>
                <dd>"Send what you wrote; "<kbd>"Shift+Enter"</kbd>" is a new line"</dd>
            </div>
            <div><dt><kbd>"m"</kbd></dt><dd>"Show or hide the map"</dd></div>
            <div><dt><kbd>"c"</kbd></dt><dd>"Show or hide the context inspector"</dd></div>
            <div><dt><kbd>"q"</kbd></dt><dd>"Show or hide the requests"</dd></div>
            <div><dt><kbd>"e"</kbd></dt><dd>"Prompts before and after each compaction"</dd></div>
            <div><dt><kbd>"p"</kbd></dt><dd>"Pin the selected message in it, or unpin it"</dd></div>
            <div><dt><kbd>"?"</kbd></dt><dd>"This list"</dd></div>
            <div><dt><kbd>"Esc"</kbd></dt><dd>"Close a dialog"</dd></div>
        </dl>
    }
}
