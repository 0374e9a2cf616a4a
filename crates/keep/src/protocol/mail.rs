//! What can be asked of mailboxes, and how an agent is described. Goes in: a method's name and the JSON text of its parameters. Comes
//! out: requests, and plain JSON as answers; of an agent its options, the model's name and the tools, whose functions stay outside.

use serde_json::{Map, Value};
use threadkeep_compaction::PolicyOptions;
use threadkeep_compaction::memory::Share;
use threadkeep_provider::{Provider, ToolSchema};
use threadkeep_store::Store;

use super::compact::strategy;
use super::request::{Checked, Params, bad, flag};
use super::{BadRequest, ContextOptions};
use crate::agent::{AgentOptions, BUILT_IN};
use crate::compact::CompactOptions;
use crate::mailbox::{Body, Mail, MailFilter, Outgoing};
use crate::{Keep, KeepError};

/// One request about mailboxes. `party` is a name: a user's, an agent's.
#[derive(Debug, Clone, PartialEq)]
pub enum MailRequest {
    /// Sends a message: `send({from, to, strings, edgeNames?, petNames?, replyTo?, messageId?})`. → the message
    Send(Box<Outgoing>),
    /// Answers one: `reply({party, number, strings, edgeNames?, petNames?})`. → the message that was sent
    Reply(String, u64, Body),
    /// Lists them: `listMessages({party, after?, limit?, dismissed?})`. → messages
    List(String, MailFilter),
    /// One of them: `mail({party, number})`. → the message, or null
    Mail(String, u64),
    /// Marks one as done with: `dismiss({party, number})`. → the message
    Dismiss(String, u64),
    /// Everybody who has a mailbox: `parties()`. → names
    Parties,
    /// Deletes transcripts of which all messages are dismissed: `collectDismissed({party})`. → how many
    Collect(String),
}

impl MailRequest {
    /// The methods that are read here.
    pub const METHODS: [&str; 7] = ["send", "reply", "listMessages", "mail", "dismiss", "parties", "collectDismissed"];

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep::protocol::MailRequest;
    /// assert!(MailRequest::read("send", r#"{"from": "ann", "to": "lal", "strings": ["hi"]}"#).is_ok());
    /// assert_eq!(MailRequest::read("dismiss", r#"{"party": "ann"}"#).unwrap_err().argument, "number");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        let mut params = Params::read(params)?;
        let request = match method {
            "send" => Self::Send(Box::new(Outgoing {
                from: params.text("from")?,
                to: params.text("to")?,
                body: body(&mut params)?,
                reply_to: params.maybe_id("replyTo")?,
                message_id: params.maybe_id("messageId")?,
                node: None,
                is_error: false,
            })),
            "reply" => Self::Reply(params.text("party")?, number(&mut params)?, body(&mut params)?),
            "listMessages" => {
                let filter = MailFilter {
                    after: params.maybe_count("after")?.map(u64::from).unwrap_or_default(),
                    limit: params.maybe_count("limit")?.map(|limit| limit as usize),
                    dismissed: flag(&mut params, "dismissed")?.unwrap_or_default(),
                };
                Self::List(params.text("party")?, filter)
            }
            "mail" => Self::Mail(params.text("party")?, number(&mut params)?),
            "dismiss" => Self::Dismiss(params.text("party")?, number(&mut params)?),
            "parties" => Self::Parties,
            "collectDismissed" => Self::Collect(params.text("party")?),
            _ => return bad("method", format!("{method:?} is not known")),
        };
        params.nothing_left()?;
        Ok(request)
    }
}

fn number(params: &mut Params) -> Checked<u64> {
    params.count("number").map(u64::from)
}

fn body(params: &mut Params) -> Checked<Body> {
    let mut body = Body { strings: texts(params, "strings")?, ..Body::default() };
    body.edge_names = texts(params, "edgeNames")?;
    body.pet_names = texts(params, "petNames")?;
    Ok(body)
}

fn texts(params: &mut Params, name: &str) -> Checked<Vec<String>> {
    let list = match params.take(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return bad(name, "must be a list of strings"),
    };
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        _ => bad(name, "must be a list of strings"),
    };
    list.into_iter().map(text).collect()
}

