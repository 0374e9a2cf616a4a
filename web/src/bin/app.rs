//! The page's thread: mounts the page. Everything else is in the library.

fn main() {}
