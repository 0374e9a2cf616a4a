//! Prints the payloads of all prompts in a file, for every provider: `cargo run -p threadkeep-provider --example payloads -- FILE`. The file is a list
//! of `{name, messages, options}`; what is printed is a list of `{name, provider, payload}`. The npm package's tests check
//! these against the types of the providers' SDKs.

use serde_json::{Value, json};
use threadkeep_provider::{Provider, render_json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: payloads FILE")?;
    let prompts: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let mut payloads = Vec::new();
    for prompt in prompts.as_array().ok_or("a list of prompts is wanted")? {
        for provider in Provider::ALL {
            let mut rendered = render_json(&prompt["messages"], provider.name(), &prompt["options"])?;
            let payload = rendered["payload"].take();
            payloads.push(json!({ "name": prompt["name"], "provider": provider.name(), "payload": payload }));
        }
    }
    println!("{}", Value::Array(payloads));
    Ok(())
}
