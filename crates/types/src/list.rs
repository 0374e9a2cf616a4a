//! Which types are public in TypeScript, and in which file.

use threadkeep_archive as archive;
use threadkeep_compaction as compaction;
use threadkeep_context as context;
use threadkeep_core as core;
use threadkeep_protocol as protocol;
use threadkeep_provider as provider;

use crate::{Declared, File, answer, methods, names, option, requests};

/// Types that the npm package declares, by their modules.
pub(crate) const WRITTEN_BY_HAND: &[(&str, &str)] = &[
    ("ContentInput", "message"),
    ("Message", "message"),
    ("Payload", "payload"),
    ("PayloadForm", "payload"),
    ("ToolSchema", "payload"),
];

/// Types of the language, and the parameters of generic types.
pub(crate) const BUILT_IN: &[&str] = &["Date", "F", "P", "Readonly", "Record"];

/// What types have that are generic over the provider.
const BY_PROVIDER: &str = "<P extends Provider = Provider>";

/// What types have that are generic over the provider and the form of its payload.
const BY_FORM: &str = "<P extends Provider = Provider, F extends PayloadForm = PayloadForm>";

/// What documentation may link to beside types.
pub(crate) const LINKED: &[&str] = &[
    "SearchIndex.progress",
    "Thread.context",
    "Thread.setStrategy",
    "Thread.toolResult",
    "Threadkeep.lint",
    "Threadkeep.open",
    "Transcript.delete",
    "mailText",
    "trimMessages",
];

