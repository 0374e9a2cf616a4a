use serde_json::json;

use super::*;

/// All of `value`, hidden; and how many secrets there were.
fn hidden(mut value: Value) -> (Value, usize) {
    let mut count = 0;
    hide(&mut value, &[], &mut |_| {
        count += 1;
        true
    });
    (value, count)
}

#[test]
fn secrets_are_replaced_and_nothing_else() {
    let body = "aB3".repeat(14);
    let secrets = [
        format!("sk-{body}"),
        format!("sk-proj-{body}"),
        format!("ghp_{body}"),
        format!("github_pat_{body}"),
        format!("AKIA{}", "A7".repeat(8)),
        format!("AIza{body}"),
        format!("Bearer {body}.{body}"),
        format!("authorization: bearer {body}"),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----"),
        format!("-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----"),
        format!("-----BEGIN PRIVATE KEY-----\n{body}"),
    ];
    for secret in &secrets {
        for (before, after) in [("", ""), ("the key is \"", "\" for now"), ("é ", " ü")] {
            let text = [before, secret, after].concat();
            let (Value::String(out), count) = hidden(json!(text)) else { panic!("no text") };
            assert_eq!(count, 1, "{text}");
            assert!(!out.contains(&body[..12]) && out.starts_with(before), "{out}");
            assert_eq!(out.chars().count(), text.chars().count());
        }
    }
    for plain in [
        "ask-me-anything-you-want-to-know-1234",
        "sk-learn",
        "task_ghp_1",
        "a Bearer of bad news",
        "sk-a-word-without-digits-at-all",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        "-----BEGIN ",
        "Bearer é",
        "AKIA",
        "password = get_password_from(store2)",
        "api_key=settings.OPENAI_API_KEY_2",
        "postgres://ann:${PASSWORD}@host/db",
        "https://ann:****@host/",
        "xoxb-your-slack-token-goes-here",
        "user@example.com, +49 30 1234567, 4111 1111 1111 1111",
    ] {
        assert_eq!(hidden(json!(plain)), (json!(plain), 0));
    }
}

#[test]
fn a_masked_text_of_json_is_json() {
    let begins = "-----BEGIN RSA PRIVATE KEY-----";
    for key in [
        format!("{begins}\\nMIIE\\u002bab\\/c1\\u003d\\n-----END RSA PRIVATE KEY-----"),
        format!("{begins}\\nMIIEabc1, which is cut"),
        "postgres://ann:s3cretWord@db/app".to_owned(),
        format!("ghp_{}\\n", "a1".repeat(18)),
    ] {
        let text = format!(r#"{{"said":"{key}","tokens":4096,"stream":true,"none":null}}"#);
        serde_json::from_str::<Value>(&text).unwrap();
        let (masked, count) = masked(&text);
        let value: Value = serde_json::from_str(&masked).unwrap();
        assert_eq!((count, &value["tokens"], &value["stream"]), (1, &json!(4096), &json!(true)), "{masked}");
        assert!(!masked.contains("MIIE") && !masked.contains("s3cret") && !masked.contains("a1a1"), "{masked}");
    }
}

#[test]
fn names_and_nested_strings_are_read_too() {
    let key = format!("ghp_{}", "a1".repeat(18));
    let (value, count) = hidden(json!({"a": [{ key.as_str(): 1 }, key, 7], "b": null}));
    assert_eq!(count, 2);
    assert!(!value.to_string().contains("a1a1"));
}

#[test]
fn what_is_personal_is_found_on_request() {
    let text = "Write to ann.b+c@mail.example.com. Call +49 (30) 123-4567. Pay with 4111 1111 1111 1111, not 4111 1111 1111 1112.";
    let found = |also: &[Personal]| find(text, also).iter().map(|one| &text[one.start..one.end]).collect::<Vec<_>>();
    assert_eq!(found(&[Personal::Emails]), ["ann.b+c@mail.example.com"]);
    assert_eq!(found(&[Personal::Phones]), ["49 (30) 123-4567"]);
    assert_eq!(found(&[Personal::Cards]), ["4111 1111 1111 1111"]);
    assert!(found(&[]).is_empty());
}

#[test]
fn a_hit_says_what_it_is_and_where_without_the_secret() {
    let mut value = json!({"node": {"messages": [{"content": "one\nthe url is postgres://ann:s3cretWord@host/db"}]}});
    let mut hits = Vec::new();
    hide(&mut value, &[], &mut |hit| {
        hits.push((hit.kind, hit.preview, hit.field.to_owned()));
        false
    });
    let preview = "the url is postgres://ann:xxxxxxxxxx".to_owned();
    let preview: String = preview.chars().skip("the u".len() - 1).collect();
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].0, hits[0].2.as_str()), ("password in a URL", "node.messages.0.content"));
    assert!(preview.ends_with(&hits[0].1[4..]) && !hits[0].1.contains("s3cret"), "{:?}", hits[0].1);
    assert!(value.to_string().contains("s3cretWord"), "it was to stay");
}

