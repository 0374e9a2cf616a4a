//! `cargo xtask types`: writes the files into the folder that is its argument.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("name the folder, or use `cargo xtask types`"));
    };
    let files = threadkeep_types::files().map_err(io::Error::other)?;
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
