//! Any model as a summariser. What it is asked and how its answer is read is `threadkeep_compaction::model`'s; here it is
//! asked, part after part, and where that comes to nothing the summariser that needs no model does the work.

use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use threadkeep_compaction::model::{chunks, merge, or_extract, parse, prompt};
use threadkeep_compaction::strategy::{check, tokens};
use threadkeep_compaction::summary::{Material, Summary};
use threadkeep_compaction::{Policy, PolicyOptions, Refused};
use threadkeep_context::tokens::Counter;
use threadkeep_core::Message;

use super::Spent;
use super::summariser::{Answer, Answered, EXTRACTIVE, Sending, Summariser};

/// How many tokens a request may have where nothing is known of the model: what fits a context of 32,000 with its answer.
pub const INPUT_TOKENS: u32 = 24_000;

/// How many tokens a request to the model of this name may have, where nobody says: [`INPUT_TOKENS`], or less for one of
/// [`MODELS`](threadkeep_compaction::policy::MODELS) whose context is smaller.
///
/// ```
/// use threadkeep::compact::{INPUT_TOKENS, input_tokens_of};
/// assert_eq!(input_tokens_of("gpt-4-0613"), 8_192 - 2_048 - 1_000);
/// assert_eq!(input_tokens_of("my-own"), INPUT_TOKENS);
/// ```
pub fn input_tokens_of(model: &str) -> u32 {
    let none = PolicyOptions::default();
    let budget = Policy::resolve(&none, &none, Some(model)).input_budget();
    u32::try_from(budget).unwrap_or(u32::MAX).min(INPUT_TOKENS)
}

/// What a model answers, once it does.
pub type Reply<'a> = Pin<Box<dyn Future<Output = Result<Message, String>> + 'a>>;

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The whole of it: our instructions, and the material.
    pub messages: Vec<Message>,
    /// The material alone, for a model that knows by itself what summarising is: numbered messages, one after the other.
    pub text: String,
    /// About how many words its statements may have together.
    pub words: u32,
    /// Which of the requests for this summary it is, from 0.
    pub part: usize,
    /// How many there are.
    pub parts: usize,
}

/// A model that can be asked, whoever sends the request and waits for the answer.
pub trait Model {
    /// Its name, as checkpoints keep it.
    fn name(&self) -> &str;

    /// The most tokens of a request, as the compaction counts them.
    fn input_tokens(&self) -> u32 {
        input_tokens_of(self.name())
    }

    /// Sends a request. An error is in words.
    fn ask(&self, request: ModelRequest) -> Reply<'_>;

    /// Is over when a request has taken too long; the request is dropped then. `None` for as long as it takes.
    fn time_out(&self) -> Option<Pin<Box<dyn Future<Output = ()> + '_>>> {
        None
    }
}

/// A summariser that asks a model, with a prompt of ours, in as many requests as fit the model.
///
/// An answer may be bare JSON, in a fence, or among words. When a request fails or takes too long, and when an answer is
/// empty, calls tools, or is not smaller than what it was made of, the extractive summariser makes the summary, and a warning says
/// why. [`ModelSummariser::strict`] makes that an error instead.
///
/// ```
/// use std::rc::Rc;
/// use threadkeep::compact::{Model, ModelRequest, ModelSummariser, Reply, Summariser};
/// use threadkeep_core::Message;
///
/// struct Mine;
/// impl Model for Mine {
///     fn name(&self) -> &str {
///         "my-model"
///     }
///     fn ask(&self, request: ModelRequest) -> Reply<'_> {
///         Box::pin(async move {
///             // Here `request.messages` are sent to the model, and its answer is waited for.
///             Ok(Message::assistant(r#"{"statements": ["Tea was ordered."]}"#))
///         })
///     }
/// }
/// let summariser = ModelSummariser::new(Rc::new(Mine));
/// // keep.compact("main", &CompactOptions::default(), &summariser).await?;
/// # assert_eq!(summariser.name(), "my-model");
/// ```
#[derive(Clone)]
pub struct ModelSummariser {
    model: Rc<dyn Model>,
    strict: bool,
}

