//! Settings: options of prompts and compactions that are stored for a whole keep, a transcript or a head.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use threadkeep_context::Budget;
use threadkeep_core::MessageId;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::read::{self, BadRequest, Off, Plain, bad};
use threadkeep_core::read_by_name;

use super::{CompactionParams, ContextParams, PromptRequest};

/// One request about settings and pins. `at` is a head's name or a transcript's id, and nothing for the whole keep.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum SettingsRequest {
    /// The settings that hold there. → an object
    ContextOptions {
        /// Where; also a node, for those of its transcript.
        at: Option<String>,
        /// Whether only what is stored right there is wanted, without what wider places say.
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        own: bool,
    },
    /// Stores settings in the place of those that were there. → null
    SetContextOptions {
        /// Where.
        at: Option<String>,
        /// The settings; `null` or an empty object removes them.
        #[serde(default, deserialize_with = "any")]
        #[cfg_attr(feature = "ts", ts(type = "object | null"))]
        options: Value,
    },
    /// Pins a node, or removes its pin. → null
    PinNode {
        /// The node or an alias of it.
        node: MessageId,
        /// Whether it is pinned from now on.
        pinned: bool,
    },
    /// The pinned nodes of a chain, in its order. → a list of ids
    Pins {
        /// A head's name, or the end of the chain: a node or an alias of it.
        at: String,
    },
}

impl SettingsRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        read::request(method, params)
    }
}

/// Any JSON, read without a path to its parts: the reader that tracks one would be compiled for it.
fn any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Plain::deserialize(deserializer).map(|Plain(value)| value)
}

/// Who summarises, where a call brings no function of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummarizerName {
    /// The built-in rules, which ask no model.
    Rules,
    /// The model that answers.
    Model,
}

impl SummarizerName {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "rules" => Some(Self::Rules),
            "model" => Some(Self::Model),
            _ => None,
        }
    }
}

read_by_name!(SummarizerName, SummarizerName::from_name, "rules or model");

/// Options that belong to one call, or to the program, and are not stored.
const NOT_STORED: [(&str, &str); 5] = [
    ("pins", "is not stored with settings: pin the node"),
    ("epoch", "is not stored with settings: it belongs to a call"),
    ("live", "is not stored with settings: it belongs to a call"),
    ("record", "is not stored with settings: it belongs to a call, and agents' requests are noted anyway"),
    ("encoding", "is not stored with settings: it is chosen when a keep is opened"),
];

/// What is known of a model, over the built-in table of models.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ModelSettings", optional_fields))]
pub struct ModelParams {
    /// Its name, or how the names of several begin, without what a gateway puts before them up to the last `/`. The longest that fits counts.
    pub name: String,
    /// The context, in tokens; the table's without it, and 200,000 for a model that is not in it.
    pub max_context_tokens: Option<u32>,
    /// The longest answer, in tokens; the table's without it, and 8,000 for a model that is not in it.
    pub max_output_tokens: Option<u32>,
    /// What is left free for miscounting, in tokens; 1,000 without it.
    pub safety_margin: Option<u32>,
    /// How many tokens of the model one that is counted here comes to, from 0.25 to 4; 1 without it. Budgets are in tokens of the model,
    /// and so the prompt is cut where it has that many.
    pub token_ratio: Option<f64>,
}

impl ModelParams {
    /// The ratio in thousandths.
    fn per_mille(&self) -> u64 {
        self.token_ratio.map_or(1000, |ratio| (ratio * 1000.0).round() as u64)
    }

    /// What a count comes to in tokens of the model, rounded up.
    pub fn scale(&self, counted: u64) -> u64 {
        u64::try_from((u128::from(counted) * u128::from(self.per_mille())).div_ceil(1000)).unwrap_or(u64::MAX)
    }

    /// How much may be counted for so many tokens of the model, rounded down.
    fn room(&self, tokens: u64) -> u64 {
        u64::try_from(u128::from(tokens) * 1000 / u128::from(self.per_mille())).unwrap_or(u64::MAX)
    }

