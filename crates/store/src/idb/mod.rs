//! The store in the browser's IndexedDB, for pages and workers alike.
//!
//! In goes a database name; out comes a [`Store`] whose acknowledged commits are on the disk. One object store holds the
//! records under out-of-line string keys, the values are `Uint8Array`s, and every commit is one transaction that checks
//! its conditions, writes, and is never waited for in the middle. Opening, upgrading and deleting go through the crate
//! `indexed_db_futures`; transactions speak to the browser directly, because the crate's `commit` loses the transaction's
//! error (and with it "the quota is used up"), and allots a channel and two closures for each request.
//!
//! What can happen to a database while it is open, and what its handle then answers:
//!
//! | what happens | this handle | the next call |
//! |---|---|---|
//! | another tab upgrades it | closes at once, so that the other goes on | reopens; [`StoreError::NewerVersion`] when the upgrade is done |
//! | another tab deletes it | closes at once | [`StoreError::Gone`] from then on; a new [`IdbStore::open`] starts afresh |
//! | the browser drops the connection | notices | reopens, a few times if it must; then [`StoreError::Transient`] |
//! | the user clears the site's data | notices | [`StoreError::Gone`], also when another tab has made a new database since |
//!
//! What a killed browser can leave behind, and what is done about it before the first commit, is described in `fresh_log`.
//! Until a new log is there commits wait, at most for a few seconds; should the browser refuse one they go on all the same,
//! with the danger that a browser that was killed twice in mid-write throws the database away.
//!
//! What the engine stores, and the sentinel outside the database that tells total loss from a first visit, is left to
//! others; [`IdbStore::beginning`] says what opening found.

mod commit;
mod connection;
mod fresh_log;
mod read;
mod request;
mod schema;
#[cfg(test)]
#[cfg(target_arch = "wasm32")]
mod tests;
mod wait;

use std::cell::RefCell;
use std::rc::Rc;

pub use connection::{Beginning, IdbOptions};
use connection::{Connection, Loss};
use schema::Schema;

use crate::{Commit, Record, Scan, Store, StoreError};

/// How long to wait before each new try at a dropped connection, in milliseconds. Their number is the budget of tries.
const REOPEN_PAUSES_MS: [i32; 4] = [0, 50, 250, 1_000];

/// The same for an opening that fails, after the first try.
const OPEN_PAUSES_MS: [i32; 2] = [50, 250];

/// A [`Store`] in a database of the browser's IndexedDB. Dropping it closes the connection.
#[derive(Debug)]
pub struct IdbStore {
    name: String,
    options: IdbOptions,
    schema: Schema,
    beginning: Beginning,
    /// Which database this is: the mark written when it was created. Another one of the same name is not ours.
    mark: String,
    state: RefCell<State>,
}

#[derive(Debug, Clone)]
enum State {
    Open(Rc<Connection>),
    Gone,
    Closed,
}

impl IdbStore {
    /// Opens the database `name`, creating or upgrading it where necessary.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] where there is no IndexedDB or the browser refuses it, [`StoreError::NewerVersion`]
    /// when a newer build has upgraded the database (which stays untouched), [`StoreError::Blocked`] when another tab
    /// does not let go of an older version within [`IdbOptions::blocked_wait_ms`], [`StoreError::Quota`] when there is no
    /// room for a new database, [`StoreError::Transient`] for what may pass.
    pub async fn open(name: &str) -> Result<Self, StoreError> {
        Self::open_with(name, IdbOptions::default()).await
    }

    /// Like [`IdbStore::open`], with other waiting times.
    ///
    /// # Errors
    ///
    /// As [`IdbStore::open`].
    pub async fn open_with(name: &str, options: IdbOptions) -> Result<Self, StoreError> {
        Self::open_schema(name, options, schema::CURRENT).await
    }

    async fn open_schema(name: &str, options: IdbOptions, schema: Schema) -> Result<Self, StoreError> {
        let connection = open_patiently(name, options, schema).await?;
        fresh_log::begin();
        let beginning = connection.beginning().clone();
        let mark = connection.mark().to_owned();
        let state = RefCell::new(State::Open(Rc::new(connection)));
        Ok(Self { name: name.to_owned(), options, schema, beginning, mark, state })
    }

    /// Deletes the database `name` with all that is in it; one that is not there is no error. Handles of this crate that
    /// have it open let go of it and answer [`StoreError::Gone`] from then on.
    ///
    /// # Errors
    ///
    /// [`StoreError::Blocked`] when another holder of the database does not let go within
    /// [`IdbOptions::blocked_wait_ms`] (the browser then deletes it as soon as they do), [`StoreError::Unavailable`] where
    /// there is no IndexedDB.
    pub async fn delete(name: &str) -> Result<(), StoreError> {
        connection::delete(name, IdbOptions::default()).await
    }

    /// What opening found: a database with its data, none, or one that the browser had wiped.
    pub fn beginning(&self) -> &Beginning {
        &self.beginning
    }

