//! The worker.

fn main() {}