impl<S: Store> Keep<S> {
    /// Answers one request about mailboxes. A response to a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn mailing(&self, request: MailRequest) -> Result<Value, KeepError> {
        Ok(match request {
            MailRequest::Send(mail) => self.send(*mail).await?.to_json(),
            MailRequest::Reply(party, number, body) => self.reply(&party, number, body).await?.to_json(),
            MailRequest::List(party, filter) => {
                self.list_messages(&party, &filter).await?.iter().map(Mail::to_json).collect()
            }
            MailRequest::Mail(party, number) => self.mail(&party, number).await?.as_ref().map(Mail::to_json).into(),
            MailRequest::Dismiss(party, number) => self.dismiss(&party, number).await?.to_json(),
            MailRequest::Parties => self.parties().await?.into(),
            MailRequest::Collect(party) => self.collect_dismissed(&party).await?.into(),
        })
    }
}

/// An agent as it is described from outside.
#[derive(Debug, Clone)]
pub struct AgentCall {
    /// How it works.
    pub options: AgentOptions,
    /// The name of its model, and the form in which that wants its prompts; empty where a connection says both.
    pub model: (String, Provider),
    /// The tools of its host.
    pub tools: Vec<ToolSchema>,
    /// The names of those that may be called again after a crash.
    pub repeatable: Vec<String>,
}

impl AgentCall {
    /// Reads `{name, user?, systemPrompt?, builtIn?, model?: {name?, provider?}, tools?: [{name, description?, parameters?,
    /// repeatable?}], context?, compaction?: false | {maxContextTokens?, maxOutputTokens?, safetyMargin?, compactionRatio?,
    /// compactionThreshold?, keepTurns?, targetTokens?, strategy?}, limits?: {steps?, tokens?, millis?, calls?, argumentBytes?}, resume?}`. `context` has the options of
    /// [`ContextOptions::from_json`].
    ///
    /// ```
    /// use threadkeep::protocol::AgentCall;
    /// let call = AgentCall::read(r#"{"name": "lal", "builtIn": ["searchMemory"], "limits": {"steps": 5}}"#)?;
    /// assert_eq!(call.options.limits.steps, 5);
    /// assert_eq!(AgentCall::read(r#"{"name": "lal", "builtIn": ["fly"]}"#).unwrap_err().argument, "builtIn");
    /// # Ok::<(), threadkeep::protocol::BadRequest>(())
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn read(params: &str) -> Result<Self, BadRequest> {
        Self::of(Params::read(params)?)
    }

    /// The same of an object.
    ///
    /// # Errors
    /// As [`AgentCall::read`].
    pub fn from_json(map: Map<String, Value>) -> Result<Self, BadRequest> {
        Self::of(Params::of(map))
    }

    fn of(mut params: Params) -> Result<Self, BadRequest> {
        let mut options = AgentOptions::new(params.text("name")?);
        if options.name.is_empty() {
            return bad("name", "must not be empty");
        }
        if let Some(user) = params.maybe_text("user")? {
            options.user = user;
        }
        if let Some(prompt) = params.maybe_text("systemPrompt")? {
            options.system_prompt = prompt;
        }
        if params.0.contains_key("builtIn") {
            options.built_in = texts(&mut params, "builtIn")?;
            if let Some(unknown) = options.built_in.iter().find(|name| !BUILT_IN.contains(&name.as_str())) {
                return bad("builtIn", format!("knows no {unknown:?}; there are: {}", BUILT_IN.join(", ")));
            }
        }
        let policy = options.context.build.policy;
        if let Some(context) = params.take("context") {
            options.context = ContextOptions::from_json(&context)?;
            if context.get("policy").is_none_or(Value::is_null) {
                options.context.build.policy = policy;
            }
        }
        match params.take("compaction") {
            None => {}
            Some(Value::Bool(false)) => options.compact = None,
            Some(Value::Object(map)) => compaction(Params::of(map), &mut options)?,
            Some(_) => return bad("compaction", "must be false or an object"),
        }
        if let Some(limits) = params.take("limits") {
            let Value::Object(map) = limits else { return bad("limits", "must be an object") };
            let mut fields = Params::of(map);
            if let Some(steps) = fields.maybe_count("steps")? {
                options.limits.steps = steps as usize;
            }
            if let Some(calls) = fields.maybe_count("calls")? {
                options.limits.calls = calls as usize;
            }
            if let Some(bytes) = fields.maybe_count("argumentBytes")? {
                options.limits.argument_bytes = bytes as usize;
            }
            options.limits.tokens = fields.maybe_count("tokens")?.map(u64::from);
            options.limits.millis = fields.maybe_count("millis")?.map(u64::from);
            fields.nothing_left()?;
        }
        let model = match params.take("model") {
            None => (String::new(), Provider::default()),
            Some(Value::Object(map)) => {
                let mut fields = Params::of(map);
                let name = fields.maybe_text("name")?.unwrap_or_default();
                let provider = match fields.maybe_text("provider")? {
                    None => Provider::default(),
                    Some(name) => match Provider::from_name(&name) {
                        Some(provider) => provider,
                        None => {
                            return bad(
                                "provider",
                                "must be openai-chat, openai-responses, anthropic, gemini or ollama",
                            );
                        }
                    },
                };
                fields.nothing_left()?;
                (name, provider)
            }
            Some(_) => return bad("model", "must be an object"),
        };
        options.resume = flag(&mut params, "resume")?.unwrap_or_default();
        let (tools, repeatable) = tools(params.take("tools"))?;
        params.nothing_left()?;
        Ok(Self { options, model, tools, repeatable })
    }
}

