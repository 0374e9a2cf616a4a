//! Whether a secret begins at a place of a text, and where it ends.

use super::rules::{NAMES, Rule, beginning_with};
use super::{Found, Personal};

/// The secret that begins, or is recognised, at the byte `at`. What lies before `done` is not looked at.
pub(super) fn secret_at(text: &str, at: usize, done: usize, also: &[Personal]) -> Option<Found> {
    let place = Place { text, bytes: text.as_bytes(), at, done };
    let found = |kind, range: Option<(usize, usize)>| {
        range.filter(|(start, end)| start < end).map(|(start, end)| Found { kind, start, end })
    };
    let personal = |kind: Personal| also.contains(&kind);
    match place.bytes[at] {
        b'-' => found("private key", place.private_key()).or_else(|| found("Mailchimp key", place.mailchimp())),
        b':' => found("password in a URL", place.url_password()).or_else(|| found("Telegram token", place.telegram())),
        b'@' if personal(Personal::Emails) => found("e-mail address", place.email()),
        b'+' if personal(Personal::Phones) => found("phone number", place.phone()),
        b'0'..=b'9' if personal(Personal::Cards) => found("card number", place.card()),
        first => beginning_with(first)
            .iter()
            .find_map(|rule| found(rule.kind, place.ruled(rule)))
            .or_else(|| found("JSON Web Token", place.web_token()))
            .or_else(|| found("Discord token", place.discord()))
            .or_else(|| found("token in a header", place.header()))
            .or_else(|| found("value named as a secret", place.named())),
    }
}

struct Place<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    done: usize,
}

/// What stands behind `-----BEGIN ` where a private key follows (RFC 7468 and its users).
const KINDS: [&str; 8] = [
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "ANY PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
];

/// No value of a name, and no run without digits, is longer.
const LONG: usize = 64;
const LONGEST_VALUE: usize = 1024;

/// Where a secret begins and ends.
type Range = Option<(usize, usize)>;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

