//! Reads archives and prints what came in: `cargo run -p threadkeep-archive --example import -- FILE…`.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use threadkeep_archive::{Input, Item, plan};
use threadkeep_core::{Entry, Transcript};

fn main() -> std::io::Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let all: Arc<[String]> = names.clone().into();
    for at in plan(&names) {
        let name = &names[at];
        let mut file = std::fs::File::open(name)?;
        let mut input = Input::new(name, file.metadata()?.len(), None).among(all.clone());
        let (mut chats, mut nodes, mut forks, mut kinds) = (0, 0, 0, BTreeMap::<String, u32>::new());
        let mut remarks = Vec::new();
        let mut sink = |item: Item| match item {
            Item::Conversation(chat) => {
                let mut tree = Transcript::new(chat.transcript.clone());
                for entry in chat.entries {
                    if let Entry::Node(node) = &entry {
                        node.messages.iter().for_each(|m| *kinds.entry(m.role.as_str().to_owned()).or_default() += 1);
                    }
                    if let Err(error) = tree.apply(entry) {
                        remarks.push(format!("{}: {error}", chat.transcript));
                    }
                }
                chats += 1;
                nodes += tree.nodes().len();
                forks += tree.nodes().filter(|p| tree.children(&p.node.id).is_ok_and(|c| c.len() > 1)).count();
            }
            Item::Memory(_) | Item::Beside(_) | Item::Part(_) => {}
            Item::Skipped(skip) => remarks.push(format!("skipped {}: {skip}", skip.code)),
            Item::Warning(skip) => remarks.push(format!("warning {}: {skip}", skip.code)),
        };
        let started = std::time::Instant::now();
        let mut buffer = Vec::new();
        while let Some(range) = input.wants() {
            use std::io::{Seek, SeekFrom};
            file.seek(SeekFrom::Start(range.start))?;
            buffer.clear();
            (&mut file).take(range.end - range.start).read_to_end(&mut buffer)?;
            input.supply(&buffer, &mut sink);
        }
        println!("{name}: {chats} conversations, {nodes} nodes, {forks} forks, {kinds:?}, {:?}", started.elapsed());
        remarks.iter().for_each(|remark| println!("   {remark}"));
    }
    Ok(())
}
