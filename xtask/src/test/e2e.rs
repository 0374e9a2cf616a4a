//! The tests of the finished page in a real browser.

use crate::page;
use crate::paths::Paths;
use crate::run::{listen, npm};
use crate::serve;
use crate::setup;
use crate::test::{Shared, Tally};

/// Runs the part.
pub(crate) fn run(paths: &Paths, shared: &mut Shared) -> Tally {
    let tests = paths.e2e();
    let mut tally = Tally::default();
    let mut browser = None;
    let ready = tally.check("set-up", || {
        setup::node()?;
        browser = Some(setup::browser()?);
        setup::packages(paths, &tests)
    });
    // A page over its limit is a failure of its own; its tests still tell something.
    let mut sizes = None;
    let built = tally.check("page", || {
        sizes = Some(page::build(paths)?);
        Ok(())
    });
    if let Some(sizes) = sizes {
        tally.check("size of the page", || sizes.check());
    }
    let tarball = shared.tarball(paths, &mut tally);
    if let (true, true, Some(browser)) = (ready, built, browser) {
        tally.tests("tests", || {
            let mut test = npm(&tests);
            test.args(["test", "--silent"])
                .env("THREADKEEP_SITE", paths.site())
                .env("THREADKEEP_URL", serve::in_background(&paths.site())?)
                .env("CHROMIUM", &browser.chromium)
                .env("CHROMEDRIVER", &browser.driver);
            if let Some(tarball) = &tarball {
                test.env("THREADKEEP_TARBALL", tarball);
            }
            listen(&mut test)
        });
    }
    tally
}
