//! SillyTavern's chats: a header line, then a line for each message. The answers between which one could swipe are branches;
//! the next message follows the one that was chosen.

use serde_json::{Map, Value};
use threadkeep_core::{Message, Role};
use threadkeep_json::own_text;

use crate::blocks::beside;
use crate::digest::Digest;
use crate::draft::Draft;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::Report;
use crate::tree::Tree;
use crate::{Code, Format, when};

/// The lines of a file so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    sum: Option<Digest>,
    header: Map<String, Value>,
    drafts: Vec<Draft>,
    /// The chosen message of the last line.
    tip: Option<String>,
    /// What was said up to there.
    chain: Option<Digest>,
    given: usize,
}

impl Lines {
    /// Takes a line.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.sum = Some(self.sum.unwrap_or_else(Digest::new).with(bytes));
        let map = crate::whole(fields, place, report);
        if map.contains_key("mes") {
            self.message(map);
        } else if self.given == 0 && self.header.is_empty() {
            self.header = map;
        } else {
            report.skip(place, Code::BadShape, "the line has no `mes`, which is what was said");
        }
    }

    fn message(&mut self, mut map: Map<String, Value>) {
        let said = match map.shift_remove("mes") {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            Some(other) => own_text(&other),
        };
        let swipes: Vec<String> = match map.shift_remove("swipes") {
            Some(Value::Array(list)) => {
                list.into_iter().map(|swipe| swipe.as_str().unwrap_or_default().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        let infos = match map.shift_remove("swipe_info") {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        let chosen = map.shift_remove("swipe_id").and_then(|id| id.as_u64()).unwrap_or(0);
        let chosen = usize::try_from(chosen).unwrap_or(usize::MAX).min(swipes.len().saturating_sub(1));
        let time = map.shift_remove("send_date").as_ref().and_then(when::millis);
        let flag = |name: &str| map.get(name) == Some(&Value::Bool(true));
        let (user, aside) = (flag("is_user"), flag("is_system"));
        let name = text_of(&map, "name").filter(|name| !name.is_empty()).map(str::to_owned);
        map.retain(|name, _| !matches!(name.as_str(), "name" | "is_user" | "is_system"));
        let parent = self.tip.clone();
        let before = self.chain.unwrap_or_else(Digest::new);
        let after = before.with(&[u8::from(user)]).with(said.as_bytes());
        // The chosen answer as it is now, for it may have been edited; the others as they were written.
        let others = swipes.iter().enumerate().filter(|(at, _)| *at != chosen);
        let mut all: Vec<(usize, String)> = others.map(|(at, text)| (at, text.clone())).collect();
        let place = all.iter().position(|(at, _)| *at > chosen).unwrap_or(all.len());
        all.insert(place, (chosen, said));
        for (at, (swipe, text)) in all.into_iter().enumerate() {
            let is_chosen = at == place;
            let digest = if is_chosen { after } else { before.with(&[u8::from(user)]).with(text.as_bytes()) };
            let mut message = Message::new(if user { Role::User } else { Role::Assistant }, text);
            message.name.clone_from(&name);
            message.include_in_context = !aside;
            let info = infos.get(swipe).and_then(Value::as_object);
            let details =
                match info.and_then(|info| info.get("extra")).or_else(|| map.get("extra").filter(|_| is_chosen)) {
                    Some(Value::Object(details)) => details.clone(),
                    _ => Map::new(),
                };
            let swiped_at = info.and_then(|info| info.get("send_date")).and_then(when::millis);
            let mut draft = Draft {
                local: format!("{}.{swipe}-{:016x}", self.given, digest.0),
                parent: parent.clone(),
                ..Draft::default()
            };
            draft.made.created_at = swiped_at.or(time);
            draft.made.origin.model = text_of(&details, "model").map(str::to_owned);
            message.reasoning = text_of(&details, "reasoning").filter(|text| !text.is_empty()).map(str::to_owned);
            if aside {
                draft.made.label("hidden", "true");
            }
            let mut rest = if is_chosen { map.clone() } else { Map::new() };
            rest.shift_remove("extra");
            rest.extend(details.into_iter().filter(|(name, _)| name != "reasoning" && name != "model"));
            beside(std::slice::from_mut(&mut message), "sillytavern", rest);
            draft.made.messages.push(message);
            if is_chosen {
                self.tip = Some(draft.local.clone());
            }
            self.drafts.push(draft);
        }
        self.chain = Some(after);
        self.given += 1;
    }

    /// The file ends: hands out what its lines make.
    pub fn finish(&mut self, report: &mut Report) {
        let lines = std::mem::take(self);
        let Some(sum) = lines.sum else { return };
        if lines.drafts.is_empty() {
            report.skip("", Code::Empty, "a chat without messages");
            return;
        }
        let mut header = lines.header;
        let text = |name: &str| text_of(&header, name).map(str::to_owned).filter(|text| !text.is_empty());
        let (character, created) = (text("character_name"), text("create_date"));
        let integrity = header.get("chat_metadata").and_then(|data| data.get("integrity")).and_then(Value::as_str);
        // The chat's own mark; else who and when; else how it begins.
        let id = match (integrity, &character, &created) {
            (Some(mark), ..) => mark.to_owned(),
            (None, Some(character), Some(created)) => format!("{character} {created}"),
            _ => lines.drafts[0].local.clone(),
        };
        let mut tree = Tree::new(Format::SillyTavern.name(), &id);
        tree.title = character;
        tree.created_at = header.get("create_date").and_then(when::millis).or(lines.drafts[0].made.created_at);
        tree.updated_at = lines.drafts.iter().filter_map(|draft| draft.made.created_at).max();
        header.retain(|_, value| !says_nothing(value));
        tree.extra = header;
        tree.leaf = lines.tip;
        tree.drafts = lines.drafts;
        let made = tree.finish("", sum.0, report);
        report.conversation(made);
    }
}
