//! What-ifs about a chain: the smallest budget for a node, how the chain goes on, both policies side by side, and two branches.

use std::collections::HashMap;

use threadkeep_compaction::{Policy as Compacting, PolicyOptions};
use threadkeep_context::{Action, Policy};
use threadkeep_core::read::Off;
use threadkeep_core::{Message, MessageId, Role, sort};
use threadkeep_store::Store;

use crate::json::to_json;
use crate::protocol::{
    BranchComparison, ContextOptions, ContextParams, FitReply, Forecast, MessageDifference, PolicySide, WhatIf,
};
use crate::settings::wider_figures;
use crate::{Keep, KeepError};

/// Beyond so many turns a forecast does not look.
const FAR: u64 = 100_000;

/// A message of a chain: its node and its role.
type Stop = (MessageId, Role);

impl<S: Store> Keep<S> {
    /// The smallest `maxTokens` at which all messages of a node are in the chain's prompt, and the prompt is not over its budget. `None` if
    /// no budget in tokens brings them in.
    ///
    /// # Errors
    /// `missing-node` if the node is not on the chain; as [`Keep::context`].
    pub async fn smallest_budget(
        &self,
        at: &str,
        node: &MessageId,
        options: ContextParams,
    ) -> Result<Option<u64>, KeepError> {
        let settings = self.context_options(Some(at)).await?;
        let options = ContextOptions::from(settings.under(options));
        let (_, own) = self.place(node.as_str()).await?;
        let stops = self.stops(at).await?;
        let (mut smallest, mut found) = (Some(0), false);
        for index in (0..stops.len()).filter(|index| stops[*index].0 == own) {
            found = true;
            let what_if = WhatIf { survives: Some(index), ..WhatIf::default() };
            let least = self.fit(at, &options, what_if).await?.smallest_budget;
            smallest = smallest.zip(least).map(|(one, other): (u64, u64)| one.max(other));
        }
        // Budgets are in tokens of the model.
        let known = settings.model(options.render.model.as_deref());
        let smallest = smallest.map(|least| known.map_or(least, |known| known.scale(least)));
        if found { Ok(smallest) } else { Err(KeepError::MissingNode(node.clone())) }
    }

    /// How the chain goes on at its own pace: what falls out next, and after how many turns messages fall out or a compaction is due. When
    /// it is due, the settings of the chain and the table of models say.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn forecast(&self, at: &str, options: ContextParams) -> Result<Forecast, KeepError> {
        let settings = self.context_options(Some(at)).await?;
        let options = ContextOptions::from(settings.under(options));
        let stops = self.stops(at).await?;
        let now = self.fit(at, &options, WhatIf { costs: true, ..WhatIf::default() }).await?;
        let (pace, messages) = pace(&stops, &now.costs);
        let then = self.fit(at, &options, WhatIf { more: Some(pace), ..WhatIf::default() }).await?;
        let tokens = now.whole.tokens.saturating_add(now.frame);
        let left = now.limits.tokens.filter(|_| pace > 0).map(|most| most.saturating_sub(tokens) / pace);
        let model = options.render.model.as_deref();
        let policy = (settings.compaction != Some(Off::Off))
            .then(|| Compacting::resolve(&PolicyOptions::default(), &wider_figures(&settings, model), model));
        let covered = |run: &&crate::protocol::MarkRun| run.action == Action::Summarised;
        let covered: usize = now.runs.iter().filter(covered).map(|run| run.count as usize).sum();
        let raw = (now.length.saturating_sub(covered)) as u64;
        let is_due = |policy: &Compacting, turns: u64| {
            let messages = u32::try_from(raw + turns * messages).unwrap_or(u32::MAX);
            let tokens = tokens.saturating_add(turns.saturating_mul(pace));
            let tokens = settings.model(model).map_or(tokens, |known| known.scale(tokens));
            policy.reason(Some(tokens), messages).is_some()
        };
        let due = policy.and_then(|policy| (0..FAR).find(|turns| is_due(&policy, *turns)));
        Ok(Forecast {
            tokens_per_turn: pace,
            tokens,
            next_out: nodes(&stops, then.pushed_out.into_iter()),
            turns_that_fit: left,
            turns_until_compaction: due.filter(|turns| pace > 0 || *turns == 0),
        })
    }

    /// What both policies keep of a chain under the same options, `stable` first.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn compare_policies(&self, at: &str, options: ContextParams) -> Result<Vec<PolicySide>, KeepError> {
        let mut options = self.options_at(at, options).await?;
        let stops = self.stops(at).await?;
        let mut replies = Vec::new();
        for policy in [Policy::Stable, Policy::Newest] {
            options.build.policy = policy;
            replies.push((policy, self.fit(at, &options, WhatIf::default()).await?));
        }
        let kept: Vec<Vec<bool>> = replies.iter().map(|(_, reply)| kept(reply)).collect();
        let side = |place: usize, (policy, reply): (Policy, FitReply)| {
            let (own, other) = (&kept[place], &kept[1 - place]);
            let only = (0..own.len()).filter(|at| own[*at] && !other[*at]);
            let count = own.iter().filter(|kept| **kept).count();
            PolicySide {
                policy,
                tokens: reply.figures.tokens,
                kept: count,
                dropped: own.len() - count,
                only_here: nodes(&stops, only),
                shared_tokens: reply.shared,
                over_budget: reply.over_budget,
            }
        };
        Ok(replies.into_iter().enumerate().map(|(place, reply)| side(place, reply)).collect())
    }

    /// How two chains differ, of one transcript or of two: their messages and their prompts. Both prompts have the options of the first
    /// chain.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn compare_branches(
        &self,
        at: &str,
        other: &str,
        options: ContextParams,
    ) -> Result<BranchComparison, KeepError> {
        let options = self.options_at(at, options).await?;
        let (here, there) = (self.messages_at(at).await?, self.messages_at(other).await?);
        let (first, second) = (self.context(at, &options).await?, self.context(other, &options).await?);
        Ok(BranchComparison {
            messages: difference(here, there)?,
            prompts: difference(first.messages, second.messages)?,
            tokens_here: first.figures.tokens,
            tokens_there: second.figures.tokens,
        })
    }

    /// The messages of a chain by node and role.
    async fn stops(&self, at: &str) -> Result<Vec<Stop>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let stops = self.glance(&transcript, |log| {
            let chain = log.tree.chain(&leaf)?;
            let of =
                chain.iter().flat_map(|it| it.node.messages.iter().map(|said| (it.node.id.clone(), said.role.clone())));
            Ok(of.collect())
        });
        stops.await
    }

    async fn messages_at(&self, at: &str) -> Result<Vec<Message>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        self.glance(&transcript, |log| Ok(log.tree.messages(&leaf)?.into_iter().cloned().collect())).await
    }
}

