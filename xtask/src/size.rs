//! Sizes of what we ship, raw and gzipped, and what they may be. Sizes are bytes; a KB is 1,000 of them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use flate2::{Compression, write::GzEncoder};

use crate::folder::walk;
use crate::table;

/// How much something that ships may weigh, gzipped: what it should weigh, and what it must not grow past until it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// The promise. While it is not kept, the build says so.
    pub(crate) target: u64,
    /// The check fails above this. It only ever goes down, until it is the target.
    pub(crate) limit: u64,
}

/// The whole release page.
pub(crate) const PAGE: Budget = Budget { target: 650_000, limit: 650_000 };
/// The wasm of the npm package that every user loads.
pub(crate) const NPM: Budget = Budget { target: 350_000, limit: 350_000 };
/// Its parts together, each loaded by those who import archives, build prompts and compact, search, run agents, or (37 KB) try a
/// store of their own.
pub(crate) const NPM_PARTS: Budget = Budget { target: 1_200_000, limit: 1_200_000 };

/// One measured file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) raw: u64,
    pub(crate) gzipped: u64,
}

/// Measured files, and the budget of the sum of their gzipped sizes.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    pub(crate) what: &'static str,
    /// `None` for a quick build, which is hardly optimised.
    pub(crate) budget: Option<Budget>,
    pub(crate) files: Vec<File>,
}

impl Sizes {
    /// Measures every file below `folder` that `wanted` accepts.
    ///
    /// # Errors
    /// A file or folder that cannot be read.
    pub(crate) fn of_folder(
        what: &'static str,
        budget: Option<Budget>,
        folder: &Path,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Self> {
        let mut files = Vec::new();
        for path in walk(folder)?.into_iter().filter(|path| wanted(path)) {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            files.push(File { name, raw: bytes.len() as u64, gzipped: gzip(&bytes)?.len() as u64 });
        }
        Ok(Self { what, budget, files })
    }

    fn gzipped(&self) -> u64 {
        self.files.iter().map(|file| file.gzipped).sum()
    }

    /// A table of all files, the sum, the target and by how much it is missed.
    pub(crate) fn table(&self) -> String {
        let row = |name: &str, raw: u64, gzipped: u64| vec![name.to_owned(), kilobytes(raw), kilobytes(gzipped)];
        let mut rows = vec![vec![self.what.to_owned(), "raw KB".to_owned(), "gzipped KB".to_owned()]];
        rows.extend(self.files.iter().map(|file| row(&file.name, file.raw, file.gzipped)));
        rows.push(row("sum", self.files.iter().map(|file| file.raw).sum(), self.gzipped()));
        if let Some(Budget { target, limit }) = self.budget {
            rows.push(vec!["target".to_owned(), String::new(), kilobytes(target)]);
            if self.gzipped() > target {
                rows.push(vec!["MISSED by".to_owned(), String::new(), kilobytes(self.gzipped() - target)]);
                rows.push(vec!["must not pass".to_owned(), String::new(), kilobytes(limit)]);
            }
        }
        table::render(&rows, &[1, 2])
    }

    /// Fails when the sum is over the limit. A build to which no limit applies passes, and it is said.
    ///
    /// # Errors
    /// The sum of the gzipped sizes exceeds the limit, or there is nothing to measure.
    pub(crate) fn check(&self) -> Result<()> {
        let sum = self.gzipped();
        if self.files.is_empty() {
            bail!("{}: no file to measure", self.what);
        }
        match self.budget {
            Some(Budget { limit, .. }) if sum > limit => bail!(
                "{} has grown too big: {} KB gzipped, the limit is {} KB",
                self.what,
                kilobytes(sum),
                kilobytes(limit)
            ),
            Some(_) => {}
            None => eprintln!("{}: size not checked, since this is a quick build", self.what),
        }
        Ok(())
    }
}

fn kilobytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1000, bytes % 1000 / 100)
}

/// The bytes gzipped, as small as they get.
///
/// # Errors
/// None that writing to memory has.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(gzipped: &[u64]) -> Sizes {
        let file = |(at, gzipped): (usize, &u64)| File { name: format!("f{at}"), raw: gzipped * 3, gzipped: *gzipped };
        Sizes {
            what: "page",
            budget: Some(Budget { target: 400_000, limit: 500_000 }),
            files: gzipped.iter().enumerate().map(file).collect(),
        }
    }

    #[test]
    fn the_limit_itself_passes_and_one_byte_more_does_not() {
        assert!(sizes(&[499_999, 1]).check().is_ok());
        let error = sizes(&[499_999, 2]).check().unwrap_err().to_string();
        assert!(error.contains("500.0 KB gzipped"), "{error}");
    }

    #[test]
    fn a_build_without_a_limit_passes_whatever_its_size() {
        assert!(Sizes { budget: None, ..sizes(&[900_000]) }.check().is_ok());
        assert!(Sizes { budget: None, ..sizes(&[]) }.check().is_err());
    }

    #[test]
    fn nothing_at_all_is_no_success() {
        assert!(sizes(&[]).check().is_err());
    }

    #[test]
    fn the_table_has_each_file_and_the_sum() {
        let table = sizes(&[1_500, 100]).table();
        assert!(
            table.contains("f0") && table.contains("1.5") && table.contains("0.1") && table.contains("1.6"),
            "{table}"
        );
    }

    #[test]
    fn gzip_shrinks_what_repeats() {
        assert!(gzip(&[b'a'; 10_000]).unwrap().len() < 100);
    }
}
