//! Imports take no longer than their size: four times as much may take a little more than four times as long.

use std::time::{Duration, Instant};

use threadkeep::Keep;
use threadkeep_store::MemoryStore;

use crate::{World, run, users};

/// The quickest of three runs.
fn time(work: &dyn Fn(usize), size: usize) -> Duration {
    let once = |_| {
        let start = Instant::now();
        work(size);
        start.elapsed()
    };
    (0..3).map(once).min().unwrap_or_default()
}

/// Fails where four times the size takes more than ten times as long. Work that grows with the square takes sixteen times.
fn check(name: &str, size: usize, work: &dyn Fn(usize)) {
    let mut ratio = 0.0;
    // A busy machine may spoil one comparison.
    for _ in 0..3 {
        let (one, four) = (time(work, size), time(work, 4 * size));
        ratio = four.as_secs_f64() / one.as_secs_f64().max(1e-4);
        println!("{name}: {size} in {one:?}, {} in {four:?}: {ratio:.1}", 4 * size);
        if ratio < 10.0 {
            return;
        }
    }
    panic!("{name}: four times the size takes {ratio:.1} times as long");
}

fn import(keep: &Keep<MemoryStore>, name: &str, file: String) -> threadkeep::protocol::ImportReport {
    run(keep.import(vec![(name.to_owned(), file)], None, |_| {})).unwrap()
}

fn node(seq: usize, id: usize, parent: Option<usize>) -> String {
    let parent = parent.map(|parent| format!(r#","parent":"t{parent}""#)).unwrap_or_default();
    format!(
        r#"{{"seq":{seq},"node":{{"id":"t{id}"{parent},"messages":[{{"role":"user","content":"m{id}"}}],"sealed":true}}}}"#
    )
}

/// An archive of one transcript, whose nodes hang as `parent` says, less the lines that `lost` says.
fn archive(size: usize, parent: &dyn Fn(usize) -> usize, lost: &dyn Fn(usize) -> bool) -> String {
    let lines = (1..size).filter(|at| !lost(*at)).map(|at| node(at, at, Some(parent(at))));
    let head = ["{\"threadkeep\":1}", "{\"transcript\":\"t0\"}"].map(str::to_owned);
    let all: Vec<String> = head.into_iter().chain([node(0, 0, None)]).chain(lines).collect();
    all.join("\n")
}

#[test]
fn logs_of_any_shape_and_damage_come_in_quickly() {
    let none = |_: usize| false;
    let shapes: [(&str, &dyn Fn(usize) -> usize); 3] =
        [("chain", &|at| at - 1), ("comb", &|at| if at % 2 == 0 { at - 2 } else { at - 1 }), ("fan", &|_| 0)];
    for (name, parent) in shapes {
        let again = |size: usize| {
            let keep = World::default().tab();
            import(&keep, "a.jsonl", archive(size, parent, &none));
            assert_eq!(import(&keep, "a.jsonl", archive(size + 1, parent, &none)).messages, 1);
        };
        check(name, 1000, &again);
        let damaged = |size: usize| {
            let keep = World::default().tab();
            import(&keep, "a.jsonl", archive(size, parent, &|at| at % 3 == 1));
            import(&keep, "a.jsonl", archive(size, parent, &none));
        };
        check(&[name, " with holes"].concat(), 1000, &damaged);
    }
}

#[test]
fn conversations_of_one_id_come_in_quickly() {
    let line = |at: usize, id: &str| {
        format!("{{\"id\":\"{id}\",\"messages\":[{{\"role\":\"user\",\"content\":\"say {at}\"}}]}}\n")
    };
    check("one id", 250, &|size| {
        let keep = World::default().tab();
        import(&keep, "a.jsonl", (0..size).map(|at| line(at, "same")).collect());
    });
    check("the same line", 250, &|size| {
        let keep = World::default().tab();
        import(&keep, "a.jsonl", (0..size).map(|_| line(0, "same")).collect());
    });
    check("many ids", 250, &|size| {
        let keep = World::default().tab();
        import(&keep, "a.jsonl", (0..size).map(|at| line(at, &at.to_string())).collect());
    });
}

#[test]
fn small_imports_into_one_keep_do_not_grow_slower() {
    check("small files", 250, &|size| {
        let keep = World::default().tab();
        run(keep.append("main", users(3))).unwrap();
        for at in 0..size {
            let fact =
                format!("{{\"fact\":{{\"id\":\"sem_{at}\",\"createdAt\":1,\"kind\":\"other\",\"fact\":\"f{at}\"}}}}\n");
            let file = archive(3, &|at| at - 1, &|_| false)
                .replace("\"t", &format!("\"t{at}x"))
                .replace(&format!("\"t{at}xhreadkeep"), "\"threadkeep");
            let file = file.replace(&format!("\"t{at}xranscript"), "\"transcript");
            assert_eq!(
                import(&keep, "a.jsonl", file + "\n" + &if at % 50 == 0 { fact } else { String::new() }).added,
                1
            );
        }
    });
}

#[test]
fn one_id_of_another_transcript_costs_no_time() {
    check("one taken id", 1000, &|size| {
        let keep = World::default().tab();
        let other = archive(2, &|_| 0, &|_| false)
            .replace("\"t0\"", "\"other\"")
            .replace("\"t1\"", &format!("\"t{}\"", size / 2));
        import(&keep, "a.jsonl", other);
        let report = import(&keep, "a.jsonl", archive(size, &|at| at - 1, &|_| false));
        assert!(report.skipped.iter().any(|skip| skip.code == "id-taken"), "{report:?}");
    });
}
