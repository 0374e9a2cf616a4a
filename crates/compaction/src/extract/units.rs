//! Units: all that could be said, each with what it is worth. Goes in: the material. Comes out: sentences, lines and pieces
//! of code in the order of the history, with their words looked up and a worth by role, place and cues.

use std::borrow::Cow;
use std::ops::Range;

use super::cues::{
    Cues, DECIDE, ERROR, FILLER, INSTRUCT, NAME, NAMES_CODE, NOT, NUMBER, OPEN, PREFER, QUESTION, REQUEST, RESULT,
    SELF, look,
};
use super::lexicon::{Lexicon, NONE};
use super::split::{Shape, split};
use super::tools::Line;
use super::words::{PAIR, Word, words};
use crate::summary::Material;
use threadkeep_core::checkpoint::Statement;
use threadkeep_core::{Kind, Role};

/// Something that could be said.
pub(super) struct Unit<'t> {
    /// Its text.
    pub text: Cow<'t, str>,
    /// Where it comes from.
    pub from: From,
    /// What it tells: the cues' bits.
    pub tells: u16,
    /// What each of its words counts, 64 being plain.
    pub worth: u32,
    /// Its words, as a range of [`Units::words`]: each once, without those that say nothing.
    pub words: Range<usize>,
    /// Whether it is code.
    pub code: bool,
    /// Whether it is in a user's own words; what a user pasted is not.
    pub user: bool,
}

/// Where a unit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// A statement of the checkpoint before: which, and whether the unit is all of it.
    Carried(u32, bool),
    /// A message.
    Piece(u32),
    /// A tool group: which line.
    Line(u32),
}

/// All units, and the words in them.
pub(super) struct Units<'t> {
    pub list: Vec<Unit<'t>>,
    pub words: Vec<u32>,
    pub lexicon: Lexicon,
    cues: Cues,
    /// The words of the text at hand.
    at_hand: Vec<Word>,
}

/// A statement longer than this is carried sentence by sentence.
const CARRIED_WHOLE: usize = 600;
/// What a user says that is no longer than this, in bytes, is one unit: short sentences explain each other.
const USER_WHOLE: usize = 240;
/// How many units at the beginning and at the end of a user's message are the user's own words; what is between is pasted.
const OWN_FIRST: usize = 24;
const OWN_LAST: usize = 6;

