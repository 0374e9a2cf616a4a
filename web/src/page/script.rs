//! Scripts beside the module, which `app-loader.js` loads when they are first called: fields of text in, a text out.

use js_sys::{Function, Object, Promise, Reflect};
use leptos::prelude::window;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Calls a function of a script.
///
/// # Errors
/// What it throws, or why the script cannot be loaded.
pub async fn call(script: &str, name: &str, given: &[(&str, &str)]) -> Result<String, JsValue> {
    let load: Function = Reflect::get(&window(), &script.into())?.dyn_into()?;
    let script = JsFuture::from(load.call0(&JsValue::UNDEFINED)?.dyn_into::<Promise>()?).await?;
    let fields = Object::new();
    for (field, value) in given {
        Reflect::set(&fields, &(*field).into(), &(*value).into())?;
    }
    let function: Function = Reflect::get(&script, &name.into())?.dyn_into()?;
    let answer = JsFuture::from(function.call1(&script, &fields)?.dyn_into::<Promise>()?).await?;
    answer.as_string().ok_or(JsValue::UNDEFINED)
}
