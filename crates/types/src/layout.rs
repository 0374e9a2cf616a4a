//! Declarations as text: how they are laid out, and what becomes of their documentation.

use crate::syntax::{Field, Type};

/// The longest line.
const WIDTH: usize = 160;
/// Where documentation is wrapped, without its indentation.
const DOCS: usize = 130;

/// A declaration with its documentation. `readonly` is for what a caller hands in: its lists are only read.
pub(crate) fn declaration(
    name: &str,
    docs: &str,
    of: &Type,
    readonly: bool,
    link: &dyn Fn(&str) -> Option<String>,
) -> String {
    let layout = Layout { readonly, link };
    let head = layout.docs(docs, "");
    match of {
        Type::Object(fields) => format!("{head}export interface {name} {}\n", layout.block(fields, "")),
        other => format!("{head}export type {name} ={};\n", layout.alias(other, 15 + name.len())),
    }
}

struct Layout<'a> {
    readonly: bool,
    link: &'a dyn Fn(&str) -> Option<String>,
}

impl Layout<'_> {
    /// A type on one line, if it has no documentation.
    fn line(&self, of: &Type) -> Option<String> {
        let all = |types: &[Type], between: &str| {
            Some(types.iter().map(|one| self.line(one)).collect::<Option<Vec<_>>>()?.join(between))
        };
        Some(match of {
            Type::Word(word) => word.clone(),
            Type::Generic(name, types) => format!("{name}<{}>", all(types, ", ")?),
            Type::Array(of) => {
                let inner = self.line(of)?;
                let in_brackets = matches!(**of, Type::Union(_) | Type::Intersection(_))
                    || (self.readonly && matches!(**of, Type::Array(_) | Type::Tuple(_)));
                let inner = if in_brackets { format!("({inner})") } else { inner };
                format!("{}{inner}[]", if self.readonly { "readonly " } else { "" })
            }
            Type::Tuple(types) => format!("{}[{}]", if self.readonly { "readonly " } else { "" }, all(types, ", ")?),
            Type::Object(fields) if fields.is_empty() => "object".to_owned(),
            Type::Object(fields) => {
                let field = |field: &Field| match field.docs {
                    Some(_) => None,
                    None => Some(format!("{}: {}", key(field), self.line(&field.of)?)),
                };
                format!("{{ {} }}", fields.iter().map(field).collect::<Option<Vec<_>>>()?.join("; "))
            }
            Type::Union(types) => all(types, " | ")?,
            Type::Intersection(types) => {
                let one = |one: &Type| {
                    let line = self.line(one)?;
                    Some(if matches!(one, Type::Union(_)) { format!("({line})") } else { line })
                };
                types.iter().map(one).collect::<Option<Vec<_>>>()?.join(" & ")
            }
        })
    }

    /// A type after `before` characters of its line; a union that is too long has a line for each of its types.
    fn alias(&self, of: &Type, before: usize) -> String {
        if let Some(line) = self.line(of).filter(|line| before + line.len() < WIDTH) {
            return format!(" {line}");
        }
        let Type::Union(types) = of else { return format!(" {}", self.over_lines(of, "")) };
        types.iter().map(|one| format!("\n  | {}", self.over_lines(one, "    "))).collect()
    }

    /// A type that may take several lines, which begin with `indent`.
    fn over_lines(&self, of: &Type, indent: &str) -> String {
        match (of, self.line(of)) {
            (_, Some(line)) if line.len() + indent.len() < WIDTH - 40 => line,
            (Type::Object(fields), _) => self.block(fields, indent),
            (Type::Array(of), _) => format!("{}[]", self.over_lines(of, indent)),
            (_, line) => line.unwrap_or_default(),
        }
    }

    fn block(&self, fields: &[Field], indent: &str) -> String {
        let inner = format!("{indent}  ");
        let lines = fields.iter().map(|field| {
            let docs = self.docs(field.docs.as_deref().unwrap_or_default(), &inner);
            format!("{docs}{inner}{}: {};\n", key(field), self.over_lines(&field.of, &inner))
        });
        format!("{{\n{}{indent}}}", lines.collect::<String>())
    }

    /// A comment and the end of its line; nothing for no text. Examples in Rust are left out.
    fn docs(&self, text: &str, indent: &str) -> String {
        let mut paragraphs: Vec<String> = Vec::new();
        let mut begins = true;
        for line in without_examples(text) {
            match paragraphs.last_mut() {
                Some(last) if line.is_empty() => {
                    if !last.is_empty() {
                        paragraphs.push(String::new());
                    }
                    begins = true;
                    continue;
                }
                Some(last) if !begins && !line.starts_with("- ") => last.extend([" ", line]),
                _ => paragraphs.push(line.to_owned()),
            }
            begins = false;
        }
        while paragraphs.last().is_some_and(String::is_empty) {
            paragraphs.pop();
        }
        let lines: Vec<String> = paragraphs.iter().flat_map(|paragraph| wrapped(&self.linked(paragraph))).collect();
        match &lines[..] {
            [] => String::new(),
            [line] => format!("{indent}/** {line} */\n"),
            lines => {
                let lines =
                    lines.iter().map(|line| format!("{indent} *{}{line}\n", if line.is_empty() { "" } else { " " }));
                format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
            }
        }
    }

    /// Links of rustdoc and code that names something of the package, as links of TSDoc; other links as code.
    fn linked(&self, text: &str) -> String {
        let mut linked = String::new();
        for (at, part) in text.split('`').enumerate() {
            if at % 2 == 1 {
                let plain = part.replace("::", ".");
                linked += &(self.link)(&plain).map_or_else(|| format!("`{plain}`"), |name| format!("{{@link {name}}}"));
                continue;
            }
            // `[` before and `]` after the code belong to a link of rustdoc, and so does an address in brackets.
            let mut part = part;
            if at > 0
                && let Some(rest) = part.strip_prefix(']')
            {
                part = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                    Some((_, rest)) => rest,
                    None => rest,
                };
            }
            linked += part.strip_suffix('[').filter(|_| text.contains("[`")).unwrap_or(part);
        }
        linked
    }
}

