//! The documentation as a static site: the repository's Markdown, the reference of the npm package, the page as live demo, and the package for
//! the examples that run there. Nothing of it is committed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::paths::Paths;
use crate::run::show;
use crate::{pack, setup};

/// Builds the page, the package and the site around them. `base` is the path at which it will be served.
///
/// # Errors
/// Something cannot be built, TypeDoc finds something undocumented, or a link leads nowhere.
pub(crate) fn run(paths: &Paths, base: &str) -> Result<()> {
    let tarball = pack::build(paths)?.tarball;
    let out = make(paths, &tarball, base)?;
    println!("{}: any static server shows it", paths.short(&out));
    Ok(())
}

/// Makes the site from the built page and the packed package; returns its folder.
///
/// # Errors
/// As for [`run`], or a base that is no path.
pub(crate) fn make(paths: &Paths, tarball: &Path, base: &str) -> Result<PathBuf> {
    if !base.starts_with('/') || !base.ends_with('/') {
        bail!("--base wants a path with a slash at both ends, such as /threadkeep/, and got `{base}`");
    }
    let (tools, site) = (paths.api_tools(), paths.documentation());
    setup::packages(paths, &tools)?;
    setup::packages(paths, &site)?;
    let api = paths.target.join("api");
    show(Command::new("node").arg(tools.join("reference.mjs")).arg(paths.npm()).arg(&api))?;
    let out = paths.target.join("documentation");
    let mut build = Command::new("node");
    build.arg(site.join("build.mjs")).args([&paths.site(), &api]).arg(tarball).arg(&out);
    show(build.env("THREADKEEP_BASE", base))?;
    Ok(out)
}
