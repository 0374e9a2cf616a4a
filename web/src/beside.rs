//! The panels beside the thread, without their looks: which are shown, how wide, and what a press makes of them.

/// What a panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What of the branch a model would see, and why.
    Context,
    /// What models were sent.
    Requests,
    /// The branches.
    Map,
}

impl Side {
    /// All of them, as their tabs stand.
    pub const ALL: [Self; 3] = [Self::Context, Self::Requests, Self::Map];

    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => "Context",
            Self::Requests => "Requests",
            Self::Map => "Map",
        }
    }

    /// Its name in storage and markup.
    pub fn key(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Requests => "requests",
            Self::Map => "map",
        }
    }
}

/// The widest that a window is with room for one panel only, in CSS pixels.
const ONE: u32 = 1599;
/// The least and the greatest width that a panel may be given, in CSS pixels. Style sheets keep it below half of the window, too.
pub const WIDTHS: (u32, u32) = (288, 960);

/// How many panels a window of this width has room for.
pub fn room(width: u32) -> usize {
    if width > ONE { 2 } else { 1 }
}

/// The panels in their order: none, one, or two that show different things. Where there is room for one only, the first is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beside([Option<Side>; 2]);

impl Beside {
    /// With one panel.
    pub fn one(side: Side) -> Self {
        Self([Some(side), None])
    }

    /// What is shown, in order.
    pub fn shown(self, room: usize) -> impl Iterator<Item = Side> {
        self.0.into_iter().flatten().take(room)
    }

    /// Whether `side` is shown.
    pub fn shows(self, side: Side, room: usize) -> bool {
        self.shown(room).any(|shown| shown == side)
    }

    /// Shows `side`, in place of what the first panel shows; closes its panel where it is shown already.
    pub fn turned(self, side: Side, room: usize) -> Self {
        match self.shown(room).position(|shown| shown == side) {
            Some(at) => self.closed(at, room),
            None => self.chosen(0, side),
        }
    }

    /// Shows `side` in the panel `at`. If the other panel shows it, the two change places.
    pub fn chosen(self, at: usize, side: Side) -> Self {
        let mut panels = self.0;
        let at = at.min(1);
        if panels[1 - at] == Some(side) {
            panels[1 - at] = panels[at];
        }
        panels[at] = Some(side);
        Self(panels).in_order()
    }

    /// With a second panel, which shows the first thing that the first panel does not.
    pub fn split(self) -> Self {
        let [first, second] = self.0;
        let more = Side::ALL.into_iter().find(|side| first.is_some() && Some(*side) != first);
        Self([first, second.or(more)])
    }

    /// Without the panel `at`; without any where there is room for one.
    pub fn closed(self, at: usize, room: usize) -> Self {
        if room < 2 {
            return Self::default();
        }
        let mut panels = self.0;
        panels[at.min(1)] = None;
        Self(panels).in_order()
    }

    fn in_order(self) -> Self {
        match self.0 {
            [None, second] => Self([second, None]),
            panels => Self(panels),
        }
    }

    /// As a text: their names with a space between.
    pub fn write(self) -> String {
        self.0.into_iter().flatten().map(Side::key).collect::<Vec<_>>().join(" ")
    }

    /// What [`Beside::write`] wrote. What is no name counts for nothing.
    pub fn read(text: &str) -> Self {
        let side = |name: &str| Side::ALL.into_iter().find(|side| side.key() == name);
        let mut named = text.split(' ').filter_map(side);
        match (named.next(), named.next()) {
            (Some(first), Some(second)) if first != second => Self([Some(first), Some(second)]),
            (first, _) => Self([first, None]),
        }
    }
}

/// The width of each of `panels` panels where their inner edge is `from_end` pixels away from the window's end.
pub fn width(from_end: f64, panels: usize) -> u32 {
    let (least, greatest) = WIDTHS;
    ((from_end / panels.max(1) as f64) as u32).clamp(least, greatest)
}

#[cfg(test)]
mod tests {
    use super::Side::{Context, Map, Requests};
    use super::*;

    fn shown(panels: Beside) -> Vec<Side> {
        panels.shown(2).collect()
    }

    #[test]
    fn a_press_shows_a_side_and_another_press_closes_it() {
        let context = Beside::default().turned(Context, 1);
        assert_eq!(shown(context), [Context]);
        assert_eq!(shown(context.turned(Map, 1)), [Map]);
        assert_eq!(shown(context.turned(Context, 1)), []);
    }

    #[test]
    fn two_panels_never_show_the_same() {
        let both = Beside::one(Context).split();
        assert_eq!(shown(both), [Context, Requests]);
        assert_eq!(shown(both.chosen(0, Requests)), [Requests, Context]);
        assert_eq!(shown(both.chosen(1, Context)), [Requests, Context]);
        assert_eq!(shown(both.chosen(1, Map)), [Context, Map]);
        assert_eq!(both.split(), both);
        assert_eq!(Beside::default().split(), Beside::default());
    }

    #[test]
    fn closing_one_of_two_leaves_the_other() {
        let both = Beside::one(Context).split();
        assert_eq!(shown(both.closed(0, 2)), [Requests]);
        assert_eq!(shown(both.closed(1, 2)), [Context]);
        assert_eq!(shown(both.turned(Context, 2)), [Requests]);
    }

    #[test]
    fn where_there_is_room_for_one_the_second_stays_out_of_sight() {
        let both = Beside::one(Context).split();
        assert_eq!(both.shown(1).collect::<Vec<_>>(), [Context]);
        assert!(!both.shows(Requests, 1));
        assert_eq!(both.closed(0, 1), Beside::default(), "no panel comes up in place of the one that was closed");
        assert_eq!(both.turned(Requests, 1).shown(1).collect::<Vec<_>>(), [Requests]);
        assert_eq!((room(1599), room(1600)), (1, 2));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for panels in [Beside::default(), Beside::one(Map), Beside::one(Map).split()] {
            assert_eq!(Beside::read(&panels.write()), panels);
        }
        assert_eq!(Beside::read("map map"), Beside::one(Map));
        assert_eq!(Beside::read("compass"), Beside::default());
    }

    #[test]
    fn a_panel_is_neither_too_narrow_nor_too_wide() {
        assert_eq!(width(400.0, 1), 400);
        assert_eq!(width(900.0, 2), 450);
        assert_eq!(width(-5.0, 1), WIDTHS.0);
        assert_eq!(width(f64::NAN, 1), WIDTHS.0);
        assert_eq!(width(1e9, 0), WIDTHS.1);
    }
}