fn key(field: &Field) -> String {
    // `ts-rs` has no word for a field that is only read, so such a field is renamed.
    if let Some(name) = field.name.strip_prefix("readonly ") {
        return format!("readonly {name}{}", if field.optional { "?" } else { "" });
    }
    let is_name = field.name.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    let name = if is_name { field.name.clone() } else { format!("{:?}", field.name) };
    format!("{name}{}", if field.optional { "?" } else { "" })
}

/// The lines without code in fences.
fn without_examples(text: &str) -> impl Iterator<Item = &str> {
    let mut in_fence = false;
    text.lines().map(str::trim).filter(move |line| {
        let is_fence = line.starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    // The further lines of a list's item stand below its text.
    let indent = if text.starts_with("- ") { "  " } else { "" };
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= DOCS {
            line.extend([" ", word]);
        } else {
            lines.push([indent, word].concat());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::read;

    fn laid_out(name: &str, docs: &str, text: &str, readonly: bool) -> String {
        let link = |name: &str| name.starts_with("Known").then(|| name.to_owned());
        declaration(name, docs, &read(text).unwrap(), readonly, &link)
    }

    #[test]
    fn an_object_is_an_interface_with_a_field_a_line() {
        let text = "{ \n/**\n * Its id.\n */\nid: string, \"type\": \"a\", at?: { node: string, } | null, all: Array<Array<A>>, }";
        let expected = "/** A thing. */\nexport interface Thing {\n  /** Its id. */\n  id: string;\n  type: \"a\";\n  \
                        at?: { node: string } | null;\n  all: A[][];\n}\n";
        assert_eq!(laid_out("Thing", "A thing.", text, false), expected);
    }

    #[test]
    fn lists_that_are_handed_in_are_only_read() {
        assert_eq!(
            laid_out("L", "", "Array<string | number>", true),
            "export type L = readonly (string | number)[];\n"
        );
    }

    #[test]
    fn examples_are_left_out_and_links_are_those_of_tsdoc() {
        let docs = "See [`Known::at`] and\n[`Other`](crate::Other), `x[0]`.\n\n```\nlet a = 1;\n```\n\n- One.\n- Two\n  lines.";
        let expected = "/**\n * See {@link Known.at} and `Other`, `x[0]`.\n *\n * - One.\n * - Two lines.\n */\nexport type L = string;\n";
        assert_eq!(laid_out("L", docs, "string", false), expected);
    }
}
