//! What a connection needs of its surroundings: sending, waiting, a clock, and chance. Behind it lies the browser's or Node's `fetch`
//! (`threadkeep-fetch`), or a script in tests.

use std::pin::Pin;

use threadkeep_provider::HttpRequest;

/// A future that lives as long as what it borrows.
pub type Wait<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Sends requests, for [`Connected`](super::Connected).
pub trait Http {
    /// Sends a request to its address and nowhere else: a redirect is not followed but given. Gives the answer once its status and headers are there; the body follows. Dropping the future, or the
    /// body, ends the request.
    fn send<'a>(&'a self, request: &'a HttpRequest) -> Wait<'a, Result<Response, Unsent>>;

    /// Is over after so many milliseconds.
    fn sleep(&self, ms: u32) -> Wait<'_, ()>;

    /// A random number from 0 to 1.
    fn random(&self) -> f64;

    /// Milliseconds since 1970.
    fn now(&self) -> i64;

    /// The origin of the page that asks, such as `https://example.org`; `None` outside a browser.
    fn page(&self) -> Option<String> {
        None
    }

    /// Whether anybody answers at `origin`, whatever they say, without sending anything of ours; `None` where that cannot be found
    /// out. In a browser it tells a server that is not there from one that does not let pages read its answers.
    fn reaches<'a>(&'a self, origin: &'a str) -> Wait<'a, Option<bool>> {
        let _ = origin;
        Box::pin(async { None })
    }
}

/// An answer that has begun.
pub struct Response {
    /// The status, from 100 to 599; 0 for a redirect of which a browser tells no more.
    pub status: u16,
    /// The headers that may be read.
    pub headers: Vec<(String, String)>,
    /// What follows.
    pub body: Box<dyn Body>,
}

/// The body of an answer.
pub trait Body {
    /// The next piece, of any size; `None` at the end.
    fn chunk(&mut self) -> Wait<'_, Option<Result<Vec<u8>, Unsent>>>;
}

/// The request could not be sent, or the answer broke off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unsent {
    /// Why, as the platform says it; often it does not.
    pub reason: String,
}
