//! Answers and events, read back by whoever asked in another thread. By hand where serde's derived code would bring a reader
//! for each type, and for some gather the content into a tree of its own first: that takes several times the code, and the
//! page is small.

use serde_json::Value;
use threadkeep_core::json::{Object, Wrong, wrong};
use threadkeep_core::node::{Labels, Origin, read_messages};
use threadkeep_core::read_by_hand;
use threadkeep_core::transcript::Info;

use super::{
    Damage, ErrorReply, Event, Fork, HeadInfo, ImportProgress, ImportReport, LintFinding, NodeInfo, Outline, Response,
    Row, Skipped, Stats, TranscriptInfo, TreeNode,
};

/// What can be read from JSON, and stand in another's field.
pub trait Read: Sized {
    /// Reads what the type writes.
    ///
    /// # Errors
    /// A field is missing or of another type.
    fn read(value: Value) -> Result<Self, Wrong>;
}

impl<T: Read> Read for Vec<T> {
    fn read(value: Value) -> Result<Self, Wrong> {
        let Value::Array(list) = value else { return Err(wrong("data", "a list")) };
        let mut all = Self::with_capacity(list.len());
        for value in list {
            all.push(T::read(value)?);
        }
        Ok(all)
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: Value) -> Result<Self, Wrong> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl Read for u64 {
    fn read(value: Value) -> Result<Self, Wrong> {
        value.as_u64().ok_or_else(|| wrong("data", "a whole number from 0 on"))
    }
}

impl Read for NodeInfo {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "node")?;
        Ok(Self {
            id: fields.id("id")?,
            transcript: fields.id("transcript")?,
            parent: fields.maybe_id("parent")?,
            seq: fields.count("seq")?,
            created_at: fields.maybe_time("createdAt")?,
            depth: fields.small("depth")?,
            turn: fields.maybe_text("turn")?,
            sealed: fields.flag("sealed")?,
            origin: Origin::read(fields.object("origin")?)?,
            unknown_reply: fields.flag("unknownReply")?,
            labels: Labels::read(fields.take("labels"))?,
            messages: read_messages(&mut fields)?,
        })
    }
}

impl Read for HeadInfo {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "head")?;
        Ok(Self { context: fields.text("name")?, transcript: fields.id("transcript")?, node: fields.id("node")? })
    }
}

impl Read for TranscriptInfo {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "transcript")?;
        Ok(Self { id: fields.id("id")?, info: Info::read(&mut fields)? })
    }
}

impl Read for Outline {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "outline")?;
        Ok(Self {
            transcript: Read::read(fields.take("transcript"))?,
            leaf: fields.id("leaf")?,
            rows: Read::read(fields.take("rows"))?,
            damage: fields.maybe_text("damage")?,
        })
    }
}

impl Read for Row {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "row")?;
        Ok(Self {
            id: fields.id("id")?,
            role: fields.text("role")?,
            messages: fields.small("messages")?,
            chars: fields.small("chars")?,
            depth: fields.small("depth")?,
            hidden: fields.flag("hidden")?,
            fork: Read::read(fields.take("fork"))?,
            answers: Read::read(fields.take("answers"))?,
        })
    }
}

impl Read for Fork {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "fork")?;
        Ok(Self {
            index: fields.small("index")?,
            count: fields.small("count")?,
            previous: fields.maybe_id("previous")?,
            next: fields.maybe_id("next")?,
        })
    }
}

impl Read for TreeNode {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "node")?;
        Ok(Self {
            id: fields.id("id")?,
            parent: fields.maybe_small("parent")?,
            role: fields.text("role")?,
            hidden: fields.flag("hidden")?,
            words: fields.text("words")?,
        })
    }
}

impl Read for LintFinding {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "finding")?;
        Ok(Self {
            transcript: fields.id("transcript")?,
            node: fields.id("node")?,
            index: fields.maybe_small("index")?,
            rule: fields.text("rule")?,
            message: fields.text("message")?,
        })
    }
}

impl Read for Stats {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "stats")?;
        Ok(Self {
            transcripts: fields.small("transcripts")?,
            nodes: fields.count("nodes")?,
            messages: fields.count("messages")?,
            heads: fields.small("threads")?,
            cached_transcripts: fields.small("cachedTranscripts")?,
            cached_bytes: fields.count("cachedBytes")?,
            cache_limit: fields.count("cacheLimit")?,
            damaged: fields.list("damaged")?.into_iter().map(Damage::read).collect::<Result<_, _>>()?,
        })
    }
}

