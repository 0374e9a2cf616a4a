//! The messages of a node. Messages of a log stay text until somebody looks at one of them. Most are only passed on, and their checked text
//! needs no second look. [`Messages`] reads, compares and changes both kinds alike.

pub(crate) mod line;

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::line::Counts;
use crate::Message;

/// Messages, in order. They are read like a list, and changed by [`Messages::change`].
///
/// ```
/// use threadkeep_core::{Message, Messages};
/// let mut messages = Messages::from(vec![Message::user("hi")]);
/// messages.change(|all| all.push(Message::assistant("hello")));
/// assert_eq!(messages.len(), 2);
/// assert_eq!(messages[1].text(), "hello");
/// ```
#[derive(Default)]
pub struct Messages {
    read: OnceCell<Vec<Message>>,
    /// Their text, until they were read: so no text is in memory twice.
    text: Cell<Option<Unread>>,
    counts: Counts,
}

/// The JSON of messages, with commas between them: a part of a page, which many share.
#[derive(Clone)]
struct Unread {
    page: Arc<String>,
    place: Range<usize>,
}

impl Unread {
    #[inline(never)]
    fn json(&self) -> &str {
        self.page.get(self.place.clone()).unwrap_or_default()
    }
}

impl Messages {
    /// So many messages, whose JSON is at `place` in a page, with commas between them. [`line`] has checked it.
    pub(crate) fn later(page: &Arc<String>, place: Range<usize>, counts: Counts) -> Self {
        let text = Unread { page: Arc::clone(page), place };
        Self { read: OnceCell::new(), text: Cell::new(Some(text)), counts }
    }

    /// Each of a list by itself.
    #[inline(never)]
    pub fn each(all: Vec<Message>) -> Vec<Self> {
        all.into_iter().map(|message| vec![message].into()).collect()
    }

    /// The messages of an object in JSON that begins with a text, then a list of messages: each by itself, and what is between the list's
    /// brackets. They stay text. `None` for an empty list, and where one is more than a role and a text without rare escapes.
    pub fn each_in(page: &Arc<String>) -> Option<(Vec<Self>, Range<usize>)> {
        let mut each = Vec::new();
        let place = line::each(page, &mut |place, counts| each.push(Self::later(page, place, counts)))?;
        Some((each, place))
    }

    /// What `look` makes of the text of those that were not read; `None` where they were.
    fn text<T>(&self, look: impl FnOnce(&Unread) -> T) -> Option<T> {
        let text = self.text.take();
        let seen = text.as_ref().map(look);
        self.text.set(text);
        seen
    }

    #[inline(never)]
    fn all(&self) -> &Vec<Message> {
        self.read.get_or_init(|| self.text.take().map_or_else(Vec::new, |text| line::read(text.json())))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.counts.all as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// How many bytes the text of those has that were not read; `None` where they were.
    pub(crate) fn unread(&self) -> Option<usize> {
        self.text(|text| text.place.len())
    }

    /// Changes them.
    pub fn change(&mut self, how: impl FnOnce(&mut Vec<Message>)) {
        let mut all = std::mem::take(self).into_vec();
        how(&mut all);
        *self = all.into();
    }

    /// They as a list.
    pub fn into_vec(self) -> Vec<Message> {
        self.all();
        self.read.into_inner().unwrap_or_default()
    }

    /// Appends the JSON of those at the places `range` to `out`, with commas between them.
    ///
    /// # Errors
    /// None, as of [`Message::write`].
    pub fn write(&self, range: Range<usize>, out: &mut String) -> Result<(), serde_json::Error> {
        if range == (0..self.len()) && self.text(|text| out.push_str(text.json())).is_some() {
            return Ok(());
        }
        for (index, message) in self.get(range).into_iter().flatten().enumerate() {
            if index > 0 {
                out.push(',');
            }
            message.write(out)?;
        }
        Ok(())
    }
}

impl Deref for Messages {
    type Target = Vec<Message>;

    fn deref(&self) -> &Vec<Message> {
        self.all()
    }
}

impl From<Vec<Message>> for Messages {
    #[inline(never)]
    fn from(read: Vec<Message>) -> Self {
        let mut counts = Counts::default();
        read.iter().for_each(|message| counts.add(&message.role));
        Self { read: read.into(), text: Cell::default(), counts }
    }
}

impl Clone for Messages {
    fn clone(&self) -> Self {
        match self.text(Unread::clone) {
            Some(Unread { page, place }) => Self::later(&page, place, self.counts),
            None => self.all().clone().into(),
        }
    }
}

impl PartialEq for Messages {
    #[inline(never)]
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().fmt(words)
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.all().iter()
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let one = self.text(Unread::clone).filter(|_| self.counts.all == 1);
        let Some(text) = one else { return self.all().serialize(serializer) };
        let mut list = serializer.serialize_seq(Some(1))?;
        list.serialize_element(&Raw(text.json()))?;
        list.end()
    }
}

/// A text that is JSON already, as `serde_json` and [`json`](crate::json) know it.
struct Raw<'a>(&'a str);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "$serde_json::private::RawValue";
        let mut raw = serializer.serialize_struct(NAME, 1)?;
        raw.serialize_field(NAME, self.0)?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}
