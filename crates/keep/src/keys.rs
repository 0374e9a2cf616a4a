//! What lies under which key. Keys are ASCII, so that every backend orders them alike: outside ids are escaped byte by byte.
//!
//! | key | value |
//! |---|---|
//! | `t/<transcript>` | its [`Record`](crate::log::Record): summary, next sequence number, generation |
//! | `p/<transcript>/<generation>/<first seq>` | a page: consecutive log entries, one JSON line each |
//! | `p/<transcript>/<generation>/z<merges>` | nothing; that it is there says how often pages were merged |
//! | `p/<transcript>/<generation>/y<node>.<piece>` | a piece of the message that is being said in a node; see [`draft`](crate::draft) |
//! | `i/<id>` | the transcript of a node or alias whose id does not name it |
//! | `h/<head>` | the transcript in which a head points |
//! | `e/<transcript>/<id>` | an episode; `e//<id>` for one of no transcript |
//! | `f/<transcript>/<id>` | a fact; `f//<id>` for one of no transcript |
//! | `c//<head>` | whether a compaction of a head is asked for, and on which content the last one was settled |
//! | `c/<transcript>/<node>` | the same for a chain that no head names |
//! | `s/0` | nothing; that there is an index of the full-text search |
//! | `s/m/<state>` | nothing; one such marker, another after each change of the index |
//! | `s/o/<segment>` | the transcripts of which a segment holds messages: the keys of their records, one a line |
//! | `s/g/<segment>` | a segment of the index |
//! | `s/v/<transcript>/<random>` | vectors of some of its messages and summaries |
//! | `b/<party>/n/<number>` | a message of a mailbox |
//! | `b/<party>/i/<id>` | its number |
//! | `n/<party>` | nothing; that a number of the mailbox was ever given |
//! | `n/<party>/<number>` | nothing; its name holds the last number that was given. `n//<number>` is what a deletion of everything leaves |
//! | `a/<agent>` | how far an agent is with its mailbox |
//! | `a/<agent>/<node>` | nothing; that a turn of the agent was begun and has not ended |
//! | `x/<name>/<key>` | a record of somebody else's, such as an adapter of a framework |
//! | `o/k` | the settings of the whole keep |
//! | `o/t/<transcript>` | those of a transcript |
//! | `o/h/<head>` | those of a head |
//! | `j/<transcript>/<day>/o<hash>` | the options of requests of that day |
//! | `j/<transcript>/<day>/r<time><random><seq>` | a request that was sent to a model; see [`journal`](crate::journal) |
//! | `m/memory` | nothing; that episodes or facts were ever written |
//! | `m/memory/<random>` | nothing; its name changes whenever they are written |
//! | `m/imported` | when the last import ended, in milliseconds since 1970 |
//!
//! The generation is random for each making of a transcript, so that a writer who still holds a deleted and newly imported
//! one cannot write into it: the first page of his generation is a condition of his commit.
//!
//! Every key begins with a small letter. The keys of a scope begin with `@`, so no range of an engine without a scope reaches them;
//! [`Scoped`](threadkeep_store::Scoped) puts that prefix before the keys above.

use std::borrow::Cow;

use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_store::{Scan, escape, unescape};

/// The prefixes of everything that the engine writes.
pub const ALL: [&str; 15] =
    ["t/", "p/", "i/", "h/", "e/", "f/", "c/", "s/", "b/", NUMBERS, AGENTS, "o/", "j/", "m/", "x/"];

/// Written strictly when an import ends, which makes the relaxed commits before it durable.
pub const IMPORTED: &str = "m/imported";

/// That there is a search index.
pub const INDEX_MADE: &str = "s/0";
/// The prefix of the marker of the index's state.
pub const INDEX_MARK: &str = "s/m/";
/// The prefix of lists of whose messages are in a segment of the index.
pub const INDEX_OWNERS: &str = "s/o/";
/// The prefix of segments of the index.
pub const INDEX_SEGMENT: &str = "s/g/";

/// The prefix of blocks of vectors.
pub const VECTORS: &str = "s/v/";