impl Read for Damage {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "damage")?;
        Ok(Self { transcript: fields.maybe_id("transcript")?, what: fields.text("what")? })
    }
}

impl Read for ImportProgress {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "progress")?;
        Ok(Self {
            file: fields.text("file")?,
            bytes: fields.count("bytes")?,
            total_bytes: fields.count("totalBytes")?,
            conversations: fields.small("conversations")?,
            messages: fields.small("messages")?,
        })
    }
}

impl Read for ImportReport {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "report")?;
        let formats = fields.list("formats")?.into_iter();
        Ok(Self {
            formats: formats.filter_map(|format| format.as_str().map(str::to_owned)).collect(),
            added: fields.small("added")?,
            updated: fields.small("updated")?,
            unchanged: fields.small("unchanged")?,
            messages: fields.small("messages")?,
            memories: fields.maybe_small("memories")?.unwrap_or_default(),
            transcripts: fields.ids("transcripts")?,
            skipped: Read::read(fields.take("skipped"))?,
            skipped_count: fields.small("skippedCount")?,
            stopped: fields.flag("stopped")?,
        })
    }
}

impl Read for Skipped {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "skipped")?;
        Ok(Self {
            place: fields.text("place")?,
            reason: fields.text("reason")?,
            code: fields.text("code")?,
            salvaged: fields.flag("salvaged")?,
        })
    }
}

impl Read for ErrorReply {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "error")?;
        Ok(Self { code: fields.text("code")?, message: fields.text("message")?, details: fields.take("details") })
    }
}

impl Read for Response {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "answer")?;
        let (kind, data) = (fields.text("type")?, fields.take("data"));
        Ok(match kind.as_str() {
            "done" => Self::Done,
            "number" => Self::Number(Read::read(data)?),
            "node" => Self::Node(Box::new(Read::read(data)?)),
            "maybeNode" => Self::MaybeNode(Option::read(data)?.map(Box::new)),
            "nodes" => Self::Nodes(Read::read(data)?),
            "messages" => {
                let mut whole = Object::of(serde_json::json!({ "messages": data }), "answer")?;
                Self::Messages(read_messages(&mut whole)?)
            }
            "heads" => Self::Heads(Read::read(data)?),
            "transcripts" => Self::Transcripts(Read::read(data)?),
            "outline" => Self::Outline(Box::new(Read::read(data)?)),
            "tree" => Self::Tree(Read::read(data)?),
            "lint" => Self::Lint(Read::read(data)?),
            "context" => Self::Context(data),
            "fit" => Self::Fit(data),
            "memory" => Self::Memory(data),
            "stats" => Self::Stats(Read::read(data)?),
            "import" => Self::Import(Box::new(Read::read(data)?)),
            _ => return Err(wrong("type", "that of an answer")),
        })
    }
}

impl Read for Event {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "event")?;
        Ok(match fields.text("type")?.as_str() {
            "changed" => Self::Changed { transcript: fields.id("transcript")?, nodes: fields.ids("nodes")? },
            "deleted" => Self::Deleted { transcript: fields.id("transcript")?, nodes: fields.ids("nodes")? },
            "head" => Self::Head { context: fields.text("name")?, node: fields.maybe_id("node")? },
            "memory" => Self::Memory { episodes: texts(&mut fields, "episodes")?, facts: texts(&mut fields, "facts")? },
            "mail" => Self::Mail { party: fields.text("party")?, number: fields.count("number")? },
            "cleared" => Self::Cleared,
            "damage" => Self::Damage { damage: Damage::read(fields.take("damage"))? },
            _ => return Err(wrong("type", "that of an event")),
        })
    }
}

fn texts(fields: &mut Object, name: &str) -> Result<Vec<String>, Wrong> {
    let list = fields.list(name)?.into_iter();
    list.map(|value| value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, "a list of strings"))).collect()
}

read_by_hand!(NodeInfo, <NodeInfo as Read>::read);
read_by_hand!(HeadInfo, <HeadInfo as Read>::read);
read_by_hand!(TranscriptInfo, <TranscriptInfo as Read>::read);
read_by_hand!(Outline, <Outline as Read>::read);
read_by_hand!(Row, <Row as Read>::read);
read_by_hand!(Fork, <Fork as Read>::read);
read_by_hand!(TreeNode, <TreeNode as Read>::read);
read_by_hand!(LintFinding, <LintFinding as Read>::read);
read_by_hand!(Stats, <Stats as Read>::read);
read_by_hand!(ImportProgress, <ImportProgress as Read>::read);
read_by_hand!(ImportReport, <ImportReport as Read>::read);
read_by_hand!(Skipped, <Skipped as Read>::read);
read_by_hand!(ErrorReply, <ErrorReply as Read>::read);
read_by_hand!(Response, <Response as Read>::read);
read_by_hand!(Event, <Event as Read>::read);

