//! The worker's thread: starts the engine.

fn main() {
    #[cfg(target_arch = "wasm32")]
    threadkeep_web::worker::start();
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("this is the worker of a web page: build it for wasm32-unknown-unknown, or run `cargo xtask serve`");
}
