//! The numbers of mailboxes. A number, once given, is never given again, whatever is deleted: readers (an agent, a follower) remember
//! how far they are by number, and a message below that number is a message that nobody reads.
//!
//! Each mailbox has one marker, a key whose name holds the last number that was given. A commit that gives the next number replaces the
//! marker and is conditional on it. So two tabs cannot give the same number, even if a message is deleted in between. The
//! first marker of a mailbox begins above everything that is known of it; deleting everything leaves one number for the whole store
//! (no names), above which all later mailboxes begin.

use threadkeep_store::{Commit, Scan, Store, StoreError};

use crate::{Keep, KeepError, keys};

/// The mailbox of nobody, whose marker is the number that a deletion of everything leaves.
const NOBODY: &str = "";

/// The highest number that a mailbox gives: 2^53 − 1.
const MOST: u64 = (1 << 53) - 1;

/// The next number of a mailbox.
pub(super) struct Next {
    /// The number.
    pub number: u64,
    /// The marker that it replaces; `None` for the first.
    marker: Option<String>,
}

impl Next {
    /// Adds to a commit that it gives the number. The commit fails with a conflict where another writer gave it first.
    pub fn give(self, party: &str, commit: &mut Commit) {
        match self.marker {
            Some(marker) => {
                commit.present.push(marker.clone());
                commit.deletes.push(marker);
            }
            None => {
                commit.absent.push(keys::numbered(party));
                commit.puts.push((keys::numbered(party), Vec::new()));
            }
        }
        commit.puts.push((keys::number_mark(party, self.number), Vec::new()));
    }
}

impl<S: Store> Keep<S> {
    /// The next number of a mailbox.
    pub(super) async fn next_number(&self, party: &str) -> Result<Next, KeepError> {
        let marker = self.last_key(&Scan::prefix(&keys::number_markers(party))).await?;
        let last = match marker.as_deref().and_then(keys::mail_number) {
            Some(last) => last,
            None => self.known_number(party).await?,
        };
        // JavaScript readers remember numbers as doubles: above this, two would be one.
        if last >= MOST {
            let key = marker.unwrap_or_else(|| keys::numbered(party));
            let why = format!("the mailbox {party:?} has the number {last}, and {MOST} is the most");
            return Err(StoreError::Corrupt { key, why }.into());
        }
        Ok(Next { number: last + 1, marker })
    }

    /// The highest number of a mailbox without a marker that anything speaks of: a message, the agent of that name, a deletion of
    /// everything. Stores that were written before there were markers have none.
    async fn known_number(&self, party: &str) -> Result<u64, KeepError> {
        let newest = self.last_key(&keys::mails(party, 0)).await?;
        let left = self.last_key(&Scan::prefix(&keys::number_markers(NOBODY))).await?;
        let stored = newest.iter().chain(&left).filter_map(|key| keys::mail_number(key)).max();
        Ok(stored.unwrap_or_default().max(self.seen_by(party).await?))
    }

    /// Adds to the commit that deletes everything what it must leave: the highest number that was ever given.
    pub(crate) async fn leave_numbers(&self, commit: &mut Commit) -> Result<(), KeepError> {
        let mut highest = 0;
        for party in self.parties().await? {
            highest = highest.max(self.known_number(&party).await?);
        }
        for agent in self.agents().await? {
            highest = highest.max(self.seen_by(&agent).await?);
        }
        for key in self.keys_of(&Scan::prefix(keys::NUMBERS)).await? {
            if keys::is_number_mark(&key) {
                highest = highest.max(keys::mail_number(&key).unwrap_or_default());
                // Should somebody send a message meanwhile, its number counts too.
                commit.present.push(key.clone());
            }
            commit.deletes.push(key);
        }
        if highest > 0 {
            commit.puts.push((keys::number_mark(NOBODY, highest), Vec::new()));
        }
        Ok(())
    }

    async fn last_key(&self, scan: &Scan) -> Result<Option<String>, KeepError> {
        let last = self.inner.store.scan(&scan.clone().reversed().limit(1)).await?;
        Ok(last.into_iter().next().map(|(key, _)| key))
    }
}
