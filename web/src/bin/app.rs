//! The one module of the page, loaded by both of its threads: the page's own mounts the page, the worker's starts the
//! engine. Apart they would each carry a copy of what both use, half as much again to download.

fn main() {
    threadkeep_web::start();
}
