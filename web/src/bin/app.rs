//! The one module of the page, loaded by both of its threads: the page's own mounts the page, the worker's starts the
//! engine. Apart they would each carry a copy of what both use, half as much again to download.

fn main() {
    #[cfg(target_arch = "wasm32")]
    threadkeep_web::start();
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("this is a web page: build it for wasm32-unknown-unknown, or run `cargo xtask serve`");
}
