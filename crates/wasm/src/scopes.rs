//! The scopes of a place, for those that have no keep open on each of them: lists their names and deletes one.

use std::rc::Rc;

use js_sys::Promise;
use threadkeep_store::{Store, scoped};
use wasm_bindgen::prelude::*;

use crate::error::json;
use crate::executor::promise;
use crate::store::{Place, failed};

/// So many names are read at once.
const MOST: usize = 100;

/// An open place and its scopes. Rejections are the JSON text of an `ErrorReply`.
#[wasm_bindgen]
pub struct Scopes(Rc<Place>);

#[wasm_bindgen]
impl Scopes {
    /// Opens a place, as `Engine.open` does. → a `Scopes`
    pub fn open(kind: String, name: String, adapter: JsValue) -> Promise {
        promise(async move {
            let (place, _) = Place::open(&kind, &name, adapter).await?;
            Ok(JsValue::from(Self(Rc::new(place))))
        })
    }

    /// The next names after the scope `after`. → JSON text of a list, which is empty at the end
    pub fn names(&self, after: Option<String>) -> Promise {
        let place = Rc::clone(&self.0);
        promise(async move { json(&scoped::names(&*place, after.as_deref(), MOST).await.map_err(failed)?) })
    }

    /// Removes all records of a scope. → `undefined`
    pub fn delete(&self, name: String) -> Promise {
        let place = Rc::clone(&self.0);
        promise(async move { scoped::delete(&*place, &name).await.map_err(failed).map(|()| JsValue::UNDEFINED) })
    }

    /// Lets go of the place. → `undefined`
    pub fn close(&self) -> Promise {
        let place = Rc::clone(&self.0);
        promise(async move { place.close().await.map_err(failed).map(|()| JsValue::UNDEFINED) })
    }
}
