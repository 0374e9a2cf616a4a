//! The variants of a simulation: every combination of what is tried, and what each takes beyond the first.

use threadkeep_core::read::{Off, bad};
use threadkeep_provider::{CacheRule, PRICES_OF, Price, Usage};
use threadkeep_store::Store;

use crate::protocol::{
    ContextOptions, ContextParams, Cost, SimulateParams, SimulatedCache, SimulatedDifference, SimulatedRequest,
    SimulatedVariant, Simulations,
};
use crate::{Keep, KeepError, Points, Simulated, Simulation};

/// The most variants.
const MOST: usize = 64;

/// What one variant is.
struct Variant {
    params: ContextParams,
    points: Points,
    keep_turns: Option<u32>,
}

impl<S: Store> Keep<S> {
    /// Replays a chain in each combination of policies, budgets, models and compactions. Nothing is stored or sent. The cache's rule is that
    /// of the variant's provider for its model.
    ///
    /// # Errors
    /// `bad-request` for an empty list, and for more than 64 variants; as [`Keep::context`].
    pub async fn simulations(&self, at: &str, params: SimulateParams) -> Result<Simulations, KeepError> {
        let settings = self.context_options(Some(at)).await?;
        let prices = params.prices.clone().unwrap_or_default();
        let (cache, beside, each) = (params.cache, params.beside.unwrap_or(0), params.each);
        let mut made: Vec<SimulatedVariant> = Vec::new();
        for Variant { params, points, keep_turns } in variants(params, settings.context.clone())? {
            let options = ContextOptions::from(settings.sized(params.clone()));
            let (provider, model) = (options.build.provider, params.model.unwrap_or_default());
            let (policy, budget) = (options.build.policy, params.budget.unwrap_or_default());
            let hour = matches!(cache, Some(Off::On(SimulatedCache { hour: Some(true), .. })));
            let cache = match cache {
                Some(Off::Off) => None,
                Some(Off::On(own)) => CacheRule::of(provider, &model, hour).map(|rule| CacheRule {
                    millis: own.minutes.map_or(rule.millis, |minutes| i64::from(minutes) * 60_000),
                    least: own.least_tokens.unwrap_or(rule.least),
                }),
                None => CacheRule::of(provider, &model, false),
            };
            let mut all = self.simulate(at, &Simulation { options, cache, beside, points, keep_turns }).await?;
            if hour {
                all.iter_mut().for_each(|it| it.usage.cache_hour_tokens = it.usage.cache_write_tokens);
            }
            let price = Price::among(&prices, &model);
            let cost = sum(&all, price.as_ref());
            made.push(SimulatedVariant {
                policy,
                budget,
                provider,
                model,
                compact_above: match points {
                    Points::Stored => None,
                    Points::Never => Some(0),
                    Points::Above(most) => Some(most),
                },
                over_budget: all.iter().filter(|it| it.over_budget).count() as u32,
                compactions: all.iter().filter(|it| it.compacted).count() as u32,
                beyond_first: beyond(&cost, made.first().map_or(&cost, |first| &first.cost)),
                each: each.then(|| all.into_iter().map(|it| request(it, price.as_ref())).collect()),
                cost,
            });
        }
        Ok(Simulations { variants: made, prices_of: PRICES_OF })
    }
}

/// All combinations, over the settings of the chain.
fn variants(params: SimulateParams, settings: ContextParams) -> Result<Vec<Variant>, KeepError> {
    let base = params.context.over(settings);
    let policies = tried(params.policies, "policies")?;
    let budgets = tried(params.budgets, "budgets")?;
    let models = tried(params.models, "models")?;
    let points = tried(params.compaction, "compaction")?;
    let count = policies.len().saturating_mul(budgets.len()).saturating_mul(models.len()).saturating_mul(points.len());
    if count > MOST {
        bad("options", format!("makes {count} variants; {MOST} are the most"))?;
    }
    let mut all = Vec::with_capacity(count);
    for policy in &policies {
        for budget in &budgets {
            for model in &models {
                for point in &points {
                    let mut params = base.clone();
                    params.policy = policy.or(params.policy);
                    params.budget = budget.or(params.budget);
                    if let Some(model) = model {
                        params.provider = Some(model.provider);
                        params.model = Some(model.model.clone());
                    }
                    let (points, keep_turns) = match point {
                        None => (Points::Stored, None),
                        Some(Off::Off) => (Points::Never, None),
                        Some(Off::On(on)) => (Points::Above(on.above_tokens), on.keep_turns),
                    };
                    all.push(Variant { params, points, keep_turns });
                }
            }
        }
    }
    Ok(all)
}

/// What a list tries; without one, what the thread has.
fn tried<T>(list: Option<Vec<T>>, name: &str) -> Result<Vec<Option<T>>, KeepError> {
    match list {
        None => Ok(vec![None]),
        Some(list) if list.is_empty() => Ok(bad(["options.", name].concat(), "must not be an empty list")?),
        Some(list) => Ok(list.into_iter().map(Some).collect()),
    }
}

fn sum(all: &[Simulated], price: Option<&Price>) -> Cost {
    let mut cost = Cost::default();
    for it in all {
        cost.requests += 1;
        cost.unpriced += u32::from(price.is_none());
        cost.usage = cost.usage.plus(it.usage);
        cost.dollars += price.map_or(0.0, |price| price.cost(&it.usage));
    }
    cost
}

fn beyond(cost: &Cost, first: &Cost) -> SimulatedDifference {
    let more = |of: fn(&Usage) -> u64| of(&cost.usage).cast_signed() - of(&first.usage).cast_signed();
    let known = cost.unpriced == 0 && first.unpriced == 0;
    SimulatedDifference {
        prompt_tokens: more(|usage| usage.prompt_tokens),
        cached_tokens: more(|usage| usage.cached_tokens.unwrap_or(0)),
        cache_write_tokens: more(|usage| usage.cache_write_tokens.unwrap_or(0)),
        dollars: known.then_some(cost.dollars - first.dollars),
    }
}

fn request(it: Simulated, price: Option<&Price>) -> SimulatedRequest {
    SimulatedRequest {
        cost: price.map(|price| price.cost(&it.usage)),
        node: it.node,
        messages: it.messages,
        at: it.at,
        usage: it.usage,
        compacted: it.compacted,
        over_budget: it.over_budget,
    }
}
