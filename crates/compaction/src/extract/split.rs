//! Cutting a message's text into what can be quoted: sentences, headings, list items, small pieces of code. Everything that
//! comes out is a stretch of the text as it stands; what it is worth is left to others.

/// What a stretch of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A sentence, or as much of a long one as is quoted.
    Sentence,
    /// A heading.
    Heading,
    /// Lines of code, or of what was printed.
    Code,
}

/// The longest stretch, in bytes.
const LONGEST: usize = 360;

/// Calls `each` with the stretches of `text`, in order, each trimmed and not empty.
pub(super) fn split<'t>(text: &'t str, each: &mut dyn FnMut(&'t str, Shape)) {
    let mut fence = "";
    // What is gathered and not yet cut: lines of a paragraph, or of code.
    let mut block = 0..0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        if !fence.is_empty() {
            if bare.starts_with(fence) || bare.is_empty() || at - block.start > LONGEST {
                code(&text[block.clone()], each);
                block = if bare.starts_with(fence) { at..at } else { start..at };
                fence = if bare.starts_with(fence) { "" } else { fence };
            } else {
                block.end = at;
            }
            continue;
        }
        let heading = bare.starts_with('#') && bare.trim_start_matches('#').starts_with(' ');
        let item = item(bare);
        let goes_on = block.start < block.end && !heading && item.is_none() && mark.is_none() && joins(bare);
        if !goes_on || ended(&text[block.clone()]) {
            sentences(&text[block.clone()], each);
            block = at..at;
        }
        if let Some(mark) = mark {
            fence = mark;
        } else if heading {
            whole(bare.trim_matches(['#', ' ']), Shape::Heading, each);
        } else if let Some(item) = item {
            // Its own text begins behind its mark.
            block = at - line.trim_start().len() + bare.len() - item.len()..at;
        } else if !bare.is_empty() {
            block = if block.start < block.end { block.start..at } else { start..at };
        }
    }
    if fence.is_empty() { sentences(&text[block], each) } else { code(&text[block], each) }
}

/// A list item without its mark.
fn item(line: &str) -> Option<&str> {
    let marked = line.strip_prefix(['-', '*', '+', '\u{2022}', '>']).or_else(|| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        if (1..4).contains(&digits) { line[digits..].strip_prefix(['.', ')']) } else { None }
    })?;
    marked.starts_with([' ', '\t']).then(|| marked.trim_start())
}

/// Whether a line can be the rest of the one before it: it begins in lower case.
fn joins(line: &str) -> bool {
    line.chars().next().is_some_and(|first| first.is_lowercase() || first == '(')
}

/// Whether a line ends what it says.
fn ended(block: &str) -> bool {
    block.trim_end().ends_with(['.', '!', '?', ':', ';', '。', '！', '？'])
}

/// Lines of code, cut where they are too long together.
fn code<'t>(block: &'t str, each: &mut dyn FnMut(&'t str, Shape)) {
    whole(block.trim_matches(['\n', '\r']).trim_end(), Shape::Code, each);
}

