//! The changelog as a release sees it: its version has a dated section that says something, and nothing waits under Unreleased.

/// What is wrong with the changelog for the release of `version`.
pub(super) fn problems(changelog: &str, version: &str) -> Vec<String> {
    let mut found = Vec::new();
    match section(changelog, version) {
        None => found.push(format!("CHANGELOG.md has no section [{version}]")),
        Some((after, body)) => {
            if !after.strip_prefix(" - ").is_some_and(is_date) {
                found.push(format!("CHANGELOG.md: [{version}] has no date: write `## [{version}] - YYYY-MM-DD`"));
            }
            if !has_entries(&body) {
                found.push(format!("CHANGELOG.md: [{version}] says nothing"));
            }
        }
    }
    match section(changelog, "Unreleased") {
        None => found.push("CHANGELOG.md has no section [Unreleased]".to_owned()),
        Some((_, body)) if has_entries(&body) => {
            found.push(format!("CHANGELOG.md: move the entries from [Unreleased] to [{version}]"));
        }
        Some(_) => {}
    }
    for name in [version, "Unreleased"] {
        if !changelog.lines().any(|line| line.starts_with(&format!("[{name}]: "))) {
            found.push(format!("CHANGELOG.md has no address for [{name}] at its end"));
        }
    }
    found
}

/// The rest of the heading `## [name]`, and the lines below it.
fn section<'c>(changelog: &'c str, name: &str) -> Option<(&'c str, Vec<&'c str>)> {
    let mut lines = changelog.lines();
    let heading = format!("## [{name}]");
    let after = lines.find_map(|line| line.strip_prefix(&heading))?;
    Some((after, lines.take_while(|line| !line.starts_with("## ")).collect()))
}

fn has_entries(body: &[&str]) -> bool {
    body.iter().any(|line| line.starts_with("- "))
}

/// Whether this is a date such as `2026-11-22`.
fn is_date(text: &str) -> bool {
    let numbers: Vec<Option<u32>> = text.trim_end().split('-').map(|part| part.parse().ok()).collect();
    text.trim_end().len() == 10
        && matches!(numbers[..], [Some(_), Some(month), Some(day)] if (1..=12).contains(&month) && (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Fixed\n\n- A fault.\n\n## [0.1.0] - 2026-11-22\n\n- All.\n\n\
                        [Unreleased]: https://example.org/a\n[0.2.0]: https://example.org/b\n";

    #[test]
    fn a_dated_section_with_entries_is_well() {
        assert_eq!(problems(GOOD, "0.2.0"), [""; 0]);
    }

    #[test]
    fn a_missing_undated_or_empty_section_is_named() {
        assert_eq!(problems(GOOD, "0.3.0")[0], "CHANGELOG.md has no section [0.3.0]");
        for heading in ["## [0.2.0]", "## [0.2.0] - soon", "## [0.2.0] - 2026-13-01"] {
            let problems = problems(&GOOD.replace("## [0.2.0] - 2026-12-01", heading), "0.2.0");
            assert_eq!(problems.len(), 1, "{heading}: {problems:?}");
            assert!(problems[0].contains("no date"), "{problems:?}");
        }
        assert_eq!(problems(&GOOD.replace("- A fault.", ""), "0.2.0"), ["CHANGELOG.md: [0.2.0] says nothing"]);
    }

    #[test]
    fn entries_that_wait_and_missing_addresses_are_named() {
        let waiting = GOOD.replace("## [Unreleased]\n", "## [Unreleased]\n\n- New.\n");
        assert_eq!(problems(&waiting, "0.2.0"), ["CHANGELOG.md: move the entries from [Unreleased] to [0.2.0]"]);
        let bare = GOOD.replace("[0.2.0]: ", "0.2.0: ");
        assert_eq!(problems(&bare, "0.2.0"), ["CHANGELOG.md has no address for [0.2.0] at its end"]);
    }
}
