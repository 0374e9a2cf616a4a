//! Opening, watching and deleting a database.
//!
//! In goes a name; out comes a [`Connection`] that lets go by itself when another tab upgrades or deletes the database, and
//! remembers that it did. Every wait for the browser is bounded: a request that another tab holds up is answered with
//! [`StoreError::Blocked`], and should it succeed later, what it opened is closed again.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use indexed_db_futures::Build;
use indexed_db_futures::database::Database;
use indexed_db_futures::error::{Error as CrateError, OpenDbError};
use indexed_db_futures::internals::SystemRepr;
use js_sys::{Date, JsString, Math, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Event, EventTarget, IdbDatabase, IdbRequest, IdbTransaction, IdbVersionChangeEvent};

use super::request;
use super::schema::{MARK, META, RECORDS, Schema};
use super::wait::{Signal, Timer};
use crate::StoreError;
use crate::dom_error::{During, classify};

/// How long to wait for the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdbOptions {
    /// How long another tab may hold up an upgrade or a deletion, in milliseconds, before the answer is
    /// [`StoreError::Blocked`].
    pub blocked_wait_ms: u32,
    /// How long the browser may take to open a database without saying why, in milliseconds, before the answer is
    /// [`StoreError::Transient`]. It says nothing while a deletion that another tab holds up is pending.
    pub open_wait_ms: u32,
}

impl Default for IdbOptions {
    fn default() -> Self {
        Self { blocked_wait_ms: 3_000, open_wait_ms: 30_000 }
    }
}

/// What opening a database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// A database that was there.
    Existing,
    /// None: it was created. To whoever remembers that there was one, this is total loss.
    Created,
    /// One that was damaged, so that the browser wiped it and began anew; with the browser's words.
    Wiped(String),
}

/// How a connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// Another tab upgrades the database.
    Upgraded,
    /// Somebody deletes the database.
    Deleted,
    /// The browser ended the connection.
    Dropped,
}

/// An open database. Dropping it closes it, when its running transactions are done.
#[derive(Debug)]
pub(super) struct Connection {
    database: IdbDatabase,
    beginning: Beginning,
    mark: String,
    loss: Rc<Cell<Option<Loss>>>,
    _on_version_change: Closure<dyn FnMut(IdbVersionChangeEvent)>,
    _on_close: Closure<dyn FnMut()>,
}

impl Connection {
    /// Opens `name` in the shape of `schema`. With `expected`, only the database that bears this mark: another one, or
    /// none, is [`StoreError::Gone`], and none is made.
    pub(super) async fn open(
        name: &str,
        options: IdbOptions,
        schema: Schema,
        expected: Option<&str>,
    ) -> Result<Self, StoreError> {
        let may_create = expected.is_none();
        let mut connection = match request_open(name, options, schema, may_create).await {
            Err(Refusal::Version) => return Err(newer_version(name, options, schema.version).await),
            Err(Refusal::Error(error)) => return Err(error),
            Ok(connection) => connection,
        };
        connection.mark = read_mark(&connection.database).await?;
        if expected.is_some_and(|expected| expected != connection.mark) {
            return Err(StoreError::gone());
        }
        Ok(connection)
    }

    fn watch(database: IdbDatabase, beginning: Beginning) -> Self {
        let loss = Rc::new(Cell::new(None));
        // Closing inside the event, not some time after it: otherwise the other tab is told that it is blocked.
        let on_version_change = Closure::new({
            let (loss, database) = (Rc::clone(&loss), database.clone());
            move |event: IdbVersionChangeEvent| {
                database.close();
                loss.set(Some(if event.new_version().is_none() { Loss::Deleted } else { Loss::Upgraded }));
            }
        });
        let on_close = Closure::new({
            let loss = Rc::clone(&loss);
            move || {
                if loss.get().is_none() {
                    loss.set(Some(Loss::Dropped));
                }
            }
        });
        database.set_onversionchange(Some(on_version_change.as_ref().unchecked_ref()));
        database.set_onclose(Some(on_close.as_ref().unchecked_ref()));
        Self {
            database,
            beginning,
            mark: String::new(),
            loss,
            _on_version_change: on_version_change,
            _on_close: on_close,
        }
    }

    pub(super) fn database(&self) -> &IdbDatabase {
        &self.database
    }

    pub(super) fn beginning(&self) -> &Beginning {
        &self.beginning
    }

    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        self.loss.get()
    }

    /// Notes that the connection no longer works, for a browser that did not say so.
    pub(super) fn mark_dropped(&self) {
        if self.loss.get().is_none() {
            self.loss.set(Some(Loss::Dropped));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.database.set_onversionchange(None);
        self.database.set_onclose(None);
        self.database.close();
    }
}

