//! Faults: everything that can go wrong with a request, as a stable word and as words that a person can act on.
//!
//! | code | what happened |
//! |---|---|
//! | `unreachable` | nobody answers at the address |
//! | `blocked` | the browser does not let the page ask (CORS, mixed content) |
//! | `unauthorized` | the key is missing, wrong, or may not do this |
//! | `not-found` | no such model or path |
//! | `refused` | the provider does not accept the request, does not answer it, or sends it elsewhere |
//! | `too-long` | the prompt does not fit the model |
//! | `rate-limited` | too many requests; passes unless the account is used up |
//! | `overloaded` | the provider has no room; passes |
//! | `failed` | an error of the provider's; passes for 5xx |
//! | `bad-answer` | what came is no answer |
//! | `cut-off` | the answer broke off |
//! | `stalled` | nothing was heard for too long, or the answer did not end in time |

use serde_json::Value;

use super::super::json::{list, string};
use super::connection::Connection;
use super::preset::Preset;
use super::request::plain;
use super::retry;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable word of the module's table.
    pub code: &'static str,
    /// What happened and what can be done about it.
    pub message: String,
    /// Whether it may go well when it is tried again.
    pub passes: bool,
    /// How long the server asked to wait, in milliseconds.
    pub wait: Option<u64>,
}

/// What providers say when a prompt is too long, in small letters.
const TOO_LONG: [&str; 18] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "exceed_context_size",
    "model_context_window_exceeded",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "too many tokens",
    "maximum number of tokens",
    "maximum prompt length",
    "input token count",
    "token limit",
    "request_too_large",
    "max_model_len",
    "larger context",
];

