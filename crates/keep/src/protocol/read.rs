//! Answers and events, read back by whoever asked in another thread. By hand where serde's derived code would first gather
//! the content into a tree of its own (tags, flattening): that takes several times the code, and the page is small.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use threadkeep_core::{MessageId, TranscriptId};

use super::{Event, Response, TranscriptInfo};

/// Reads `text` as whatever the place where it goes needs.
fn part<'a, T: Deserialize<'a>, E: Error>(text: &'a str) -> Result<T, E> {
    serde_json::from_str(text).map_err(E::custom)
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tagged {
            r#type: String,
            #[serde(default)]
            data: Option<Box<RawValue>>,
        }
        let Tagged { r#type, data } = Tagged::deserialize(deserializer)?;
        let data = data.as_ref().map_or("null", |data| data.get());
        Ok(match r#type.as_str() {
            "done" => Self::Done,
            "number" => Self::Number(part(data)?),
            "node" => Self::Node(part(data)?),
            "maybeNode" => Self::MaybeNode(part(data)?),
            "nodes" => Self::Nodes(part(data)?),
            "messages" => Self::Messages(part(data)?),
            "heads" => Self::Heads(part(data)?),
            "transcripts" => Self::Transcripts(part(data)?),
            "outline" => Self::Outline(part(data)?),
            "tree" => Self::Tree(part(data)?),
            "lint" => Self::Lint(part(data)?),
            "context" => Self::Context(part(data)?),
            "fit" => Self::Fit(part(data)?),
            "stats" => Self::Stats(part(data)?),
            "import" => Self::Import(part(data)?),
            other => return Err(D::Error::custom(format!("there is no answer {other:?}"))),
        })
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tagged {
            r#type: String,
            #[serde(default)]
            transcript: Option<TranscriptId>,
            #[serde(default)]
            nodes: Vec<MessageId>,
            #[serde(default)]
            context: Option<String>,
            #[serde(default)]
            node: Option<MessageId>,
        }
        let Tagged { r#type, transcript, nodes, context, node } = Tagged::deserialize(deserializer)?;
        Ok(match (r#type.as_str(), transcript, context) {
            ("changed", Some(transcript), _) => Self::Changed { transcript, nodes },
            ("deleted", Some(transcript), _) => Self::Deleted { transcript, nodes },
            ("head", _, Some(context)) => Self::Head { context, node },
            ("cleared", ..) => Self::Cleared,
            (other, ..) => return Err(D::Error::custom(format!("{other:?} is no event, or lacks a part"))),
        })
    }
}

impl<'de> Deserialize<'de> for TranscriptInfo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Named {
            id: TranscriptId,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Named { id } = part(text.get())?;
        Ok(Self { id, info: part(text.get())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Stats;

    #[test]
    fn what_is_written_is_read() {
        let id = MessageId::new("t").unwrap();
        let events = [
            Event::Changed { transcript: id.clone(), nodes: vec![id.clone()] },
            Event::Deleted { transcript: id.clone(), nodes: vec![] },
            Event::Head { context: "h".into(), node: None },
            Event::Head { context: "h".into(), node: Some(id.clone()) },
            Event::Cleared,
        ];
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
        let info = threadkeep_core::Info { title: "a".into(), created_at: Some(-5), ..Default::default() };
        let answers = [
            Response::Done,
            Response::Number(7),
            Response::MaybeNode(None),
            Response::Nodes(vec![]),
            Response::Transcripts(vec![TranscriptInfo { id, info }]),
            Response::Stats(Stats::default()),
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
