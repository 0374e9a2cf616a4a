//! Rendering and validating, for every provider.

mod generate;
mod properties;
