//! Chromium and ChromeDriver, for the tests that need a real browser. They must be of the same major version.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{on_path, quiet};
use crate::setup::apt;

/// A browser and the driver that goes with it.
#[derive(Debug)]
pub(crate) struct Browser {
    pub(crate) chromium: PathBuf,
    pub(crate) driver: PathBuf,
}

const CHROMIUM_NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const CHROMIUM_PLACES: &[&str] = &[
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
const DRIVER_PLACES: &[&str] = &["/usr/lib/chromium/chromedriver", "/usr/lib/chromium-browser/chromedriver"];
const BY_HAND: &str = "install Chromium and a ChromeDriver of the same major version, on PATH or named by the variables \
                       CHROMIUM and CHROMEDRIVER";

/// Finds or installs both.
///
/// # Errors
/// One is missing and cannot be installed, or their major versions differ.
pub(crate) fn browser() -> Result<Browser> {
    let found = match look()? {
        Ok(browser) => browser,
        Err(missing) => {
            apt::install(&missing, &["chromium", "chromium-driver"], BY_HAND)?;
            match look()? {
                Ok(browser) => browser,
                Err(missing) => bail!("{missing} is still missing after its installation: {BY_HAND}"),
            }
        }
    };
    let versions = (version(&found.chromium), version(&found.driver));
    if let (Some(chromium), Some(driver)) = versions
        && chromium != driver
    {
        bail!("Chromium is version {chromium} and ChromeDriver version {driver}: {BY_HAND}");
    }
    Ok(found)
}

/// Both programs, or the name of what is missing.
fn look() -> Result<std::result::Result<Browser, String>> {
    let chromium = named("CHROMIUM")?.or_else(|| search(CHROMIUM_NAMES, CHROMIUM_PLACES));
    let driver = named("CHROMEDRIVER")?.or_else(|| search(&["chromedriver"], DRIVER_PLACES));
    Ok(match (chromium, driver) {
        (Some(chromium), Some(driver)) => Ok(Browser { chromium, driver }),
        (Some(_), None) => Err("ChromeDriver".to_owned()),
        (None, Some(_)) => Err("Chromium".to_owned()),
        (None, None) => Err("Chromium with ChromeDriver".to_owned()),
    })
}

fn named(variable: &str) -> Result<Option<PathBuf>> {
    let Some(path) = env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from) else {
        return Ok(None);
    };
    if !path.is_file() {
        bail!("{variable} names {}, and there is no such file", path.display());
    }
    Ok(Some(path))
}

fn search(names: &[&str], places: &[&str]) -> Option<PathBuf> {
    let known = || places.iter().map(Path::new).find(|path| path.is_file()).map(Path::to_owned);
    names.iter().find_map(|name| on_path(name)).or_else(known)
}

/// The major version that a program announces, as in `Chromium 156.0.1 built on …`.
fn version(program: &Path) -> Option<u32> {
    major(&quiet(Command::new(program).arg("--version")).ok()?)
}

fn major(said: &str) -> Option<u32> {
    said.split_whitespace().find_map(|word| word.split_once('.')?.0.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_they_are_announced() {
        assert_eq!(major("Chromium 156.0.7204.1 built on Debian GNU/Linux 12"), Some(156));
        assert_eq!(major("ChromeDriver 156.0.7204.1 (abc)"), Some(156));
        assert_eq!(major("Google Chrome for nobody"), None);
    }
}
