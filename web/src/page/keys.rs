//! The connections that the reader has, which is in use, and their keys. Keys lie in this page's memory and, where the reader
//! asked for it, sealed beside the connection; they leave it in requests to the worker alone. Sealing is `vault.js`'s.

use leptos::prelude::*;

use super::effects::at_window;
use super::{dom, script};
use crate::connections::{Book, Connection};
use crate::wire::Secret;

const BOOK: &str = "threadkeep.connections";

/// A key in memory. It goes with the page.
#[derive(Clone)]
struct Held {
    connection: String,
    key: String,
}

/// The connections and their keys. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Connections {
    /// What is kept of them, without keys.
    pub book: RwSignal<Book>,
    /// Counts changes of the keys in memory.
    pub changed: RwSignal<u32>,
    held: StoredValue<Vec<Held>, LocalStorage>,
}

/// How a connection is with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// There is none.
    None,
    /// It is in memory, until the page is closed.
    Memory,
    /// It is in memory, and sealed on the disk.
    Kept,
    /// It is sealed on the disk and must be unlocked.
    Locked,
}

impl Connections {
    /// Reads what is kept, and follows what other tabs do to it.
    pub fn start() -> Self {
        let connections =
            Self { book: RwSignal::new(kept()), changed: RwSignal::new(0), held: StoredValue::new_local(Vec::new()) };
        at_window("storage", move |_| {
            let now = kept();
            if connections.book.with_untracked(|book| *book != now) {
                connections.book.set(now);
            }
        });
        connections
    }

    /// Changes what is kept, here and on the disk. Reads it first, since another tab may have written.
    pub fn change(self, act: impl FnOnce(&mut Book)) {
        let mut book = kept();
        act(&mut book);
        dom::remember(BOOK, &book.write());
        self.book.set(book);
    }

    /// Keeps a connection, and uses it.
    pub fn choose(self, connection: Connection) {
        self.change(|book| {
            book.chosen.clone_from(&connection.id);
            book.put(connection);
        });
    }

    /// The connection in use; tracks.
    pub fn in_use(self) -> Option<Connection> {
        self.book.with(|book| book.in_use().cloned())
    }

    /// How a connection is with its key; tracks.
    pub fn key_state(self, connection: &Connection) -> KeyState {
        self.changed.track();
        match (self.key(&connection.id).is_some(), connection.sealed.is_some()) {
            (true, true) => KeyState::Kept,
            (true, false) => KeyState::Memory,
            (false, true) => KeyState::Locked,
            (false, false) => KeyState::None,
        }
    }

    fn key(self, id: &str) -> Option<String> {
        self.held.with_value(|held| held.iter().find(|one| one.connection == id).map(|one| one.key.clone()))
    }

    /// Holds a key in memory, or lets go of it.
    pub fn hold(self, id: &str, key: Option<String>) {
        self.held.update_value(|held| {
            held.retain(|one| one.connection != id);
            held.extend(key.map(|key| Held { connection: id.to_owned(), key }));
        });
        self.changed.update(|times| *times += 1);
    }

    /// A connection with its key, for a request.
    pub fn request(self, connection: &Connection) -> Secret {
        Secret(connection.request(self.key(&connection.id).as_deref()))
    }

    /// Lets go of a connection and its key.
    pub fn remove(self, id: &str) {
        self.change(|book| book.remove(id));
        self.hold(id, None);
    }

    /// How many kept keys are locked; tracks.
    pub fn locked(self) -> usize {
        self.changed.track();
        self.book.with(|book| {
            let locked = |one: &&Connection| one.sealed.is_some() && self.key(&one.id).is_none();
            book.list.iter().filter(locked).count()
        })
    }

    /// Unlocks all keys that a passphrase opens; says how many.
    ///
    /// # Errors
    /// In words, where the browser does not let this page decrypt.
    pub async fn unlock(self, passphrase: &str) -> Result<usize, String> {
        let locked = self.book.with_untracked(|book| book.list.clone());
        let mut opened = 0;
        for one in locked {
            let (Some(sealed), None) = (&one.sealed, self.key(&one.id)) else { continue };
            let key = vault("open", &[("sealed", sealed), ("passphrase", passphrase), ("whose", &one.id)]).await?;
            if !key.is_empty() {
                self.hold(&one.id, Some(key));
                opened += 1;
            }
        }
        Ok(opened)
    }

    /// Seals the key of a connection that is held.
    ///
    /// # Errors
    /// In words: the passphrase is not the one of the other kept keys, or the browser does not let this page encrypt.
    pub async fn seal(self, id: &str, passphrase: &str) -> Result<Option<String>, String> {
        let Some(key) = self.key(id) else { return Ok(None) };
        let other = self.book.with_untracked(|book| {
            book.list
                .iter()
                .find(|one| one.id != id && one.sealed.is_some())
                .map(|one| (one.id.clone(), one.sealed.clone()))
        });
        // One passphrase for all of them: nobody wants to be asked for several.
        if let Some((whose, Some(sealed))) = other
            && vault("open", &[("sealed", &sealed), ("passphrase", passphrase), ("whose", &whose)]).await?.is_empty()
        {
            return Err("Your other kept keys have another passphrase. Use that one.".to_owned());
        }
        vault("seal", &[("secret", &key), ("passphrase", passphrase), ("whose", id)]).await.map(Some)
    }
}

fn kept() -> Book {
    Book::read(&dom::remembered(BOOK).unwrap_or_default())
}

/// Calls a function of the vault. What it is given is in no error.
async fn vault(name: &str, given: &[(&str, &str)]) -> Result<String, String> {
    let failed = "This browser does not let the page encrypt: that needs https, or a page of this machine.";
    script::call("vault", name, given).await.map_err(|_| failed.to_owned())
}
