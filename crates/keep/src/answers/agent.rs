//! An agent's options, as they are described from outside.

use threadkeep_core::read::Off;

use crate::agent::{AgentOptions, TurnLimits};
use crate::compact::CompactOptions;
use crate::protocol::{AgentCall, CompactionParams, LimitsParams};
use crate::settings::figures;

impl From<&AgentCall> for AgentOptions {
    fn from(call: &AgentCall) -> Self {
        let mut options = Self::new(&call.name);
        options.context.clone_from(&call.context);
        options.remember_from.clone_from(&call.remember_from);
        if let Some(user) = &call.user {
            options.user.clone_from(user);
        }
        if let Some(prompt) = &call.system_prompt {
            options.system_prompt.clone_from(prompt);
        }
        if let Some(names) = &call.built_in {
            options.built_in.clone_from(names);
        }
        match &call.compaction {
            None => {}
            Some(Off::Off) => options.compact = Some(Off::Off),
            Some(Off::On(params)) => {
                options.policy = figures(params);
                // The sizes of a model say nothing of whether its histories are compacted.
                let sizes = CompactionParams {
                    max_context_tokens: params.max_context_tokens,
                    max_output_tokens: params.max_output_tokens,
                    safety_margin: params.safety_margin,
                    ..CompactionParams::default()
                };
                let asked = *params != sizes;
                options.compact = asked.then(|| Off::On(CompactOptions::default().over(Some(params))));
            }
        }
        options.limits = limits(&call.limits);
        options.spending.clone_from(&call.spending_limit);
        options.resume = call.resume;
        options.collect_after = call.collect_after;
        options
    }
}

fn limits(params: &LimitsParams) -> TurnLimits {
    let other = TurnLimits::default();
    let count = |asked: Option<u32>, other| asked.map_or(other, |count| count as usize);
    TurnLimits {
        steps: count(params.steps, other.steps),
        tokens: params.tokens.map(u64::from),
        millis: params.millis.map(u64::from),
        calls: count(params.calls, other.calls),
        argument_bytes: count(params.argument_bytes, other.argument_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_context::Policy;

    #[test]
    fn an_agents_options_are_those_of_its_description() {
        let options = |text| AgentOptions::from(&AgentCall::read(text).unwrap());
        let on = |compact| if let Some(Off::On(compact)) = compact { compact } else { panic!("it is off") };
        let described = options(
            r#"{"name": "lal", "user": "ann", "systemPrompt": "s", "builtIn": ["reply"], "context": {"encoding": "estimate"},
                "compaction": {"maxContextTokens": 9000, "keepTurns": 2}, "limits": {"steps": 3, "tokens": 10, "millis": 20}, "resume": true}"#,
        );
        assert_eq!((described.user.as_str(), described.system_prompt.as_str()), ("ann", "s"));
        assert_eq!((described.built_in, described.resume), (vec!["reply".to_owned()], true));
        assert_eq!(described.policy.max_context_tokens, Some(9000));
        assert_eq!(on(described.compact).tail_turns, Some(2));
        assert_eq!((described.limits.steps, described.limits.tokens, described.limits.calls), (3, Some(10), 256));
        assert_eq!(options(r#"{"name": "l", "context": {"policy": "newest"}}"#).context.policy, Some(Policy::Newest));
        assert!(
            options(r#"{"name": "l", "compaction": false}"#).compact.is_some_and(|compact| matches!(compact, Off::Off))
        );
        assert!(options(r#"{"name": "l"}"#).compact.is_none());
        assert!(options(r#"{"name": "l", "compaction": {"maxContextTokens": 9}}"#).compact.is_none());
    }
}
