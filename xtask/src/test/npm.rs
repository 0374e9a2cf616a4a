//! The npm package's own tests, against the tarball that a user would install.

use crate::paths::Paths;
use crate::run::{listen, npm};
use crate::setup;
use crate::test::{Shared, Tally};

/// Runs the part.
pub(crate) fn run(paths: &Paths, shared: &mut Shared) -> Tally {
    let mut tally = Tally::default();
    if !tally.check("set-up", setup::node) {
        return tally;
    }
    if let Some(tarball) = shared.tarball(paths, &mut tally) {
        tally.tests("tests", || {
            listen(npm(&paths.npm()).args(["test", "--silent"]).env("THREADKEEP_TARBALL", &tarball))
        });
    }
    tally
}