impl Fault {
    /// A fault that does not pass.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), passes: false, wait: None }
    }

    /// The request got no answer at all: `why`, as the platform says it. `page` is the origin of the page that asked, if it was
    /// a page; `reached` whether the server answers at all, where that was looked at.
    pub fn unsent(connection: &Connection, page: Option<&str>, reached: Option<bool>, why: &str) -> Self {
        let (label, origin) = (connection.label(), connection.origin());
        let (who, origin) = (label.as_str(), origin.as_str());
        let local = connection.is_local();
        let Some(page) = page else {
            let why = if why.is_empty() { String::new() } else { [" (", why, ")"].concat() };
            let message = [who, " cannot be reached at ", origin, &why, ". ", running(connection)].concat();
            return Self { passes: !local, ..Self::new("unreachable", connection.scrubbed(message)) };
        };
        if page.starts_with("https://") && origin.starts_with("http://") && !local {
            let message = [
                "The browser does not let this page call ",
                origin,
                ": the page came over https, and that address is plain http on \
                 another machine. Give the server https (a reverse proxy or a tunnel), or run it on this machine and use \
                 http://localhost.",
            ];
            return Self::new("blocked", message.concat());
        }
        let help = Preset::of(connection).browser_help(page);
        let help = if help.is_empty() {
            Preset::named("custom").map_or("", |p| p.browser).replace("{origin}", page)
        } else {
            help
        };
        // Chrome asks before a page may call this machine or the local network.
        let ask = if page.contains("://localhost") || page.contains("://127.") {
            ""
        } else {
            " If the browser asked whether this page may reach devices on the local network, that must be allowed (site settings)."
        };
        match reached {
            Some(true) => {
                let words = [who, " runs, but does not let this page (", page, ") read its answers (CORS). ", &help];
                Self::new("blocked", words.concat())
            }
            Some(false) => {
                let words =
                    [who, " cannot be reached at ", origin, ". ", running(connection), if local { ask } else { "" }];
                Self { passes: !local, ..Self::new("unreachable", words.concat()) }
            }
            None => {
                let words = [
                    who,
                    " gave no answer at ",
                    origin,
                    ": it cannot be reached, or it does not let this page read its answers \
                     (CORS). ",
                    running(connection),
                    " ",
                    &help,
                    if local { ask } else { "" },
                ];
                Self::new("blocked", words.concat())
            }
        }
    }

    /// The server sends the request to another address, `location`, which browsers do not tell (`status` is 0 there). The prompt and
    /// the key go where the user said, and nowhere else.
    pub fn redirected(connection: &Connection, status: u16, location: Option<&str>) -> Self {
        let who = connection.label();
        let number = if status == 0 { String::new() } else { [" (", &status.to_string(), ")"].concat() };
        let to = match location.map(str::trim).filter(|location| !location.is_empty()) {
            Some(location) => connection.scrubbed(shortened(&pointed(&connection.origin(), location))),
            None => "another address".to_owned(),
        };
        let words = [
            &who,
            " redirects to ",
            &to,
            &number,
            ". The prompt and the key were not sent there. If you trust that address, enter it as the base URL.",
        ];
        Self::new("refused", words.concat())
    }

    /// The server answered with `status`, which is no success. `now` is in milliseconds since 1970, for dates in headers.
    pub fn of_status(
        connection: &Connection,
        status: u16,
        headers: &[(String, String)],
        body: &[u8],
        now: i64,
    ) -> Self {
        let text = String::from_utf8_lossy(body);
        let value = serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(page_text(&text)));
        let mut fault = Self::said(&connection.label(), status, &value);
        fault.wait = retry::asked(headers, now).or(fault.wait);
        if fault.code == "not-found" && !connection.model.is_empty() {
            let model = ["\"", &connection.model, "\""].concat();
            let hint = match Preset::of(connection).id {
                "ollama" => ["`ollama pull ", &connection.model, "` gets it."].concat(),
                _ => "The models that there are can be listed in the settings.".to_owned(),
            };
            let url = &super::request::url(connection, "", "");
            fault.message =
                [&fault.message, " Is there a model ", &model, ", and is ", url, " the right address? ", &hint]
                    .concat();
        }
        fault.message = connection.scrubbed(fault.message);
        fault
    }

    /// What an error object of a provider says, which came with `status`, or inside a stream (0). `who` is how it is called.
    pub(in super::super) fn said(who: &str, status: u16, value: &Value) -> Self {
        let error = if value.get("error").is_some_and(|error| !error.is_null()) { &value["error"] } else { value };
        let words = words(error, value);
        let mut marks = String::new();
        for name in ["code", "type", "status", "reason"] {
            marks.push_str(&plain(error, name));
            marks.push(' ');
        }
        for detail in list(error, "details") {
            marks.push_str(&plain(detail, "reason"));
            marks.push(' ');
        }
        let marks = marks.to_ascii_lowercase();
        let all = [&marks, " ", &words.to_ascii_lowercase()].concat();
        let status = if status == 0 { status_of(&marks) } else { status };
        let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
        let says = if words.is_empty() { String::new() } else { [": ", &shortened(&words)].concat() };
        let number = if status == 0 { String::new() } else { [" (", &status.to_string(), ")"].concat() };
        let make = |code: &'static str, what: &str, help: &str| {
            let end = if says.ends_with(['.', '!', '?']) { " " } else { ". " };
            let end = if help.is_empty() { if end == ". " { "." } else { "" } } else { end };
            Self::new(code, [who, " ", what, &number, &says, end, help].concat())
        };
        let passing = |fault: Self| Self { passes: true, wait: delay(error), ..fault };
        let long = TOO_LONG.iter().any(|word| all.contains(word));
        match status {
            429 if has(&["insufficient_quota", "billing", "credit", "exceeded your current quota"])
                && delay(error).is_none() =>
            {
                make("rate-limited", "says that the account is used up", "Look at the account's plan and credit.")
            }
            429 => passing(make("rate-limited", "wants fewer requests", "Wait a while, then try again.")),
            413 => make("too-long", "finds the prompt too long", SHORTER),
            400 | 422 | 404 | 500 | 0 if long => make("too-long", "finds the prompt too long", SHORTER),
            400 if has(&["api key not valid", "api_key_invalid"]) => {
                make("unauthorized", "does not accept the key", KEY)
            }
            401 => make("unauthorized", "does not accept the key", KEY),
            403 => {
                make("unauthorized", "does not allow this", "Look at what the key may do, and at the provider's terms.")
            }
            402 => make("refused", "wants to be paid first", "Look at the account's credit."),
            404 | 405 => make("not-found", "has nothing there", ""),
            408 | 409 | 425 => passing(make("failed", "did not take the request", "Try again.")),
            503 | 529 => passing(make("overloaded", "has no room just now", "Try again in a while.")),
            500.. => passing(make("failed", "failed", "Try again in a while.")),
            400..500 => make("refused", "does not accept the request", ""),
            0 => make("failed", "broke off with an error", "Try again."),
            _ => make("bad-answer", "answered with something else", "Look at the address."),
        }
    }
}

