//! What a user, or a deletion, does to a record: edits, and leaving out what came from deleted messages. Goes in: records;
//! comes out: records. Storing them is the engine's.
//!
//! **Deletion.** A record whose every source was deleted goes. Where some of its sources stay, the gone ones are dropped, and of
//! its text only those sentences stay whose every word is said in one of the messages that stay, so that nothing
//! quotes a deleted message; tags likewise. A record that is left without text goes. What has no sources is its user's own
//! and stays.

use threadkeep_core::checkpoint::Source;

use super::words::terms;
use super::{Episode, Fact, FactKind, MemoryOrigin, Share};

/// A user's change of a fact. What is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FactEdit {
    /// What holds.
    pub fact: Option<String>,
    /// What kind of thing it says.
    pub kind: Option<FactKind>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// How sure it is. Another text without it is certain: its user said so.
    pub confidence: Option<Share>,
    /// How much it matters.
    pub salience: Option<Share>,
}

/// A user's change of an episode. What is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EpisodeEdit {
    /// What happened.
    pub summary: Option<String>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// How much it matters.
    pub salience: Option<Share>,
}

impl FactEdit {
    /// Makes the change. Another text is its user's own.
    pub fn apply(self, fact: &mut Fact) {
        if let Some(text) = self.fact.filter(|text| *text != fact.fact) {
            fact.fact = text;
            fact.confidence = Share::of(1000);
            fact.origin = Some(MemoryOrigin::User);
        }
        fact.kind = self.kind.unwrap_or(fact.kind);
        fact.confidence = self.confidence.unwrap_or(fact.confidence);
        fact.salience = self.salience.unwrap_or(fact.salience);
        if let Some(tags) = self.tags {
            fact.tags = tags;
        }
    }
}

impl EpisodeEdit {
    /// Makes the change. Another text is its user's own.
    pub fn apply(self, episode: &mut Episode) {
        episode.salience = self.salience.unwrap_or(episode.salience);
        if let Some(summary) = self.summary.filter(|text| *text != episode.summary) {
            episode.summary = summary;
            episode.origin = Some(MemoryOrigin::User);
        }
        if let Some(tags) = self.tags {
            episode.tags = tags;
        }
    }
}

/// What a deletion leaves of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// All of it: nothing that it came from was deleted.
    All,
    /// Something: it has changed.
    Some,
    /// Nothing.
    None,
}

/// What `fact` is without the sources for which `gone` holds. `said` gives the text of a source that stays, if it can be read.
pub fn fact_without(fact: &mut Fact, gone: &dyn Fn(&Source) -> bool, said: &dyn Fn(&Source) -> Option<String>) -> Left {
    without(&mut fact.sources, &mut fact.fact, &mut fact.tags, gone, said)
}

/// The same of an episode.
pub fn episode_without(
    episode: &mut Episode,
    gone: &dyn Fn(&Source) -> bool,
    said: &dyn Fn(&Source) -> Option<String>,
) -> Left {
    without(&mut episode.sources, &mut episode.summary, &mut episode.tags, gone, said)
}

fn without(
    sources: &mut Vec<Source>,
    text: &mut String,
    tags: &mut Vec<String>,
    gone: &dyn Fn(&Source) -> bool,
    said: &dyn Fn(&Source) -> Option<String>,
) -> Left {
    let before = sources.len();
    sources.retain(|source| !gone(source));
    if sources.len() == before {
        return Left::All;
    }
    let texts: Vec<String> = sources.iter().filter_map(said).collect();
    let texts: Vec<Vec<String>> = texts.iter().map(|text| terms(text)).collect();
    *text = sentences_said(text, &texts);
    tags.retain(|tag| is_said(tag, &texts));
    if text.is_empty() { Left::None } else { Left::Some }
}

/// The sentences of `text` whose every word is said in one of `texts`.
///
/// ```
/// use threadkeep_compaction::memory::still_said;
/// let left = still_said("The key is 77. The build runs.", &["So the build runs?", "What is the key?"]);
/// assert_eq!(left, "The build runs.");
/// ```
pub fn still_said(text: &str, texts: &[&str]) -> String {
    sentences_said(text, &texts.iter().map(|text| terms(text)).collect::<Vec<_>>())
}

/// Whether all words of `part` are among those of one text.
fn is_said(part: &str, texts: &[Vec<String>]) -> bool {
    let wanted = terms(part);
    texts.iter().any(|there| wanted.iter().all(|word| there.binary_search(word).is_ok()))
}

fn sentences_said(text: &str, texts: &[Vec<String>]) -> String {
    let mut left = String::new();
    for sentence in sentences(text) {
        if is_said(sentence, texts) {
            left.push_str(sentence);
        }
    }
    let left = left.trim();
    // Nothing but punctuation says nothing.
    if left.chars().any(char::is_alphanumeric) { left.to_owned() } else { String::new() }
}

/// The sentences of a text with what is around them: together they are the text.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let (mut start, mut ended) = (0, false);
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        let breaks = letter == '\n' || matches!(letter, '。' | '！' | '？') || (ended && letter.is_whitespace());
        if breaks {
            sentences.push(&text[start..end]);
            start = end;
        }
        ended = matches!(letter, '.' | '!' | '?');
    }
    sentences.push(&text[start..]);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::is_said_in;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sentences_are_the_text(text in "\\PC{0,60}") {
            prop_assert_eq!(sentences(&text).concat(), text);
        }

        #[test]
        fn what_stays_is_said(text in "[a-d .\n]{0,40}", said in "[a-d ]{0,20}") {
            let left = still_said(&text, &[&said]);
            prop_assert!(left.is_empty() || is_said_in(&left, &[&said]));
        }
    }
}
