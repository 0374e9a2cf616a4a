//! Everything that crosses the engine's boundary, as plain types: what can be asked of it, its options, what it answers and tells, and its
//! errors. There is no engine here.
//!
//! Each request is declared once, as a variant of an enum: its name is the method's, its fields are the parameters. serde reads them, and a
//! [`BadRequest`] names the parameter that is wrong, with its path. There are several sets of requests, since a browser loads prompts,
//! search and agents only when they are first needed.
//!
//! As JSON a request is `{"method": "chain", "params": {"leaf": "…"}}`, an answer of the first set `{"type": "nodes", "data": […]}`, an
//! error an [`ErrorReply`].

mod agent;
mod agent_event;
mod answer;
mod append;
mod case;
mod compact;
mod context;
mod diff;
mod forecast;
mod journal;
mod mail;
mod memory;
mod messages;
mod object;
mod prompt;
mod reply;
mod request;
mod search;
mod settings;
mod spending;
mod undo;
mod vectors;
mod what_if;

pub use agent::{
    AgentCall, AgentEndpoint, AgentMessage, AgentModel, AgentTool, BUILT_IN, CompactionParams, LimitsParams, Summarizer,
};
pub use agent_event::{AgentEvent, Outcome};
pub use answer::{
    Damage, ErrorReply, Event, Fork, HeadInfo, ImportProgress, ImportReport, LintFinding, NodeInfo, Outline, Response,
    Row, Skipped, Stats, TranscriptInfo, TreeNode,
};
pub use append::Appended;
pub use case::{CASE_VERSION, CaseDifference, CaseFile, CaseReplay, RedactedTexts, Redaction};
pub use compact::{
    CheckpointInfo, CompactCall, CompactionReply, CompactionRequest, EpochReply, Places, PolicyParams, StoredMessage,
    WouldSend,
};
pub use context::{
    ContextOptions, ContextParams, Counting, RenderParams, Tool, TrimParams, Wanted, WantedParams, WhatIf, trim_options,
};
pub use diff::{MessageChange, MessageForm, MessageState, PrefixBreak, PrefixEnd, RequestDiff, SharedPrefix};
pub use forecast::{BranchComparison, Forecast, MessageDifference, PolicySide};
pub use journal::{Cost, Costs, JournalRequest, MadeOf, Purpose, RequestRecord};
pub use mail::{Body, ListMessages, Mail, MailFilter, MailRequest, Outgoing};
pub use memory::{
    BuildSnapshot, EditEpisode, EditFact, EpisodeFilter, MemoryFilter, MemoryRequest, NewFact, RawTraces, Retrieve,
    TurnName, bundle_json, interaction_json,
};
pub use prompt::{PromptRequest, Recent};
pub use reply::{ContextReply, FitReply, Instead, MarkRun, limits_json, warning_json};
pub use request::{Inbound, Request, Start};
pub use search::{Found, Hit, IndexProgress, SearchOptions, SearchParams, SearchReply, SearchRequest};
pub use settings::{ContextSettings, JournalParams, ModelParams, SettingsRequest, SummarizerName, context_params};
pub use spending::{SpendingLimit, SpendingSpan};
pub use threadkeep_core::read::BadRequest;
pub use threadkeep_recall::Why;
pub use undo::{Change, Undone};
pub use vectors::{NewVectors, Place, ToEmbed, Vector};
pub use what_if::{
    SimulateParams, SimulatedCache, SimulatedCompaction, SimulatedDifference, SimulatedModel, SimulatedRequest,
    SimulatedVariant, Simulations, WhatIfRequest,
};
