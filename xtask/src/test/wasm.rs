//! The checks of what is compiled to wasm: lints, documentation, and the tests that run in headless Chromium.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::packages::{PACKAGES, selected, wasm_features};
use crate::paths::Paths;
use crate::run::{cargo, listen, show};
use crate::setup::{self, Bindgen, Browser};
use crate::test::{DOCUMENTATION, Tally};

const TARGET: &str = "wasm32-unknown-unknown";
/// How Chromium is started for tests; `tests/webdriver.json` says the same for those who run them by hand.
const BROWSER_ARGUMENTS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
];
/// Seconds that the tests of one package may take; the runner's own 20 are for small suites.
const TIMEOUT: &str = "900";

/// Runs the part.
pub(crate) fn run(paths: &Paths) -> Tally {
    let mut tally = Tally::default();
    let mut tools = None;
    let ready = tally.check("set-up", || {
        setup::components()?;
        setup::wasm_target()?;
        let found = (setup::wasm_bindgen(paths)?, setup::browser()?);
        let settings = write_settings(paths, &found.1)?;
        tools = Some((found.0, found.1, settings));
        Ok(())
    });
    let (true, Some((bindgen, browser, settings))) = (ready, tools) else { return tally };

    let packages = selected(|package| package.wasm);
    let features = wasm_features(|package| package.wasm);
    let command = |arguments: &[&str]| {
        let mut command = cargo();
        command.current_dir(&paths.root).args(arguments).args(["--target", TARGET]);
        command
    };
    let mut headless = Vec::new();
    tally.check("search for tests", || {
        for package in PACKAGES.iter().filter(|package| package.wasm) {
            let tests = package.browser_tests(&paths.root)?;
            if !tests.is_empty() {
                headless.push((package.name, tests));
            }
        }
        Ok(())
    });
    // Other tests are linted natively: what they use need not exist for wasm. All in one go, since each choice of packages is another choice
    // of features, for which everything is checked once more.
    let lint = |clippy: &mut Command| show(clippy.args(["--", "-D", "warnings"]));
    tally.check("clippy", || {
        let mut clippy = command(&["clippy", "--lib", "--bins"]);
        let names = headless.iter().flat_map(|(_, tests)| &tests.names);
        lint(clippy.args(names.flat_map(|name| ["--test", name])).args(&packages).args(&features))
    });
    for (name, _) in headless.iter().filter(|(_, tests)| tests.in_source) {
        tally.check("clippy", || {
            let mut clippy = command(&["clippy", "--lib", "--profile", "test", "-p", name]);
            lint(clippy.args(wasm_features(|package| package.name == *name)))
        });
    }
    tally.check("documentation", || {
        show(command(&["doc", "--no-deps"]).args(&packages).args(&features).env("RUSTDOCFLAGS", DOCUMENTATION))
    });
    for &(name, _) in &headless {
        tally.tests(name, || {
            let mut test = command(&["test", "--tests", "--no-fail-fast", "-p", name]);
            test.args(wasm_features(|package| package.name == name));
            test.envs(environment(&bindgen, &browser, &settings));
            // Tests of what Node has, which servers on this machine help with, are run there.
            if PACKAGES
                .iter()
                .any(|package| package.name == name && paths.root.join(package.folder).join("tests/node.rs").is_file())
            {
                test.env_remove("WASM_BINDGEN_TEST_ONLY_WEB").env("WASM_BINDGEN_TEST_ONLY_NODE", "1");
            }
            listen(&mut test)
        });
    }
    tally
}

/// What the runner of wasm-bindgen reads.
fn environment(bindgen: &Bindgen, browser: &Browser, settings: &Path) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![
        ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", bindgen.test_runner.clone().into_os_string()),
        ("CHROMEDRIVER", browser.driver.clone().into_os_string()),
        ("WASM_BINDGEN_TEST_WEBDRIVER_JSON", settings.as_os_str().to_owned()),
        ("WASM_BINDGEN_TEST_ONLY_WEB", "1".into()),
        ("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60".into()),
    ];
    if std::env::var_os("WASM_BINDGEN_TEST_TIMEOUT").is_none() {
        variables.push(("WASM_BINDGEN_TEST_TIMEOUT", TIMEOUT.into()));
    }
    variables
}

/// Writes the runner's settings with the browser of this machine.
fn write_settings(paths: &Paths, browser: &Browser) -> Result<PathBuf> {
    let folder = paths.work();
    fs::create_dir_all(&folder)?;
    let file = folder.join("webdriver.json");
    let binary = browser.chromium.to_str().context("Chromium's path is no UTF-8")?;
    fs::write(&file, settings(binary)).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

fn settings(binary: &str) -> String {
    let arguments: Vec<String> = BROWSER_ARGUMENTS.iter().map(|argument| quoted(argument)).collect();
    format!("{{\"goog:chromeOptions\": {{\"binary\": {}, \"args\": [{}]}}}}\n", quoted(binary), arguments.join(", "))
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c.is_control() => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_json_whatever_the_path() {
        assert!(
            settings("/a \"b\"\\c\n")
                .starts_with(r#"{"goog:chromeOptions": {"binary": "/a \"b\"\\c\u000a", "args": ["--headless=new", "#)
        );
    }

    #[test]
    fn the_file_for_runs_by_hand_says_the_same() {
        let file = Paths::find().unwrap().root.join("tests/webdriver.json");
        let by_hand = fs::read_to_string(file).unwrap();
        for argument in BROWSER_ARGUMENTS {
            assert!(by_hand.contains(&quoted(argument)), "{argument}");
        }
    }
}