    /// A budget for this model, in tokens as they are counted here.
    fn budget(&self, mut budget: Budget) -> Budget {
        if budget.max_tokens.is_none() {
            budget.max_context_tokens = budget.max_context_tokens.or(self.max_context_tokens.map(u64::from));
            if budget.max_context_tokens.is_some() {
                budget.max_output_tokens = budget.max_output_tokens.or(self.max_output_tokens.map(u64::from));
                budget.safety_margin = budget.safety_margin.or(self.safety_margin.map(u64::from));
            }
        }
        let limits = budget.limits();
        if self.token_ratio.is_some() && !limits.underflow {
            budget.max_tokens = limits.tokens.map(|tokens| self.room(tokens));
        }
        budget
    }
}

/// The settings of prompts and compactions: what [`ContextParams`] has, and `compaction`, `summarizer`, `journal`, `models` and `ttl`.
///
/// ```
/// use threadkeep_protocol::ContextSettings;
/// let keep = ContextSettings::read(r#"{"policy": "stable", "budget": {"maxTokens": 8000}}"#)?;
/// let head = ContextSettings::read(r#"{"budget": {"maxTokens": 500}}"#)?;
/// let both = head.over(&keep);
/// assert_eq!(both.to_json().to_string(), r#"{"policy":"stable","budget":{"maxTokens":500}}"#);
/// let error = ContextSettings::read(r#"{"budget": {"tokens": 9}}"#).unwrap_err();
/// assert_eq!(error.argument, "options.budget.tokens");
/// # Ok::<(), threadkeep_protocol::BadRequest>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextSettings {
    /// As they were given, which is how they are stored and shown.
    given: Map<String, Value>,
    /// How prompts are built.
    pub context: ContextParams,
    /// When and how histories are compacted.
    pub compaction: Option<Off<CompactionParams>>,
    /// Who summarises.
    pub summarizer: Option<SummarizerName>,
    /// Whether an agent's requests are noted, and for how long.
    pub journal: Option<Off<JournalParams>>,
    /// What is known of models.
    pub models: Option<Vec<ModelParams>>,
    /// After how many seconds without a new message a head expires; 0 for never (`false` in JSON).
    pub ttl: Option<u64>,
}

/// How long requests stay in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "JournalOptions", optional_fields))]
pub struct JournalParams {
    /// So many days; as long as their thread without it. Older ones of a thread go when the next request is noted there.
    pub days: Option<u32>,
}

/// Reads options of a prompt.
///
/// # Errors
/// [`BadRequest`] names the first option that is not known, or not what it must be.
pub fn context_params(options: Value) -> Result<ContextParams, BadRequest> {
    // As a request for a prompt has them: what reads options is large, and is compiled once that way.
    let request = json!({ "at": "", "options": options }).to_string();
    match PromptRequest::read("context", &request)? {
        PromptRequest::Context { options, .. } => Ok(*options),
        _ => bad("options", "cannot be read"),
    }
}

impl ContextSettings {
    /// Reads JSON text of an object.
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, is not stored, or is not what it must be.
    pub fn read(text: &str) -> Result<Self, BadRequest> {
        match serde_json::from_str(text) {
            Ok(value) => Self::from_json(value),
            Err(error) => bad("options", format!("cannot be read: {error}")),
        }
    }

