//! Archives that come in and go out.

use std::time::Duration;

use pollster::block_on;
use threadkeep::Keep;
use threadkeep::protocol::ImportReport;
use threadkeep_store::MemoryStore;

use super::{Row, keep, timed};

pub const ROWS: &[Row] = &[
    Row { name: "import with one shared id", n: 2_000, run: |n| time(&claude(n, |_| "same".to_owned(), |_| None)) },
    Row {
        name: "import of a chain",
        n: 1_000,
        run: |n| time(&claude(n, |at| format!("m{at}"), |at| at.checked_sub(1).map(|at| format!("m{at}")))),
    },
    Row {
        name: "import of a star",
        n: 1_000,
        run: |n| time(&claude(n, |at| format!("m{at}"), |at| (at > 0).then(|| "m0".to_owned()))),
    },
    Row { name: "import of messages without ids", n: 2_000, run: |n| time(&plain(n)) },
    Row { name: "export of a chain", n: 2_000, run: export },
];

/// A session of Claude Code.
fn claude(n: usize, id: impl Fn(usize) -> String, parent: impl Fn(usize) -> Option<String>) -> String {
    let mut text = String::new();
    for at in 0..n {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        let line = serde_json::json!({
            "type": role, "uuid": id(at), "parentUuid": parent(at), "sessionId": "s", "isSidechain": false,
            "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/", "version": "1",
            "message": {"role": role, "content": format!("line {at}")},
        });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

fn plain(n: usize) -> String {
    let messages: Vec<_> = (0..n).map(|_| serde_json::json!({"role": "user", "content": "the same"})).collect();
    serde_json::json!({"messages": messages}).to_string()
}

fn import(keep: &Keep<MemoryStore>, text: &str) -> ImportReport {
    let file = ("session.jsonl".to_owned(), text.as_bytes().to_vec());
    block_on(keep.import(vec![file], None, |_| {})).unwrap()
}

fn time(text: &str) -> Duration {
    let keep = keep();
    timed(|| import(&keep, text))
}

fn export(n: usize) -> Duration {
    let keep = keep();
    import(&keep, &claude(n, |at| format!("m{at}"), |at| at.checked_sub(1).map(|at| format!("m{at}"))));
    let mut bytes = 0;
    timed(|| {
        block_on(keep.export(None, |piece| bytes += piece.len())).unwrap();
        assert!(bytes > n);
    })
}
