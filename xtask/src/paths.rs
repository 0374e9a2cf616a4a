//! Where things lie: the checkout, its build folders, and the cache of tools that several checkouts share.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::cargo;

/// The folders that every command works in.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// The checkout: where the workspace's Cargo.toml is.
    pub(crate) root: PathBuf,
    /// Cargo's target folder; all that is built goes below it.
    pub(crate) target: PathBuf,
    /// Tools installed by `setup`, outside `target`, so that a second clone finds them.
    pub(crate) cache: PathBuf,
}

impl Paths {
    /// Finds the checkout from Cargo's environment, and the cache from the user's.
    ///
    /// # Errors
    /// No home folder and no variable that names the cache.
    pub(crate) fn find() -> Result<Self> {
        // Cargo sets the variable at run time too, which holds when several checkouts share one target folder.
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = manifest.parent().context("xtask lies in no workspace")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        let cache = cache_folder(|name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
            .context("no place for the tools: set THREADKEEP_CACHE or HOME")?;
        Ok(Self { root, target, cache })
    }

    /// The command that runs an example of a package: as the native tests have `built` it, for development, or else built in release. For
    /// the tests `cargo run` would build it once more, and much of what it needs, for the features of its package alone.
    pub(crate) fn example(&self, package: &str, name: &str, built: bool) -> Command {
        if built {
            return Command::new(self.target.join("debug/examples").join(format!("{name}{}", env::consts::EXE_SUFFIX)));
        }
        let mut cargo = cargo();
        cargo.args(["run", "--release", "-p", package, "--example", name, "--"]);
        cargo
    }

    /// The finished page.
    pub(crate) fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// The finished npm package, as a tarball.
    pub(crate) fn tarballs(&self) -> PathBuf {
        self.target.join("npm")
    }

    /// Work files of xtask itself.
    pub(crate) fn work(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// The npm package's source.
    pub(crate) fn npm(&self) -> PathBuf {
        self.root.join("npm")
    }

    /// The end-to-end tests.
    pub(crate) fn e2e(&self) -> PathBuf {
        self.root.join("tests").join("e2e")
    }

    /// The drivers of the measurements that run in a browser or under Node.
    pub(crate) fn bench(&self) -> PathBuf {
        self.root.join("tests").join("bench")
    }

    /// The projects that bundle the npm package.
    pub(crate) fn bundlers(&self) -> PathBuf {
        self.root.join("tests").join("bundlers")
    }

    /// The page of a shared thread.
    pub(crate) fn viewer(&self) -> PathBuf {
        self.npm().join("viewer")
    }

    /// What makes the API reference and reads the public types.
    pub(crate) fn api_tools(&self) -> PathBuf {
        self.root.join("docs").join("api-tools")
    }

    /// What makes the documentation a site.
    pub(crate) fn documentation(&self) -> PathBuf {
        self.root.join("docs").join("site")
    }

    /// The runtimes under which the npm package is tested, beside the installed Node.
    pub(crate) fn runtimes(&self) -> PathBuf {
        self.root.join("tests").join("runtimes")
    }

    /// All folders that npm packages are installed in.
    pub(crate) fn npm_folders(&self) -> [PathBuf; 8] {
        [
            self.npm(),
            self.viewer(),
            self.e2e(),
            self.bench(),
            self.bundlers(),
            self.api_tools(),
            self.documentation(),
            self.runtimes(),
        ]
    }

    /// `path` as seen from the checkout, for messages.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// The cache's place, by the variables that `variable` reads.
fn cache_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("THREADKEEP_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("threadkeep")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache").join("threadkeep")))
        .or_else(|| variable("LOCALAPPDATA").map(|folder| folder.join("threadkeep")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_user_says() {
        let set = |pairs: &'static [(&str, &str)]| {
            cache_folder(move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value)))
        };
        assert_eq!(set(&[("THREADKEEP_CACHE", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(set(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]), Some("/x/threadkeep".into()));
        assert_eq!(set(&[("HOME", "/h")]), Some("/h/.cache/threadkeep".into()));
        assert_eq!(set(&[]), None);
    }
}
