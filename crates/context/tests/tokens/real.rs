//! Messages of real transcripts, where the folder with them is there.

use std::path::Path;

use threadkeep_context::tokens::cost;
use threadkeep_core::Message;
use threadkeep_provider::Provider;

use crate::BPE;

/// Every message costs at least its text and its frame, and no more than its JSON would, images aside.
#[test]
fn tool_calling_transcripts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(folder) = root.ancestors().map(|it| it.join("shared/data/tau-bench")).find(|it| it.is_dir()) else {
        eprintln!("skipped: there is no folder shared/data/tau-bench beside the checkout");
        return;
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let Ok(text) = std::fs::read_to_string(entry.unwrap().path()) else { continue };
        let Ok(json) = serde_json::from_str(&text) else { continue };
        visit(&json, &mut |message| {
            for provider in Provider::ALL {
                let cost = cost(message, provider, &*BPE);
                assert!(cost.total() >= BPE.count(&message.text()) + cost.frame);
                let json = BPE.count(&message.to_json().to_string());
                let most = json + 20 + 12 * message.tool_calls.len() as u32;
                assert!(cost.total() <= most, "{} and {most}", cost.total());
            }
            seen += 1;
        });
    }
    assert!(seen > 100, "only {seen} messages");
}

fn visit(json: &serde_json::Value, see: &mut dyn FnMut(&Message)) {
    if json.get("role").is_some()
        && let Ok(message) = Message::from_json(json.clone())
    {
        return see(&message);
    }
    match json {
        serde_json::Value::Array(values) => values.iter().for_each(|value| visit(value, see)),
        serde_json::Value::Object(map) => map.values().for_each(|value| visit(value, see)),
        _ => {}
    }
}
