//! TypeScript types as `ts-rs` writes them, read so that they can be laid out. It reads what `ts-rs` and our `#[ts(type = "…")]` write, and
//! no more of the language.

use std::collections::BTreeSet;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    /// A name or a literal.
    Word(String),
    /// A name with types in angle brackets.
    Generic(String, Vec<Type>),
    /// A list of any length.
    Array(Box<Type>),
    /// A list with one type for each place.
    Tuple(Vec<Type>),
    /// Fields.
    Object(Vec<Field>),
    /// One of these.
    Union(Vec<Type>),
    /// All of these together.
    Intersection(Vec<Type>),
}

impl Type {
    /// A union of requests as one object: a field for each method, with the parameters. A method without any is only a name.
    pub(crate) fn by_method(self) -> Self {
        let requests = match self {
            Self::Union(requests) => requests,
            other => vec![other],
        };
        let fields = requests.into_iter().flat_map(|request| match request {
            Self::Object(fields) => fields,
            Self::Word(name) => {
                let name = name.trim_matches('"').to_owned();
                vec![Field { docs: None, name, optional: false, of: Self::Object(Vec::new()) }]
            }
            _ => Vec::new(),
        });
        Self::Object(fields.collect())
    }

    /// Gathers the names of declared types in it.
    pub(crate) fn names(&self, names: &mut BTreeSet<String>) {
        match self {
            Self::Word(name) => {
                if name.starts_with(char::is_uppercase) {
                    names.insert(name.clone());
                }
            }
            Self::Array(of) => of.names(names),
            Self::Generic(name, types) => {
                names.insert(name.clone());
                types.iter().for_each(|one| one.names(names));
            }
            Self::Tuple(types) | Self::Union(types) | Self::Intersection(types) => {
                types.iter().for_each(|one| one.names(names));
            }
            Self::Object(fields) => fields.iter().for_each(|field| field.of.names(names)),
        }
    }
}

/// All of `types` together. Objects become one; with one of several objects, several do.
fn together(types: Vec<Type>) -> Type {
    let is_object = |one: &Type| matches!(one, Type::Object(_));
    let is_plain = |one: &Type| is_object(one) || matches!(one, Type::Union(all) if all.iter().all(is_object));
    if !types.iter().all(is_plain) {
        return Type::Intersection(types);
    }
    let mut objects: Vec<Vec<Field>> = vec![Vec::new()];
    for one in types {
        let choices = match one {
            Type::Union(choices) => choices,
            object => vec![object],
        };
        let with = |fields: &Vec<Field>| -> Vec<Vec<Field>> {
            let more = choices.iter().filter_map(|choice| match choice {
                Type::Object(more) => Some(fields.iter().chain(more).cloned().collect()),
                _ => None,
            });
            more.collect()
        };
        objects = objects.iter().flat_map(with).collect();
    }
    either(objects.into_iter().map(Type::Object).collect())
}

/// One of `types`.
fn either(mut types: Vec<Type>) -> Type {
    if types.len() == 1 {
        return types.remove(0);
    }
    let flat = types.into_iter().flat_map(|one| match one {
        Type::Union(choices) => choices,
        other => vec![other],
    });
    Type::Union(flat.collect())
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its documentation, without the signs of a comment.
    pub(crate) docs: Option<String>,
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) of: Type,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Docs(String),
    Word(String),
    Sign(char),
}

/// Reads a type. An error says what was expected, and what is left of the text.
pub(crate) fn read(text: &str) -> Result<Type, String> {
    let mut tokens = tokens(text)?;
    tokens.reverse();
    let mut reader = Reader { left: tokens };
    let read = reader.union()?;
    if reader.left.is_empty() { Ok(read) } else { Err(reader.fault("the end")) }
}

/// The text of a comment `/** … */`.
pub(crate) fn comment(text: &str) -> String {
    let inner = text.trim().trim_start_matches("/**").trim_end_matches("*/");
    let lines = inner.trim().lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix('*').map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)).trim_end()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut left = text.trim_start();
    while let Some(first) = left.chars().next() {
        let end = if left.starts_with("/**") {
            let end = left.find("*/").ok_or("a comment has no end")? + 2;
            tokens.push(Token::Docs(comment(&left[..end])));
            end
        } else if first == '"' {
            let end = left[1..].find('"').ok_or("a string has no end")? + 2;
            tokens.push(Token::Word(left[..end].to_owned()));
            end
        } else if is_word(first) {
            let end = left.find(|sign| !is_word(sign)).unwrap_or(left.len());
            tokens.push(Token::Word(left[..end].to_owned()));
            end
        } else {
            tokens.push(Token::Sign(first));
            first.len_utf8()
        };
        left = left[end..].trim_start();
    }
    Ok(tokens)
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || "_$.".contains(sign)
}