/// All files.
pub(crate) fn files() -> Vec<File> {
    let file = |name, about, types: Vec<Declared>| File { name, about, types };
    vec![
        file(
            "node",
            "Nodes, threads, transcripts and what is derived from them.",
            vec![
                answer::<core::Origin>(),
                answer::<protocol::NodeInfo>(),
                answer::<protocol::HeadInfo>(),
                answer::<protocol::Change>(),
                answer::<protocol::Undone>(),
                answer::<protocol::TranscriptInfo>(),
                answer::<protocol::Fork>(),
                answer::<protocol::Row>(),
                answer::<protocol::Outline>(),
                answer::<protocol::TreeNode>(),
                answer::<protocol::LintFinding>(),
                answer::<protocol::Stats>(),
                answer::<protocol::Damage>(),
            ],
        ),
        file(
            "request",
            "What calls about threads and transcripts take.",
            vec![option::<protocol::Inbound>(), option::<protocol::Start>(), option::<protocol::Recent>()],
        ),
        file(
            "methods",
            "The engine's methods.",
            vec![methods(
                "The engine's methods, and what each takes.",
                &[
                    requests::<protocol::Request>(),
                    requests::<protocol::PromptRequest>(),
                    requests::<protocol::CompactionRequest>(),
                    requests::<protocol::SettingsRequest>(),
                    requests::<protocol::JournalRequest>(),
                    requests::<protocol::WhatIfRequest>(),
                    requests::<protocol::SearchRequest>(),
                    requests::<protocol::MemoryRequest>(),
                    requests::<protocol::MailRequest>(),
                ],
            )],
        ),
        file(
            "journal",
            "Requests that were sent to models.",
            vec![
                option::<protocol::JournalParams>(),
                answer::<protocol::Cost>(),
                answer::<protocol::Costs>(),
                answer::<protocol::MadeOf>(),
                answer::<protocol::Purpose>(),
                answer::<protocol::RequestRecord>(),
                option::<protocol::Redaction>(),
                option::<protocol::RedactedTexts>(),
                answer::<protocol::CaseDifference>(),
                answer::<protocol::CaseReplay>(),
                answer::<protocol::MessageState>(),
                answer::<protocol::MessageChange>(),
                answer::<protocol::PrefixEnd>(),
                answer::<protocol::SharedPrefix>(),
                answer::<protocol::RequestDiff>(),
            ],
        ),
        file(
            "what-if",
            "What a thread's requests would have taken with other options.",
            vec![
                option::<protocol::SimulatedModel>(),
                option::<protocol::SimulatedCompaction>(),
                option::<protocol::SimulatedCache>(),
                option::<protocol::SimulateParams>(),
                answer::<protocol::SimulatedRequest>(),
                answer::<protocol::SimulatedDifference>(),
                answer::<protocol::SimulatedVariant>(),
                answer::<protocol::Simulations>(),
                answer::<protocol::Forecast>(),
                answer::<protocol::PolicySide>(),
                answer::<protocol::MessageDifference>(),
                answer::<protocol::BranchComparison>(),
            ],
        ),
        file("events", "What changed.", vec![answer::<protocol::Event>()]),
        file(
            "archive",
            "What can be imported, what an import reports, and what an export for others leaves out.",
            vec![
                answer::<archive::Format>(),
                option::<archive::secret::Personal>(),
                option::<archive::share::Sharing>(),
                answer::<archive::share::Secret>(),
                answer::<protocol::ImportProgress>(),
                answer::<protocol::ImportReport>(),
                answer::<protocol::Skipped>(),
            ],
        ),
        file("mail", "Messages of mailboxes.", vec![answer::<protocol::Mail>(), option::<protocol::ListMessages>()]),
        file(
            "memory",
            "What is remembered beyond a chain: episodes and facts.",
            vec![
                answer::<core::checkpoint::Source>(),
                answer::<compaction::memory::Episode>(),
                answer::<compaction::memory::FactKind>(),
                answer::<compaction::memory::MemoryOrigin>(),
                answer::<compaction::memory::Fact>(),
                option::<protocol::NewFact>(),
                option::<protocol::EditFact>(),
                option::<protocol::EditEpisode>(),
                option::<protocol::EpisodeFilter>(),
                option::<protocol::MemoryFilter>(),
                option::<protocol::Retrieve>(),
                answer::<compaction::memory::MemoryBundle>(),
                answer::<compaction::memory::ToolInteraction>(),
            ],
        ),
        file(
            "search",
            "What a search looks at, and what it finds.",
            vec![
                answer::<protocol::Found>(),
                option::<protocol::SearchParams>(),
                answer::<protocol::Why>(),
                answer::<protocol::Hit>(),
                answer::<protocol::IndexProgress>(),
            ],
        ),
        file(
            "provider",
            "Providers of models: how they are reached, and what is said of their answers.",
            vec![
                answer::<provider::Provider>(),
                option::<provider::Connection>().generic(BY_PROVIDER),
                answer::<provider::Listed>(),
                option::<provider::AnswerLimits>(),
                answer::<provider::Usage>(),
                option::<provider::Price>(),
                answer::<provider::Finding>(),
            ],
        ),
        file(
            "context",
            "Prompts: their options, and the account of what is in them.",
            vec![
                option::<protocol::ModelParams>(),
                answer::<protocol::Counting>(),
                option::<context::Budget>(),
                option::<context::MessageRef>(),
                option::<context::Run>(),
                option::<context::Preview>(),
                option::<context::Only>(),
                option::<protocol::RenderParams>(),
                option::<protocol::TrimParams>(),
                option::<protocol::WantedParams>(),
                option::<protocol::ContextParams>().generic(BY_PROVIDER),
                option::<context::compress::CompressOptions>(),
                answer::<context::compress::Compressed>(),
                option::<provider::RenderOptions>(),
                answer::<provider::RenderNote>(),
                answer::<provider::RenderReply>().generic(BY_FORM),
                answer::<provider::Validation>(),
                answer::<context::Action>(),
                answer::<context::Line>(),
                answer::<context::Limits>(),
                answer::<context::Kinds>(),
                answer::<context::Warning>(),
                answer::<protocol::ContextReply>().generic(BY_FORM),
            ],
        ),
        file(
            "compaction",
            "Compactions: how they are asked for, and what comes of them.",
            vec![
                answer::<core::checkpoint::Strategy>(),
                answer::<compaction::Reason>(),
                option::<protocol::PolicyParams>(),
                option::<protocol::CompactCall>(),
                answer::<core::checkpoint::Statement>(),
                answer::<protocol::CheckpointInfo>(),
                answer::<core::checkpoint::Spent>(),
                answer::<protocol::StoredMessage>(),
                answer::<protocol::WouldSend>(),
                answer::<protocol::CompactionReply>(),
                answer::<protocol::EpochReply>(),
            ],
        ),
        file(
            "agent",
            "What happens in an agent's turns, when they end, and when their history is compacted.",
            vec![
                names(
                    "BuiltInTool",
                    "The tools that every agent can have: of its mailbox, its memory, and for what its prompts had no room for.",
                    &protocol::BUILT_IN,
                ),
                answer::<protocol::Outcome>(),
                answer::<protocol::AgentEvent>(),
                option::<protocol::LimitsParams>(),
                option::<protocol::SpendingLimit>(),
                option::<protocol::CompactionParams>(),
            ],
        ),
    ]
}