    /// A connection that works as far as anyone knows, reopened if it was lost.
    async fn connection(&self) -> Result<Rc<Connection>, StoreError> {
        let state = self.state.borrow().clone();
        match state {
            State::Closed => Err(StoreError::Closed),
            State::Gone => Err(StoreError::gone()),
            State::Open(connection) => match connection.loss() {
                None => Ok(connection),
                Some(Loss::Deleted) => Err(self.gone()),
                Some(Loss::Upgraded | Loss::Dropped) => self.reopen().await,
            },
        }
    }

    /// Opens the same database again, within the budget of tries. Never makes a new one.
    async fn reopen(&self) -> Result<Rc<Connection>, StoreError> {
        let mut last = StoreError::Transient("the connection was dropped".to_owned());
        for pause in REOPEN_PAUSES_MS {
            wait::sleep(pause).await;
            match Connection::open(&self.name, self.options, self.schema, Some(&self.mark)).await {
                Ok(connection) => {
                    let connection = Rc::new(connection);
                    // Somebody may have closed this handle while the browser was opening.
                    let mut state = self.state.borrow_mut();
                    return match &*state {
                        State::Closed => Err(StoreError::Closed),
                        State::Gone => Err(StoreError::gone()),
                        State::Open(_) => {
                            *state = State::Open(Rc::clone(&connection));
                            Ok(connection)
                        }
                    };
                }
                Err(StoreError::Gone(_)) => return Err(self.gone()),
                Err(error @ StoreError::Transient(_)) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn gone(&self) -> StoreError {
        let mut state = self.state.borrow_mut();
        match &*state {
            State::Closed => StoreError::Closed,
            State::Open(_) | State::Gone => {
                *state = State::Gone;
                StoreError::gone()
            }
        }
    }

    /// A fresh connection for a call that found `connection` dead.
    async fn replace(&self, connection: &Connection) -> Result<Rc<Connection>, StoreError> {
        // The event that says why the connection ended comes after the one that ended the transaction.
        wait::sleep(0).await;
        connection.mark_dropped();
        self.connection().await
    }

    /// What a call answers whose transaction ended for no reason of its own: if the database is gone, that is why.
    async fn why(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Transient(_)) {
            return error;
        }
        // The event that says why the connection ended comes after the transaction's.
        wait::sleep(0).await;
        match self.connection().await {
            Err(error @ StoreError::Gone(_)) => error,
            _ => error,
        }
    }

    /// Runs a reading, once more if the connection was dropped under it: reading twice does no harm.
    async fn read<T>(&self, reading: impl AsyncFn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let connection = self.connection().await?;
        match reading(&connection).await {
            Err(StoreError::Transient(_)) => {
                let connection = self.replace(&connection).await?;
                match reading(&connection).await {
                    Err(error) => Err(self.why(error).await),
                    done => done,
                }
            }
            done => done,
        }
    }
}

/// Opens a database, once more after a failure that may pass: Chromium answers the first opening after damage with an
/// error and wipes the database for the second, and Safari fails now and then for no reason that it tells.
async fn open_patiently(name: &str, options: IdbOptions, schema: Schema) -> Result<Connection, StoreError> {
    let start = js_sys::Date::now();
    let mut pauses = OPEN_PAUSES_MS.into_iter();
    loop {
        match Connection::open(name, options, schema, None).await {
            // One that took its time was the browser not answering, which will not be better at once.
            Err(error @ StoreError::Transient(_))
                if js_sys::Date::now() - start < f64::from(options.open_wait_ms) / 2.0 =>
            {
                match pauses.next() {
                    Some(pause) => wait::sleep(pause).await,
                    None => return Err(error),
                }
            }
            done => return done,
        }
    }
}

impl Store for IdbStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(async |connection| read::get(connection.database(), key).await).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.read(async |connection| read::scan(connection.database(), scan).await).await
    }

    /// Carries out `commit` in one transaction. The first one in a page's life waits until the browser has moved to a new
    /// log, which is a tenth of a second after opening.
    ///
    /// # Errors
    ///
    /// [`StoreError::Transient`] when the connection broke in the middle: then it is not known whether the commit was
    /// carried out. Read before writing again, or let a condition decide. It is tried again from here only if it was not
    /// sent at all.
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        fresh_log::ready().await;
        let connection = self.connection().await?;
        // All that takes time happens before there is a transaction.
        let prepared = commit::Prepared::new(commit)?;
        let transaction = match commit::begin(connection.database(), &prepared) {
            Ok(transaction) => transaction,
            Err(StoreError::Transient(_)) => commit::begin(self.replace(&connection).await?.database(), &prepared)?,
            Err(error) => return Err(error),
        };
        match commit::run(transaction, &prepared).await {
            Err(error) => Err(self.why(error).await),
            Ok(()) => Ok(()),
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        // The connection closes when the last call that uses it is done.
        *self.state.borrow_mut() = State::Closed;
        Ok(())
    }
}
