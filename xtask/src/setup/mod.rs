//! Getting the tools: each is looked for first, on PATH and then in our cache, and installed the ordinary way when it
//! is missing. Each function here hands back where its tool is; what is done with it is left to the callers.

mod binaryen;
mod bindgen;
mod browser;
mod node;
mod rust;

use anyhow::Result;

pub(crate) use binaryen::wasm_opt;
pub(crate) use bindgen::{Bindgen, wasm_bindgen};
pub(crate) use browser::{Browser, browser};
pub(crate) use node::{node, packages};
pub(crate) use rust::{components, wasm_target};

use crate::paths::Paths;

/// Everything that any command needs.
///
/// # Errors
/// The first tool that is missing and cannot be installed.
pub(crate) fn everything(paths: &Paths) -> Result<()> {
    components()?;
    wasm_target()?;
    node()?;
    let bindgen = wasm_bindgen(paths)?;
    let wasm_opt = wasm_opt(paths)?;
    let browser = browser()?;
    for folder in [paths.npm(), paths.e2e(), paths.bench()] {
        packages(paths, &folder)?;
    }
    eprintln!("wasm-bindgen  {}", bindgen.cli.display());
    eprintln!("wasm-opt      {}", wasm_opt.display());
    eprintln!("Chromium      {}", browser.chromium.display());
    eprintln!("ChromeDriver  {}", browser.driver.display());
    eprintln!("all set");
    Ok(())
}
