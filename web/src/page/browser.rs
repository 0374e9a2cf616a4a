//! The browser's own summariser and its own model, where it has them: whether it is there, making it, and answering the worker with it. What it is
//! asked and how it answers is in `summarizer.js`, which the npm package has too; here it is only held.

use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use leptos::prelude::window;
use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::engine::Engine;

/// One that can be made.
pub struct Offer {
    script: JsValue,
    /// Whether it is there; else it is loaded when it is made.
    pub ready: bool,
}

/// One that was made. It goes when this is dropped.
pub struct Browser(JsValue);

/// Calls a function of an object, and waits for what it promises.
async fn call(on: &JsValue, name: &str, with: &JsValue) -> Result<JsValue, JsValue> {
    let function: Function = Reflect::get(on, &name.into())?.dyn_into()?;
    let promise: Promise = function.call1(on, with)?.dyn_into()?;
    JsFuture::from(promise).await
}

fn words(error: &JsValue) -> String {
    let said = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    said.filter(|said| !said.is_empty()).unwrap_or_else(|| "it gave no reason".to_owned())
}

/// What the browser offers; `None` where it has no summariser.
pub async fn offer() -> Option<Offer> {
    let script = call(&window().into(), "summarizer", &JsValue::UNDEFINED).await.ok()?;
    let found = call(&script, "availability", &JsValue::UNDEFINED).await.ok()?.as_string()?;
    (!found.is_empty()).then(|| Offer { script, ready: found == "available" })
}

impl Offer {
    /// The same, for who must not hold on to where it came from.
    pub fn again(&self) -> Self {
        Self { script: self.script.clone(), ready: self.ready }
    }

    /// Makes it; `tell` hears how much of it is loaded, in percent. An error is in words.
    pub async fn open(self, tell: impl Fn(u32) + 'static) -> Result<Browser, String> {
        let tell = Closure::<dyn Fn(f64)>::new(move |loaded: f64| tell((loaded * 100.0) as u32));
        let opened = call(&self.script, "open", tell.as_ref()).await;
        opened.map(Browser).map_err(|error| words(&error))
    }
}

impl Browser {
    /// How many tokens it takes at once.
    pub fn tokens(&self) -> u32 {
        // A whole number, which the script has rounded; where the browser names no limit, one that it has always taken.
        Reflect::get(&self.0, &"tokens".into())
            .ok()
            .and_then(|tokens| tokens.as_f64())
            .map_or(24_000, |tokens| tokens as u32)
    }

    /// Answers what the worker asks of it; `tell` hears which part of how many it is.
    pub fn serve(&self, engine: Engine, tell: impl Fn((u32, u32)) + 'static) {
        let model = self.0.clone();
        engine.on_summarise(Some(Rc::new(move |number, part, text| {
            tell(part);
            let model = model.clone();
            spawn_local(async move {
                let answer = call(&model, "summarize", &text.into()).await;
                let answer = answer.map(|answer| answer.as_string().unwrap_or_default());
                engine.summarised(number, answer.map_err(|error| words(&error)));
            });
        })));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Ok(Ok(destroy)) = Reflect::get(&self.0, &"destroy".into()).map(JsValue::dyn_into::<Function>) {
            drop(destroy.call0(&self.0));
        }
    }
}

/// What the browser's own model offers: `available`, `downloadable`, `downloading`; `None` where there is none.
pub async fn language_model() -> Option<String> {
    let script = call(&window().into(), "languageModel", &JsValue::UNDEFINED).await.ok()?;
    let found = call(&script, "availability", &JsValue::UNDEFINED).await.ok()?.as_string()?;
    (!found.is_empty()).then_some(found)
}

/// Takes a piece of an answer: more text, its end, or why there is none.
type Tell = Rc<dyn Fn(Result<Option<String>, String>)>;

/// Has the browser's own model answer a conversation. `hold` is given what [`stop`] ends it with.
pub fn prompt(messages: String, hold: Box<dyn FnOnce(JsValue)>, tell: Tell) {
    spawn_local(async move {
        let held: JsValue = js_sys::Object::new().into();
        hold(held.clone());
        let piece = Rc::clone(&tell);
        let heard = Closure::<dyn Fn(String)>::new(move |text: String| piece(Ok(Some(text))));
        let asked = js_sys::Object::new();
        for (name, value) in [("messages", &messages.into()), ("tell", heard.as_ref()), ("held", &held)] {
            // Setting a field of a plain object does not fail.
            let _ = Reflect::set(&asked, &name.into(), value);
        }
        let answer = match call(&window().into(), "languageModel", &JsValue::UNDEFINED).await {
            Ok(script) => call(&script, "answer", &asked).await,
            Err(error) => Err(error),
        };
        tell(answer.map(|_| None).map_err(|error| words(&error)));
    });
}

/// Ends an answer of the browser's own model.
pub fn stop(held: &JsValue) {
    if let Ok(Ok(stop)) = Reflect::get(held, &"stop".into()).map(JsValue::dyn_into::<Function>) {
        drop(stop.call0(held));
    }
}
