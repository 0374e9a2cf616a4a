//! Threadkeep's developer commands (`cargo xtask …`): set a machine up, build and serve the page, pack the npm package,
//! run every check and every measurement. Only orders of work live here: what a check or a measurement does is the
//! business of the crates, of `npm/` and of `tests/`.

mod bench;
mod cli;
mod dependencies;
mod folder;
mod fuzz;
mod html;
mod notices;
mod pack;
mod packages;
mod page;
mod paths;
mod release;
mod run;
mod scripts;
mod serve;
mod setup;
mod site;
mod size;
mod split;
mod table;
mod test;
mod vocabulary;
mod wasm;

use std::process::ExitCode;

use cli::Order;
use paths::Paths;

fn main() -> ExitCode {
    match work() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the command line asks for. `false` means that everything ran, and something was found wanting and said so.
fn work() -> anyhow::Result<bool> {
    let order = cli::parse(std::env::args_os().skip(1))?;
    let paths = Paths::find()?;
    match order {
        Order::Help => println!("{}", cli::USAGE),
        Order::Setup => setup::everything(&paths)?,
        Order::Build => page::build(&paths)?.check()?,
        Order::Serve { port } => serve::run(&paths, port)?,
        Order::Pack => {
            pack::build(&paths)?.sizes.iter().try_for_each(size::Sizes::check)?;
        }
        Order::Site { base } => site::run(&paths, &base)?,
        Order::Vocabulary => vocabulary::make(&paths)?,
        Order::Types => scripts::types(&paths)?,
        Order::Advisories => dependencies::advisories(&paths)?,
        Order::Format => scripts::format(&paths)?,
        Order::Release(mode) => return release::run(&paths, mode),
        Order::Test(parts) => return test::run(&paths, &parts),
        Order::Bench { names, chats, size, keep } => return bench::run(&paths, &names, chats.as_deref(), size, keep),
        Order::Fuzz { targets, run } => return fuzz::run(&paths, &targets, run),
    }
    Ok(true)
}
