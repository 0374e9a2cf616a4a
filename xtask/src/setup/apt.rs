//! Installing a distribution's packages, where there is apt-get and somebody who may use it.

use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{on_path, quiet, step};

/// Installs `packages`, which hold what is `missing`. `by_hand` says what else its user can do.
///
/// # Errors
/// There is no apt-get, only root may use it, or it fails.
pub(super) fn install(missing: &str, packages: &[&str], by_hand: &str) -> Result<()> {
    if on_path("apt-get").is_none() {
        bail!("{missing} is missing, and there is no apt-get to install it with: {by_hand}");
    }
    let root = quiet(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0");
    if !root && on_path("sudo").is_none() {
        bail!(
            "{missing} is missing, and only root may install it: run `apt-get install {}` as root, or {by_hand}",
            packages.join(" ")
        );
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new(if root { "env" } else { "sudo" });
        if !root {
            command.arg("env");
        }
        command.arg("DEBIAN_FRONTEND=noninteractive").arg("apt-get").args(arguments);
        quiet(&mut command).map(drop)
    };
    step(&format!("installing {missing} through apt-get (about 1 min)"), || {
        // Old lists may still do, so only the installation itself decides.
        if let Err(error) = apt(&["update"]) {
            eprintln!("{error:#}");
        }
        apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
    })
    .map_err(|error| error.context(format!("{missing} is missing: {by_hand}")))
}
