//! Fenced blocks of Lisp in a message's markdown.
//!
//! Goes in: a text. Comes out: the programs in its blocks, and whether there is anything beside them. Fences are those of
//! CommonMark: three or more backticks or tildes, closed by at least as many or by the end of the text.

/// The words after a fence that say that the block is a program.
const LANGUAGES: [&str; 4] = ["lisp", "ptc-lisp", "clojure", "clj"];

/// What stands in the Lisp blocks of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fenced {
    /// The blocks' lines, one block after the other.
    pub program: String,
    /// Whether the text has at least one such block and nothing else than blanks around.
    pub nothing_else: bool,
}

/// Whether `text` begins with a fence: as much as must be read of most messages.
pub(super) fn begins(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("```") || text.starts_with("~~~")
}

/// Reads the blocks of `text`.
pub(super) fn fenced(text: &str) -> Fenced {
    let (mut program, mut blocks, mut other) = (String::new(), false, false);
    // The fence that is open, and whether its block is Lisp.
    let mut open: Option<(&str, bool)> = None;
    for line in text.lines() {
        let bare = line.trim();
        let fence = &bare[..bare.len() - bare.trim_start_matches('`').len()];
        let fence = if fence.is_empty() { &bare[..bare.len() - bare.trim_start_matches('~').len()] } else { fence };
        match open {
            Some((opening, _)) if fence.len() == bare.len() && fence.starts_with(opening) => open = None,
            Some((_, true)) => {
                program.push_str(line);
                program.push('\n');
            }
            Some((_, false)) => {}
            None if fence.len() >= 3 => {
                let language = bare[fence.len()..].trim_start().split([' ', '\t', '{']).next().unwrap_or_default();
                let lisp = LANGUAGES.iter().any(|known| known.eq_ignore_ascii_case(language));
                blocks |= lisp;
                other |= !lisp;
                open = Some((fence, lisp));
            }
            None => other |= !bare.is_empty(),
        }
    }
    Fenced { program, nothing_else: blocks && !other }
}

/// `program` in a block, behind a fence that is longer than any in it.
pub(super) fn fence(program: &str) -> String {
    let longest = program.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}lisp\n{}\n{fence}", program.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, program: &str, nothing_else: bool) {
        assert_eq!(fenced(text), Fenced { program: program.to_owned(), nothing_else }, "{text:?}");
    }

    #[test]
    fn blocks_of_lisp() {
        check("", "", false);
        check("(def x 1)", "", false);
        check("```lisp\n(def x 1)\n```", "(def x 1)\n", true);
        check("\n  ~~~~ Clojure\n(a)\n~~~\n~~~~~\n\n```clj {.x}\n(b)\n```\n", "(a)\n~~~\n(b)\n", true);
        check("Look:\n```lisp\n(a)\n```", "(a)\n", false);
        check("```lisp\n(a)\n```\n```json\n{}\n```", "(a)\n", false);
        check("```\n(a)\n```", "", false);
        check("```lisp\n(not closed", "(not closed\n", true);
        check("````lisp\n```\n(a)\n````", "```\n(a)\n", true);
    }

    #[test]
    fn a_fenced_program_is_read_back() {
        for program in ["(def x 1)", "(def s \"\n```\n\")", "", "````"] {
            let read = fenced(&fence(program));
            assert_eq!(read.program.trim_end(), program);
            assert!(read.nothing_else);
        }
    }
}
