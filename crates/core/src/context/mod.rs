//! Context: from a chain of messages and a budget to the exact prompt, with an account of every message.

mod budget;
mod build;
pub mod compress;
mod facts;
pub mod failure;
mod fit;
mod frame;
mod group;
mod item;
mod ledger;
mod prepared;
pub mod preview;
pub mod rule;
mod what_if;

pub use budget::{Budget, Figures, Limits, Policy};
pub use build::{Context, Options, TrimOptions, build, opens_with_user, prepare, trim_messages};
pub use fit::{Fit, Plan};
pub use frame::{Frame, FrameOptions, Mode, Run, banner};
pub use item::{Item, chain_items, items};
pub use ledger::{Action, Line};
pub use prepared::{Kinds, Mark, Prepared, Preparing, Replacement, System};
pub use preview::Preview;
pub use what_if::shared_tokens;
