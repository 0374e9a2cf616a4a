//! How the next request of a turn is made: the agent's own options over the settings of its conversation.

use threadkeep_compaction::Policy;
use threadkeep_compaction::memory::BundleLimits;
use threadkeep_context::{Budget, Policy as Cut};
use threadkeep_core::read::Off;
use threadkeep_provider::ToolSchema;
use threadkeep_store::Store;

use super::turn::Turn;
use super::{By, built_in};
use crate::KeepError;
use crate::compact::CompactOptions;
use crate::protocol::{ContextOptions, ContextParams, ContextSettings, SummarizerName, Wanted};
use crate::settings::figures;

/// How a request is made.
pub(super) struct How {
    pub(super) options: ContextOptions,
    /// The tools that the prompt names.
    pub(super) schemas: Vec<ToolSchema>,
    /// When the history is compacted.
    pub(super) policy: Policy,
    /// How; `None` for never.
    pub(super) compact: Option<CompactOptions>,
    /// By whom.
    pub(super) by: By,
    /// Whether the agent or the settings say how long a prompt may be. The model says it otherwise.
    pub(super) has_budget: bool,
}

impl<S: Store> Turn<'_, S> {
    /// How the next request is made.
    pub(super) async fn how(&self) -> Result<How, KeepError> {
        let agent = self.agent;
        let conversation = self.mail.as_ref().and_then(|mail| mail.conversation.as_deref());
        let settings = agent.memory.settings(&self.transcript, conversation).await?;
        let policy = self.policy(&settings);
        let usual = ContextParams {
            policy: Some(Cut::Stable),
            memory: Some(Off::On(Wanted::default())),
            ..ContextParams::default()
        };
        let params = agent.options.context.clone().over(settings.context.clone()).over(usual);
        let has_budget = params.budget.is_some_and(|budget| budget != Budget::default());
        let mut options = ContextOptions::from(params);
        let mut schemas = built_in::schemas(&|name| self.has_built_in(name));
        schemas.extend(agent.tools.schemas());
        let budget = &mut options.build.budget;
        if budget.max_tokens.is_none() && budget.max_context_tokens.is_none() {
            budget.max_tokens = Some(policy.input_budget());
        }
        if let Some(text) = &self.recalled {
            options.memory.get_or_insert_with(nothing_else).text = Some(text.clone());
        }
        if let Some(memory) = &mut options.memory {
            memory.agent = Some(agent.options.name.clone());
        }
        options.build.provider = agent.model.provider();
        options.build.frame.tools = schemas.iter().map(ToolSchema::to_json).collect();
        options.render.tools.clone_from(&schemas);
        options.render.model = Some(agent.model.name().to_owned());
        options.render.stream = Some(true);
        options.render.max_output_tokens.get_or_insert(policy.max_output_tokens);
        let compact = self.compact_options(&settings, &options);
        let by = agent.summariser.clone().unwrap_or_else(|| match settings.summarizer {
            Some(SummarizerName::Rules) => By::Rules,
            Some(SummarizerName::Model) | None => By::Model(agent.model.clone()),
        });
        Ok(How { options, schemas, policy, compact, by, has_budget })
    }

    /// What holds for its model: the table, over that the settings, and over those the agent's own figures.
    fn policy(&self, settings: &ContextSettings) -> Policy {
        let wider = settings.compacting().map(figures).unwrap_or_default();
        Policy::resolve(&self.agent.options.policy, &wider, Some(self.agent.model.name()))
    }

    fn compact_options(&self, settings: &ContextSettings, context: &ContextOptions) -> Option<CompactOptions> {
        let own = match &self.agent.options.compact {
            Some(Off::Off) => return None,
            Some(Off::On(own)) => own.clone(),
            None if settings.compaction == Some(Off::Off) => return None,
            None => CompactOptions::default(),
        };
        Some(CompactOptions {
            provider: context.build.provider,
            encoding: context.encoding,
            cancel: Some(self.cancel.clone()),
            agent: Some(self.agent.options.name.clone()),
            remember_from: self.agent.options.remember_from.clone(),
            ..own.over(settings.compacting())
        })
    }
}

/// Nothing of the keep's own memory.
fn nothing_else() -> Wanted {
    Wanted { limits: BundleLimits { episodes: 0, facts: 0 }, ..Wanted::default() }
}
