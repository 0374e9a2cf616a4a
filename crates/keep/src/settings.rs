//! Settings and pins: how prompts are built and histories compacted where a call does not say.
//!
//! Settings are stored for the whole keep, a transcript or a head. Of each option the narrowest place counts, and what a call says counts
//! more than all of them. Pins are entries of the log, so they go where the transcript goes.

use futures_util::future::try_join_all;
use threadkeep_compaction::{Policy, PolicyOptions};
use threadkeep_core::read::Off;
use threadkeep_core::{Entry, MessageId, TranscriptId};
use threadkeep_store::{Commit, Store, StoreError};

use crate::compact::CompactOptions;
use crate::keep::Write;
use crate::name::check_name;
use crate::protocol::{
    BadRequest, CompactCall, CompactionParams, ContextOptions, ContextParams, ContextSettings, Event, PolicyParams,
};
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// Stores settings for the whole keep, a transcript (by its id) or a head (by its name; also one that does not exist yet), in the
    /// place of those that were there. Empty ones remove them. They go with what they are for.
    ///
    /// # Errors
    /// `bad-request` for a node that is neither a transcript's root nor a head; the store's.
    pub async fn set_context_options(&self, at: Option<&str>, settings: &ContextSettings) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        // What was said last holds.
        if let Some(head) = at
            && settings.compacting().is_some_and(|compaction| compaction.strategy.is_some())
            && self.head(head).await?.is_some()
        {
            self.write_strategy(head, None).await?;
        }
        self.store_settings(at, settings).await
    }

    /// [`Keep::set_context_options`] for a caller who holds [`Keep::writing`]; the log stays as it is.
    pub(crate) async fn store_settings(&self, at: Option<&str>, settings: &ContextSettings) -> Result<(), KeepError> {
        let key = self.settings_key(at).await?;
        // Settings that cannot be read are replaced too.
        if self.stored_settings(key.clone()).await.is_ok_and(|stored| stored == *settings) {
            return Ok(());
        }
        let mut commit = Commit::default();
        if settings.is_empty() {
            commit.deletes.push(key);
        } else {
            commit.puts.push((key, settings.to_json().to_string().into_bytes()));
        }
        self.inner.store.commit(commit).await?;
        self.emit(&Event::Settings { at: at.map(str::to_owned) });
        Ok(())
    }

    /// The settings that hold for the whole keep, a transcript, a head or a node.
    ///
    /// # Errors
    /// `corrupt`; the store's. What is not there has the settings of the keep.
    pub async fn context_options(&self, at: Option<&str>) -> Result<ContextSettings, KeepError> {
        let Some(at) = at else { return self.settings_for(None, None).await };
        match self.place(at).await {
            Ok((transcript, _)) => {
                let head = self.is_head(&transcript, at).await?.then_some(at);
                self.settings_for(Some(&transcript), head).await
            }
            Err(KeepError::MissingNode(_)) => self.settings_for(None, Some(at)).await,
            Err(error) => Err(error),
        }
    }

    /// The settings that are stored right there, without those of wider places.
    ///
    /// # Errors
    /// As [`Keep::set_context_options`]; `corrupt`.
    pub async fn own_context_options(&self, at: Option<&str>) -> Result<ContextSettings, KeepError> {
        let key = self.settings_key(at).await?;
        self.stored_settings(key).await
    }

    /// The settings for a chain of a transcript, at a head if it is one's.
    pub(crate) async fn settings_for(
        &self,
        transcript: Option<&TranscriptId>,
        head: Option<&str>,
    ) -> Result<ContextSettings, KeepError> {
        let keys = [Some(keys::SETTINGS.to_owned()), transcript.map(keys::settings_of), head.map(keys::settings_at)];
        let all = try_join_all(keys.into_iter().flatten().map(|key| self.stored_settings(key))).await?;
        let narrowest = all.into_iter().reduce(|wide, narrow| narrow.over(&wide)).unwrap_or_default();
        let (Some(transcript), Some(head)) = (transcript, head) else { return Ok(narrowest) };
        // [`Keep::set_strategy`] writes to the log, so that a strategy moves with its head and is in exports.
        let strategy = self.glance(transcript, |log| Ok(log.tree.strategy(head))).await?;
        Ok(match strategy {
            Some(strategy) => narrowest.with_strategy(strategy),
            None => narrowest,
        })
    }

    pub(crate) async fn stored_settings(&self, key: String) -> Result<ContextSettings, KeepError> {
        let Some(bytes) = self.inner.store.get(&key).await? else { return Ok(ContextSettings::default()) };
        let corrupt = |why: String| KeepError::from(StoreError::Corrupt { key: key.clone(), why });
        let text = std::str::from_utf8(&bytes).map_err(|error| corrupt(error.to_string()))?;
        ContextSettings::read(text).map_err(|error| corrupt(error.to_string()))
    }

    async fn settings_key(&self, at: Option<&str>) -> Result<String, KeepError> {
        let Some(at) = at else { return Ok(keys::SETTINGS.to_owned()) };
        check_name(at)?;
        match self.place(at).await {
            Ok((transcript, _)) if self.is_head(&transcript, at).await? => Ok(keys::settings_at(at)),
            Ok((transcript, _)) if transcript.as_str() == at => Ok(keys::settings_of(&transcript)),
            Err(KeepError::MissingNode(_)) => Ok(keys::settings_at(at)),
            Ok(_) => {
                let why = "must be a thread's name or a transcript's id; it is a node within one".to_owned();
                Err(BadRequest { argument: "at".to_owned(), why }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a name is that of a head in a transcript.
    pub(crate) async fn is_head(&self, transcript: &TranscriptId, name: &str) -> Result<bool, KeepError> {
        self.glance(transcript, |log| Ok(log.tree.heads().contains_key(name))).await
    }

    /// A call's own options over the settings of its chain.
    ///
    /// # Errors
    /// As [`Keep::context_options`].
    pub async fn options_at(&self, at: &str, own: ContextParams) -> Result<ContextOptions, KeepError> {
        Ok(self.context_options(Some(at)).await?.under(own).into())
    }

    /// The options of a compaction: a call's own over the settings of its chain.
    ///
    /// # Errors
    /// As [`Keep::context_options`].
    pub async fn compact_options(&self, call: &CompactCall) -> Result<CompactOptions, KeepError> {
        let settings = self.context_options(Some(&call.at)).await?;
        let provider = call.provider.or(settings.context.provider).unwrap_or_default();
        Ok(CompactOptions { provider, ..CompactOptions::from(call).over(settings.compacting()) })
    }

    /// When a chain is compacted: a call's own figures over the settings of the chain; `None` for never.
    ///
    /// # Errors
    /// As [`Keep::context_options`].
    pub async fn policy_at(&self, at: &str, own: &PolicyParams) -> Result<Option<Policy>, KeepError> {
        let settings = self.context_options(Some(at)).await?;
        if settings.compaction == Some(Off::Off) {
            return Ok(None);
        }
        let model = own.model.as_deref().or(settings.context.model.as_deref());
        let wider = wider_figures(&settings, model);
        Ok(Some(Policy::resolve(&own.figures(), &wider, model)))
    }

    /// Pins a node: prompts keep its messages, and compactions leave them raw. Or removes its pin.
    ///
    /// # Errors
    /// `missing-node`; `damaged`; the store's.
    pub async fn pin_node(&self, node: &MessageId, pinned: bool) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let missing = || KeepError::MissingNode(node.clone());
        let transcript = self.find_or_fail(node).await?;
        let written = self.write(&transcript, |log| {
            let id = log.tree.resolve(node).ok_or_else(missing)?.clone();
            let same = log.tree.pinned(&id).unwrap_or(false) == pinned;
            let entry = if pinned { Entry::Pin(id.clone()) } else { Entry::Unpin(id.clone()) };
            Ok(Write::new(if same { Vec::new() } else { vec![entry] }, id))
        });
        let id = written.await?.ok_or_else(missing)?;
        self.changed(&transcript, vec![id]);
        Ok(())
    }

    /// The pinned nodes of a chain, in its order.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn pins(&self, at: &str) -> Result<Vec<MessageId>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            // Most transcripts have none.
            if log.tree.pins().next().is_none() {
                return Ok(Vec::new());
            }
            let chain = log.tree.chain(&leaf)?;
            let pinned = chain.into_iter().filter(|placed| log.tree.pinned(&placed.node.id) == Some(true));
            Ok(pinned.map(|placed| placed.node.id.clone()).collect())
        });
        found.await
    }
}