/// The medians of the tokens and of the messages of the turns that are finished: those that another turn or an answer ends.
fn pace(stops: &[Stop], costs: &[u32]) -> (u64, u64) {
    let (mut turns, mut open): (Vec<(u64, u64)>, bool) = (Vec::new(), false);
    for (at, (_, role)) in stops.iter().enumerate() {
        let follows = at > 0 && stops[at - 1].1 == Role::User;
        if *role == Role::User && !follows {
            turns.push((0, 0));
        }
        open = *role != Role::Assistant;
        if let Some((tokens, messages)) = turns.last_mut() {
            *tokens += u64::from(costs.get(at).copied().unwrap_or(0));
            *messages += 1;
        }
    }
    if open {
        turns.pop();
    }
    // Turns that a checkpoint covers cost nothing.
    turns.retain(|turn| turn.0 > 0);
    let middle = |mut all: Vec<u64>| {
        sort::sort(&mut all);
        all.get(all.len() / 2).copied().unwrap_or(0)
    };
    (middle(turns.iter().map(|turn| turn.0).collect()), middle(turns.iter().map(|turn| turn.1).collect()))
}

/// The nodes of messages, each once.
fn nodes(stops: &[Stop], places: impl Iterator<Item = usize>) -> Vec<MessageId> {
    let mut nodes: Vec<MessageId> = places.filter_map(|at| Some(stops.get(at)?.0.clone())).collect();
    nodes.dedup();
    nodes
}

/// Whether each message of the chain is in the prompt.
fn kept(reply: &FitReply) -> Vec<bool> {
    reply.runs.iter().flat_map(|run| std::iter::repeat_n(run.kept, run.count as usize)).collect()
}

/// How two lists differ. A message that stands in both, at whatever place, is shared as often as both have it.
fn difference(here: Vec<Message>, there: Vec<Message>) -> Result<MessageDifference, KeepError> {
    let begin_alike = here.iter().zip(&there).take_while(|(one, other)| one == other).count();
    let keys: Vec<Vec<u8>> = there.iter().map(to_json).collect::<Result<_, _>>()?;
    let mut left: HashMap<&[u8], usize> = HashMap::new();
    for key in &keys {
        *left.entry(key).or_default() += 1;
    }
    let mut shared: HashMap<Vec<u8>, usize> = HashMap::new();
    let (mut only_here, mut only_there, mut count) = (Vec::new(), Vec::new(), 0);
    for message in here {
        let key = to_json(&message)?;
        match left.get_mut(key.as_slice()).filter(|left| **left > 0) {
            Some(left) => {
                *left -= 1;
                count += 1;
                *shared.entry(key).or_default() += 1;
            }
            None => only_here.push(message),
        }
    }
    for (message, key) in there.into_iter().zip(&keys) {
        match shared.get_mut(key).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => only_there.push(message),
        }
    }
    Ok(MessageDifference { begin_alike, shared: count, only_here, only_there })
}