/// Letters and digits, drawn by a small generator (xorshift), so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn of(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let mut roll = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            char::from(letters[(self.0 % letters.len() as u64) as usize])
        };
        (0..length).map(|_| roll()).collect()
    }
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SIGNS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Kinds of secrets: what stands before, the alphabet and length of the secret part, and what stands behind.
const KINDS: [(&str, &str, usize, &str); 44] = [
    ("sk-ant-api03-", SIGNS, 93, "AA"),
    ("sk-or-v1-", HEX, 64, ""),
    ("sk-proj-", SIGNS, 120, ""),
    ("sk-", ALNUM, 48, ""),
    ("AIza", SIGNS, 35, ""),
    ("GOCSPX-", SIGNS, 28, ""),
    ("gsk_", ALNUM, 52, ""),
    ("hf_", ALNUM, 34, ""),
    ("r8_", ALNUM, 37, ""),
    ("pplx-", ALNUM, 48, ""),
    ("xai-", ALNUM, 80, ""),
    ("AKIA", UPPER, 16, ""),
    ("ghp_", ALNUM, 36, ""),
    ("ghs_", ALNUM, 36, ""),
    ("github_pat_11ABCDEFG0abcdefghijkl_", ALNUM, 59, ""),
    ("glpat-", SIGNS, 20, ""),
    ("npm_", ALNUM, 36, ""),
    ("pypi-AgEIcHlwaS5vcmc", SIGNS, 100, ""),
    ("cio", ALNUM, 32, ""),
    ("dckr_pat_", SIGNS, 27, ""),
    ("xoxb-123456789012-", ALNUM, 24, ""),
    ("https://hooks.slack.com/services/T0123456/B0123456/", ALNUM, 24, ""),
    ("https://discord.com/api/webhooks/123456789012345678/", SIGNS, 68, ""),
    ("sk_live_", ALNUM, 24, ""),
    ("whsec_", ALNUM, 32, ""),
    ("SK", HEX, 32, ""),
    ("SG.", SIGNS, 22, ".abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"),
    ("key-", HEX, 32, ""),
    ("", HEX, 32, "-us12"),
    ("shpat_", HEX, 32, ""),
    ("lin_api_", ALNUM, 40, ""),
    ("ntn_", ALNUM, 46, ""),
    ("figd_", SIGNS, 40, ""),
    ("hvs.", SIGNS, 90, ""),
    ("dop_v1_", HEX, 64, ""),
    ("sb_secret_", SIGNS, 31, ""),
    ("NRAK-", UPPER, 27, ""),
    ("eyJhbGciOiJIUzI1NiJ9.eyJ", SIGNS, 40, ".0123456789abcdef"),
    ("123456789:AA", SIGNS, 33, ""),
    ("Authorization: Bearer ", ALNUM, 40, ""),
    ("postgres://ann:", ALNUM, 16, "@db.example.com:5432/app"),
    ("AWS_SECRET_ACCESS_KEY=", ALNUM, 40, ""),
    ("\"client_secret\": \"", ALNUM, 32, "\""),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n", ALNUM, 64, "\n-----END OPENSSH PRIVATE KEY-----"),
];

#[test]
fn none_of_a_thousand_secrets_of_each_kind_is_left() {
    let mut dice = Dice(0x7ee1_babe);
    for (before, alphabet, length, after) in KINDS {
        for round in 0..1000 {
            // What is drawn without a digit or a letter is no secret that one could tell from a word.
            let secret = loop {
                let drawn = dice.of(alphabet, length);
                if drawn.bytes().any(|byte| byte.is_ascii_digit())
                    && drawn.bytes().any(|byte| byte.is_ascii_alphabetic())
                {
                    break drawn;
                }
            };
            // A run of signs at an end is no secret of its own.
            let core = secret.trim_matches(['-', '_']);
            let said = [before, &secret, after].concat();
            let arguments = json!({"command": format!("first line\n{said}\nlast line")}).to_string();
            let value = match round % 4 {
                0 => json!({"content": format!("Here it is: {said} and more")}),
                1 => json!({"tool_calls": [{"function": {"arguments": arguments}}]}),
                2 => json!({"content": [{"text": said}]}),
                _ => json!({"info": {"title": said}}),
            };
            let (out, count) = hidden(value);
            let out = out.to_string();
            assert!(count >= 1 && !out.contains(core), "{before}: {out}");
        }
    }
}

#[test]
fn hostile_texts_are_searched_in_one_pass() {
    for piece in [
        "sk-ant-",
        "eyJ",
        "eyJ.",
        "password=",
        "1 ",
        "+1",
        "-----BEGIN ",
        "://a:",
        "a@",
        "bearer ",
        "0:AA",
        "M-",
        "&sig=",
        "\\n",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        let all = [Personal::Emails, Personal::Phones, Personal::Cards];
        // If each piece were searched to the end of the text, this would take minutes.
        assert!(find(&text, &all).len() <= text.len());
    }
}
