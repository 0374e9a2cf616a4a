//! Calibration: how far our counts are from what a provider reports, per model.
//!
//! Goes in: for each answered request what we counted and what the provider says that it read. Comes out: a factor. The
//! whole is plain numbers, the same for the same observations in the same order, and can be stored as JSON.

use serde_json::{Map, Value};

use threadkeep_provider::Provider;

/// One in the unit of [`Factor::per_mille`].
const ONE: u64 = 1000;
/// The greatest factor; its inverse is the least. Four characters a token are one for each in Chinese.
const MOST: u64 = 4;
/// Sums are halved above this, so that the newest million tokens or so decide.
const FORGET: u64 = 1_000_000;
/// As if this many tokens had been counted right before, so that one short request does not swing the factor.
const PRIOR: u64 = 200;

/// How much more (or less) than our count a model takes.
///
/// ```
/// use threadkeep_context::tokens::Factor;
/// let mut factor = Factor::default();
/// factor.observe(10_000, 12_000);
/// assert_eq!(factor.per_mille(), 1196);
/// assert_eq!(factor.scale(1000), 1196);
/// assert_eq!(factor.room(1196), 1000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Factor {
    counted: u64,
    reported: u64,
}

impl Factor {
    /// Takes note of a request: what we counted for it, and what the provider reported. Zeros say nothing and are passed
    /// over; a report that is more than 4 times or less than a quarter of the count is taken as just that.
    pub fn observe(&mut self, counted: u32, reported: u32) {
        if counted == 0 || reported == 0 {
            return;
        }
        let counted = u64::from(counted);
        self.counted += counted;
        self.reported += u64::from(reported).clamp(counted.div_ceil(MOST), counted * MOST);
        while self.counted > FORGET {
            self.counted /= 2;
            self.reported /= 2;
        }
    }

    /// The factor in thousandths, from 250 to 4000; 1000 before anything was observed.
    pub fn per_mille(self) -> u32 {
        let factor = ((self.reported + PRIOR) * ONE + (self.counted + PRIOR) / 2) / (self.counted + PRIOR);
        factor.clamp(ONE / MOST, ONE * MOST) as u32
    }

    /// What a count of ours probably is by the model, rounded up.
    pub fn scale(self, counted: u32) -> u32 {
        let scaled = (u64::from(counted) * u64::from(self.per_mille())).div_ceil(ONE);
        u32::try_from(scaled).unwrap_or(u32::MAX)
    }

    /// How much we may count for a budget in the model's tokens, rounded down: what fits, once scaled.
    pub fn room(self, budget: u32) -> u32 {
        let room = u64::from(budget) * ONE / u64::from(self.per_mille());
        u32::try_from(room).unwrap_or(u32::MAX)
    }
}

/// Factors by model name, in the order in which the models were met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Calibration {
    models: Vec<(String, Factor)>,
}

impl Calibration {
    /// The model's factor; that of nothing observed where there is none.
    pub fn factor(&self, model: &str) -> Factor {
        self.models.iter().find(|(name, _)| name == model).map(|(_, factor)| *factor).unwrap_or_default()
    }

    /// Takes note of a request to a model, as [`Factor::observe`] does.
    pub fn observe(&mut self, model: &str, counted: u32, reported: u32) {
        match self.models.iter_mut().find(|(name, _)| name == model) {
            Some((_, factor)) => factor.observe(counted, reported),
            None => {
                let mut factor = Factor::default();
                factor.observe(counted, reported);
                self.models.push((model.to_owned(), factor));
            }
        }
    }

    /// It as JSON: `{"<model>": [counted, reported], …}`.
    pub fn to_json(&self) -> Value {
        let entry = |(model, factor): &(String, Factor)| {
            (model.clone(), Value::Array(vec![factor.counted.into(), factor.reported.into()]))
        };
        Value::Object(self.models.iter().map(entry).collect::<Map<_, _>>())
    }

    /// Reads what [`Calibration::to_json`] gave. What is not of that form is passed over: a factor is learned again.
    pub fn from_json(json: &Value) -> Self {
        let mut read = Self::default();
        for (model, entry) in json.as_object().into_iter().flatten() {
            let number = |at: usize| entry.get(at).and_then(Value::as_u64).filter(|number| *number <= FORGET * MOST);
            if let (Some(counted), Some(reported)) = (number(0), number(1)) {
                read.models.push((model.clone(), Factor { counted, reported }));
            }
        }
        read
    }
}

/// The tokens that a provider says it read for a request, from the `usage` of its answer (Gemini: `usageMetadata`; Ollama:
/// the answer itself); with those that came out of its prompt cache, which Anthropic reports apart.
pub fn reported_input(provider: Provider, usage: &Value) -> Option<u32> {
    let number = |field: &str| usage.get(field).and_then(Value::as_u64);
    let input = match provider {
        Provider::OpenAiChat => number("prompt_tokens"),
        Provider::OpenAiResponses => number("input_tokens"),
        Provider::Anthropic => number("input_tokens").map(|input| {
            let cached =
                ["cache_creation_input_tokens", "cache_read_input_tokens"].map(|field| number(field).unwrap_or(0));
            input.saturating_add(cached[0]).saturating_add(cached[1])
        }),
        Provider::Gemini => number("promptTokenCount"),
        Provider::Ollama => number("prompt_eval_count"),
    };
    u32::try_from(input?).ok()
}
