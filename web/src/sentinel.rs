//! The note beside the database that notices its loss: how many threads and messages there were. Browsers can wipe a
//! database without a word; a note in another kind of storage outlives that. Counts in, a short text out, and back.

use threadkeep::protocol::Stats;

/// What was there when the note was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentinel {
    /// Threads.
    pub transcripts: u32,
    /// Messages in them.
    pub messages: u64,
}

impl Sentinel {
    /// The note for what is there now.
    pub fn of(stats: &Stats) -> Self {
        Self { transcripts: stats.transcripts, messages: stats.messages }
    }

    /// The note as text.
    pub fn write(self) -> String {
        format!("{} {}", self.transcripts, self.messages)
    }

    /// Reads a note; `None` for what is none.
    pub fn read(text: &str) -> Option<Self> {
        let (transcripts, messages) = text.split_once(' ')?;
        Some(Self { transcripts: transcripts.parse().ok()?, messages: messages.parse().ok()? })
    }
}

/// What was lost: the note says that there was something, and the store is empty.
pub fn lost(note: Option<&str>, now: &Stats) -> Option<Sentinel> {
    note.and_then(Sentinel::read).filter(|was| was.transcripts > 0 && now.transcripts == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_noticed_and_nothing_else() {
        let full = Stats { transcripts: 3, messages: 40, ..Stats::default() };
        let note = Sentinel::of(&full).write();
        assert_eq!(Sentinel::read(&note), Some(Sentinel { transcripts: 3, messages: 40 }));
        assert_eq!(lost(Some(&note), &Stats::default()), Some(Sentinel { transcripts: 3, messages: 40 }));
        assert_eq!(lost(Some(&note), &full), None);
        assert_eq!(lost(Some("0 0"), &Stats::default()), None);
        assert_eq!(lost(Some("rubbish"), &Stats::default()), None);
        assert_eq!(lost(None, &Stats::default()), None);
    }
}