/// The prefix of a transcript's blocks of vectors.
pub fn vectors(transcript: &TranscriptId) -> String {
    format!("{VECTORS}{}/", escape(transcript.as_str()))
}

/// There once episodes or facts were written: the condition of the first who writes them.
pub const MEMORY: &str = "m/memory";

/// The marker of the last change of episodes or facts.
pub fn memory_mark(random: u64) -> String {
    format!("{MEMORY}/{random:016x}")
}

/// The marker that is there, if any.
pub fn memory_markers() -> Scan {
    Scan::prefix("m/memory/")
}

/// Whether a condition on `key` says that somebody else has written episodes or facts.
pub fn is_memory_mark(key: &str) -> bool {
    key.starts_with(MEMORY)
}

pub fn record(transcript: &TranscriptId) -> String {
    format!("t/{}", escape(transcript.as_str()))
}

pub fn records() -> Scan {
    Scan::prefix("t/")
}

pub fn record_id(key: &str) -> Option<TranscriptId> {
    MessageId::new(unescape(key.strip_prefix("t/")?)?).ok()
}

/// The transcript to which a record belongs, where its key says so.
pub fn owner(key: &str) -> Option<TranscriptId> {
    let mut parts = key.split('/');
    let table = parts.next()?;
    let id = parts.next()?;
    matches!(table, "t" | "p" | "e" | "f" | "c").then(|| MessageId::new(unescape(id)?).ok())?
}

/// The generation in the key of a page or of a marker of merges.
pub fn generation(key: &str) -> Option<&str> {
    key.split('/').nth(2)
}

pub fn page(transcript: &TranscriptId, generation: &str, seq: u64) -> String {
    format!("p/{}/{generation}/{seq:016x}", escape(transcript.as_str()))
}

/// The marker that a transcript's pages were merged `merges` times. It lies beside the pages, outside their range.
pub fn merge_marker(transcript: &TranscriptId, generation: &str, merges: u64) -> String {
    format!("p/{}/{generation}/z{merges:016x}", escape(transcript.as_str()))
}

/// All pages of a transcript in one generation, from the page that begins at `from` on.
pub fn pages(transcript: &TranscriptId, generation: &str, from: u64) -> Scan {
    let end = format!("p/{}/{generation}/g", escape(transcript.as_str()));
    Scan::range(page(transcript, generation, from), end)
}

/// The same, and behind the pages the marker that [`merges`] reads.
pub fn pages_and_merges(transcript: &TranscriptId, generation: &str, from: u64) -> Scan {
    let end = format!("p/{}/{generation}/~", escape(transcript.as_str()));
    Scan::range(page(transcript, generation, from), end)
}

/// The piece number `piece` of what is being said in a node. It lies between the pages and the marker of the last merge.
pub fn draft(transcript: &TranscriptId, generation: &str, node: &MessageId, piece: u32) -> String {
    format!("{}{piece:08x}", drafts(transcript, generation, node))
}

/// The prefix of the pieces of what is being said in a node.
pub fn drafts(transcript: &TranscriptId, generation: &str, node: &MessageId) -> String {
    // A node's name may hold dots; a piece's holds none.
    format!("p/{}/{generation}/y{}.", escape(transcript.as_str()), escape(node.as_str()))
}

/// The node of a piece of what is being said; `None` for any other key.
pub fn draft_node(key: &str) -> Option<MessageId> {
    let (node, _) = key.rsplit('/').next()?.strip_prefix('y')?.rsplit_once('.')?;
    MessageId::new(unescape(node)?).ok()
}

/// How often pages were merged, from the key of the marker that says so.
pub fn merges(key: &str) -> Option<u64> {
    u64::from_str_radix(key.rsplit('/').next()?.strip_prefix('z')?, 16).ok()
}

/// All pages of a transcript, of any generation, with what lies behind them: what is being said, and the markers that [`merges`] reads.
pub fn all_pages(transcript: &TranscriptId) -> Scan {
    Scan::prefix(&format!("p/{}/", escape(transcript.as_str())))
}

pub fn page_seq(key: &str) -> Option<u64> {
    u64::from_str_radix(key.rsplit('/').next()?, 16).ok()
}

