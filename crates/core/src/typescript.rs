//! TypeScript's names for types whose JSON is written by hand. `cargo xtask types` makes the npm package's types from `ts_rs::TS`.

/// Says what a type is called in TypeScript, with the crate's feature `ts`.
///
/// ```
/// pub struct Share(u16);
/// threadkeep_core::in_typescript!(Share, "number");
/// ```
#[macro_export]
macro_rules! in_typescript {
    ($type:ty, $name:literal) => {
        #[cfg(feature = "ts")]
        impl ::ts_rs::TS for $type {
            type WithoutGenerics = Self;
            type OptionInnerType = Self;

            fn name(_: &::ts_rs::Config) -> ::std::string::String {
                $name.to_owned()
            }

            fn inline(_: &::ts_rs::Config) -> ::std::string::String {
                $name.to_owned()
            }
        }
    };
}

#[cfg(feature = "ts")]
impl<T: ts_rs::TS> ts_rs::TS for crate::read::Off<T> {
    type WithoutGenerics = crate::read::Off<ts_rs::Dummy>;
    type OptionInnerType = Self;

    fn name(config: &ts_rs::Config) -> String {
        [&T::name(config), " | false"].concat()
    }

    fn inline(config: &ts_rs::Config) -> String {
        [&T::inline(config), " | false"].concat()
    }
}