    /// Reads an object; `null` is an empty one. An option that is `null` is as good as none.
    ///
    /// # Errors
    /// As [`ContextSettings::read`].
    pub fn from_json(given: Value) -> Result<Self, BadRequest> {
        /// What is no option of a prompt.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Beside {
            compaction: Option<Off<CompactionParams>>,
            summarizer: Option<SummarizerName>,
            journal: Option<Off<JournalParams>>,
            models: Option<Vec<ModelParams>>,
            ttl: Option<Plain<Value>>,
        }
        let mut given = match given {
            Value::Object(given) => given,
            Value::Null => Map::new(),
            _ => return bad("options", "must be an object"),
        };
        given.retain(|_, value| !value.is_null());
        if let Some((name, why)) = NOT_STORED.iter().find(|(name, _)| given.contains_key(*name)) {
            return bad(format!("options.{name}"), *why);
        }
        let mut prompt = given.clone();
        let beside: Map<String, Value> = ["compaction", "summarizer", "journal", "models", "ttl"]
            .iter()
            .filter_map(|name| prompt.shift_remove_entry(*name))
            .collect();
        let Beside { compaction, summarizer, journal, models, ttl } =
            read::options(&Value::Object(beside).to_string(), "options")?;
        let is_odd = |known: &ModelParams| known.token_ratio.is_some_and(|ratio| !(0.25..=4.0).contains(&ratio));
        if let Some(at) = models.iter().flatten().position(is_odd) {
            return bad(format!("options.models[{at}].tokenRatio"), "must be a number from 0.25 to 4");
        }
        let ttl = match ttl {
            None => None,
            Some(Plain(Value::Bool(false))) => Some(0),
            Some(Plain(value)) => match value.as_u64() {
                Some(0) | None => return bad("options.ttl", "must be false or a whole number of seconds from 1"),
                seconds => seconds,
            },
        };
        let context = context_params(Value::Object(prompt)).map_err(|mut error| {
            // It lists the options of a call.
            if error.why.starts_with("is not known") && error.argument.matches('.').count() == 1 {
                let why = NOT_STORED.iter().fold(error.why, |why, (name, _)| why.replace(&format!(" {name},"), ""));
                error.why = why + ", compaction, summarizer, journal, models, ttl";
            }
            error
        })?;
        Ok(Self { given, context, compaction, summarizer, journal, models, ttl })
    }

    /// These settings over those of a wider place: each option is taken whole from the narrowest place that has it.
    #[must_use]
    pub fn over(&self, wider: &Self) -> Self {
        let mut given = wider.given.clone();
        given.extend(self.given.clone());
        Self {
            given,
            context: self.context.clone().over(wider.context.clone()),
            compaction: self.compaction.clone().or_else(|| wider.compaction.clone()),
            summarizer: self.summarizer.or(wider.summarizer),
            journal: self.journal.or(wider.journal),
            models: self.models.clone().or_else(|| wider.models.clone()),
            ttl: self.ttl.or(wider.ttl),
        }
    }

    /// What is known of the model of this name, beside the built-in table.
    pub fn model(&self, name: Option<&str>) -> Option<&ModelParams> {
        let name = name?.rsplit('/').next()?;
        let fits = self.models.iter().flatten().filter(|known| name.starts_with(&known.name));
        fits.max_by_key(|known| known.name.len())
    }

    /// A call's own options over these. The budget becomes that of the model, in tokens as they are counted here.
    #[must_use]
    pub fn under(&self, own: ContextParams) -> ContextParams {
        self.sized(own.over(self.context.clone()))
    }

    /// Options with the budget that their model has under these settings.
    #[must_use]
    pub fn sized(&self, mut params: ContextParams) -> ContextParams {
        if let Some(known) = self.model(params.model.as_deref()) {
            let budget = known.budget(params.budget.unwrap_or_default());
            params.budget = Some(budget).filter(|budget| *budget != Budget::default());
        }
        params
    }

    /// The same with this strategy of compaction.
    #[must_use]
    pub fn with_strategy(mut self, strategy: Strategy) -> Self {
        let mut compaction = match self.compaction.take() {
            Some(Off::On(params)) => params,
            Some(Off::Off) | None => CompactionParams::default(),
        };
        compaction.strategy = Some(strategy);
        self.compaction = Some(Off::On(compaction));
        let shown = self.given.entry("compaction").or_insert(Value::Null);
        if !shown.is_object() {
            *shown = Value::Object(Map::new());
        }
        shown["strategy"] = strategy.name().into();
        self
    }

    /// The same without a strategy of compaction.
    #[must_use]
    pub fn without_strategy(mut self) -> Self {
        if let Some(Off::On(compaction)) = &mut self.compaction {
            compaction.strategy = None;
        }
        if let Some(Value::Object(shown)) = self.given.get_mut("compaction") {
            shown.shift_remove("strategy");
            if shown.is_empty() {
                self.given.shift_remove("compaction");
                self.compaction = None;
            }
        }
        self
    }

    /// When and how histories are compacted; `None` for never, or where nothing is said.
    pub fn compacting(&self) -> Option<&CompactionParams> {
        match &self.compaction {
            Some(Off::On(params)) => Some(params),
            Some(Off::Off) | None => None,
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// It as JSON, as it was given.
    pub fn to_json(&self) -> Value {
        Value::Object(self.given.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_context::Policy;

    fn settings(text: &str) -> ContextSettings {
        ContextSettings::read(text).unwrap()
    }

    #[test]
    fn the_narrower_settings_win_option_by_option() {
        let wide = settings(
            r#"{"policy": "stable", "model": "a", "compaction": {"keepTurns": 2}, "budget": {"maxTokens": 9, "maxMessages": 1}}"#,
        );
        let narrow =
            settings(r#"{"model": "b", "budget": {"maxTokens": 5}, "compaction": false, "summarizer": "rules"}"#);
        let both = narrow.over(&wide);
        assert_eq!((both.context.policy, both.context.model.as_deref()), (Some(Policy::Stable), Some("b")));
        assert_eq!(both.context.budget, Some(Budget { max_tokens: Some(5), ..Budget::default() }));
        assert_eq!((&both.compaction, both.summarizer), (&Some(Off::Off), Some(SummarizerName::Rules)));
        assert_eq!(settings(&both.to_json().to_string()), both, "what is shown is what holds");
        assert_eq!(settings(r#"{"model": null}"#), ContextSettings::default());
    }

    #[test]
    fn a_strategy_is_shown_where_it_holds() {
        let some = settings(r#"{"compaction": {"keepTurns": 2}}"#).with_strategy(Strategy::Hierarchical);
        assert_eq!(some.to_json().to_string(), r#"{"compaction":{"keepTurns":2,"strategy":"hierarchical"}}"#);
        assert_eq!(settings(&some.to_json().to_string()), some);
        let on = settings(r#"{"compaction": false}"#).with_strategy(Strategy::Summarize);
        assert_eq!(settings(&on.to_json().to_string()), on);
    }

    #[test]
    fn a_time_to_live_is_seconds_or_false_for_never() {
        let wide = settings(r#"{"ttl": 60}"#);
        assert_eq!((wide.ttl, settings("{}").over(&wide).ttl), (Some(60), Some(60)));
        assert_eq!(settings(r#"{"ttl": false}"#).over(&wide).ttl, Some(0));
        assert_eq!(settings(r#"{"ttl": 5}"#).over(&wide).ttl, Some(5));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, argument) in [
            (r#"{"pins": []}"#, "options.pins"),
            (r#"{"live": true}"#, "options.live"),
            (r#"{"budgets": {}}"#, "options.budgets"),
            (r#"{"compaction": {"keepTurn": 1}}"#, "options.compaction.keepTurn"),
            (r#"{"summarizer": "magic"}"#, "options.summarizer"),
            (r#"{"models": [{"name": "a"}, {"name": "b", "tokenRatio": 0}]}"#, "options.models[1].tokenRatio"),
            (r#"{"models": [{"maxContextTokens": 9}]}"#, "options.models[0].name"),
            (r#"{"memory": {"facts": -1}}"#, "options.memory.facts"),
            (r#"{"ttl": 0}"#, "options.ttl"),
            (r#"{"ttl": true}"#, "options.ttl"),
            ("[]", "options"),
        ] {
            assert_eq!(ContextSettings::read(text).unwrap_err().argument, argument, "{text}");
        }
        let why = ContextSettings::read(r#"{"polcy": "stable"}"#).unwrap_err().why;
        assert!(
            why.ends_with("memory, tools, render, compaction, summarizer, journal, models, ttl")
                && !why.contains("pins"),
            "{why}"
        );
    }
}
