//! A model at the end of a connection: sends prompts, reads the answers as they come, tries again where that helps, and says what
//! went wrong in words.

use std::rc::Rc;

use threadkeep_provider::{
    Backoff, Completion, Connection, Delta, Dialect, Fault, HttpRequest, Listed, Provider, Reader, ReaderOptions,
    models_request, read_models, request,
};

use super::http::{Body, Http, Response, Unsent};
use super::patience::{Late, Patience};
use super::{Answer, Call, Failure, Model};

/// A [`Model`] that is asked over HTTP.
///
/// A request is sent again, after a pause that grows, when the provider has too much to do or failed (429, 5xx), as often as the
/// [`Backoff`] says; but never once anything of the answer was heard. Each such pause is told by [`Delta::Retry`]. Dropping the
/// answer's future ends the request.
#[derive(Clone)]
pub struct Connected {
    connection: Connection,
    http: Rc<dyn Http>,
    backoff: Backoff,
}

impl Connected {
    /// The model of `connection`.
    pub fn new(connection: Connection, http: Rc<dyn Http>) -> Self {
        Self { connection, http, backoff: Backoff::default() }
    }

    /// The same with another way of trying again.
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The models that the endpoint has. It is asked once.
    ///
    /// # Errors
    /// [`Failure`], as for a call.
    pub async fn models(&self) -> Result<Vec<Listed>, Failure> {
        let request = models_request(&self.connection);
        let answered = async {
            let mut patience = self.patience();
            let mut response = self.begin(&request, &mut patience).await?;
            self.gathered(&mut *response.body, &mut patience).await
        };
        let body = answered.await.map_err(failure)?;
        match crate::json::from_json(&body) {
            Ok(value) => Ok(read_models(&value)),
            Err(_) => {
                let words =
                    [&self.connection.label(), " sent something that is no list of models. Is the address right?"];
                Err(failure(Fault::new("bad-answer", words.concat())))
            }
        }
    }

    async fn asked(&self, call: Call<'_>, heard: &dyn Fn(Delta)) -> Result<Completion, Failure> {
        if self.connection.model.is_empty() {
            let words =
                ["No model is chosen for ", &self.connection.label(), ": choose one in the connection's settings."];
            return Err(failure(Fault::new("not-found", words.concat())));
        }
        let request = request(&self.connection, call.payload);
        let mut attempt = 1;
        loop {
            let mut reader = Reader::new(self.connection.provider, self.reader_options(&call));
            let fault = match self.tried(&request, &mut reader, heard).await {
                Ok(completion) => {
                    self.silence(&completion, heard);
                    return Ok(completion);
                }
                Err(fault) => fault,
            };
            let again = if fault.passes && !reader.has_begun() {
                self.backoff.wait(attempt + 1, fault.wait, self.http.random())
            } else {
                None
            };
            let Some(wait) = again else {
                let partial = reader.partial();
                let message = self.explained(&fault, attempt);
                return Err(Failure { code: fault.code.to_owned(), message, partial });
            };
            attempt += 1;
            heard(Delta::Retry { attempt, wait, reason: fault.message });
            self.http.sleep(wait).await;
        }
    }

    /// Says what is known of answers that say nothing.
    fn silence(&self, completion: &Completion, heard: &dyn Fn(Delta)) {
        let message = &completion.message;
        if message.tool_calls.is_empty() && message.text().trim().is_empty() {
            let help = if self.connection.is_local() {
                " said nothing. Some servers do that when the prompt is longer than the context that the model was loaded with."
            } else {
                " said nothing."
            };
            heard(Delta::Warning([&self.connection.label(), help].concat()));
        }
    }

    /// A fault's words, with what was done about it.
    fn explained(&self, fault: &Fault, attempt: u32) -> String {
        let mut message = fault.message.clone();
        if let Some(wait) = fault.wait.filter(|wait| *wait > u64::from(self.backoff.patience_ms)) {
            let minutes = wait.div_ceil(60_000);
            message.push_str(&[" It asks to wait ", &minutes.to_string(), " min."].concat());
        } else if attempt > 1 {
            message.push_str(&[" (Tried ", &attempt.to_string(), " times.)"].concat());
        }
        message
    }

    fn reader_options(&self, call: &Call<'_>) -> ReaderOptions {
        let tools = call.tools.iter().map(|tool| tool.name.clone()).collect();
        let ids = [self.http.now().to_string(), self.http.random().to_string()].join("/");
        ReaderOptions { tools, ids, who: self.connection.label(), limits: self.connection.limits }
    }

