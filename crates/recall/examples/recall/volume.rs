//! What an index of 100,000 messages costs: time to make, time to ask, size.

use std::time::Instant;

use threadkeep_recall::{Builder, Filter, Index, NewDoc, Picked, Query, merge};

/// Documents in one batch, as the engine takes them.
const BATCH: usize = 2048;

/// Words as frequent as a language's are (the n-th word about 1/n as often as the first), made of syllables; the next is
/// drawn by a linear congruence, so that every run has the same text.
struct Speaker(u64);

impl Speaker {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn word(&mut self) -> String {
        // Inverse of the sum of 1/n up to 60,000 words.
        let rank = 60_000f64.powf(self.next()) as usize;
        let syllables =
            ["ka", "ren", "tos", "mil", "ve", "dor", "sun", "pli", "gra", "ne", "bo", "shi", "wal", "tu", "fen", "cor"];
        let mut rest = rank;
        let mut word = String::new();
        loop {
            word.push_str(syllables[rest % syllables.len()]);
            rest /= syllables.len();
            if rest == 0 {
                return word;
            }
        }
    }

    fn text(&mut self) -> String {
        // Short questions and long answers.
        let words = if self.next() < 0.5 { 5.0 + 40.0 * self.next() } else { 40.0 + 200.0 * self.next() };
        let mut text = String::new();
        for at in 0..words as usize {
            text.push_str(if at == 0 {
                ""
            } else if at % 13 == 0 {
                ". "
            } else {
                " "
            });
            text.push_str(&self.word());
        }
        text
    }
}

pub fn measure(small: bool) {
    let (messages, queries) = if small { (3_000, 40) } else { (100_000, 400) };
    let mut speaker = Speaker(1);
    let texts: Vec<String> = (0..messages).map(|_| speaker.text()).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let start = Instant::now();
    let mut segments = Vec::new();
    for (batch, texts) in texts.chunks(BATCH).enumerate() {
        let mut builder = Builder::default();
        for (at, text) in texts.iter().enumerate() {
            let number = batch * BATCH + at;
            let owner = format!("conversation-{}", number / 50);
            let before = (number % 50).checked_sub(1).map(|seq| (seq as u64, 0));
            let time = 1_700_000_000_000 + 30_000 * number as i64;
            let role = 1 + (number % 2) as u8;
            builder.add(&NewDoc {
                owner: &owner,
                seq: number as u64 % 50,
                index: 0,
                role,
                kind: 0,
                time,
                before,
                text,
                names: &[],
            });
        }
        segments.push(builder.finish());
    }
    let built = start.elapsed();
    let merged: Vec<_> = segments
        .chunks(4)
        .map(|four| merge(&four.iter().map(|segment| Picked { segment, keep: &|_, _| true }).collect::<Vec<_>>()))
        .collect();
    let index = Index::of(merged);
    let all = start.elapsed();
    let mut times = Vec::new();
    let before = used();
    for _ in 0..queries {
        let words: Vec<String> = (0..1 + (speaker.next() * 6.0) as usize).map(|_| speaker.word()).collect();
        let start = Instant::now();
        std::hint::black_box(index.find(&Query::parse(&words.join(" ")), &Filter::default(), 10));
        times.push(start.elapsed());
    }
    let used = used().saturating_sub(before) as f64 / 1e6 / queries as f64;
    times.sort_unstable();
    let share = 100.0 * index.bytes() as f64 / bytes as f64;
    println!("BENCH\t{messages} messages, {} MB, indexed in batches\t{} ms\t\t", bytes >> 20, built.as_millis());
    println!("BENCH\tthe same with merging\t{} ms\t10000 ms\t{}", all.as_millis(), verdict(all.as_secs() < 10));
    let p95 = times[queries * 95 / 100];
    println!("BENCH\tquery over them, median\t{:.2} ms\t\t", times[queries / 2].as_secs_f64() * 1e3);
    println!(
        "BENCH\tquery over them, 95th percentile\t{:.2} ms\t20 ms\t{}",
        p95.as_secs_f64() * 1e3,
        verdict(p95.as_millis() < 20)
    );
    println!("BENCH\tquery: of which the thread has the processor, mean\t{used:.2} ms\t\t");
    println!("BENCH\tindex against text\t{share:.1} %\t40 %\t{}", verdict(share < 40.0));
}

/// How long this thread had the processor, in nanoseconds, where the system tells: other programs make every clock slow.
fn used() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

fn verdict(holds: bool) -> &'static str {
    if holds { "ok" } else { "missed" }
}