impl Place<'_> {
    /// How many letters, digits and signs of `also` stand from a byte on.
    fn run(&self, from: usize, also: &str) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || also.as_bytes().contains(byte)).count()
    }

    /// Whether no word goes on here. In JSON inside a text, the letter before can be the end of an escape, as in `\nAKIA…`.
    fn begins_word(&self) -> bool {
        self.is_word_at(self.at)
    }

    fn is_word_at(&self, at: usize) -> bool {
        match self.bytes[..at] {
            [.., before] if !is_word(before) => true,
            [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] | [.., b'\\', b'u', _, _, _, _] | [] => true,
            _ => false,
        }
    }

    fn has(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    fn ruled(&self, rule: &Rule) -> Range {
        let begins = rule.begins.as_bytes();
        let here = self.bytes.get(self.at..self.at + begins.len())?;
        let same = |(byte, wanted): (&u8, &u8)| byte == wanted || *wanted == b'?' && byte.is_ascii_alphanumeric();
        let fits = here.iter().zip(begins).all(same);
        if !fits || rule.word && !self.begins_word() {
            return None;
        }
        let start = self.at + begins.len();
        let length = self.run(start, rule.also);
        // Words with signs between are no key. A long run is one without a look, so that no text is looked through again and again.
        let dense =
            rule.also.is_empty() || length > LONG || self.bytes[start..start + length].iter().any(u8::is_ascii_digit);
        let hex = !rule.hex || self.bytes[start..start + length].iter().all(u8::is_ascii_hexdigit);
        (length >= rule.least && dense && hex).then_some((start, start + length))
    }

    /// From the line that begins a private key to the line that ends it. One that is cut goes to the next quote, which no key has, or to the
    /// end of the text.
    fn private_key(&self) -> Range {
        if !self.has("-----BEGIN ") {
            return None;
        }
        let rest = &self.text[self.at..];
        let kind = KINDS.iter().find(|kind| rest[11..].starts_with(**kind))?;
        let from = 11 + kind.len();
        let skip = from + rest[from..].find("-----")? + 5;
        let quote = rest[skip..].find('"').unwrap_or(rest.len() - skip);
        let end = rest[skip..skip + quote].find("-----END ").unwrap_or(quote);
        Some((self.at + skip, self.at + skip + end))
    }

    /// 32 digits before `-us` and the number of a data centre.
    fn mailchimp(&self) -> Range {
        let start = self.at.checked_sub(32).filter(|start| *start >= self.done)?;
        let key = self.bytes[start..self.at].iter().all(u8::is_ascii_hexdigit);
        let centre = self.bytes.get(self.at + 3).is_some_and(u8::is_ascii_digit);
        (self.has("-us") && key && centre && self.is_word_at(start)).then_some((start, self.at))
    }

    /// `://user:password@`.
    fn url_password(&self) -> Range {
        if !self.has("://") {
            return None;
        }
        let part = |from: usize, most: usize| {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b":/@\"'`<>\\".contains(byte);
            let rest = self.bytes.get(from..)?;
            rest.iter().take(most).position(ends).map(|length| from + length)
        };
        let user = part(self.at + 3, 128)?;
        let end = part(user + 1, 256)?;
        let secret = self.text.get(user + 1..end)?;
        (self.bytes[user] == b':' && self.bytes[end] == b'@' && !is_placeholder(secret)).then_some((user + 1, end))
    }

    /// The number of a bot, `:AA` and 33 more.
    fn telegram(&self) -> Range {
        let digits =
            self.bytes[self.done..self.at].iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
        let length = self.run(self.at + 1, "-_");
        (self.has(":AA") && (8..=10).contains(&digits) && length == 35).then_some((self.at + 1, self.at + 1 + length))
    }

    /// Three parts of Base64, of which the first two are JSON objects.
    fn web_token(&self) -> Range {
        if !self.has("eyJ") || !self.begins_word() {
            return None;
        }
        let first = self.at + self.run(self.at, "-_");
        let second = first + 1 + self.run(first + 1, "-_");
        let end = second + 1 + self.run(second + 1, "-_");
        let dots = self.bytes.get(first) == Some(&b'.') && self.bytes.get(second) == Some(&b'.');
        let object = dots && self.bytes[first + 1..].starts_with(b"eyJ");
        (object && end >= second + 10).then_some((self.at + 3, end))
    }

    /// The number of a bot in Base64, six for the time, and a code.
    fn discord(&self) -> Range {
        if !matches!(self.bytes[self.at], b'M' | b'N' | b'O') || !self.begins_word() {
            return None;
        }
        let first = self.run(self.at, "-_");
        let second = self.run(self.at + first + 1, "-_");
        let third = self.run(self.at + first + second + 2, "-_");
        let dots = [first, first + second + 1].map(|dot| self.bytes.get(self.at + dot) == Some(&b'.'));
        let fits = (24..=28).contains(&first) && second == 6 && third >= 27 && dots == [true, true];
        fits.then_some((self.at, self.at + first + second + third + 2))
    }

    /// `Bearer …` and `Basic …`.
    fn header(&self) -> Range {
        let word = |word: &str| {
            self.bytes.get(self.at..self.at + word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()))
        };
        let start = ["bearer ", "basic "].into_iter().find(|name| word(name)).map(|name| self.at + name.len())?;
        let length = self.run(start, "-_.~+/=");
        let digits = self.bytes[start..start + length].iter().any(u8::is_ascii_digit);
        (length >= 16 && digits && self.begins_word()).then_some((start, start + length))
    }

    /// A value that looks drawn by lot, behind a name that says what it is: in code, JSON, JSON inside a text, a shell.
    fn named(&self) -> Range {
        if !self.bytes[self.at].is_ascii_alphabetic() {
            return None;
        }
        let name = NAMES.iter().find_map(|name| self.name(name))?;
        let gap = |from: usize| {
            let rest = self.bytes.get(from..).unwrap_or_default();
            from + rest.iter().take(8).take_while(|byte| b"\\\"'` \t".contains(byte)).count()
        };
        let sign = gap(name);
        if !matches!(self.bytes.get(sign), Some(b'=' | b':')) {
            return None;
        }
        let second = usize::from(matches!(self.bytes.get(sign + 1), Some(b'=' | b'>')));
        let start = gap(sign + 1 + second);
        let longest = Self { bytes: self.bytes.get(..start + LONGEST_VALUE).unwrap_or(self.bytes), ..*self };
        let end = start + longest.run(start, "-_+/=~!#%^*?@");
        // A name of code, a path or an address goes on.
        let goes_on = matches!(self.bytes.get(end), Some(b'.' | b':' | b'(' | b'[' | b'{' | b'$' | b'<'));
        (!goes_on && is_random(&self.bytes[start..end])).then_some((start, end))
    }

    /// Where a name ends that begins here, written in any case, with `_` or `-` between its words.
    fn name(&self, name: &str) -> Option<usize> {
        let mut at = self.at;
        for wanted in name.bytes() {
            if at > self.at && matches!(self.bytes.get(at), Some(b'_' | b'-')) {
                at += 1;
            }
            if self.bytes.get(at)?.to_ascii_lowercase() != wanted {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    fn email(&self) -> Range {
        let local = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._+-".contains(byte);
        let before = self.bytes[self.done..self.at].iter().rev().take_while(local).take(64).count();
        let domain = self.run(self.at + 1, "-.");
        let domain = self.text[self.at + 1..self.at + 1 + domain].trim_end_matches(['.', '-']);
        let known = domain
            .rsplit_once('.')
            .is_some_and(|(_, last)| last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()));
        (before > 0 && known).then_some((self.at - before, self.at + 1 + domain.len()))
    }

    /// Digits from a byte on, with single signs of `between`: how many there are, and where the last ends.
    fn digits(&self, from: usize, between: &str) -> (usize, usize) {
        let (mut count, mut end, mut gap) = (0, from, 0);
        for (at, byte) in self.bytes.iter().enumerate().skip(from) {
            if count > 19 {
                break;
            }
            if byte.is_ascii_digit() {
                (count, end, gap) = (count + 1, at + 1, 0);
            } else if between.as_bytes().contains(byte) && gap < 2 {
                gap += 1;
            } else {
                break;
            }
        }
        (count, end)
    }

    fn phone(&self) -> Range {
        let (count, end) = self.digits(self.at + 1, " -.()/");
        let begins = self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) && self.begins_word();
        (begins && (8..=15).contains(&count)).then_some((self.at + 1, end))
    }

    /// 13 to 19 digits, the last of which is right by Luhn's sum (ISO/IEC 7812-1).
    fn card(&self) -> Range {
        let inside = self.at.checked_sub(1).is_some_and(|before| matches!(self.bytes[before], b'0'..=b'9' | b'.'));
        if inside {
            return None;
        }
        let (count, end) = self.digits(self.at, " -");
        if !(13..=19).contains(&count) {
            return None;
        }
        let digits = self.bytes[self.at..end].iter().rev().filter(|byte| byte.is_ascii_digit());
        let sum: u32 = digits
            .enumerate()
            .map(|(at, byte)| {
                let digit = u32::from(byte - b'0');
                if at.is_multiple_of(2) { digit } else { digit * 2 - if digit > 4 { 9 } else { 0 } }
            })
            .sum();
        (sum.is_multiple_of(10)).then_some((self.at, end))
    }
}

/// Whether nobody could use it as it stands: `${PASSWORD}`, `****`, `password`.
fn is_placeholder(secret: &str) -> bool {
    let first = secret.bytes().next().unwrap_or(b'$');
    let lower = secret.to_ascii_lowercase();
    b"${%[".contains(&first)
        || secret.bytes().all(|byte| byte == first)
        || lower.starts_with("your")
        || ["password", "passwd", "pass", "pwd", "secret", "token", "user", "username"].contains(&lower.as_str())
}

/// Whether a value looks drawn by lot: twelve characters or more, letters and digits, and many different ones.
fn is_random(value: &[u8]) -> bool {
    let mut seen = [false; 256];
    for byte in value {
        seen[usize::from(*byte)] = true;
    }
    let different = seen.iter().filter(|seen| **seen).count();
    let (digits, letters) = (value.iter().any(u8::is_ascii_digit), value.iter().any(u8::is_ascii_alphabetic));
    value.len() >= 12 && different >= 8 && digits && letters
}
