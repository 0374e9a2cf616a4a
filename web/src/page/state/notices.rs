//! Notices: short messages to the reader that go away by themselves.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use threadkeep::protocol::ErrorReply;

use crate::words::{self, Words};

/// What a notice offers to do.
#[derive(Clone)]
pub struct Act {
    /// The words of its button.
    pub label: &'static str,
    /// Does it.
    pub run: Arc<dyn Fn() + Send + Sync>,
}

/// Something said to the reader.
#[derive(Clone)]
pub struct Notice {
    /// Its number.
    pub number: u32,
    /// Whether it is about a failure.
    pub bad: bool,
    /// What it says first.
    pub title: String,
    /// What it says then.
    pub text: String,
    /// What it offers to do.
    pub act: Option<Act>,
}

/// What is said to the reader.
#[derive(Clone, Copy)]
pub struct Notices {
    /// The newest last.
    pub list: RwSignal<Vec<Notice>>,
    next: StoredValue<u32>,
}

impl Notices {
    pub(super) fn new() -> Self {
        Self { list: RwSignal::new(Vec::new()), next: StoredValue::new(0) }
    }

    fn add(self, bad: bool, title: &str, text: &str, act: Option<Act>, seconds: u64) {
        let number = self.next.get_value();
        self.next.set_value(number + 1);
        let notice = Notice { number, bad, title: title.to_owned(), text: text.to_owned(), act };
        self.list.update(|list| {
            list.retain(|old| (&old.title, &old.text) != (&notice.title, &notice.text));
            list.push(notice);
            let many = list.len().saturating_sub(3);
            list.drain(..many);
        });
        set_timeout(move || self.close(number), Duration::from_secs(seconds));
    }

    /// Says something for a few seconds.
    pub fn say(self, title: &str, text: &str) {
        self.add(false, title, text, None, 6);
    }

    /// Says something for half a minute, and offers to do something about it.
    pub fn offer(self, title: &str, text: &str, label: &'static str, run: impl Fn() + Send + Sync + 'static) {
        self.add(false, title, text, Some(Act { label, run: Arc::new(run) }), 30);
    }

    /// Says what failed.
    pub fn fail(self, error: &ErrorReply) {
        let Words { title, advice, .. } = words::words(error);
        self.add(true, &title, &advice, None, 20);
    }

    /// Takes one away.
    pub fn close(self, number: u32) {
        self.list.update(|list| list.retain(|notice| notice.number != number));
    }
}