#[cfg(test)]
mod tests {
    use threadkeep_core::{Message, MessageId, Node};

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let id = MessageId::new("t").unwrap();
        let events = [
            Event::Changed { transcript: id.clone(), nodes: vec![id.clone()] },
            Event::Deleted { transcript: id.clone(), nodes: vec![] },
            Event::Head { context: "h".into(), node: None },
            Event::Head { context: "h".into(), node: Some(id.clone()) },
            Event::Cleared,
            Event::Memory { episodes: vec!["e".into()], facts: vec![] },
            Event::Mail { party: "a".into(), number: 7 },
            Event::Damage { damage: Damage { transcript: None, what: "bits".into() } },
            Event::Damage { damage: Damage { transcript: Some(id.clone()), what: "bits".into() } },
        ];
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
        let extra = serde_json::from_str(r#"{"score": [1.50, 2e-7]}"#).unwrap();
        let info = threadkeep_core::Info { title: "a".into(), created_at: Some(-5), extra, ..Default::default() };
        let Node { origin, labels, messages, .. } =
            serde_json::from_str(r#"{"id":"n","messages":[{"role":"user","content":"a"}],"labels":{"a":"b"},"origin":{"number":3,"model":"m"}}"#)
                .unwrap();
        let node = NodeInfo {
            id: id.clone(),
            transcript: id.clone(),
            parent: None,
            seq: 4,
            created_at: Some(5),
            depth: 6,
            turn: Some("turn_0001".into()),
            sealed: true,
            origin,
            unknown_reply: true,
            labels,
            messages,
        };
        let fork = Some(Fork { index: 1, count: 2, previous: None, next: Some(id.clone()) });
        let answers = Some(Fork { index: 2, count: 3, previous: Some(id.clone()), next: None });
        let row =
            Row { id: id.clone(), role: "user".into(), messages: 1, chars: 2, depth: 3, hidden: true, fork, answers };
        let answers = [
            Response::Done,
            Response::Number(7),
            Response::MaybeNode(None),
            Response::Nodes(vec![]),
            Response::Transcripts(vec![TranscriptInfo { id: id.clone(), info: info.clone() }]),
            Response::Stats(Stats {
                nodes: 5,
                damaged: vec![Damage { transcript: Some(id.clone()), what: "bits".into() }],
                ..Stats::default()
            }),
            Response::Node(Box::new(node.clone())),
            Response::Nodes(vec![node.clone(), node]),
            Response::Messages(vec![Message::user("a")]),
            Response::Heads(vec![HeadInfo { context: "h".into(), transcript: id.clone(), node: id.clone() }]),
            Response::Outline(Box::new(Outline {
                transcript: TranscriptInfo { id: id.clone(), info },
                leaf: id.clone(),
                rows: vec![row],
                damage: Some("d".into()),
            })),
            Response::Tree(vec![TreeNode {
                id: id.clone(),
                parent: Some(3),
                role: "user".into(),
                hidden: true,
                words: "w".into(),
            }]),
            Response::Lint(vec![LintFinding {
                transcript: id.clone(),
                node: id.clone(),
                index: Some(1),
                rule: "r".into(),
                message: "m".into(),
            }]),
            Response::Import(Box::new(ImportReport {
                formats: vec!["chatgpt".into()],
                added: 1,
                memories: 2,
                transcripts: vec![id],
                skipped: vec![Skipped { place: "p".into(), reason: "r".into(), code: "c".into(), salvaged: true }],
                skipped_count: 9,
                ..ImportReport::default()
            })),
        ];
        for answer in answers {
            let text = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Response>(&text).unwrap(), answer);
        }
        for wrong in [r#"{"type":"x"}"#, r#"{"type":"number","data":"a"}"#, r#"{"data":1}"#] {
            assert!(serde_json::from_str::<Response>(wrong).is_err());
        }
        assert!(serde_json::from_str::<Event>(r#"{"type":"changed"}"#).is_err());
    }
}