/// Why a database was not opened.
enum Refusal {
    /// It has a newer version.
    Version,
    Error(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

impl From<OpenDbError> for Refusal {
    fn from(error: OpenDbError) -> Self {
        let error = match error {
            OpenDbError::Base(error) => error,
            // The crate says this of whatever `open` throws. Our versions are never zero, so that what remains is
            // SecurityError: a page or frame that may not store.
            OpenDbError::VersionZero => {
                return StoreError::Unavailable("the browser refuses storage to this page".to_owned()).into();
            }
            OpenDbError::UnsupportedEnvironment | OpenDbError::NullFactory => {
                return StoreError::Unavailable("there is no IndexedDB here".to_owned()).into();
            }
        };
        match error {
            CrateError::DomException(error) => {
                let error = web_sys::DomException::from(error);
                if error.name() == "VersionError" {
                    return Self::Version;
                }
                classify(&error.name(), &error.message(), During::Open).into()
            }
            error => StoreError::Other(error.to_string()).into(),
        }
    }
}

/// An answer that an event of the browser, or a timer, gives: the first one counts.
type Answer<T> = Signal<Result<T, Refusal>>;

/// Answers with [`StoreError::Blocked`] some time after the browser says that another holder is in the way.
struct BlockedWatch {
    target: EventTarget,
    handler: Closure<dyn FnMut()>,
}

impl BlockedWatch {
    fn new<T: 'static>(target: EventTarget, options: IdbOptions, answer: &Answer<T>) -> Self {
        let answer = answer.clone();
        let timer = RefCell::new(None);
        let handler = Closure::new(move || {
            let answer = answer.clone();
            *timer.borrow_mut() = Some(Timer::new(milliseconds(options.blocked_wait_ms), move || {
                let _ = answer.set(Err(StoreError::blocked().into()));
            }));
        });
        // Can only fail for a target that is none.
        let _ = target.add_event_listener_with_callback("blocked", handler.as_ref().unchecked_ref());
        Self { target, handler }
    }
}

impl Drop for BlockedWatch {
    fn drop(&mut self) {
        let _ = self.target.remove_event_listener_with_callback("blocked", self.handler.as_ref().unchecked_ref());
    }
}

fn milliseconds(wait: u32) -> i32 {
    i32::try_from(wait).unwrap_or(i32::MAX)
}

/// Asks the browser for the database, waits a bounded time, and sees to a connection that comes too late.
async fn request_open(
    name: &str,
    options: IdbOptions,
    schema: Schema,
    may_create: bool,
) -> Result<Connection, Refusal> {
    let gone = Rc::new(Cell::new(false));
    let created = Rc::new(Cell::new(false));
    let request = Database::open(name)
        .with_version(schema.version)
        .with_on_upgrade_needed({
            let (gone, created) = (Rc::clone(&gone), Rc::clone(&created));
            move |event, transaction| {
                let raw: &IdbTransaction = transaction.as_sys();
                let old = whole(event.old_version());
                if old == 0 && !may_create {
                    gone.set(true);
                    // Returning an error would do it too, but as an uncaught exception in the page's console.
                    return Ok(raw.abort()?);
                }
                created.set(old == 0);
                for from in old..schema.version {
                    (schema.step)(transaction.db(), from, from + 1)?;
                }
                if old == 0 {
                    let mark = JsValue::from_str(&new_mark());
                    raw.object_store(META)?.put_with_key(&mark, &JsValue::from_str(MARK))?;
                }
                Ok(())
            }
        })
        .build()?;
    let raw: EventTarget = request.as_sys().clone().into();

    // The crate keeps the event to itself, and with it the browser's word that it has wiped a damaged database.
    let wiped = Rc::new(RefCell::new(None));
    let on_upgrade = Closure::<dyn FnMut(Event)>::new({
        let wiped = Rc::clone(&wiped);
        move |event: Event| *wiped.borrow_mut() = data_loss(&event)
    });
    let _ = raw.add_event_listener_with_callback("upgradeneeded", on_upgrade.as_ref().unchecked_ref());

    let answer: Answer<Connection> = Signal::new();
    let _blocked = BlockedWatch::new(raw, options, &answer);
    let _timer = Timer::new(milliseconds(options.open_wait_ms), {
        let answer = answer.clone();
        move || {
            let words = "the browser did not open the database in time; another tab may be holding up its deletion";
            let _ = answer.set(Err(StoreError::Transient(words.to_owned()).into()));
        }
    });
    // A task of its own, since the browser goes on opening when nobody waits any more. A connection that nobody takes is
    // dropped with the answer, which closes it.
    spawn_local({
        let answer = answer.clone();
        async move {
            let result = request.await;
            drop(on_upgrade);
            let beginning = match wiped.take() {
                Some(words) => Beginning::Wiped(words),
                None if created.get() => Beginning::Created,
                None => Beginning::Existing,
            };
            let result = match result {
                Ok(database) => Ok(Connection::watch(SystemRepr::into_sys(database).into(), beginning)),
                Err(_) if gone.get() => Err(StoreError::gone().into()),
                Err(error) => Err(error.into()),
            };
            let _ = answer.set(result);
        }
    });
    answer.await
}

/// The error for a database that a newer build has written, with the version that was found.
async fn newer_version(name: &str, options: IdbOptions, supported: u32) -> StoreError {
    // Without a version the browser opens whatever is there. Nothing is made should it be gone by now.
    let request = Database::open(name)
        .with_on_upgrade_needed(|_, transaction| {
            let raw: &IdbTransaction = transaction.as_sys();
            Ok(raw.abort()?)
        })
        .build();
    let request = match request {
        Ok(request) => request,
        Err(error) => return error_of(error.into()),
    };
    let answer: Answer<f64> = Signal::new();
    let _timer = Timer::new(milliseconds(options.open_wait_ms), {
        let answer = answer.clone();
        move || {
            let words = "the browser did not open the database in time";
            let _ = answer.set(Err(StoreError::Transient(words.to_owned()).into()));
        }
    });
    spawn_local({
        let answer = answer.clone();
        async move {
            let _ = answer.set(request.await.map_err(Refusal::from).map(|database| {
                let version = database.version();
                database.close();
                version
            }));
        }
    });
    match answer.await {
        Ok(version) => StoreError::NewerVersion { found: whole(version), supported },
        Err(refusal) => error_of(refusal),
    }
}

fn error_of(refusal: Refusal) -> StoreError {
    match refusal {
        Refusal::Error(error) => error,
        // Only where a version was asked for.
        Refusal::Version => StoreError::Other("the database has another version".to_owned()),
    }
}

/// Deletes the database `name`.
pub(super) async fn delete(name: &str, options: IdbOptions) -> Result<(), StoreError> {
    let request = Database::delete_by_name(name).map_err(|error| error_of(error.into()))?;
    let answer: Answer<()> = Signal::new();
    let raw: &IdbRequest = request.as_sys();
    let _blocked = BlockedWatch::new(raw.clone().into(), options, &answer);
    spawn_local({
        let answer = answer.clone();
        async move {
            let _ = answer.set(request.await.map_err(|error| OpenDbError::Base(error).into()));
        }
    });
    answer.await.map_err(error_of)
}

/// The mark of the database, which also shows that it is one of ours.
async fn read_mark(database: &IdbDatabase) -> Result<String, StoreError> {
    let names = database.object_store_names();
    if !names.contains(RECORDS) || !names.contains(META) {
        return Err(StoreError::Other(format!("the database {:?} is not one of Threadkeep's", database.name())));
    }
    let thrown = |error| request::thrown(error, During::Use);
    let transaction = database.transaction_with_str(META).map_err(thrown)?;
    let store = transaction.object_store(META).map_err(thrown)?;
    let mark = request::done(&store.get(&JsValue::from_str(MARK)).map_err(thrown)?).await?;
    mark.as_string().ok_or_else(|| StoreError::Corrupt {
        key: format!("{META}/{MARK}"),
        why: "the mark of the database is missing".to_owned(),
    })
}

/// Only has to differ from the marks of other databases of the same name in the same profile.
fn new_mark() -> String {
    format!("{:x}-{:013x}", Date::now() as u64, (Math::random() * (1u64 << 52) as f64) as u64)
}

/// A version, which the interface gives as a float.
fn whole(version: f64) -> u32 {
    version as u32
}

/// Chromium's word on a wiped database: `dataLoss` is "total" then, and "none" otherwise. Other browsers have no such.
fn data_loss(event: &Event) -> Option<String> {
    let read = |name: &str| Reflect::get(event, &JsString::from(name)).ok().and_then(|value| value.as_string());
    let loss = read("dataLoss").filter(|loss| loss != "none" && !loss.is_empty())?;
    Some(format!("{loss}: {}", read("dataLossMessage").unwrap_or_default()))
}