/// The figures of a policy that settings name.
pub(crate) fn figures(params: &CompactionParams) -> PolicyOptions {
    PolicyOptions {
        max_context_tokens: params.max_context_tokens.map(u64::from),
        max_output_tokens: params.max_output_tokens.map(u64::from),
        safety_margin: params.safety_margin.map(u64::from),
        compaction_ratio: params.compaction_ratio,
        compaction_threshold: params.compaction_threshold,
    }
}

/// The figures of a policy that settings have for a model: those of compactions, and over the table of models the host's own.
pub(crate) fn wider_figures(settings: &ContextSettings, model: Option<&str>) -> PolicyOptions {
    let mut wider = settings.compacting().map(figures).unwrap_or_default();
    if let Some(known) = settings.model(model) {
        wider.max_context_tokens = wider.max_context_tokens.or(known.max_context_tokens.map(u64::from));
        wider.max_output_tokens = wider.max_output_tokens.or(known.max_output_tokens.map(u64::from));
        wider.safety_margin = wider.safety_margin.or(known.safety_margin.map(u64::from));
    }
    wider
}

impl CompactOptions {
    /// These options over those of settings.
    #[must_use]
    pub(crate) fn over(self, wider: Option<&CompactionParams>) -> Self {
        let Some(wider) = wider else { return self };
        Self {
            strategy: self.strategy.or(wider.strategy),
            // Messages in place of turns, or turns: whichever the call names.
            tail_turns: self.tail_turns.or(wider.keep_turns.filter(|_| self.keep_recent.is_none())),
            target_tokens: self.target_tokens.or(wider.target_tokens.map(u64::from)),
            ..self
        }
    }
}
