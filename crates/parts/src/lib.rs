//! Marks what a browser may load later. `cargo xtask build` and `pack` cut the wasm module apart at these marks: what is
//! reached only through one of them goes into a part of its own, which is fetched when it is first called.
//!
//! Other builds (Trunk's, and the tests') leave the module whole; there the functions are called as they stand. A function
//! behind a mark takes and returns plain values, and is async to its callers.
//!
//! ```
//! threadkeep_parts::part! {
//!     /// Turns a text around.
//!     reversal: fn reversed(text: String) -> String {
//!         text.chars().rev().collect()
//!     }
//! }
//! # use std::future::Future;
//! # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! # let mut future = std::pin::pin!(async { assert_eq!(reversed("abc".into()).await.unwrap(), "cba") });
//! # assert!(future.as_mut().poll(&mut context).is_ready());
//! ```

pub use wasm_split_helpers;
/// The part could not be loaded; the browser's console says why. Calling again tries again.
pub use wasm_split_helpers::SplitLoaderError as PartError;

/// Declares a function that lies in a part of the module: `part: fn name(argument: Type, …) -> Type { … }`. It becomes
/// an async function that returns a `Result<Type, PartError>`. All functions of the same part are loaded together.
#[macro_export]
macro_rules! part {
    ($(#[$doc:meta])* $part:ident: $visible:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $output:ty $body:block) => {
        #[cfg(split)]
        $(#[$doc])*
        #[$crate::wasm_split_helpers::wasm_split($part, wasm_split_path = $crate::wasm_split_helpers, fallible)]
        $visible fn $name($($argument: $type),*) -> ::core::result::Result<$output, $crate::PartError> {
            ::core::result::Result::Ok($body)
        }

        #[cfg(not(split))]
        $(#[$doc])*
        $visible async fn $name($($argument: $type),*) -> ::core::result::Result<$output, $crate::PartError> {
            ::core::result::Result::Ok($body)
        }
    };
}