pub fn index(id: &MessageId) -> String {
    format!("i/{}", escape(id.as_str()))
}

/// All records that name the transcript of an id.
pub fn indexes() -> Scan {
    Scan::prefix("i/")
}

pub fn index_id(key: &str) -> Option<MessageId> {
    MessageId::new(unescape(key.strip_prefix("i/")?)?).ok()
}

pub fn head(name: &str) -> String {
    format!("h/{}", escape(name))
}

pub fn heads() -> Scan {
    Scan::prefix("h/")
}

pub fn head_name(key: &str) -> Option<String> {
    unescape(key.strip_prefix("h/")?)
}

/// The table of asked compactions: of heads, or of nodes of a transcript. Its keys are made as those of memory are.
pub const ASKED: Memory = Memory("c");

/// The node of a key of [`ASKED`].
pub fn asked_node(key: &str) -> Option<MessageId> {
    MessageId::new(unescape(key.rsplit('/').next()?)?).ok()
}

/// One table of memory: a record for each episode or fact, by transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory(&'static str);

/// The table of episodes.
pub const EPISODES: Memory = Memory("e");
/// The table of facts.
pub const FACTS: Memory = Memory("f");

impl Memory {
    /// Where the record `id` lies.
    pub fn of(self, transcript: Option<&TranscriptId>, id: &str) -> String {
        format!("{}/{}/{}", self.0, transcript.map_or_else(Cow::default, |id| escape(id.as_str())), escape(id))
    }

    /// All records of the table.
    pub fn all(self) -> Scan {
        Scan::prefix(&[self.0, "/"].concat())
    }

    /// All records of one transcript.
    pub fn within(self, transcript: &TranscriptId) -> Scan {
        Scan::prefix(&format!("{}/{}/", self.0, escape(transcript.as_str())))
    }
}

/// The prefix of all mailboxes.
pub const MAIL: &str = "b/";

/// The message `number` of a mailbox.
pub fn mail(party: &str, number: u64) -> String {
    format!("b/{}/n/{number:016x}", escape(party))
}

/// The number of the message `id` in a mailbox.
pub fn mail_id(party: &str, id: &MessageId) -> String {
    format!("b/{}/i/{}", escape(party), escape(id.as_str()))
}

/// The messages of a mailbox whose numbers are above `after`.
pub fn mails(party: &str, after: u64) -> Scan {
    Scan::range(mail(party, after.saturating_add(1)), format!("b/{}/n0", escape(party)))
}

/// Behind everything of a mailbox.
pub fn mails_end(party: &str) -> String {
    format!("b/{}0", escape(party))
}

pub fn mail_number(key: &str) -> Option<u64> {
    u64::from_str_radix(key.rsplit('/').next()?, 16).ok()
}

pub fn mail_party(key: &str) -> Option<String> {
    unescape(key.strip_prefix(MAIL)?.split('/').next()?)
}

/// The prefix of what is known of the numbers of mailboxes.
pub const NUMBERS: &str = "n/";

/// There once a number of the mailbox was given: the condition of the first who gives one.
pub fn numbered(party: &str) -> String {
    [NUMBERS, &escape(party)].concat()
}

/// The prefix of the marker that holds the last number of a mailbox.
pub fn number_markers(party: &str) -> String {
    [NUMBERS, &escape(party), "/"].concat()
}

/// The marker that says that `number` was given last.
pub fn number_mark(party: &str, number: u64) -> String {
    format!("{}{number:016x}", number_markers(party))
}

/// Whether a key of [`NUMBERS`] is such a marker.
pub fn is_number_mark(key: &str) -> bool {
    key.strip_prefix(NUMBERS).is_some_and(|rest| rest.contains('/'))
}

/// The settings of the whole keep.
pub const SETTINGS: &str = "o/k";

/// The settings of a transcript.
pub fn settings_of(transcript: &TranscriptId) -> String {
    ["o/t/", &escape(transcript.as_str())].concat()
}

/// The settings of a head.
pub fn settings_at(head: &str) -> String {
    ["o/h/", &escape(head)].concat()
}

