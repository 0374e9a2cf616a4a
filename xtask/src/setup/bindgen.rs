//! The wasm-bindgen command line: it must be of exactly the version that the crates are pinned to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::paths::Paths;
use crate::run::{cargo, on_path, program_in, quiet, step};

/// The two programs of wasm-bindgen that we use.
pub(crate) struct Bindgen {
    pub(crate) version: String,
    /// Makes the JavaScript beside a wasm file.
    pub(crate) cli: PathBuf,
    /// Runs tests that were compiled to wasm.
    pub(crate) test_runner: PathBuf,
}

/// Finds or installs wasm-bindgen.
///
/// # Errors
/// The pinned version cannot be read, or `cargo install` fails.
pub(crate) fn wasm_bindgen(paths: &Paths) -> Result<Bindgen> {
    let lock = fs::read_to_string(paths.root.join("Cargo.lock")).unwrap_or_default();
    let manifest = fs::read_to_string(paths.root.join("Cargo.toml"))?;
    let version = locked_version(&lock)
        .or_else(|| pinned_version(&manifest))
        .context("neither Cargo.lock nor Cargo.toml names a version of wasm-bindgen")?;
    if let Some(found) = on_path("wasm-bindgen").as_deref().and_then(Path::parent).and_then(|it| found(it, &version)) {
        return Ok(found);
    }
    let root = paths.cache.join(format!("wasm-bindgen-{version}"));
    let folder = root.join("bin");
    if let Some(found) = found(&folder, &version) {
        return Ok(found);
    }
    fs::create_dir_all(&root)?;
    step(&format!("installing wasm-bindgen {version} (about 3 min)"), || {
        let mut install = cargo();
        // No --locked: the crate's own lock file can name versions that a registry does not serve yet. A tool that runs
        // for seconds needs no optimising for minutes.
        install
            .args(["install", "wasm-bindgen-cli", "--version", &format!("={version}"), "--root"])
            .arg(&root)
            .current_dir(&root)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_BUILD_TARGET")
            .env_remove("RUSTFLAGS");
        quiet(&mut install).map(drop)
    })?;
    found(&folder, &version).context("wasm-bindgen was installed, and is not where it should be")
}

/// The programs in `folder`, when both are there and of that version.
fn found(folder: &Path, version: &str) -> Option<Bindgen> {
    let cli = program_in(folder, "wasm-bindgen")?;
    let test_runner = program_in(folder, "wasm-bindgen-test-runner")?;
    let said = quiet(Command::new(&cli).arg("--version")).ok()?;
    let same = said.split_whitespace().nth(1) == Some(version);
    same.then(|| Bindgen { version: version.to_owned(), cli, test_runner })
}

/// The version of wasm-bindgen that a Cargo.lock holds.
fn locked_version(lock: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"wasm-bindgen\"");
    lines.next()?;
    Some(lines.next()?.strip_prefix("version = ")?.trim_matches('"').to_owned())
}

/// The version of wasm-bindgen that a Cargo.toml pins with `=`.
fn pinned_version(manifest: &str) -> Option<String> {
    let line = manifest.lines().find(|line| line.starts_with("wasm-bindgen ="))?;
    let version = line.split_once("\"=")?.1;
    Some(version.split('"').next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_says_which_version() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"9\"\n\n[[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(locked_version(lock).as_deref(), Some("0.2.130"));
        assert_eq!(locked_version("[[package]]\nname = \"serde\"\n"), None);
    }

    #[test]
    fn else_the_pin_does() {
        let manifest = "[workspace.dependencies]\nwasm-bindgen-futures = \"0.4\"\nwasm-bindgen = \"=0.2.130\"\n";
        assert_eq!(pinned_version(manifest).as_deref(), Some("0.2.130"));
        assert_eq!(pinned_version("wasm-bindgen = \"0.2\"\n"), None);
    }
}
