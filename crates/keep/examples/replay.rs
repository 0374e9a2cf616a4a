//! Replays a case file: `cargo run -p threadkeep --example replay FILE` makes its prompt again, and says whether it is equal or where it
//! first differs.

use std::error::Error;
use std::process::ExitCode;
use std::rc::Rc;

use threadkeep::replay_case;
use threadkeep_tokens::{Bpe, Encoding};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("Name the case file to replay.")?;
    let vocabularies = [Encoding::O200k, Encoding::Cl100k].map(|encoding| Rc::new(Bpe::embedded(encoding)));
    let replay = replay_case(&std::fs::read_to_string(path)?, &vocabularies)?;
    let Some(difference) = replay.difference else {
        println!("equal; written by Threadkeep {}", replay.version);
        return Ok(ExitCode::SUCCESS);
    };
    println!("{}", difference.path);
    println!("  in the file: {}", difference.recorded);
    println!("  made again:  {}", difference.rebuilt);
    if let Some(line) = difference.ledger_line {
        println!("  the ledger differs from line {line} on");
    }
    Ok(ExitCode::FAILURE)
}
