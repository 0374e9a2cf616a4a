//! Context: from a chain of messages and a budget to the exact prompt, with an account of every message.
//!
//! ```text
//! items ─► compress ─► preview ─► groups ─► Prepared ─► fit ─► Context (messages, ledger, figures) ─► provider::render
//!                                    frame ────────────┘
//! ```
//! Goes in: a history ([`Item`]), [`Options`] and a counter. Comes out: a [`Context`]. [`build`] does it at once; [`Prepared`]
//! keeps what is known of a history, so that each further decision (another budget, policy or pin) reads no text. Left to others: where
//! the history is kept, and turning messages into a request's body ([`provider`](threadkeep_provider)).
//!
//! # Groups
//! What belongs together is kept or dropped together: a call, all its results and the reasoning before it. Whatever the history
//! has, in a prompt each call is followed by its results, in the order of the calls, and nothing answers what was not called.
//! The table of what is done for that, with the ledger's word for it, is [`rule`].
//!
//! # Budgets
//! The frame and what must stay come first: instructions, pins, the user's newest message, the tool group that the model has not
//! answered. Then the newest groups, up to the first that does not fit. Where even what must stay does not fit, the context has
//! it all the same and says `over_budget`. A limit of zero is a limit.

mod budget;
mod build;
mod chunked;
pub mod compress;
mod facts;
mod fit;
mod frame;
mod group;
mod importance;
mod item;
mod ledger;
pub mod material;
mod pair;
mod plain;
mod prepared;
pub mod preview;
mod prompt;
pub mod rule;
mod select;
pub mod tokens;
mod weigh;
mod what_if;

pub use budget::{Budget, Figures, Limits, Policy};
pub use build::{
    Context, Options, Preparing, TrimOptions, build, opens_with_user, prepare, prepare_with, trim, trim_messages,
};
pub use fit::{Fit, Plan};
pub use frame::{Frame, FrameOptions, Mode, Run, banner};
pub use importance::importance;
pub use item::{History, Item, chain_items, items};
pub use ledger::{Action, Ledger, Line};
pub use material::Material;
pub use plain::{MessageRef, OptionError, pins};
pub use prepared::{Kinds, Mark, Prepared, Replacement, System};
pub use preview::{Preview, Previews};
pub use prompt::{Prompt, Warning, WarningKind, frame_figures, prompt};
pub use select::{Only, Selection};
pub use what_if::shared_tokens;
