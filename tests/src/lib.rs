//! What is tested across crates in a headless browser, and the module that the benches in `bench/` load there.

#[cfg(target_arch = "wasm32")]
pub mod durability;
#[cfg(target_arch = "wasm32")]
pub mod store_bench;
#[cfg(target_arch = "wasm32")]
pub mod token_bench;
