//! What an import takes of settings and requests that a file of our own format has, and what it leaves.
//!
//! Settings act on every later prompt, and a system prompt among them has the role that nothing remembered ever has. So whose settings
//! are taken is decided as it is for pins and origins of memory. A file that restores this keep (it holds all conversations and records,
//! of which an empty keep has none) brings all settings back, those of the whole keep too. Otherwise a restored keep would send other prompts than
//! before. Any other file speaks for its own threads only, and only for those that this import added. Of their settings it takes the
//! options that choose among what the thread itself says ([`SHAPES`]). It leaves words for the model, tools, quotes of the memory, the
//! model, and what costs money. Settings that are there are never replaced.
//!
//! No settings hold an address or a key: they have no such options, and an unknown option is an error. The report names what was left, and
//! says where settings that were taken speak to the model.

use serde_json::{Map, Value};
use threadkeep_archive::{Beside, own};
use threadkeep_core::TranscriptId;
use threadkeep_store::{Commit, Store};

use super::Held;
use crate::name::check_name;
use crate::protocol::{ContextSettings, Event, ImportReport};
use crate::{Keep, KeepError, keys};

/// The options that only choose among what a thread says, and how much of it.
const SHAPES: [&str; 9] = [
    "budget",
    "policy",
    "compressHistory",
    "printlnHistoryLimit",
    "errorWindow",
    "toolPreview",
    "includeToolResultsInContext",
    "includeCollapsedUiEventsInContext",
    "only",
];

/// The options by which settings speak to the model.
const SPEAK: [&str; 5] = ["systemPrompt", "persona", "mode", "run", "tools"];

/// The most that settings may take, in bytes: every prompt reads them.
const MOST: usize = 1 << 20;

/// Settings of a file, and where they belong.
struct Settings<'a> {
    key: String,
    /// The transcript, and the head or the transcript's id; nothing for the whole keep.
    of: Option<TranscriptId>,
    at: Option<&'a str>,
    given: Map<String, Value>,
}

impl<S: Store> Keep<S> {
    /// Stores the settings and requests of a file, after its conversations and memories.
    pub(super) async fn take_beside(
        &self,
        lines: Vec<Beside>,
        is_backup: bool,
        held: &Held,
        report: &mut ImportReport,
    ) -> Result<(), KeepError> {
        for Beside { place, line } in lines.iter().filter(|it| it.line.get(own::SETTINGS).is_some()) {
            match self.settings_of_line(line) {
                Ok(settings) => self.take_settings(settings, place, is_backup, held, report).await?,
                Err(why) => report.skip(place, "bad-settings", why, false),
            }
        }
        self.take_requests(&lines, is_backup, held, report).await
    }

    fn settings_of_line<'a>(&self, line: &'a Value) -> Result<Settings<'a>, String> {
        let text = |name: &str| match line.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err([name, " must be a text"].concat()),
        };
        let (of, head) = (text("of")?, text("head")?);
        let id = of.map(TranscriptId::new).transpose().map_err(|error| error.to_string())?;
        let Some(Value::Object(given)) = line.get(own::SETTINGS) else {
            return Err("settings must be an object".into());
        };
        if line.to_string().len() > MOST {
            return Err(format!("settings must be at most {MOST} bytes long"));
        }
        if let Some(head) = head {
            check_name(head).map_err(|error| error.to_string())?;
        }
        let key = match (&id, head) {
            (_, Some(head)) => keys::settings_at(head),
            (Some(id), None) => keys::settings_of(id),
            (None, None) => keys::SETTINGS.to_owned(),
        };
        // All of it must be right, also what is left.
        ContextSettings::from_json(Value::Object(given.clone())).map_err(|error| error.to_string())?;
        Ok(Settings { key, of: id, at: head.or(of), given: given.clone() })
    }

    async fn take_settings(
        &self,
        settings: Settings<'_>,
        place: &str,
        is_backup: bool,
        held: &Held,
        report: &mut ImportReport,
    ) -> Result<(), KeepError> {
        let Settings { key, of, at, mut given } = settings;
        let whose = at.map_or("the whole keep".to_owned(), |at| format!("{at:?}"));
        let _writing = self.writing().await;
        // What is there stays, also what cannot be read.
        if let Some(stored) = self.inner.store.get(&key).await? {
            if stored != Value::Object(given).to_string().into_bytes() {
                let reason =
                    format!("the settings of {whose} are not taken: there are settings of its own here, which stay");
                report.skip(place, "settings-left", reason, false);
            }
            return Ok(());
        }
        let is_here = match (&of, at) {
            (Some(of), Some(at)) if at != of.as_str() => self.stored_head(at).await?.as_ref() == Some(of),
            (Some(of), _) => held.contains_key(of) && self.inner.store.get(&keys::record(of)).await?.is_some(),
            (None, _) => is_backup,
        };
        let is_ours = is_backup || of.as_ref().is_some_and(|of| held.get(of) == Some(&true));
        let mut left: Vec<String> = Vec::new();
        if !is_here || !is_ours {
            left.extend(given.keys().cloned());
        } else if !is_backup {
            left.extend(given.keys().filter(|name| !SHAPES.contains(&name.as_str())).cloned());
        }
        given.retain(|name, _| !left.contains(name));
        if !left.is_empty() {
            let reason = format!(
                "of the settings of {whose}, {} not taken: this file is no backup of all that is here. Set what you want yourself",
                left.join(", ") + if left.len() == 1 { " is" } else { " are" },
            );
            report.skip(place, "settings-left", reason, !given.is_empty());
        }
        let speaks: Vec<&str> = SPEAK.into_iter().filter(|name| given.contains_key(*name)).collect();
        if !speaks.is_empty() {
            let names = speaks.join(", ");
            let reason =
                format!("the settings of {whose} now hold {names} from this file, which later prompts send: read them");
            report.skip(place, "settings-speak", reason, true);
        }
        if !given.is_empty() {
            let text = Value::Object(given).to_string();
            let commit =
                Commit { absent: vec![key.clone()], puts: vec![(key, text.into_bytes())], ..Commit::default() };
            self.inner.store.commit(commit).await?;
            report.settings += 1;
            self.emit(&Event::Settings { at: at.map(str::to_owned) });
        }
        Ok(())
    }
}
