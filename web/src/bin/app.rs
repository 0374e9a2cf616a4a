//! The page's thread: mounts the page.

fn main() {
    #[cfg(target_arch = "wasm32")]
    threadkeep_web::page::start();
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("this is a web page: build it for wasm32-unknown-unknown, or run `cargo xtask serve`");
}
