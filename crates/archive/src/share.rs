//! Threads for others: lines of our own format without what looks like a secret. Goes in: lines as [`own`](super::own) writes them. Comes out:
//! the same lines with secrets masked, and what was found.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep_core::{Entry, MessageId, Transcript, TranscriptId};
use threadkeep_json::own_text;

use crate::secret::{Hit, Personal, hide};

/// What is looked for and what stays, where threads leave for others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ExportRedaction", optional_fields))]
pub struct Sharing {
    /// What is looked for besides secrets.
    #[cfg_attr(feature = "ts", ts(as = "Option<Vec<Personal>>"))]
    pub also: Vec<Personal>,
    /// The numbers of the finds that stay as they are. They count from 0, in the order of the list of finds.
    #[cfg_attr(feature = "ts", ts(as = "Option<Vec<usize>>"))]
    pub leave: Vec<usize>,
}

/// Something that looks like a secret, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "FoundSecret"))]
pub struct Secret {
    /// What it is, such as `GitHub token`.
    pub kind: String,
    /// The end of the line before it, and its own beginning, masked.
    pub preview: String,
    /// The transcript in which it stands.
    pub transcript: Option<TranscriptId>,
    /// The node in which it stands; `null` for a title and the like.
    pub node: Option<MessageId>,
    /// The field, such as `node.messages.0.content`.
    pub field: String,
    /// Whether it was replaced.
    pub replaced: bool,
}

/// Masks the secrets in lines of our own format.
///
/// ```
/// use threadkeep_archive::share::{Sharer, Sharing};
/// let sharing = Sharing::default();
/// let mut sharer = Sharer::new(&sharing);
/// let key = "a1".repeat(18);
/// let line = format!("{{\"seq\":0,\"info\":{{\"title\":\"ghp_{key}\"}}}}\n");
/// let shared = sharer.lines(&line)?;
/// assert!(shared.contains("ghp_xxxx") && !shared.contains(&key));
/// assert_eq!(sharer.found[0].kind, "GitHub token");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Sharer<'a> {
    sharing: &'a Sharing,
    transcript: Option<TranscriptId>,
    /// What was found so far.
    pub found: Vec<Secret>,
}

impl<'a> Sharer<'a> {
    /// One that has seen nothing yet.
    pub fn new(sharing: &'a Sharing) -> Self {
        Self { sharing, transcript: None, found: Vec::new() }
    }

    /// The lines of a piece without secrets.
    ///
    /// # Errors
    /// A line is no JSON object, so that it could not be searched. Nothing of it may leave then.
    pub fn lines(&mut self, piece: &str) -> Result<String, serde_json::Error> {
        let mut shared = String::with_capacity(piece.len());
        for line in piece.lines() {
            let line = self.line(line)?;
            shared.push_str(&own_text(&line));
            shared.push('\n');
        }
        Ok(shared)
    }

    /// A transcript as its lines make it without secrets, for another format.
    ///
    /// # Errors
    /// As [`Sharer::lines`].
    pub fn transcript(&mut self, id: &TranscriptId, lines: &str) -> Result<Transcript, serde_json::Error> {
        let mut tree = Transcript::new(id.clone());
        for line in lines.lines() {
            let mut line = self.line(line)?;
            if let Some(seq) = line.shift_remove("seq").and_then(|seq| seq.as_u64()) {
                tree.replay(seq, Entry::parse(own_text(&line).as_bytes())?);
            }
        }
        Ok(tree)
    }

    fn line(&mut self, line: &str) -> Result<Map<String, Value>, serde_json::Error> {
        let fields: Map<String, Value> = serde_json::from_str(line)?;
        let named = |value: &Value| MessageId::new(value.as_str()?).ok();
        if let Some(id) = fields.get("transcript") {
            self.transcript = named(id);
        }
        let entry = ["node", "extend", "restored"].into_iter().find_map(|kind| fields.get(kind)?.as_object());
        let node = entry.and_then(|entry| entry.get("id").or_else(|| entry.get("node"))).and_then(named);
        let mut value = Value::Object(fields);
        let Self { sharing, transcript, found } = self;
        hide(&mut value, &sharing.also, &mut |Hit { kind, preview, field }| {
            let replaced = !sharing.leave.contains(&found.len());
            let (kind, field) = (kind.to_owned(), field.to_owned());
            found.push(Secret { kind, preview, transcript: transcript.clone(), node: node.clone(), field, replaced });
            replaced
        });
        Ok(if let Value::Object(fields) = value { fields } else { Map::new() })
    }
}
