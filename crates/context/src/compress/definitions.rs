//! What a program defines: names, docstrings, and values as far as the summary of a code turn shows them.
//!
//! Goes in: a code turn's fields, or its program's text. Comes out: [`Definition`]s in the order of the program. How they
//! are shown is left to `summary`, which of them to the parent module.

use serde_json::{Map, Value};
use threadkeep_core::CodeTurn;

use super::line::one_line;
use super::reader::{Form, Shape, read, siblings};
use super::sample::{sample_of, type_of};

/// A name that a program defined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Definition {
    pub name: String,
    pub is_function: bool,
    pub docstring: Option<String>,
    /// The type word, such as `list[5]`.
    pub type_word: Option<String>,
    pub sample: Option<String>,
}

/// What the host says that a code turn defined. Its own type word and sample win over those of the value.
pub(super) fn given(turn: &CodeTurn) -> Option<Vec<Definition>> {
    let read = |given: &Value| {
        let text = |field: &str| given.get(field).and_then(Value::as_str);
        let value = given.get("value");
        Some(Definition {
            name: text("name")?.to_owned(),
            is_function: text("kind") == Some("function"),
            docstring: text("docstring").map(str::to_owned),
            type_word: text("type").map(short).or_else(|| value.map(type_of)),
            sample: text("sample").map(short).or_else(|| value.and_then(sample_of)),
        })
    };
    Some(turn.definitions()?.iter().filter_map(read).collect())
}

/// A type word or sample that is not ours on one line, up to 160 characters of it.
fn short(text: &str) -> String {
    let mut line = one_line(text);
    if let Some((cut, _)) = line.char_indices().nth(160) {
        line.truncate(cut);
        line.push_str("...");
    }
    line
}

/// What the `def`, `defonce`, `defn` and `defn-` forms of a program define, at the top level and inside `do`. A value that
/// is written out, rather than computed, is known.
pub(super) fn read_from(program: &str) -> Vec<Definition> {
    let forms = read(program);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(form) = forms.get(at) {
        // The forms inside a list come next, so that `do` is entered by going on.
        if form.shape == Shape::List && head(&forms, at) == "do" {
            at += 1;
            continue;
        }
        if form.shape == Shape::List {
            found.extend(definition(&forms, at));
        }
        at = form.after;
    }
    found
}

/// The symbol with which a list begins, or `""`.
fn head<'a>(forms: &[Form<'a>], list: usize) -> &'a str {
    let inside = &forms[list + 1..forms[list].after];
    let mut at = 0;
    while inside.get(at).is_some_and(|form| form.shape == Shape::Discarded) {
        at = inside[at].after - list - 1;
    }
    inside.get(at).filter(|form| form.shape == Shape::Atom).map_or("", |form| form.source)
}

fn definition(forms: &[Form<'_>], list: usize) -> Option<Definition> {
    let is_function = match head(forms, list) {
        "def" | "defonce" => false,
        "defn" | "defn-" => true,
        _ => return None,
    };
    let inside = siblings(forms, list + 1, forms[list].after);
    let mut name = *inside.get(1)?;
    while forms[name].shape == Shape::Meta {
        name = *siblings(forms, name + 1, forms[name].after).get(1)?;
    }
    let rest = &inside[2..];
    // A text is a docstring when something follows it; alone it is the value.
    let docstring = match rest {
        [text, _, ..] if forms[*text].shape == Shape::Text => Some(unescape(forms[*text].source)),
        _ => None,
    };
    let plain = Definition { name: symbol(&forms[name])?.to_owned(), is_function, docstring, ..Definition::default() };
    let value = if plain.docstring.is_some() { rest.get(1) } else { rest.first() };
    let Some(&value) = value.filter(|_| !is_function) else { return Some(plain) };
    let form = &forms[value];
    if form.shape == Shape::Lambda || form.shape == Shape::List && head(forms, value) == "fn" {
        return Some(Definition { is_function: true, ..plain });
    }
    if form.shape == Shape::Atom && form.source.starts_with(':') {
        return Some(Definition { type_word: Some("keyword".to_owned()), sample: Some(short(form.source)), ..plain });
    }
    Some(match literal(forms, value, 0) {
        Some(value) => Definition { type_word: Some(type_of(&value)), sample: sample_of(&value), ..plain },
        None => plain,
    })
}

/// The source of an atom that is a name.
fn symbol<'a>(form: &Form<'a>) -> Option<&'a str> {
    let [first, rest @ ..] = form.source.as_bytes() else { return None };
    let number = first.is_ascii_digit() || matches!(first, b'+' | b'-') && rest.first().is_some_and(u8::is_ascii_digit);
    let name = form.shape == Shape::Atom && !number && !matches!(first, b':' | b'\\' | b'#');
    (name && !["nil", "true", "false"].contains(&form.source)).then_some(form.source)
}

