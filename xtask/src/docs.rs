//! The API reference of the npm package: made by TypeDoc from the types and comments of the package as it is packed, so it is built when
//! somebody wants to read it and never committed.

use std::process::Command;

use anyhow::Result;

use crate::pack;
use crate::paths::Paths;
use crate::run::show;
use crate::setup;

/// Packs the npm package and writes its reference into `target/api`.
///
/// # Errors
/// The package cannot be packed, or TypeDoc finds something undocumented or a link that leads nowhere.
pub(crate) fn make(paths: &Paths) -> Result<()> {
    let tools = paths.api_tools();
    setup::packages(paths, &tools)?;
    pack::build(paths)?;
    let out = paths.target.join("api");
    show(Command::new("node").arg(tools.join("reference.mjs")).arg(paths.npm()).arg(&out))?;
    println!("{}", paths.short(&out.join("README.md")));
    Ok(())
}
