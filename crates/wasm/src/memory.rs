//! Lets the module's memory grow in few and large steps. The allocator asks for 64 KiB at a time; each step gives JavaScript a new
//! buffer of the whole size, and from 64 MB on V8 collects all garbage for it: a message took four times as long then.

use std::cell::Cell;
use std::hint::black_box;

/// The bytes of a page.
const PAGE: usize = 64 << 10;
/// The least and the most that memory grows by.
const STEP: (usize, usize) = (1 << 20, 32 << 20);

thread_local! {
    /// How many pages there were when it was looked last.
    static SEEN: Cell<usize> = const { Cell::new(0) };
}

/// Makes room for an eighth of what there is, if memory has grown since it was called last.
pub(crate) fn grow_ahead() {
    if pages() == SEEN.get() {
        return;
    }
    // The allocator keeps at hand what it is given back. Where there is no room, it goes on in small steps.
    let mut room: Vec<u8> = Vec::new();
    let _ = room.try_reserve_exact((pages() * PAGE / 8).clamp(STEP.0, STEP.1));
    drop(black_box(room));
    SEEN.set(pages());
}

/// How many pages the module's memory has; zero where it is no module, but compiled to be checked.
fn pages() -> usize {
    #[cfg(target_arch = "wasm32")]
    return std::arch::wasm32::memory_size::<0>();
    #[cfg(not(target_arch = "wasm32"))]
    0
}
