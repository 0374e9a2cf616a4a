//! Folders that are made beside their place and then put there whole, so that nobody ever sees half of one, and two
//! commands that run at a time do not mix theirs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// A folder in the making; what is left of it is removed when it goes out of scope.
pub(crate) struct Scratch {
    place: PathBuf,
    path: PathBuf,
}

impl Scratch {
    /// An empty folder that is to become `place`.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn for_place(place: &Path) -> Result<Self> {
        let path = beside(place, "new");
        remove(&path)?;
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { place: place.to_owned(), path })
    }

    /// Where it is made.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in its place; what was there is gone.
    ///
    /// # Errors
    /// The folder there cannot be replaced.
    pub(crate) fn put(self) -> Result<()> {
        let old = beside(&self.place, "old");
        remove(&old)?;
        // Whoever is quicker wins; with several at a time, each has a whole folder to put.
        for _ in 0..10 {
            match fs::rename(&self.place, &old) {
                Ok(()) => remove(&old)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot replace {}", self.place.display())),
            }
            if fs::rename(&self.path, &self.place).is_ok() {
                return Ok(());
            }
        }
        bail!("cannot put {} in its place", self.place.display())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.path).ok();
    }
}

/// A sibling of `place` that no other process uses.
fn beside(place: &Path, kind: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{kind}.{}", std::process::id()))
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Every file below `folder`, in order of path.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(walk(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Copies the files below `from`, with their folders, into `to`; a `from` that is not there has none. Two files that
/// claim one place are an error.
///
/// # Errors
/// A file is there already, or cannot be copied.
pub(crate) fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for file in walk(from)? {
        let Ok(name) = file.strip_prefix(from) else { continue };
        let target = to.join(name);
        if target.exists() {
            bail!("{} and another file both want to be {}", file.display(), name.display());
        }
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&file, &target).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// A folder for one test, gone when the test ends.
#[cfg(test)]
pub(crate) struct TestFolder(pub(crate) PathBuf);

#[cfg(test)]
impl TestFolder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("threadkeep-xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

#[cfg(test)]
impl Drop for TestFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_replaces_the_old_one_whole() {
        let test = TestFolder::new("folder");
        let place = test.0.join("site");
        for name in ["first", "second"] {
            let scratch = Scratch::for_place(&place).unwrap();
            fs::write(scratch.path().join(name), "x").unwrap();
            scratch.put().unwrap();
        }
        assert_eq!(walk(&test.0).unwrap(), [place.join("second")]);
    }

    #[test]
    fn what_is_not_finished_leaves_the_old_one() {
        let test = TestFolder::new("unfinished");
        let place = test.0.join("site");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("old"), "x").unwrap();
        drop(Scratch::for_place(&place).unwrap());
        assert_eq!(walk(&test.0).unwrap(), [place.join("old")]);
    }

    #[test]
    fn two_files_for_one_place_are_an_error() {
        let test = TestFolder::new("copy");
        let [from, to] = ["from/sub", "to"].map(|name| test.0.join(name));
        fs::create_dir_all(&from).unwrap();
        fs::write(from.join("a"), "x").unwrap();
        copy_all(&test.0.join("from"), &to).unwrap();
        assert!(to.join("sub/a").is_file());
        assert!(copy_all(&test.0.join("from"), &to).is_err());
        assert!(copy_all(&test.0.join("none"), &to).is_ok());
    }
}
