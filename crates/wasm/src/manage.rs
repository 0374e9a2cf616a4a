//! Deletion and the export in Threadkeep's own format. They are a part of the module that is loaded when it is first
//! needed. The only way in is [`Manage`]: other code must not call the part directly, or it could not be cut off.

use std::cell::Cell;

use js_sys::{Function, Promise};
use threadkeep::protocol::Request;
use threadkeep::{Keep, Personal, Sharing};
use threadkeep_core::MessageId;
use threadkeep_parts::part;
use wasm_bindgen::prelude::*;

use crate::error::{bad_id, json, keep_error, part_missing};
use crate::executor::{Answer, promise};
use crate::store::AnyStore;

/// What the part brings.
pub(crate) trait Manage {
    /// Answers a request of [`Keep::manage`].
    fn answer(&self, keep: Keep<AnyStore>, request: Request) -> Answer;
    /// Writes everything, or one transcript, in Threadkeep's own format.
    fn export(
        &self,
        keep: Keep<AnyStore>,
        transcript: Option<String>,
        sharing: Option<Sharing>,
        sink: Function,
    ) -> Answer;
}

thread_local! {
    static PART: Cell<Option<&'static dyn Manage>> = const { Cell::new(None) };
}

part! {
    /// The way into the part.
    manage: fn enter() -> &'static dyn Manage {
        &Part
    }
}

/// Loads the part. Where it is there already, this takes no turn of the executor: requests keep their order.
pub(crate) async fn load() -> Result<&'static dyn Manage, JsValue> {
    if let Some(manage) = PART.get() {
        return Ok(manage);
    }
    let manage = enter().await.map_err(|_| part_missing("manage"))?;
    PART.set(Some(manage));
    Ok(manage)
}

/// Loads what deletes and exports. → `undefined`
#[wasm_bindgen(js_name = loadManage)]
pub fn load_manage() -> Promise {
    promise(async { load().await.map(|_| JsValue::UNDEFINED) })
}

struct Part;

impl Manage for Part {
    fn answer(&self, keep: Keep<AnyStore>, request: Request) -> Answer {
        Box::pin(async move { json(&keep.manage(request).await.map_err(|error| keep_error(&error))?) })
    }

    fn export(
        &self,
        keep: Keep<AnyStore>,
        transcript: Option<String>,
        sharing: Option<Sharing>,
        sink: Function,
    ) -> Answer {
        Box::pin(async move {
            let transcript = transcript.map(|id| MessageId::new(id).map_err(|error| bad_id(&error))).transpose()?;
            let write = |piece: String| {
                // The TypeScript hands in a function that does not throw.
                let _ = sink.call1(&JsValue::UNDEFINED, &JsValue::from(piece));
            };
            let found = match &sharing {
                Some(sharing) => keep.export_shared(transcript.as_ref(), sharing, write).await,
                None => keep.export(transcript.as_ref(), write).await.map(|()| Vec::new()),
            };
            json(&found.map_err(|error| keep_error(&error))?)
        })
    }
}

/// What is looked for and what stays in an export for others. The TypeScript checks the names.
pub(crate) fn sharing(leave: Option<Vec<u32>>, also: &str) -> Option<Sharing> {
    let leave = leave?.into_iter().map(|number| number as usize).collect();
    Some(Sharing { also: also.split(' ').filter_map(Personal::from_name).collect(), leave })
}
