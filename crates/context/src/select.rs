//! Selection: which messages of a log prompts may have at all, whatever the budget. A message says its mode, run and workflow in its
//! fields `mode`, `runId` and `workflowId`, and that people see it folded in `isCollapsed`.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep_core::{Content, Message, Role};

use super::facts::speaks;
use super::preview::{path, with_content};
use super::{Action, Item, Mode, Replacement, rule};

/// What stands in prompts for a tool result that was not asked for.
const LEFT_OUT: &str = "TOOL_RESULT left out of this prompt.";

/// Which mode, run or workflow a prompt is about. Messages that name another one are left out; those that name none stay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ContextFilter", optional_fields))]
pub struct Only {
    /// The mode, as the messages' field `mode` names it.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub mode: Option<Mode>,
    /// The run, as the messages' field `runId` names it.
    pub run_id: Option<String>,
    /// The workflow, as the messages' field `workflowId` names it.
    pub workflow_id: Option<String>,
}

/// Which messages prompts may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Whether tool results before the newest user message are shown; else a short text with their path stands in their place.
    pub tool_results: bool,
    /// Whether messages with `isCollapsed: true` are shown. Those of the user, calls and results are shown anyway.
    pub collapsed: bool,
    /// Which mode, run or workflow it is about.
    pub only: Only,
}

impl Default for Selection {
    fn default() -> Self {
        Self { tool_results: true, collapsed: false, only: Only::default() }
    }
}

impl Selection {
    /// All messages.
    pub fn all() -> Self {
        Self { collapsed: true, ..Self::default() }
    }

    /// Whether a message may be in prompts.
    pub fn admits(&self, message: &Message) -> bool {
        message.include_in_context && self.refuses(message).is_none()
    }

    /// Why a message is left out; `None` for one that may be in prompts. Results go with their calls, so they are not asked about.
    pub(super) fn refuses(&self, message: &Message) -> Option<(Action, &'static str)> {
        let field = |name: &str| message.extra.get(name);
        let other = |name: &str, wanted: Option<&str>| {
            let named = field(name).and_then(Value::as_str);
            named.zip(wanted).is_some_and(|(named, wanted)| named != wanted)
        };
        let Only { mode, run_id, workflow_id } = &self.only;
        if other("mode", mode.as_ref().map(|mode| mode.name()))
            || other("runId", run_id.as_deref())
            || other("workflowId", workflow_id.as_deref())
        {
            return Some((Action::Dropped, rule::FILTERED));
        }
        let event = message.role != Role::User && message.tool_calls.is_empty();
        let folded = !self.collapsed && event && field("isCollapsed") == Some(&Value::Bool(true));
        folded.then_some((Action::Dropped, rule::COLLAPSED))
    }
}

/// What stands for the tool results before the newest user message: each call keeps a result. What is pinned stays whole.
pub(super) fn leave_out_results(history: &[Item], replaced: &mut Vec<Replacement>) {
    let asks = |item: &Item| item.message.role == Role::User && item.message.include_in_context && speaks(item.message);
    let newest = history.iter().rposition(asks).unwrap_or_default();
    let taken: HashSet<usize> = replaced.iter().map(|other| other.index).collect();
    for (index, item) in history.iter().enumerate().take(newest) {
        let stays = item.out.is_some() || item.message.pinned || item.message.content.is_empty();
        if item.message.role == Role::Tool && !stays && !taken.contains(&index) {
            let id = item.message.tool_call_id.as_deref().filter(|id| !id.is_empty());
            let text = id.map_or_else(|| LEFT_OUT.to_owned(), |id| [LEFT_OUT, "\nFull output: ", &path(id)].concat());
            let message = with_content(item.message, Content::Text(text));
            replaced.push(Replacement { index, message, action: Action::Compressed, rule: rule::RESULT_LEFT_OUT });
        }
    }
}
