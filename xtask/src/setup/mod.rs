//! Getting the tools: each is looked for first, on PATH and then in our cache, and installed the ordinary way when it
//! is missing. Each function here hands back where its tool is; what is done with it is left to the callers.

mod apt;
mod bindgen;
mod browser;
mod deny;
mod node;
mod node_tools;
mod python;
mod rust;
mod servers;

use anyhow::Result;

pub(crate) use bindgen::{Bindgen, wasm_bindgen};
pub(crate) use browser::{Browser, browser};
pub(crate) use deny::cargo_deny;
pub(crate) use node::{node, packages};
pub(crate) use node_tools::{NodeTools, node_tools};
pub(crate) use python::{PYTHON, python};
pub(crate) use rust::{WASM, components, wasm_target};
pub(crate) use servers::servers;

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
    let tools = node_tools(paths)?;
    let browser = browser()?;
    let servers = servers()?;
    let python = python(paths);
    let deny = cargo_deny(paths)?;
    for folder in paths.npm_folders() {
        packages(paths, &folder)?;
    }
    eprintln!("wasm-bindgen  {}", bindgen.cli.display());
    eprintln!("wasm-opt      {}", tools.wasm_opt.display());
    eprintln!("esbuild       {}", tools.esbuild.display());
    eprintln!("Biome         {}", tools.biome.display());
    eprintln!("Chromium      {}", browser.chromium.display());
    eprintln!("ChromeDriver  {}", browser.driver.display());
    eprintln!("Redis         {}", servers.redis.display());
    eprintln!("PostgreSQL    {}", servers.postgres.display());
    eprintln!("cargo-deny    {}", deny.display());
    match python {
        Ok(python) => eprintln!("Python        {}", python.display()),
        Err(why) => {
            eprintln!("Python        none, so that the Claude Agent SDK's suite for stores is skipped: {why:#}")
        }
    }
    eprintln!("all set");
    Ok(())
}
