//! An agent's options, as they are described from outside.

use threadkeep_compaction::PolicyOptions;
use threadkeep_core::read::Off;

use crate::agent::{AgentOptions, TurnLimits};
use crate::compact::CompactOptions;
use crate::protocol::{AgentCall, CompactionParams, ContextParams, LimitsParams};

impl From<&AgentCall> for AgentOptions {
    fn from(call: &AgentCall) -> Self {
        let mut options = Self::new(&call.name);
        let policy = call.context.policy.unwrap_or(options.context.build.policy);
        let memory = options.context.memory.take().filter(|_| call.context.memory.is_none());
        options.context = ContextParams { policy: Some(policy), ..call.context.clone() }.into();
        options.context.memory = options.context.memory.or(memory);
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
            Some(Off::Off) => options.compact = None,
            Some(Off::On(params)) => {
                options.policy = policy_of(params);
                options.compact = Some(CompactOptions {
                    strategy: params.strategy,
                    tail_turns: params.keep_turns,
                    target_tokens: params.target_tokens.map(u64::from),
                    ..CompactOptions::default()
                });
            }
        }
        options.limits = limits(&call.limits);
        options.resume = call.resume;
        options
    }
}

fn policy_of(params: &CompactionParams) -> PolicyOptions {
    PolicyOptions {
        max_context_tokens: params.max_context_tokens.map(u64::from),
        max_output_tokens: params.max_output_tokens.map(u64::from),
        safety_margin: params.safety_margin.map(u64::from),
        compaction_ratio: params.compaction_ratio,
        compaction_threshold: params.compaction_threshold,
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
        let described = options(
            r#"{"name": "lal", "user": "ann", "systemPrompt": "s", "builtIn": ["reply"], "context": {"encoding": "estimate"},
                "compaction": {"maxContextTokens": 9000, "keepTurns": 2}, "limits": {"steps": 3, "tokens": 10, "millis": 20}, "resume": true}"#,
        );
        assert_eq!((described.user.as_str(), described.system_prompt.as_str()), ("ann", "s"));
        assert_eq!((described.built_in, described.resume), (vec!["reply".to_owned()], true));
        assert_eq!(described.policy.max_context_tokens, Some(9000));
        assert_eq!(described.compact.unwrap().tail_turns, Some(2));
        assert_eq!(described.context.build.policy, Policy::Stable);
        assert_eq!((described.limits.steps, described.limits.tokens, described.limits.calls), (3, Some(10), 256));
        assert_eq!(options(r#"{"name": "l", "context": {"policy": "newest"}}"#).context.build.policy, Policy::Newest);
        assert!(options(r#"{"name": "l", "compaction": false}"#).compact.is_none());
        assert!(options(r#"{"name": "l"}"#).compact.is_some());
    }
}
