//! The format and the lints of the scripts, the npm package's own tests against the tarball that a user would install, a short
//! run of the fuzz targets that need it, and a small run of the measurements in Node.

use crate::fuzz::TARGETS;
use crate::paths::Paths;
use crate::run::{listen, npm, show, side_by_side};
use crate::test::{Part, Shared, Tally};
use crate::{bench, scripts, setup};

/// Runs the part.
pub(crate) fn run(paths: &Paths, shared: &mut Shared) -> Tally {
    let mut tally = Tally::default();
    let (mut servers, mut browser) = (None, None);
    let ready = tally.check("set-up", || {
        setup::node()?;
        let folders = [paths.npm(), paths.bundlers(), paths.runtimes(), paths.api_tools()];
        side_by_side(&folders, |folder| setup::packages(paths, folder))?;
        browser = Some(setup::browser()?);
        servers = Some(setup::servers()?);
        Ok(())
    });
    let (true, Some(servers), Some(browser)) = (ready, servers, browser) else { return tally };
    tally.check("format and lints", || scripts::check(paths));
    if let Some(tarball) = shared.tarball(paths, &mut tally) {
        tally.tests("tests", || {
            let mut test = npm(&paths.npm());
            test.args(["test", "--silent"])
                .env("THREADKEEP_TARBALL", &tarball)
                .env("CHROMIUM", &browser.chromium)
                .envs(servers.variables());
            // Without it the one suite that needs it is skipped, and says so.
            match setup::python(paths) {
                Ok(python) => test.env(setup::PYTHON, python),
                Err(why) => {
                    eprintln!("no Python for the Claude Agent SDK's suite: {why:#}");
                    &mut test
                }
            };
            listen(&mut test)
        });
        for target in TARGETS.iter().filter(|target| target.needs_package()) {
            tally.check(&format!("fuzz {}", target.name), || {
                show(target.short_run(paths, Some(&tarball))?.envs(servers.variables()))
            });
        }
        let mut made =
            vec![("THREADKEEP_TARBALL", tarball.clone().into()), ("CHROMIUM", browser.chromium.clone().into())];
        made.extend(servers.variables());
        bench::check(paths, Part::Npm, &mut tally, made);
    }
    tally
}