/// What is left of the tokens, the next one last.
struct Reader {
    left: Vec<Token>,
}

impl Reader {
    fn fault(&self, expected: &str) -> String {
        let next: Vec<_> = self.left.iter().rev().take(6).collect();
        format!("{expected} is expected before {next:?}")
    }

    fn skip(&mut self, sign: char) -> bool {
        let is_there = self.left.last() == Some(&Token::Sign(sign));
        if is_there {
            self.left.pop();
        }
        is_there
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.skip(sign) { Ok(()) } else { Err(self.fault(&sign.to_string())) }
    }

    fn word(&mut self) -> Result<String, String> {
        match self.left.pop() {
            Some(Token::Word(word)) => Ok(word),
            other => {
                self.left.extend(other);
                Err(self.fault("a name"))
            }
        }
    }

    fn union(&mut self) -> Result<Type, String> {
        self.skip('|');
        self.several('|', Self::intersection, either)
    }

    fn intersection(&mut self) -> Result<Type, String> {
        self.several('&', Self::array, together)
    }

    fn several(
        &mut self,
        between: char,
        one: fn(&mut Self) -> Result<Type, String>,
        all: fn(Vec<Type>) -> Type,
    ) -> Result<Type, String> {
        let first = one(self)?;
        if self.left.last() != Some(&Token::Sign(between)) {
            return Ok(first);
        }
        let mut types = vec![first];
        while self.skip(between) {
            types.push(one(self)?);
        }
        Ok(all(types))
    }

    fn array(&mut self) -> Result<Type, String> {
        let mut read = self.single()?;
        while self.skip('[') {
            self.expect(']')?;
            read = Type::Array(Box::new(read));
        }
        Ok(read)
    }

    fn single(&mut self) -> Result<Type, String> {
        if self.skip('(') {
            let inner = self.union()?;
            self.expect(')')?;
            return Ok(inner);
        }
        if self.skip('{') {
            return Ok(Type::Object(self.fields()?));
        }
        if self.skip('[') {
            return Ok(Type::Tuple(self.list(']')?));
        }
        let mut name = self.word()?;
        // The layout says which lists are only read.
        if name == "readonly" {
            name = self.word()?;
        }
        if !self.skip('<') {
            return Ok(Type::Word(name));
        }
        let mut of = self.list('>')?;
        Ok(if name == "Array" && of.len() == 1 { Type::Array(Box::new(of.remove(0))) } else { Type::Generic(name, of) })
    }

    fn list(&mut self, end: char) -> Result<Vec<Type>, String> {
        let mut types = Vec::new();
        while !self.skip(end) {
            types.push(self.union()?);
            self.skip(',');
        }
        Ok(types)
    }

    fn fields(&mut self) -> Result<Vec<Field>, String> {
        let mut fields = Vec::new();
        while !self.skip('}') {
            let mut docs = None;
            while let Some(Token::Docs(text)) = self.left.last() {
                docs = Some(text.clone());
                self.left.pop();
            }
            let name = self.word()?.trim_matches('"').to_owned();
            let optional = self.skip('?');
            self.expect(':')?;
            fields.push(Field { docs, name, optional, of: self.union()? });
            if !self.skip(',') {
                self.skip(';');
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_objects_have_in_common_is_in_each() {
        let read = |text| read(text).unwrap();
        assert_eq!(read("{ a: A } & ({ b: B } | { c: C }) | D"), read("{ a: A, b: B } | { a: A, c: C } | D"));
        assert_eq!(read("{ a: A } & B"), Type::Intersection(vec![read("{ a: A }"), read("B")]));
    }

    #[test]
    fn what_is_no_type_is_an_error_and_no_panic() {
        for text in ["", "{", "{ a }", "Array<", "a b", "/** a", "\"a", "(a", "[a", "a |", "{ a: }", "é:"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