impl<'t> Units<'t> {
    /// The units of the material. `texts` are its messages' texts, `lines` its tool groups.
    pub fn of(material: &Material<'t>, texts: &'t [Cow<'t, str>], lines: &'t [Line]) -> Self {
        let mut units = Self {
            list: Vec::new(),
            words: Vec::new(),
            lexicon: Lexicon::default(),
            cues: Cues::new(),
            at_hand: Vec::new(),
        };
        for (at, statement) in material.carried.iter().enumerate() {
            units.carry(at, statement);
        }
        let mut lines = lines.iter().enumerate().peekable();
        let mut begun = false;
        for (at, piece) in material.pieces.iter().enumerate() {
            if piece.message.include_in_context {
                let own = piece.message.role == Role::User;
                units.message(at, material, &texts[at], own && !begun);
                begun |= own && !texts[at].trim().is_empty();
            }
            while let Some((number, line)) = lines.next_if(|(_, line)| line.pieces.first() == Some(&(at as u32))) {
                let worth = if line.failed { 30 } else { 12 };
                units.push(&line.text, From::Line(number as u32), worth, Shape::Sentence, false);
            }
        }
        let sources: usize = material.carried.iter().map(|statement| statement.sources.len()).sum();
        units.lexicon.weigh((material.pieces.len() + sources) as u32);
        units
    }

    fn carry(&mut self, at: usize, statement: &'t Statement) {
        let text = statement.text.as_str();
        let mut whole = text.len() <= CARRIED_WHOLE;
        if !whole {
            let mut count = 0;
            split(text, &mut |_, _| count += 1);
            whole = count < 2;
        }
        // What was summarised more often is older and said less exactly.
        let worth = 56 / (1 + u32::from(statement.level.min(3)) / 2);
        if whole {
            self.push(text, From::Carried(at as u32, true), worth, Shape::Sentence, true);
        } else {
            split(text, &mut |part, shape| self.push(part, From::Carried(at as u32, false), worth, shape, true));
        }
    }

    fn message(&mut self, at: usize, material: &Material<'t>, text: &'t str, task: bool) {
        let message = material.pieces[at].message;
        let user = message.role == Role::User;
        let base = match (&message.kind, &message.role) {
            (Kind::Summary { .. }, _) => 40,
            (_, Role::User) => 64,
            (_, Role::Tool) => return,
            _ if message.role.as_str() == "function" => return,
            _ => 14,
        };
        let base = if message.pinned { base * 2 } else { base };
        let first = self.list.len();
        let from = From::Piece(at as u32);
        // Where there is little room, a sentence at a time.
        let short = text.len() <= USER_WHOLE.min(material.budget as usize / 5);
        if user && short && !text.contains("```") && !text.trim().is_empty() {
            self.push(text.trim(), from, base, Shape::Sentence, true);
        } else {
            split(text, &mut |part, shape| self.push(part, from, base, shape, user));
        }
        if let Kind::Error { reason, .. } = &message.kind {
            split(reason, &mut |part, shape| self.push(part, From::Piece(at as u32), 40, shape, false));
        }
        let count = self.list.len() - first;
        let pieces = material.pieces.len().max(1) as u32;
        for (number, unit) in self.list[first..].iter_mut().enumerate() {
            let own = number < OWN_FIRST || number + OWN_LAST >= count;
            if user && !own {
                unit.worth /= 5;
                unit.user = false;
            }
            // What opens a message, what closes it, and the task that all began with.
            let place = if number == 0 {
                24
            } else if number + 1 == count {
                19
            } else {
                16
            };
            let place = if task && own { place * 2 } else { place };
            // Up to a quarter more for what is new.
            unit.worth = unit.worth * place * (pieces * 4 + at as u32) / (pieces * 64);
        }
    }

    /// What a text tells, and how many words it has.
    pub fn tell(&self, text: &str) -> (u16, usize) {
        let mut at_hand = Vec::new();
        words(text, &mut |word| at_hand.push(word));
        (self.cues.tell(&at_hand) | look(text, &at_hand), at_hand.len())
    }

    fn push(&mut self, text: &'t str, from: From, base: u32, shape: Shape, user: bool) {
        // A checkpoint from elsewhere may carry anything.
        if text.trim().is_empty() {
            return;
        }
        self.at_hand.clear();
        words(text, &mut |word| self.at_hand.push(word));
        let tells = self.cues.tell(&self.at_hand) | look(text, &self.at_hand);
        let start = self.words.len();
        let (message, unit) = (place(from), self.list.len() as u32);
        for word in &self.at_hand {
            let short = word.at.1 - word.at.0 < 2 && word.like & PAIR == 0 && tells & NUMBER == 0;
            if !short && !self.cues.is_stop(word) {
                let number = self.lexicon.add(word, message, unit);
                if !self.words[start..].contains(&number) {
                    self.words.push(number);
                }
            }
        }
        let code = shape == Shape::Code;
        let mut worth = worth(base, tells, shape, user);
        // What only announces what follows, and what has no words.
        let bare = !text.contains(char::is_alphabetic);
        if bare || (text.ends_with(':') && tells & (NUMBER | NAMES_CODE | DECIDE | ERROR) == 0) {
            worth /= 3;
        }
        let words = start..self.words.len();
        self.list.push(Unit { text: Cow::Borrowed(text), from, tells, worth, words, code, user });
    }
}

/// What tells apart in which message a word is.
fn place(from: From) -> u32 {
    match from {
        From::Piece(at) => at,
        From::Line(at) => NONE / 2 + at,
        From::Carried(at, _) => NONE - 1 - at,
    }
}

/// The worth of a unit by what it tells; factors in sixteenths.
fn worth(base: u32, tells: u16, shape: Shape, user: bool) -> u32 {
    let mut worth = base * 16;
    let mut times = |cue: u16, factor: u32| {
        if tells & cue != 0 {
            worth = worth * factor / 16;
        }
    };
    if shape == Shape::Code {
        times(ERROR, 20);
        return worth / (16 * if user { 5 } else { 6 });
    }
    if tells & FILLER != 0 && tells & (NUMBER | NAMES_CODE | DECIDE | ERROR) == 0 {
        times(FILLER, 4);
    }
    let weak = if user { 0 } else { 6 };
    times(INSTRUCT, 40 - 4 * weak);
    times(PREFER, 40 - 4 * weak);
    times(DECIDE, 30 - weak);
    times(ERROR, 26 - weak);
    times(OPEN, 28 - weak);
    times(RESULT, 22);
    times(SELF, if user { 24 } else { 16 });
    times(QUESTION, 18);
    times(NUMBER, 22);
    times(NAMES_CODE, 20);
    times(NAME, 20);
    times(NOT, 18);
    times(REQUEST, 16);
    if shape == Shape::Heading {
        worth = worth * 18 / 16;
    }
    worth / 16
}
