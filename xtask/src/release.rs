//! `cargo xtask release`: checks that the checkout can be released, and says what a release would run. With `--publish` it runs that:
//! every crate in the order of their dependencies, then the npm package, with its provenance.

mod changelog;
mod workspace;

use std::env;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::pack;
use crate::paths::Paths;
use crate::run::{cargo, npm, quiet, show};
use crate::size::Sizes;
use workspace::{Crate, crates, in_order};

/// Whether the release is only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    DryRun,
    Publish,
}

/// Set where npm can say which run of which workflow made a package.
const PROVENANCE: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";

/// Checks, and says or does what a release runs. `false` means that a check failed; then nothing was published.
///
/// # Errors
/// Something cannot be read or built, or publishing fails. What is published already is passed over the next time.
pub(crate) fn run(paths: &Paths, mode: Mode) -> Result<bool> {
    let crates = crates(&metadata(paths)?)?;
    let version = crates.first().context("there is no crate to publish")?.version.clone();
    let mut problems = workspace::problems(&crates);
    problems.extend(npm_problems(paths, &version)?);
    problems.extend(changelog::problems(&fs::read_to_string(paths.root.join("CHANGELOG.md"))?, &version));
    problems.extend(git_problems(paths, &version)?);
    if mode == Mode::Publish && env::var_os(PROVENANCE).is_none() {
        problems.push(format!(
            "npm proves a package's origin only in a hosted workflow: push the tag v{version}, and release.yml publishes"
        ));
    }
    let published: Vec<&Crate> = in_order(&crates)?;
    println!("Threadkeep {version}\n");
    println!("cargo xtask pack");
    for one in &published {
        println!("cargo publish --locked -p {}", one.name);
    }
    println!("npm publish target/npm/threadkeep-{version}.tgz --provenance --access public\n");
    for problem in &problems {
        println!("PROBLEM  {problem}");
    }
    if !problems.is_empty() {
        println!("{} to mend; nothing was published", problems.len());
        return Ok(false);
    }
    match mode {
        Mode::DryRun => println!("ready: push the tag v{version}, and release.yml runs these lines"),
        Mode::Publish => publish(paths, &published, &version)?,
    }
    Ok(true)
}

/// Publishes; the package is built first, so that a build that fails leaves nothing half published.
fn publish(paths: &Paths, crates: &[&Crate], version: &str) -> Result<()> {
    let packed = pack::build(paths)?;
    packed.sizes.iter().try_for_each(Sizes::check)?;
    for one in crates {
        let name = format!("{}@{version}", one.name);
        // `cargo info` fails for a version that the registry does not have.
        if quiet(cargo().current_dir(&paths.root).args(["info", "--registry", "crates-io", &name])).is_ok() {
            println!("{name} is published already");
            continue;
        }
        show(cargo().current_dir(&paths.root).args(["publish", "--locked", "-p", &one.name]))?;
    }
    let name = format!("threadkeep@{version}");
    if quiet(npm(&paths.root).args(["view", &name, "version"])).is_ok_and(|said| !said.trim().is_empty()) {
        println!("npm has {name} already");
        return Ok(());
    }
    show(npm(&paths.root).arg("publish").arg(&packed.tarball).args(["--provenance", "--access", "public"]))
}

fn metadata(paths: &Paths) -> Result<Value> {
    let said =
        quiet(cargo().current_dir(&paths.root).args(["metadata", "--no-deps", "--locked", "--format-version", "1"]))?;
    serde_json::from_str(&said).context("cargo metadata")
}

/// Whether npm's files name another version.
fn npm_problems(paths: &Paths, version: &str) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for name in ["package.json", "package-lock.json"] {
        let text = fs::read_to_string(paths.npm().join(name)).with_context(|| format!("npm/{name}"))?;
        let manifest: Value = serde_json::from_str(&text).with_context(|| format!("npm/{name}"))?;
        let named = manifest["version"].as_str().unwrap_or_default();
        if named != version {
            problems.push(format!("npm/{name} has version {named}, the crates have {version}"));
        }
    }
    Ok(problems)
}

/// Whether the checkout has changes, or the version's tag is elsewhere.
fn git_problems(paths: &Paths, version: &str) -> Result<Vec<String>> {
    let git = |arguments: &[&str]| quiet(Command::new("git").current_dir(&paths.root).args(arguments));
    let mut problems: Vec<String> = git(&["status", "--porcelain"])?
        .lines()
        .map(|line| format!("the tree is not clean: {}", line.trim()))
        .collect();
    let commit = git(&["rev-parse", "HEAD"])?;
    let tag = git(&["rev-parse", "--quiet", "--verify", &format!("refs/tags/v{version}^{{commit}}")]);
    if tag.is_ok_and(|tagged| tagged.trim() != commit.trim()) {
        problems.push(format!("the tag v{version} is at another commit: choose the next version"));
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::TestFolder;

    fn checkout(name: &str) -> (TestFolder, Paths) {
        let test = TestFolder::new(name);
        let paths = Paths { root: test.0.clone(), target: test.0.join("target"), cache: test.0.join("cache") };
        (test, paths)
    }

    #[test]
    fn versions_of_npm_must_agree() {
        let (_test, paths) = checkout("release-npm");
        fs::create_dir_all(paths.npm()).unwrap();
        fs::write(paths.npm().join("package.json"), r#"{"version": "0.2.0"}"#).unwrap();
        fs::write(paths.npm().join("package-lock.json"), r#"{"version": "0.1.0"}"#).unwrap();
        let problems = npm_problems(&paths, "0.2.0").unwrap();
        assert_eq!(problems, ["npm/package-lock.json has version 0.1.0, the crates have 0.2.0"]);
    }

    #[test]
    fn a_changed_tree_and_a_tag_elsewhere_are_problems() {
        let (_test, paths) = checkout("release-git");
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            quiet(Command::new("git").current_dir(&paths.root).args(who).args(arguments)).unwrap()
        };
        git(&["init", "--quiet"]);
        fs::write(paths.root.join("a"), "1").unwrap();
        git(&["add", "a"]);
        git(&["commit", "--quiet", "--message", "one"]);
        git(&["tag", "v0.1.0"]);
        assert!(git_problems(&paths, "0.1.0").unwrap().is_empty());
        fs::write(paths.root.join("a"), "2").unwrap();
        assert_eq!(git_problems(&paths, "0.1.0").unwrap(), ["the tree is not clean: M a"]);
        git(&["commit", "--quiet", "--all", "--message", "two"]);
        assert_eq!(git_problems(&paths, "0.1.0").unwrap().len(), 1);
        assert!(git_problems(&paths, "0.2.0").unwrap().is_empty());
    }

    #[test]
    fn this_workspace_can_be_published_in_some_order() {
        let paths = Paths::find().unwrap();
        let crates = crates(&metadata(&paths).unwrap()).unwrap();
        assert_eq!(workspace::problems(&crates), [""; 0]);
        assert!(in_order(&crates).unwrap().iter().any(|one| one.name == "threadkeep"));
    }
}