/// The sentences of a paragraph.
fn sentences<'t>(block: &'t str, each: &mut dyn FnMut(&'t str, Shape)) {
    let mut start = 0;
    let mut rest = block.char_indices().peekable();
    while let Some((at, letter)) = rest.next() {
        let wide = matches!(letter, '。' | '！' | '？' | '．' | '।' | '؟');
        if !wide && !matches!(letter, '.' | '!' | '?' | '…') {
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some((next, close)) = rest.peek().copied() {
            if !matches!(
                close,
                '.' | '!'
                    | '?'
                    | '"'
                    | '\''
                    | ')'
                    | ']'
                    | '”'
                    | '’'
                    | '»'
                    | '」'
                    | '』'
                    | '）'
                    | '*'
                    | '。'
                    | '！'
                    | '？'
            ) {
                break;
            }
            end = next + close.len_utf8();
            rest.next();
        }
        let (before, after) = (&block[start..end], &block[end..]);
        if wide || (after.starts_with(char::is_whitespace) && begins(after) && !(letter == '.' && shortened(before))) {
            whole(before, Shape::Sentence, each);
            start = end;
        }
    }
    whole(&block[start..], Shape::Sentence, each);
}

/// Whether a sentence can begin here.
fn begins(after: &str) -> bool {
    after.trim_start().chars().next().is_none_or(|first| !first.is_lowercase())
}

/// Whether the point at the end belongs to the last word: `e.g.`, `Dr.`, an initial, a number in a list.
fn shortened(text: &str) -> bool {
    let Some(text) = text.strip_suffix('.') else { return false };
    let word = text.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or_default();
    const KNOWN: [&str; 17] = [
        "e.g", "i.e", "z.B", "Dr", "Mr", "Mrs", "Ms", "St", "vs", "cf", "bzw", "approx", "Fig", "Nr", "p.ej", "Prof",
        "No",
    ];
    KNOWN.contains(&word)
        || word.chars().count() < 2
        || word.len() == text.trim_start().len() && word.parse::<u32>().is_ok()
}

/// One stretch, cut where it is too long.
fn whole<'t>(text: &'t str, shape: Shape, each: &mut dyn FnMut(&'t str, Shape)) {
    let mut rest = if shape == Shape::Code { text } else { text.trim() };
    while rest.len() > LONGEST {
        let mut end = LONGEST;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        // In the last half of what fits: the end of a line, of a clause, of a word.
        let half = &rest[..end];
        let cut = |mark: &str| half.rfind(mark).map(|at| at + mark.len()).filter(|at| *at > LONGEST / 2);
        let end = cut("\n")
            .or_else(|| cut("; "))
            .or_else(|| cut("，"))
            .or_else(|| cut(", "))
            .or_else(|| cut(" "))
            .unwrap_or(end);
        push(&rest[..end], shape, each);
        rest = &rest[end..];
    }
    push(rest, shape, each);
}

fn push<'t>(text: &'t str, shape: Shape, each: &mut dyn FnMut(&'t str, Shape)) {
    let text = if shape == Shape::Code { text.trim_matches(['\n', '\r']).trim_end() } else { text.trim() };
    if !text.trim().is_empty() {
        each(text, shape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        split(text, &mut |text, _| found.push(text));
        found
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            list("We use v1.2, e.g. Postgres. Dr. Brown agreed! \"Really?\" he asked.\nYes"),
            ["We use v1.2, e.g. Postgres.", "Dr. Brown agreed!", "\"Really?\" he asked.", "Yes"]
        );
        assert_eq!(list("我喜欢茶。你呢？好！"), ["我喜欢茶。", "你呢？", "好！"]);
        assert_eq!(list("A line that was\nwrapped here. Next one."), ["A line that was\nwrapped here.", "Next one."]);
        assert!(list(" \n\n\t").is_empty());
    }

    #[test]
    fn headings_items_and_code_lose_their_marks() {
        let text = "## Plan ##\n- first thing\n  2. second thing\n```rust\nfn a() {}\n\nfn b() {}\n```\nDone.";
        let mut found = Vec::new();
        split(text, &mut |text, shape| found.push((text, shape)));
        assert_eq!(
            found,
            [
                ("Plan", Shape::Heading),
                ("first thing", Shape::Sentence),
                ("second thing", Shape::Sentence),
                ("fn a() {}", Shape::Code),
                ("fn b() {}", Shape::Code),
                ("Done.", Shape::Sentence),
            ]
        );
    }

    #[test]
    fn long_stretches_are_cut_between_characters() {
        for text in ["x".repeat(5_000), "ä ".repeat(2_000), "茶".repeat(900), "a, b\n".repeat(400)] {
            let parts = list(&text);
            assert!(parts.iter().all(|part| part.len() <= LONGEST));
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
            assert_eq!(parts.iter().map(|part| letters(part)).sum::<usize>(), letters(&text));
        }
        assert_eq!(list("```\nopen fence\n").len(), 1);
    }
}