    async fn tried(
        &self,
        request: &HttpRequest,
        reader: &mut Reader,
        heard: &dyn Fn(Delta),
    ) -> Result<Completion, Fault> {
        let mut patience = self.patience();
        let mut response = self.begin(request, &mut patience).await?;
        let scrub = |mut fault: Fault| {
            fault.message = self.connection.scrubbed(fault.message);
            fault
        };
        while !reader.is_over() {
            let taken = reader.taken();
            let chunk = match patience.wait(response.body.chunk()).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(None) => break,
                Ok(Some(Err(unsent))) => {
                    // What ended before the connection did is whole.
                    return reader.finish(heard).map_err(|fault| scrub(self.cut(fault, &unsent)));
                }
                Err(late) => return reader.finish(heard).map_err(|_| self.late(late, reader.has_begun())),
            };
            reader.push(&chunk, heard).map_err(scrub)?;
            // Comments keep the connection open, and say nothing of an answer.
            if reader.taken() > taken {
                patience.heard();
            }
        }
        reader.finish(heard).map_err(scrub)
    }

    /// The reader found the answer wanting because the connection broke.
    fn cut(&self, fault: Fault, unsent: &Unsent) -> Fault {
        if fault.code == "bad-answer" && !fault.passes {
            return fault;
        }
        let why = if unsent.reason.is_empty() { String::new() } else { [" (", &unsent.reason, ")"].concat() };
        let words = [
            &self.connection.label(),
            " broke off in the middle of its answer: the connection was lost",
            &why,
            ". Ask again.",
        ];
        Fault { passes: true, ..Fault::new("cut-off", words.concat()) }
    }

    /// Nothing came for too long, or the answer does not end.
    fn late(&self, late: Late, begun: bool) -> Fault {
        if late == Late::Endless {
            let seconds = (self.connection.limits.millis / 1000).max(1).to_string();
            let words = [
                &self.connection.label(),
                " did not end its answer within ",
                &seconds,
                " s (`limits.millis`). The answer was ended there.",
            ];
            return Fault::new("stalled", words.concat());
        }
        let seconds = (self.time_out() / 1000).max(1).to_string();
        let what = if begun {
            " went silent in the middle of its answer: nothing came for "
        } else {
            " did not begin to answer within "
        };
        let help = if self.connection.is_local() {
            " s. A large model may take that long to load or to read the prompt: ask again, or give the connection more time."
        } else {
            " s. Ask again, or give the connection more time."
        };
        Fault::new("stalled", [&self.connection.label(), what, &seconds, help].concat())
    }

    /// Sends a request; what comes is an answer that the provider means as one.
    async fn begin(&self, request: &HttpRequest, patience: &mut Patience<'_>) -> Result<Response, Fault> {
        let mut response = match patience.wait(self.http.send(request)).await {
            Ok(Ok(response)) => response,
            Err(late) => return Err(self.late(late, false)),
            Ok(Err(unsent)) => return Err(self.unsent(&unsent).await),
        };
        patience.heard();
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        if response.status == 0 || (300..400).contains(&response.status) {
            let location = response.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
            let location = location.map(|(_, value)| value.as_str());
            return Err(Fault::redirected(&self.connection, response.status, location));
        }
        // An error whose words break off still has its status.
        let body = self.gathered(&mut *response.body, patience).await.unwrap_or_default();
        let now = self.http.now();
        Err(Fault::of_status(&self.connection, response.status, &response.headers, &body, now))
    }

    async fn unsent(&self, unsent: &Unsent) -> Fault {
        let page = self.http.page();
        let reached = match &page {
            Some(_) => self.http.reaches(&self.connection.origin()).await,
            None => None,
        };
        Fault::unsent(&self.connection, page.as_deref(), reached, &unsent.reason)
    }

    /// All of a body that is not streamed, as far as an answer may be long.
    async fn gathered(&self, body: &mut dyn Body, patience: &mut Patience<'_>) -> Result<Vec<u8>, Fault> {
        let mut all = Vec::new();
        while (all.len() as u64) < self.connection.limits.bytes {
            match patience.wait(body.chunk()).await {
                Ok(Some(Ok(chunk))) => all.extend_from_slice(&chunk),
                Ok(None) => break,
                Ok(Some(Err(unsent))) => return Err(self.unsent(&unsent).await),
                Err(late) => return Err(self.late(late, true)),
            }
            patience.heard();
        }
        Ok(all)
    }

    fn patience(&self) -> Patience<'_> {
        Patience::new(&*self.http, self.time_out(), self.connection.limits.millis)
    }

    fn time_out(&self) -> u32 {
        self.connection.timeout_ms.unwrap_or(Connection::TIMEOUT_MS)
    }
}

impl Model for Connected {
    fn name(&self) -> &str {
        &self.connection.model
    }

    fn provider(&self) -> Provider {
        self.connection.provider
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::of(&self.connection))
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        Box::pin(self.asked(call, heard))
    }
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connected({:?})", self.connection)
    }
}

fn failure(fault: Fault) -> Failure {
    Failure { code: fault.code.to_owned(), message: fault.message, partial: None }
}
