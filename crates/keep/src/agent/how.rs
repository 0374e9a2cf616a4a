//! How the next request of a turn is made: the agent's own options over the settings of its conversation.

use threadkeep_compaction::Policy;
use threadkeep_compaction::memory::BundleLimits;
use threadkeep_context::{Budget, Policy as Cut};
use threadkeep_core::read::Off;
use threadkeep_provider::ToolSchema;
use threadkeep_store::Store;

use super::{Agent, By};
use crate::compact::{Cancel, CompactOptions};
use crate::journal::journal_days;
use crate::protocol::{ContextOptions, ContextParams, ContextSettings, ModelParams, SummarizerName, Tool, Wanted};
use crate::settings::wider_figures;

/// How a request is made.
pub(super) struct How {
    /// All options, with nothing left to settings.
    pub(super) params: ContextParams,
    /// The same, ready to be carried out.
    pub(super) options: ContextOptions,
    /// The tools that the prompt names.
    pub(super) schemas: Vec<ToolSchema>,
    /// When the history is compacted.
    pub(super) policy: Policy,
    /// How; `None` for never.
    pub(super) compact: Option<CompactOptions>,
    /// By whom.
    pub(super) by: By,
    /// What the settings know of the model.
    pub(super) known: Option<ModelParams>,
    /// Whether the agent or the settings say how long a prompt may be. The model says it otherwise.
    pub(super) has_budget: bool,
    /// For how many days the request is noted; `None` for not at all.
    pub(super) journal: Option<Option<u32>>,
}

impl How {
    /// How an agent makes the next request under these settings, with the tools that its turn has and what a memory service recalled.
    pub(super) fn of<S: Store>(
        agent: &Agent<S>,
        settings: &ContextSettings,
        schemas: Vec<ToolSchema>,
        recalled: Option<&str>,
        cancel: &Cancel,
    ) -> Self {
        let own = &agent.options;
        // The table of models, over that the settings, and over those the agent's own figures.
        let model = Some(agent.model.name());
        let policy = Policy::resolve(&own.policy, &wider_figures(settings, model), model);
        let usual = ContextParams {
            policy: Some(Cut::Stable),
            memory: Some(Off::On(Wanted::default())),
            ..ContextParams::default()
        };
        let mut params = own.context.clone().over(settings.context.clone()).over(usual);
        let has_budget = params.budget.is_some_and(|budget| budget != Budget::default());
        let budget = params.budget.get_or_insert_default();
        if budget.max_tokens.is_none() && budget.max_context_tokens.is_none() {
            budget.max_tokens = Some(policy.input_budget());
        }
        let render = params.render.get_or_insert_default();
        render.stream = Some(true);
        render.max_output_tokens =
            render.max_output_tokens.or(budget.max_output_tokens).or(Some(policy.max_output_tokens));
        if let Some(text) = recalled {
            let wanted = match params.memory.take() {
                Some(Off::On(wanted)) => wanted,
                Some(Off::Off) | None => nothing_else(),
            };
            params.memory = Some(Off::On(Wanted { text: Some(text.to_owned()), ..wanted }));
        }
        if let Some(Off::On(memory)) = &mut params.memory {
            memory.agent = Some(own.name.clone());
        }
        params.provider = Some(agent.model.provider());
        params.model = Some(agent.model.name().to_owned());
        params.tools = Some(schemas.iter().map(Tool::of).collect());
        let params = settings.sized(params);
        let options = ContextOptions::from(params.clone());
        let compact = match &own.compact {
            Some(Off::Off) => None,
            Some(Off::On(compact)) => Some(compact.clone()),
            None => (settings.compaction != Some(Off::Off)).then(CompactOptions::default),
        };
        let compact = compact.map(|compact| CompactOptions {
            provider: options.build.provider,
            encoding: options.encoding,
            cancel: Some(cancel.clone()),
            agent: Some(own.name.clone()),
            remember_from: own.remember_from.clone(),
            ..compact.over(settings.compacting())
        });
        let by = agent.summariser.clone().unwrap_or_else(|| match settings.summarizer {
            Some(SummarizerName::Rules) => By::Rules,
            Some(SummarizerName::Model) | None => By::Model(agent.model.clone()),
        });
        let journal = journal_days(settings);
        let known = settings.model(model).cloned();
        Self { params, options, schemas, policy, compact, by, known, has_budget, journal }
    }
}

/// Nothing of the keep's own memory.
fn nothing_else() -> Wanted {
    Wanted { limits: BundleLimits { episodes: 0, facts: 0 }, ..Wanted::default() }
}
