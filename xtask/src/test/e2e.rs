//! The tests of the finished page in a real browser, and a small run of its measurements.

use crate::bench;
use crate::paths::Paths;
use crate::run::{listen, npm};
use crate::serve;
use crate::setup;
use crate::site;
use crate::test::{Part, Shared, Tally};

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
    let (true, Some(tarball), Some(browser)) = (ready, shared.tarball(paths, &mut tally), browser) else {
        return tally;
    };
    let mut made = vec![
        ("THREADKEEP_SITE", paths.site().into_os_string()),
        ("CHROMIUM", browser.chromium.into()),
        ("CHROMEDRIVER", browser.driver.into()),
    ];
    tally.check("documentation", || {
        made.push(("THREADKEEP_DOCUMENTATION", site::make(paths, &tarball, "/documentation/")?.into()));
        Ok(())
    });
    made.push(("THREADKEEP_TARBALL", tarball.into()));
    let served = tally.check("server of the page", || {
        made.push(("THREADKEEP_URL", serve::in_background(&paths.site())?.into()));
        Ok(())
    });
    if served {
        for script in ["test", "test:alone"] {
            tally.tests(script, || listen(npm(&tests).args(["run", script, "--silent"]).envs(made.iter().cloned())));
        }
        bench::check(paths, Part::E2e, &mut tally, made);
    }
    tally
}