const SHORTER: &str =
    "Give the conversation a smaller budget, or compact it; or say in the connection how long the model's context is.";
const KEY: &str = "Look at the key in the connection's settings.";

/// What to look at when nobody answers.
fn running(connection: &Connection) -> &'static str {
    match (connection.is_local(), Preset::of(connection).id) {
        (true, "ollama") => "Is Ollama running (`ollama serve`), and is the port right?",
        (true, "lm-studio") => {
            "Is LM Studio's server running (Developer tab, or `lms server start`), and is the port right?"
        }
        (true, _) => "Is the server running, and is the port right?",
        (false, _) => "Is this machine online, is the server running, and is the address right?",
    }
}

/// An error's words. Providers put them in many places.
fn words(error: &Value, whole: &Value) -> String {
    let upstream = error.get("metadata").and_then(|metadata| string(metadata, "raw"));
    let main = ["message", "error", "detail", "error_description", "msg"]
        .iter()
        .find_map(|name| string(error, name).or_else(|| string(whole, name)))
        .or(error.as_str());
    if let Some(text) = main {
        // OpenRouter hands on what its provider said.
        return match upstream.filter(|raw| !text.contains(raw)) {
            Some(raw) => [text, " — ", raw].concat(),
            None => text.to_owned(),
        };
    }
    // FastAPI's list of what is wrong, and Gemini's list of one.
    let mut parts = list(whole, "detail").iter().chain(whole.as_array().into_iter().flatten());
    let part =
        parts.find_map(|part| string(part, "msg").or(part.get("error").and_then(|error| string(error, "message"))));
    part.unwrap_or_default().to_owned()
}

/// The status that an error inside a stream would have had.
fn status_of(marks: &str) -> u16 {
    let number =
        marks.split_whitespace().filter_map(|mark| mark.parse().ok()).find(|status| (400..600).contains(status));
    if let Some(status) = number {
        return status;
    }
    let table: [(&str, u16); 21] = [
        ("overloaded", 529),
        ("rate_limit", 429),
        ("resource_exhausted", 429),
        ("insufficient_quota", 429),
        ("authentication", 401),
        ("unauthenticated", 401),
        ("invalid_api_key", 401),
        ("permission", 403),
        ("billing", 402),
        ("not_found", 404),
        ("context_length", 400),
        ("request_too_large", 413),
        ("invalid_request", 400),
        ("invalid_argument", 400),
        ("invalid_prompt", 400),
        ("unavailable", 503),
        ("deadline_exceeded", 504),
        ("timeout", 504),
        ("server_error", 500),
        ("api_error", 500),
        ("internal", 500),
    ];
    table.iter().find(|(mark, _)| marks.contains(mark)).map_or(0, |(_, status)| *status)
}

/// How long Gemini's `RetryInfo` says to wait, in milliseconds.
fn delay(error: &Value) -> Option<u64> {
    let delay = list(error, "details").iter().find_map(|detail| string(detail, "retryDelay"))?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0) as u64)
}

/// The first words of a body that is no JSON; of a web page, its title.
pub(in super::super) fn page_text(body: &str) -> String {
    let body = body.trim();
    if !body.starts_with('<') {
        return shortened(body);
    }
    // `find` in the lowered text gives the same places, since lowering ASCII moves nothing.
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| Some(start + lower[start..].find('>')? + 1));
    let title = title.and_then(|start| Some(body[start..start + lower[start..].find('<')?].trim()));
    match title.filter(|title| !title.is_empty()) {
        Some(title) => ["a web page, \"", &shortened(title), "\""].concat(),
        None => "a web page".to_owned(),
    }
}

/// Where a redirect of `origin` points: without a query, a fragment or a user's name, which may be secrets.
fn pointed(origin: &str, location: &str) -> String {
    let location = location.split(['?', '#']).next().unwrap_or_default();
    let slashes = location.replace('\\', "/");
    let (scheme, rest) = match slashes.split_once("//") {
        Some((scheme, rest)) if scheme.is_empty() || scheme.ends_with(':') => (scheme, rest),
        _ if slashes.starts_with('/') => return [origin, &slashes].concat(),
        _ => return [origin, "/", &slashes].concat(),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    [scheme, "//", host, path].concat()
}

/// At most 500 characters, on one line.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(500).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(500).is_some() {
        short.push('…');
    }
    short.trim().to_owned()
}
