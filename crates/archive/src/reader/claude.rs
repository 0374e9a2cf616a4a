//! What Claude.ai's exports and Claude Code's sessions share: messages made of content blocks, read by
//! [`Blocks`](crate::blocks::Blocks).

pub(super) mod ai;
pub(super) mod code;
pub(super) mod design;

use crate::blocks::Blocks;