fn compaction(mut params: Params, options: &mut AgentOptions) -> Checked<()> {
    let mut tokens = |name| params.maybe_count(name).map(|count| count.map(u64::from));
    options.policy = PolicyOptions {
        max_context_tokens: tokens("maxContextTokens")?,
        max_output_tokens: tokens("maxOutputTokens")?,
        safety_margin: tokens("safetyMargin")?,
        compaction_ratio: None,
        compaction_threshold: None,
    };
    let target_tokens = tokens("targetTokens")?;
    options.policy.compaction_threshold = params.maybe_count("compactionThreshold")?;
    if let Some(ratio) = params.take("compactionRatio") {
        options.policy.compaction_ratio = Share::read(&ratio);
        if options.policy.compaction_ratio.is_none() {
            return bad("compactionRatio", "must be a number from 0 to 1");
        }
    }
    options.compact = Some(CompactOptions {
        strategy: strategy(&mut params)?,
        tail_turns: params.maybe_count("keepTurns")?,
        target_tokens,
        ..CompactOptions::default()
    });
    params.nothing_left()
}

fn tools(list: Option<Value>) -> Checked<(Vec<ToolSchema>, Vec<String>)> {
    let list = match list {
        None => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => return bad("tools", "must be a list"),
    };
    let (mut tools, mut repeatable): (Vec<ToolSchema>, Vec<String>) = (Vec::new(), Vec::new());
    for (at, mut value) in list.into_iter().enumerate() {
        let again = value.as_object_mut().and_then(|map| map.shift_remove("repeatable"));
        let tool = match ToolSchema::from_json(&value, at) {
            Ok(tool) => tool,
            Err(error) => return bad(format!("tools[{at}]"), format!("is wrong: {error}")),
        };
        if BUILT_IN.contains(&tool.name.as_str()) || tools.iter().any(|other| other.name == tool.name) {
            return bad(format!("tools[{at}]"), format!("there is a tool {:?} already", tool.name));
        }
        if again == Some(Value::Bool(true)) {
            repeatable.push(tool.name.clone());
        }
        tools.push(tool);
    }
    Ok((tools, repeatable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_read_and_what_is_wrong_is_named() {
        let call = AgentCall::read(
            r#"{"name": "lal", "user": "ann", "systemPrompt": "s", "model": {"name": "m", "provider": "anthropic"},
                "tools": [{"name": "t", "repeatable": true}, {"name": "u", "parameters": {}}],
                "context": {"encoding": "estimate"}, "compaction": {"maxContextTokens": 9000, "keepTurns": 2},
                "limits": {"steps": 3, "tokens": 10, "millis": 20}}"#,
        );
        let call = call.unwrap();
        assert_eq!(call.model, ("m".to_owned(), Provider::Anthropic));
        assert_eq!((call.tools.len(), call.repeatable), (2, vec!["t".to_owned()]));
        assert_eq!(call.options.policy.max_context_tokens, Some(9000));
        assert_eq!(call.options.compact.unwrap().tail_turns, Some(2));
        assert_eq!(call.options.context.build.policy, threadkeep_context::Policy::Stable);
        assert!(AgentCall::read(r#"{"name": "l", "compaction": false}"#).unwrap().options.compact.is_none());
        for (params, argument) in [
            ("{}", "name"),
            (r#"{"name": ""}"#, "name"),
            (r#"{"name": "l", "tools": [{"name": "reply"}]}"#, "tools[0]"),
            (r#"{"name": "l", "tools": [{"name": "a"}, {"name": "a"}]}"#, "tools[1]"),
            (r#"{"name": "l", "limits": {"step": 1}}"#, "step"),
            (r#"{"name": "l", "context": {"budget": {"tokens": 1}}}"#, "options.budget.tokens"),
            (r#"{"name": "l", "model": {"provider": "p"}}"#, "provider"),
            (r#"{"name": "l", "x": 1}"#, "x"),
        ] {
            assert_eq!(AgentCall::read(params).unwrap_err().argument, argument, "{params}");
        }
    }
}