impl ModelSummariser {
    /// A summariser that asks `model`.
    pub fn new(model: Rc<dyn Model>) -> Self {
        Self { model, strict: false }
    }

    /// The same without falling back: what comes to nothing is an error, and nothing is stored.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// Asks for all parts, and makes one summary of the answers. An error is in words.
    async fn asked(
        &self,
        material: &Material<'_>,
        counter: &dyn Counter,
        spent: &mut Spent,
    ) -> Result<Answered, String> {
        let limit = self.model.input_tokens();
        let chunks = chunks(material, limit, counter);
        if chunks.is_empty() {
            return Err(["there is nothing that a request of ", &limit.to_string(), " tokens could hold"].concat());
        }
        let (mut answers, mut given, mut made): (Vec<Summary>, u64, u64) = (Vec::new(), 0, 0);
        for (part, chunk) in chunks.iter().enumerate() {
            let messages = prompt(chunk);
            let tokens_of = |message: &Message| u64::from(counter.count(&message.text()));
            let input = messages.iter().map(tokens_of).sum();
            spent.add(Spent { calls: 1, input_tokens: input, output_tokens: 0 });
            let (words, text) = (chunk.words, chunk.text.clone());
            let request = ModelRequest { messages, text, words, part, parts: chunks.len() };
            let answer = in_time(self.model.ask(request), self.model.time_out()).await?;
            spent.output_tokens += tokens_of(&answer);
            let summary = parse(&answer, material).map_err(|error| error.to_string())?;
            check(&summary.statements).map_err(|refused| refused.to_string())?;
            given += u64::from(counter.count(&chunk.text));
            made += tokens(&summary.statements, counter);
            answers.push(summary);
        }
        if made >= given {
            return Err(Refused::NotSmaller { before: given, after: made }.to_string());
        }
        let mut answered = Answered::from(merge(answers, material, counter));
        if made > u64::from(material.budget) {
            let over = ["its statements took ", &made.to_string(), " tokens, and ", &material.budget.to_string()];
            let warning = [&over.concat(), " were asked for: those that weigh least were left out or shortened"];
            answered.warnings.push(warning.concat());
        }
        Ok(answered)
    }
}

impl Summariser for ModelSummariser {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn would_send(&self, material: &Material<'_>, counter: &dyn Counter) -> Option<Sending> {
        let chunks = chunks(material, self.model.input_tokens(), counter);
        let requests = chunks.iter().map(prompt);
        let tokens = requests.flatten().map(|message| u64::from(counter.count(&message.text()))).sum();
        let (to, messages) = (self.model.name().to_owned(), material.pieces.len() as u32);
        Some(Sending { to, requests: chunks.len() as u32, messages, tokens })
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        Box::pin(async move {
            let mut spent = Spent::default();
            let asked = self.asked(material, counter, &mut spent).await;
            let mut answered = match asked {
                Ok(answered) => answered,
                Err(why) if self.strict => return Err(why),
                Err(why) => {
                    let (summary, warning) = or_extract(Err(&why), material, counter);
                    let warnings = warning.into_iter().collect();
                    Answered { summary, warnings, by: Some(EXTRACTIVE), spent: None }
                }
            };
            answered.spent = Some(spent);
            Ok(answered)
        })
    }
}

/// What comes first: the reply, or the end of the time.
async fn in_time(
    mut reply: Reply<'_>,
    limit: Option<Pin<Box<dyn Future<Output = ()> + '_>>>,
) -> Result<Message, String> {
    let Some(mut limit) = limit else { return reply.await };
    std::future::poll_fn(|context| match reply.as_mut().poll(context) {
        Poll::Pending => limit.as_mut().poll(context).map(|()| Err("the model took too long".to_owned())),
        answer => answer,
    })
    .await
}
