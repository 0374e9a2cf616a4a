//! What holds for every transcript: whatever comes in, the payload is valid, the same each time, and nothing panics.

use proptest::prelude::*;
use serde_json::json;
use threadkeep_core::Message;
use threadkeep_provider::{
    Provider, RenderOptions, ToolSchema, render, validate_json, validate_messages, validate_payload,
};

use crate::generate::{anything, json, well_formed};
use crate::support::tries;

fn every(way: u8, nth: u8) -> bool {
    way.is_multiple_of(nth)
}

fn options(way: u8) -> RenderOptions {
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: Some("reads".to_owned()),
        parameters: json!({"type": "object", "properties": {"path": {"type": ["string", "null"], "format": "path"}},
            "additionalProperties": false}),
        strict: None,
    };
    let model = ["gemini-3-pro", "gemini-2.5-pro", "some-model"][usize::from(way % 3)];
    RenderOptions {
        model: (!every(way, 4)).then(|| model.to_owned()),
        max_output_tokens: every(way, 2).then_some(100),
        tools: if every(way, 5) { vec![tool("read_file"), tool("read.file"), tool("read_file")] } else { Vec::new() },
        stream: every(way, 3).then_some(every(way, 2)),
        reasoning: !every(way, 7),
        prefill: every(way, 11),
        sdk: way % 2 == 1,
    }
}

fn renders_valid(messages: &[Message], way: u8) -> Result<(), TestCaseError> {
    let list: Vec<&Message> = messages.iter().collect();
    let mut options = options(way);
    for provider in Provider::ALL {
        // Gemini says outright that it takes no prompt that ends with the model.
        options.prefill &= provider != Provider::Gemini;
        let rendered = render(&list, provider, &options);
        let findings = validate_payload(&rendered.payload, provider);
        let all = || format!("{:#}", rendered.payload);
        prop_assert!(findings.is_empty(), "{}: {findings:?}\n{}", provider.name(), all());
        let again = render(&list, provider, &options);
        prop_assert_eq!(again.payload.to_string(), rendered.payload.to_string());
    }
    Ok(())
}

proptest! {
    #![proptest_config(tries(96))]

    #[test]
    fn well_formed_transcripts_render_valid(messages in well_formed(), way in any::<u8>()) {
        renders_valid(&messages, way)?;
    }

    #[test]
    fn any_messages_render_valid(messages in anything(), way in any::<u8>()) {
        renders_valid(&messages, way)?;
    }

    #[test]
    fn every_suffix_of_a_transcript_renders_valid(messages in well_formed(), way in any::<u8>()) {
        for start in (0..messages.len()).step_by(3) {
            renders_valid(&messages[start..], way)?;
        }
    }

    #[test]
    fn a_prompt_that_grows_keeps_its_beginning(messages in well_formed()) {
        // What a turn adds changes nothing before it; only the last message is open to change.
        let list: Vec<&Message> = messages.iter().collect();
        let Some(cut) = messages.iter().rposition(|message| message.role == threadkeep_core::Role::User) else { return Ok(()) };
        let options = RenderOptions::default();
        for (provider, name) in [(Provider::OpenAiChat, "messages"), (Provider::OpenAiResponses, "input")] {
            let (before, after) = (render(&list[..cut], provider, &options), render(&list, provider, &options));
            let (before, after) = (before.payload[name].as_array().unwrap().clone(), after.payload[name].as_array().unwrap().clone());
            let opened = threadkeep_provider::OPENING;
            if before.first().is_some_and(|first| first["content"] == opened) {
                continue;
            }
            prop_assert_eq!(&after[..before.len().min(after.len())], &before[..]);
        }
    }

    #[test]
    fn validating_any_json_never_panics(value in json()) {
        for provider in Provider::ALL {
            validate_payload(&value, provider);
            validate_json(&value, provider.name()).unwrap();
            for list in ["messages", "contents", "input", "tools"] {
                validate_payload(&json!({ list: value }), provider);
                validate_payload(&json!({ list: [value] }), provider);
            }
            if let Ok(message) = Message::from_json(value.clone()) {
                validate_messages(&[&message, &message], provider);
                render(&[&message, &message], provider, &RenderOptions::default());
            }
        }
    }
}
