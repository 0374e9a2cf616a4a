//! Real archives through the whole engine, where a `data` folder of them is found (`THREADKEEP_DATA`, or `shared/data` beside
//! a folder above this one).

use std::path::{Path, PathBuf};

use crate::folder::data;
use crate::{World, run};

fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn every_archive_comes_in_once_and_a_second_import_adds_nothing() {
    let Some(data) = data() else { return };
    let mut all = Vec::new();
    files(&data, &mut all);
    run(async {
        let world = World::default();
        let keep = world.tab();
        let mut first = Vec::new();
        for (name, bytes) in &all {
            let report = keep.import(vec![(name.clone(), bytes.as_slice())], None, |_| {}).await.unwrap();
            if report.added + report.updated + report.unchanged == 0 {
                // Whatever brings nothing in is told, with a reason.
                assert!(report.skipped_count > 0, "{name} was passed over in silence");
            }
            first.push(report);
        }
        let before = keep.stats().await.unwrap();
        assert!(before.transcripts > 10, "{before:?}");
        for (name, bytes) in &all {
            let again = keep.import(vec![(name.clone(), bytes.as_slice())], None, |_| {}).await.unwrap();
            assert_eq!((again.added, again.updated, again.messages), (0, 0, 0), "{name}: {again:?}");
        }
        let after = keep.stats().await.unwrap();
        assert_eq!((after.transcripts, after.messages), (before.transcripts, before.messages));
        let findings = keep.lint(None).await.unwrap();
        let broken = findings.iter().find(|finding| matches!(finding.rule.as_str(), "damage" | "broken-chain"));
        assert_eq!(broken, None);
        // All of it leaves and comes back as it was.
        let mut file = String::new();
        keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
        let other = World::default().tab();
        let report = other.import(vec![("all".to_owned(), file.clone())], None, |_| {}).await.unwrap();
        assert_eq!(report.skipped, [], "{:?}", report.skipped.first());
        let mut back = String::new();
        other.export(None, |piece| back.push_str(&piece)).await.unwrap();
        assert!(back == file, "the second export differs from the first");
        eprintln!("{} files, {} transcripts, {} messages", all.len(), after.transcripts, after.messages);
        for ((name, _), report) in all.iter().zip(&first).filter(|(_, report)| report.skipped_count > 0) {
            let skip = &report.skipped[0];
            let name = name.strip_prefix(&*data.display().to_string()).unwrap_or(name);
            eprintln!("{name}: {} of {} skipped: {} ({})", report.skipped_count, report.added, skip.reason, skip.code);
        }
    });
}
