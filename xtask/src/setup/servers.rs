//! Redis and PostgreSQL, for the tests of the stores on them: programs only. The tests start servers of their own, in
//! folders of their own, and stop them; no server that runs already is used or touched.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::run::{on_path, program_in};
use crate::setup::apt;

/// Where the programs are.
#[derive(Debug)]
pub(crate) struct Servers {
    /// The program `redis-server`.
    pub(crate) redis: PathBuf,
    /// The folder that holds PostgreSQL's programs.
    pub(crate) postgres: PathBuf,
}

impl Servers {
    /// The variables that tell the tests.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 2] {
        [(REDIS, self.redis.clone().into()), (POSTGRES, self.postgres.clone().into())]
    }
}

/// Names a `redis-server` of one's own.
const REDIS: &str = "REDIS_SERVER";
/// Names a folder with PostgreSQL's programs of one's own.
const POSTGRES: &str = "POSTGRES_BIN";
/// Where Debian and its kin put PostgreSQL: a folder for each major version, with `bin` in it.
const VERSIONS: &str = "/usr/lib/postgresql";
/// What the tests run of PostgreSQL; a standby begins with a base backup.
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_basebackup"];
const REDIS_BY_HAND: &str = "install Redis 6 or newer, on PATH or named by the variable REDIS_SERVER";
const POSTGRES_BY_HAND: &str =
    "install PostgreSQL 12 or newer, on PATH or with the folder of its programs named by the variable POSTGRES_BIN";

/// Finds or installs both.
///
/// # Errors
/// One is missing and cannot be installed, or a variable names what is not there.
pub(crate) fn servers() -> Result<Servers> {
    let redis = || match named(REDIS)? {
        Some(path) if !path.is_file() => bail!("{REDIS} names {}, and there is no such file", path.display()),
        Some(path) => Ok(Some(path)),
        None => Ok(on_path("redis-server")),
    };
    let postgres = || match named(POSTGRES)? {
        Some(folder) if !is_postgres(&folder) => {
            bail!("{POSTGRES} names {}, which lacks one of {}", folder.display(), PROGRAMS.join(", "))
        }
        Some(folder) => Ok(Some(folder)),
        None => Ok(postgres_on_path().or_else(|| newest(Path::new(VERSIONS)))),
    };
    Ok(Servers {
        redis: found_or_installed("Redis", &redis, &["redis-server"], REDIS_BY_HAND)?,
        postgres: found_or_installed("PostgreSQL", &postgres, &["postgresql"], POSTGRES_BY_HAND)?,
    })
}

fn found_or_installed(
    name: &str,
    look: &dyn Fn() -> Result<Option<PathBuf>>,
    packages: &[&str],
    by_hand: &str,
) -> Result<PathBuf> {
    if let Some(found) = look()? {
        return Ok(found);
    }
    apt::install(name, packages, by_hand)?;
    look()?.with_context(|| format!("{name} is still missing after its installation: {by_hand}"))
}

fn named(variable: &str) -> Result<Option<PathBuf>> {
    Ok(env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from))
}

/// The folder on PATH, or the one that a link on PATH leads to: `initdb` looks for its files from there.
fn postgres_on_path() -> Option<PathBuf> {
    let program = on_path("postgres")?;
    let real = fs::canonicalize(&program).unwrap_or(program);
    real.parent().filter(|folder| is_postgres(folder)).map(Path::to_owned)
}

fn is_postgres(folder: &Path) -> bool {
    PROGRAMS.iter().all(|name| program_in(folder, name).is_some())
}

/// The `bin` of the newest version below `folder`.
fn newest(folder: &Path) -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let found = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let whole = found.filter(|path| version(path).is_some() && is_postgres(&path.join("bin")));
    Some(whole.max_by_key(|path| version(path))?.join("bin"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::TestFolder;

    #[test]
    fn the_newest_whole_version_is_taken() {
        let test = TestFolder::new("servers");
        for (version, programs) in [("9", 3), ("15", 3), ("17", 2), ("data", 3)] {
            let folder = test.0.join(version).join("bin");
            fs::create_dir_all(&folder).unwrap();
            for name in &PROGRAMS[..programs] {
                fs::write(folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)), "").unwrap();
            }
        }
        assert_eq!(newest(&test.0), Some(test.0.join("15").join("bin")));
        assert_eq!(newest(&test.0.join("none")), None);
    }
}