/// All settings but those of the whole keep: of transcripts, then of heads.
pub fn settings_within() -> [Scan; 2] {
    [Scan::prefix("o/t/"), Scan::prefix("o/h/")]
}

/// The transcript or the head of such settings.
pub fn settings_place(key: &str) -> Option<String> {
    unescape(key.get(4..)?)
}

/// The prefix of the journal of a transcript.
pub fn requests_of(transcript: &TranscriptId) -> String {
    format!("j/{}/", escape(transcript.as_str()))
}

/// The range of what a transcript's journal has of the days before one.
pub fn requests_before(transcript: &TranscriptId, day: u64) -> (String, String) {
    let all = requests_of(transcript);
    (all.clone(), format!("{all}{day:08x}/"))
}

/// A request of a transcript.
pub fn request(transcript: &TranscriptId, day: u64, stamp: &str) -> String {
    format!("{}{day:08x}/r{stamp}", requests_of(transcript))
}

/// The options that requests of a day have in common.
pub fn request_options(transcript: &TranscriptId, day: u64, hash: &str) -> String {
    format!("{}{day:08x}/o{hash}", requests_of(transcript))
}

/// The sequence number of the node of a request, from its key; `None` for any other key of a journal.
pub fn request_seq(key: &str) -> Option<u64> {
    u64::from_str_radix(key.rsplit('/').next()?.strip_prefix('r')?.get(19..)?, 16).ok()
}

/// Before the keys of the records of `name`.
pub fn records_of(name: &str) -> String {
    format!("x/{}/", escape(name))
}

/// The prefix of what agents know of their work.
pub const AGENTS: &str = "a/";

/// How far an agent is.
pub fn agent(name: &str) -> String {
    [AGENTS, &escape(name)].concat()
}

/// The agent of which a key of [`AGENTS`] speaks.
pub fn agent_name(key: &str) -> Option<String> {
    unescape(key.strip_prefix(AGENTS)?.split('/').next()?)
}

/// That a turn of an agent was begun and has not ended.
pub fn open_turn(agent: &str, node: &MessageId) -> String {
    [&*open_turns(agent), &escape(node.as_str())].concat()
}

/// The prefix of an agent's turns that were begun and have not ended.
pub fn open_turns(agent: &str) -> String {
    [AGENTS, &escape(agent), "/"].concat()
}

/// The node of a key that [`open_turn`] made; `None` for any other key of [`AGENTS`].
pub fn open_turn_node(key: &str) -> Option<MessageId> {
    MessageId::new(unescape(key.strip_prefix(AGENTS)?.split_once('/')?.1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use threadkeep_store::scoped;

    #[test]
    fn every_table_lies_behind_all_scopes() {
        assert!(ALL.iter().all(|prefix| *prefix > scoped::BEHIND_ALL));
    }

    proptest! {
        #[test]
        fn keys_are_ascii_and_turn_back(name in "\\PC{1,40}") {
            let key = head(&name);
            prop_assert!(key.is_ascii());
            prop_assert_eq!(head_name(&key), Some(name));
        }

        #[test]
        fn memories_lie_with_their_transcript(name in "[ -~]{1,20}", id in "[ -~]{1,20}") {
            let transcript = MessageId::new(name).unwrap();
            let (own, nobodys) = (EPISODES.of(Some(&transcript), &id), EPISODES.of(None, &id));
            let within = |scan: Scan, key: &String| scan.start <= *key && *key < scan.end;
            prop_assert!(within(EPISODES.within(&transcript), &own) && !within(EPISODES.within(&transcript), &nobodys));
            prop_assert!(within(EPISODES.all(), &own) && within(EPISODES.all(), &nobodys) && !within(FACTS.all(), &own));
        }

        #[test]
        fn pages_lie_in_their_range_in_order(name in "[ -~]{1,20}", a: u64, b: u64) {
            let id = MessageId::new(name).unwrap();
            let (low, high) = (a.min(b), a.max(b));
            let range = pages(&id, "00ff", low);
            let key = page(&id, "00ff", high);
            prop_assert!(range.start <= key && key < range.end);
            prop_assert_eq!(page_seq(&key), Some(high));
        }
    }
}