/// The value of a form that is written out in texts, numbers, booleans, nil, keywords, vectors and maps; `None` for what is
/// computed, and for what lies deeper than any sample shows.
fn literal(forms: &[Form<'_>], at: usize, depth: u8) -> Option<Value> {
    let form = &forms[at];
    let inside = || siblings(forms, at + 1, form.after);
    match form.shape {
        _ if depth > 8 => None,
        Shape::Text => Some(Value::String(unescape(form.source))),
        Shape::Atom => atom(form.source),
        Shape::Vector => inside().into_iter().map(|item| literal(forms, item, depth + 1)).collect(),
        Shape::Map => {
            let mut map = Map::new();
            for pair in inside().chunks(2) {
                let [key, value] = *pair else { return None };
                let key = match literal(forms, key, depth + 1)? {
                    Value::String(key) if forms[pair[0]].shape == Shape::Atom => key[1..].to_owned(),
                    Value::String(key) => key,
                    key => key.to_string(),
                };
                map.insert(key, literal(forms, value, depth + 1)?);
            }
            Some(Value::Object(map))
        }
        _ => None,
    }
}

/// The value of an atom; a keyword's is its text with the colon.
fn atom(source: &str) -> Option<Value> {
    match source {
        "nil" => Some(Value::Null),
        keyword if keyword.starts_with(':') => Some(Value::String(keyword.to_owned())),
        // Numbers are written as in JSON, but for a plus sign.
        other => serde_json::from_str(other.trim_start_matches('+')).ok().filter(|value: &Value| !value.is_null()),
    }
}

/// A text as it is when read: `\n`, `\t`, `\r`, `\b`, `\f` and `\uXXXX` are what they stand for, any other escaped
/// character is itself.
fn unescape(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, escaped)) = rest.split_once('\\') {
        text.push_str(before);
        let mut chars = escaped.chars();
        let Some(escape) = chars.next() else { return text };
        rest = chars.as_str();
        let code = rest.get(..4).filter(|_| escape == 'u').and_then(|digits| u32::from_str_radix(digits, 16).ok());
        text.push(match (escape, code) {
            ('n', _) => '\n',
            ('t', _) => '\t',
            ('r', _) => '\r',
            ('b', _) => '\u{8}',
            ('f', _) => '\u{c}',
            (_, Some(code)) => {
                rest = &rest[4..];
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            (other, None) => other,
        });
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::summary::summary;

    /// What a summary says of a program, one line a definition.
    fn check(program: &str, expected: &[&str]) {
        let shown = summary(&read_from(program), true, &[]);
        let shown: Vec<_> = shown.lines().filter(|line| *line != "; Nothing defined, nothing printed").collect();
        assert_eq!(shown, expected, "{program}");
    }

    #[test]
    fn names_and_docstrings() {
        check("(def x (f))", &["; Defined: x"]);
        check("(def x)", &["; Defined: x"]);
        check(r#"(def users "Active users" (fetch-users "admin"))"#, &[r#"; Defined: users - "Active users""#]);
        check(
            r#"(def x "a text alone is the value")"#,
            &[r#"; Defined: x = string, sample: "a text alone is the value""#],
        );
        check(r#"(defn fetch "Fetches" [category] (tool/get category))"#, &[r#"; Function: fetch - "Fetches""#]);
        check("(defn f [x & more] \"no docstring\" x)", &["; Function: f"]);
        check("(defn- f ([] 1) ([x] x)) (defonce once (f))", &["; Function: f", "; Defined: once"]);
        check(
            "(def f (fn [x] x)) (def g #(inc %)) (def h (comp f g))",
            &["; Function: f", "; Function: g", "; Defined: h"],
        );
        check(
            "(def ^:private x (f)) (def ^{:a 1} ^:b y (f)) (def #^String z (f))",
            &["; Defined: x", "; Defined: y", "; Defined: z"],
        );
        check(
            "(def valid?->x! (f)) (def ünï (f)) (def -> (f)) (def a' (f))",
            &["; Defined: valid?->x!", "; Defined: ünï", "; Defined: ->", "; Defined: a'"],
        );
        check(
            "(def) (def :x 1) (def 5 1) (def -5 1) (def \"s\" 1) (def [a] 1) (def nil 1) (def \\a 1) (def #\"r\" 1) (defn)",
            &[],
        );
    }

    #[test]
    fn only_the_top_level_and_do() {
        check(
            "(do (def a (f)) (do (do) (defn b [] 1)) 5) (def c (f))",
            &["; Function: b", "; Defined: a", "; Defined: c"],
        );
        check("(let [x 1] (def a (f)))(when p (def b 1))(comment (def c 1))[(def d 1)]'(def e 1)`(def f 1)", &[]);
        check("\"(def a 1)\" ; (def b 1)\n#_(def c 1) #_ #_ (def d 1) (def e 1) (def g (f))", &["; Defined: g"]);
        check("(#_ x do #_ y (def #_ z a #_ w (f)))", &["; Defined: a"]);
        check("(\"do\" (def a 1))(\"def\" b 1)(:def c 1)", &[]);
    }

    #[test]
    fn every_form_is_passed_over_whole() {
        for form in [
            r#""a \" ) ( ; ""#,
            r"[\( \) \[ \] \{ \} \; \, \newline \u0041 \a]",
            r#"#"re\"(gex)""#,
            "{:a [1 #{2 3}] :b/c ::d}",
            "#(map #(inc %) [%1 %&])",
            "'(a . b) `(~a ~@b) @c #'d ^:m e",
            "#inst \"2024-01-01\" #:ns{:a 1} #?(:clj 1 :cljs 2) #?@(:clj [1]) #js {\"a\" 1} ##Inf",
            "; a comment ) ( \"\n",
            "#! a comment )\n",
            "#_ (skipped ( forms ))",
            "1.5e3 1/2 1N 0xff -7 +3 a#b a' %",
            ",,,\t\r\n",
        ] {
            check(&format!("(f {form})(def a (f)){form} (def b (f))"), &["; Defined: a", "; Defined: b"]);
        }
    }

    #[test]
    fn what_is_not_closed_is_not_read() {
        check("(def a (f)) (def b (f)", &["; Defined: a"]);
        check("(def a (f)) (do (def b (f))", &["; Defined: a"]);
        check("(def a (f)) (def b [f)] (def c 1)", &["; Defined: a"]);
        check("(def a (f))) (def b 1)", &["; Defined: a"]);
        check("(def a (f)) \"open (def b 1)", &["; Defined: a"]);
        check("(def a (f)) '", &["; Defined: a"]);
        check("(def a (f ')) (def b (f #_))", &["; Defined: a", "; Defined: b"]);
    }

    #[test]
    fn values_that_are_written_out_are_known() {
        check(
            r#"(def well-reviewed ["Laptop" "Monitor" "Keyboard"])"#,
            &[r#"; Defined: well-reviewed = list[3], sample: "Laptop""#],
        );
        check(
            "(def a 1)(def b -2.5)(def c true)(def d nil)(def e :fast)(def f +1e3)",
            &[
                "; Defined: a = integer, sample: 1",
                "; Defined: b = float, sample: -2.5",
                "; Defined: c = boolean, sample: true",
                "; Defined: d = nil",
                "; Defined: e = keyword, sample: :fast",
                "; Defined: f = float, sample: 1000.0",
            ],
        );
        check(
            r#"(def m "Options" {:mode :fast "two words" {:n [1 2]} 3 nil})"#,
            &[r#"; Defined: m - "Options" = map[3], sample: %{mode: ":fast", "two words": %{n: list[2]}, 3: nil}"#],
        );
        check(r#"(def s "a\tb\"\\c\u0041\q é\nnext")"#, &[r#"; Defined: s = string, sample: "a b\"\\cAq é...""#]);
        check(
            "(def a 1/2)(def b inf)(def c #{1})(def d [x])(def e {:a})(def f '(1))(def g nan)(def h 1N)",
            &[
                "; Defined: a",
                "; Defined: b",
                "; Defined: c",
                "; Defined: d",
                "; Defined: e",
                "; Defined: f",
                "; Defined: g",
                "; Defined: h",
            ],
        );
    }

    #[test]
    fn docstrings_are_one_line() {
        check("(defn f \"Says \\\"hi\\\"\n   twice\" [] 1)", &[r#"; Function: f - "Says \"hi\" twice""#]);
        check("(defn f \"  \" [] 1)", &["; Function: f"]);
    }

    #[test]
    fn ten_thousand_levels() {
        for (open, close) in [("(do ", ")"), ("[", "]"), ("{:a ", "}"), ("#{", "}"), ("#(", ")"), ("'", ""), ("#_", "")]
        {
            let program = format!("(def a (f)) {} (def b 1) {} (def c (f))", open.repeat(10_000), close.repeat(10_000));
            let found = read_from(&program);
            let names: Vec<_> = found.iter().map(|definition| definition.name.as_str()).collect();
            assert_eq!(names.first(), Some(&"a"));
            assert_eq!(names.contains(&"b"), open == "(do ", "{open}");
        }
        let deep = format!("(def v {}1{})", "[".repeat(10_000), "]".repeat(10_000));
        check(&deep, &["; Defined: v"]);
    }
}
