//! Commands that the reader of an imported session of Claude Code once typed: the program keeps them as tags in the user's messages.

/// A command in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// It was typed, with these arguments: `/clear`, `/model opus`.
    Typed(&'a str, &'a str),
    /// It printed this.
    Printed(&'a str),
}

/// The command that a message is about; `None` for any other text.
pub fn command(text: &str) -> Option<Command<'_>> {
    let text = text.trim();
    let printed =
        text.strip_prefix("<local-command-stdout>").and_then(|rest| rest.strip_suffix("</local-command-stdout>"));
    if let Some(printed) = printed {
        return Some(Command::Printed(printed.trim()));
    }
    let begins = ["<command-name>", "<command-message>"].iter().any(|tag| text.starts_with(tag));
    // Words behind the tags would be lost.
    let ends = text.rsplit_once("</").is_some_and(|(_, tag)| tag.starts_with("command-") && tag.ends_with('>'));
    if !begins || !ends {
        return None;
    }
    let name = between(text, "<command-name>", "</command-name>")?;
    let arguments = between(text, "<command-args>", "</command-args>").unwrap_or_default();
    Some(Command::Typed(name, arguments))
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    Some(text.split_once(open)?.1.split_once(close)?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_was_typed() {
        let clear = "<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            <command-args></command-args>";
        assert_eq!(command(clear), Some(Command::Typed("/clear", "")));
        let model = "<command-message>model</command-message>\n<command-name>/model</command-name>\n<command-args>opus 4</command-args>";
        assert_eq!(command(model), Some(Command::Typed("/model", "opus 4")));
        assert_eq!(
            command("<command-message>init</command-message>\n<command-name>/init</command-name>"),
            Some(Command::Typed("/init", ""))
        );
    }

    #[test]
    fn what_it_printed_is_without_its_tag() {
        assert_eq!(command("<local-command-stdout>Bye!</local-command-stdout>"), Some(Command::Printed("Bye!")));
        assert_eq!(command("<local-command-stdout></local-command-stdout>"), Some(Command::Printed("")));
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for text in [
            "",
            "/clear",
            "see <command-name>/clear</command-name>",
            "<command-name>/clear</command-name> and more",
            "<command-name>/clear",
        ] {
            assert_eq!(command(text), None, "{text}");
        }
    }
}
