//! Zips, written here byte by byte so that every field can lie.

use threadkeep_archive::Code;
use threadkeep_archive::zip::{Limits, ZipReader};

use crate::common::{Outcome, fixture, read};

/// A member as it is written; every field may be set to something untrue.
#[derive(Clone)]
struct Member {
    name: Vec<u8>,
    method: u16,
    flags: u16,
    data: Vec<u8>,
    size: u64,
    crc: u32,
    offset: Option<u64>,
    /// What the list of members says of its length in the zip.
    packed: Option<u64>,
}

fn stored(name: &str, data: &[u8]) -> Member {
    Member {
        name: name.into(),
        method: 0,
        flags: 0,
        data: data.to_vec(),
        size: data.len() as u64,
        crc: rawzip::crc32(data),
        offset: None,
        packed: None,
    }
}

fn deflated(name: &str, data: &[u8]) -> Member {
    let packed = miniz_oxide::deflate::compress_to_vec(data, 6);
    Member { method: 8, data: packed, ..stored(name, data) }
}

fn zip(members: &[Member], zip64: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let offset = member.offset.unwrap_or(out.len() as u64);
        let small = |n: u64| if zip64 { u32::MAX } else { n as u32 };
        out.extend(b"PK\x03\x04\x2d\0");
        out.extend([member.flags.to_le_bytes(), member.method.to_le_bytes(), [0; 2], [0; 2]].concat());
        out.extend([member.crc, member.data.len() as u32, member.size as u32].map(u32::to_le_bytes).concat());
        out.extend([(member.name.len() as u16).to_le_bytes(), [0; 2]].concat());
        out.extend(&member.name);
        out.extend(&member.data);
        let extra = [
            1u16.to_le_bytes().to_vec(),
            24u16.to_le_bytes().to_vec(),
            member.size.to_le_bytes().to_vec(),
            member.packed.unwrap_or(member.data.len() as u64).to_le_bytes().to_vec(),
            offset.to_le_bytes().to_vec(),
        ]
        .concat();
        let extra = if zip64 { extra } else { Vec::new() };
        directory.extend(b"PK\x01\x02\x2d\0\x2d\0");
        directory.extend([member.flags.to_le_bytes(), member.method.to_le_bytes(), [0; 2], [0; 2]].concat());
        directory
            .extend([member.crc, small(member.data.len() as u64), small(member.size)].map(u32::to_le_bytes).concat());
        directory.extend([member.name.len() as u16, extra.len() as u16, 0, 0, 0].map(u16::to_le_bytes).concat());
        directory.extend([0, small(offset)].map(u32::to_le_bytes).concat());
        directory.extend(&member.name);
        directory.extend(extra);
    }
    let (at, size, count) = (out.len() as u64, directory.len() as u64, members.len() as u64);
    out.extend(directory);
    if zip64 {
        let end = out.len() as u64;
        out.extend(b"PK\x06\x06");
        out.extend(44u64.to_le_bytes());
        out.extend(b"\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
        out.extend([count, count, size, at].map(u64::to_le_bytes).concat());
        out.extend(b"PK\x06\x07\0\0\0\0");
        out.extend(end.to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = if zip64 { u16::MAX } else { count as u16 };
    out.extend([count, count].map(u16::to_le_bytes).concat());
    let small = |n: u64| if zip64 { u32::MAX } else { n as u32 };
    out.extend([small(size), small(at)].map(u32::to_le_bytes).concat());
    out.extend([0; 2]);
    out
}

fn read_within(bytes: &[u8], limits: Limits) -> Outcome {
    let mut outcome = Outcome::default();
    let mut reader = ZipReader::new("z.zip", bytes.len() as u64, None).limits(limits);
    while let Some(range) = reader.wants() {
        reader.supply(&bytes[range.start as usize..range.end as usize], &mut |item| outcome.take(item));
        assert!(reader.progress().0 <= reader.progress().1);
    }
    outcome
}

#[test]
fn members_come_in_as_files_do() {
    let chats = fixture("chatgpt.json");
    let members = [
        stored("file-1.dat", b"\x89PNG..."),
        deflated("user.json", br#"{"id":"u","email":"a@example.org","chatgpt_plus_user":false}"#),
        deflated("conversations-001.json", &fixture("claude-ai.json")),
        deflated("conversations-000.json", &chats),
        stored("chat.html", b"<html>"),
        stored("nested.zip", &zip(&[stored("x", b"y")], false)),
        stored("deeper/", b""),
    ];
    let direct = read("conversations-000.json", &chats);
    for zip64 in [false, true] {
        let outcome = read("export.zip", &zip(&members, zip64));
        assert_eq!(outcome.conversations.len(), 4, "{}", outcome.remarks());
        assert_eq!(outcome.conversations[..2], direct.conversations, "in the order of the numbers in their names");
        assert!(
            outcome
                .skipped
                .iter()
                .any(|skip| skip.place == "export.zip/conversations-000.json, conversation 2 \"Lost one\"")
        );
        assert!(
            outcome
                .skipped
                .iter()
                .any(|skip| skip.place == "export.zip/nested.zip" && skip.reason.contains("not opened"))
        );
        assert!(
            outcome.skipped.iter().any(|skip| skip.place == "export.zip" && skip.reason.ends_with(": 2")),
            "{}",
            outcome.remarks()
        );
    }
    assert_eq!(
        read("export.zip", &zip(&[stored("conversations.json", &chats)], false)).conversations,
        direct.conversations
    );
}

#[test]
fn a_zip_of_an_agents_memory_is_its_folder() {
    let names = ["raw_traces.jsonl", "raw_traces_archive.jsonl", "episodic.jsonl", "semantic.jsonl"];
    let member = |name: &&str| deflated(&format!("agents/mate/{name}"), &fixture(&format!("memory/{name}")));
    let members: Vec<Member> = names.iter().map(member).collect();
    let mut outcome = read("memory.zip", &zip(&members, false));
    let parts = std::mem::take(&mut outcome.parts);
    assert_eq!((parts.len(), outcome.remarks().as_str()), (4, ""));
    threadkeep_archive::assemble(parts, &mut |item| outcome.take(item));
    let mate = outcome.only();
    assert_eq!((mate.nodes().len(), mate.checkpoints().count(), outcome.memories.len()), (10, 1, 2));
}

#[test]
fn large_members_come_in_pieces() {
    let text = format!(
        "[{}]",
        (0..2000)
            .map(|n| format!(
                r#"{{"id":"{n}","messages":[{{"role":"user","content":"{}"}}]}}"#,
                "words ".repeat(n % 97)
            ))
            .collect::<Vec<_>>()
            .join(",")
    );
    for member in [deflated("c.json", text.as_bytes()), stored("c.json", text.as_bytes())] {
        assert_eq!(read("z.zip", &zip(&[member], false)).conversations.len(), 2000);
    }
}

#[test]
fn a_manifest_in_the_zip_is_held_against_its_members() {
    let manifest = br#"{"version":2,"logical_files":{"conversations.json":{"files":["conversations-000.json","conversations-404.json"]}}}"#;
    let members =
        [deflated("e/conversations-000.json", &fixture("chatgpt.json")), deflated("e/export_manifest.json", manifest)];
    let outcome = read("z.zip", &zip(&members, false));
    let missing: Vec<&str> =
        outcome.skipped.iter().filter(|s| s.code == Code::MissingFile).map(|s| s.place.as_str()).collect();
    assert_eq!(missing, ["z.zip/e/export_manifest.json, conversations-404.json"]);
}

#[track_caller]
fn refused(member: Member, code: Code) {
    let good = deflated("good.json", &fixture("openai-messages.jsonl"));
    let outcome = read("z.zip", &zip(&[member, good], false));
    assert_eq!(outcome.codes().0, [code], "{}", outcome.remarks());
    assert_eq!(outcome.conversations.len(), 3, "the other member comes in: {}", outcome.remarks());
}

#[test]
fn what_is_wrong_with_one_member_costs_only_that() {
    let chat = br#"{"messages":[{"role":"user","content":"hi"}]}"#;
    refused(Member { flags: 1, ..deflated("a.json", chat) }, Code::Encrypted);
    refused(Member { method: 93, ..stored("a.json", chat) }, Code::Compression);
    refused(Member { method: 99, ..stored("a.json", chat) }, Code::Encrypted);
    refused(Member { offset: Some(1 << 31), ..stored("a.json", chat) }, Code::Truncated);
    refused(Member { offset: Some(7), ..stored("a.json", chat) }, Code::BadZip);
    refused(Member { data: b"\xff\xff\xff\xff".to_vec(), ..deflated("a.txt.json", b"xxxx") }, Code::BadZip);
}

#[test]
fn checksums_and_sizes_are_checked() {
    let chat = br#"{"messages":[{"role":"user","content":"hi"}]}"#;
    for member in [Member { crc: 5, ..deflated("a.json", chat) }, Member { crc: 5, ..stored("a.json", chat) }] {
        let outcome = read("z.zip", &zip(&[member], false));
        assert_eq!(outcome.codes().0, [Code::Checksum], "{}", outcome.remarks());
    }
    let longer = Member { size: 10, ..deflated("a.json", chat) };
    assert_eq!(read("z.zip", &zip(&[longer], false)).codes().0, [Code::ZipBomb]);
    let shorter = Member { size: 1000, ..deflated("a.json", chat) };
    assert_eq!(read("z.zip", &zip(&[shorter], false)).codes().0, [Code::Checksum]);
    let mut cut = deflated("a.json", &fixture("chatgpt.json"));
    cut.data.truncate(cut.data.len() / 2);
    let outcome = read("z.zip", &zip(&[cut], false));
    assert_eq!(outcome.codes().0.last(), Some(&Code::Truncated), "{}", outcome.remarks());
}

#[test]
fn bombs_are_stopped() {
    let bomb = deflated("bomb.json", &[b"[", " ".repeat(20 << 20).as_bytes(), b"]"].concat());
    assert!(bomb.data.len() < 100_000);
    let outcome = read("z.zip", &zip(&[bomb.clone(), deflated("good.json", &fixture("openai-messages.jsonl"))], false));
    assert!(outcome.codes().0.contains(&Code::ZipBomb), "{}", outcome.remarks());
    assert_eq!(outcome.conversations.len(), 3);
    let shared = [bomb.clone(), Member { name: b"b.json".to_vec(), offset: Some(0), ..bomb }];
    assert_eq!(read("z.zip", &zip(&shared, false)).codes().0[..2], [Code::ZipBomb; 2]);
    let chats = fixture("chatgpt.json");
    let many: Vec<Member> = (0..5).map(|n| deflated(&format!("{n}.json"), &chats)).collect();
    let limits = Limits { total: chats.len() as u64 * 2 + 10, ..Limits::default() };
    let outcome = read_within(&zip(&many, false), limits);
    assert_eq!(outcome.skipped.iter().filter(|skip| skip.code == Code::ZipBomb).count(), 3, "{}", outcome.remarks());
    let outcome = read_within(&zip(&many, false), Limits { members: 4, ..Limits::default() });
    assert_eq!(outcome.codes().0, [Code::TooLarge], "{}", outcome.remarks());
}

#[test]
fn sizes_of_members_that_add_up_beyond_64_bits_are_only_numbers() {
    let aside = |name: &str| Member { packed: Some(u64::MAX), ..stored(name, b"x") };
    let members =
        [aside("a.png"), aside("b.png"), aside("c.json"), stored("good.json", &fixture("openai-messages.jsonl"))];
    let outcome = read("z.zip", &zip(&members, true));
    assert_eq!(outcome.conversations.len(), 3, "{}", outcome.remarks());
    let far = Member { offset: Some(u64::MAX - 3), ..stored("far.json", b"{}") };
    assert_eq!(read("z.zip", &zip(&[far], true)).codes().0[..1], [Code::Truncated]);
}

#[test]
fn names_are_only_names() {
    let chat = br#"{"id":"c","messages":[{"role":"user","content":"hi"}]}"#;
    for name in ["../../etc/passwd.json", "/absolute.json", "C:\\x.json", "a\0b.json", "\u{202e}x.json"] {
        assert_eq!(read("z.zip", &zip(&[stored(name, chat)], false)).conversations.len(), 1, "{name:?}");
    }
    let odd = Member { name: b"\xff\xfe.json".to_vec(), ..stored("", chat) };
    assert_eq!(read("z.zip", &zip(&[odd], false)).conversations.len(), 1);
    let twice = read("z.zip", &zip(&[stored("a.json", chat), deflated("a.json", chat)], false));
    assert_eq!((twice.conversations.len(), twice.codes().1), (2, vec![Code::DuplicateId]));
}

#[test]
fn a_damaged_zip_is_one_remark() {
    let whole = zip(
        &[
            deflated("conversations.json", &fixture("chatgpt.json")),
            deflated("b.json", &fixture("openai-messages.jsonl")),
        ],
        false,
    );
    for cut in (4..whole.len()).step_by(7) {
        let outcome = read("z.zip", &whole[..cut]);
        assert_eq!(outcome.codes().0, [Code::BadZip], "cut at {cut}: {}", outcome.remarks());
    }
    assert_eq!(read("z.zip", &zip(&[], false)).codes().0, [Code::Empty]);
    // A file that is shorter than it said.
    let mut outcome = Outcome::default();
    let mut reader = ZipReader::new("z.zip", whole.len() as u64 + 100_000, None);
    while reader.wants().is_some() {
        reader.supply(&whole[whole.len() - 30..], &mut |item| outcome.take(item));
    }
    assert_eq!(outcome.codes().0, [Code::Truncated]);
}

#[test]
fn any_flipped_byte_ends_well() {
    let whole = zip(
        &[deflated("c.json", &fixture("claude-ai.json")), stored("b.json", &fixture("openai-messages.jsonl"))],
        true,
    );
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let outcome = read("z.zip", &bytes);
        assert!(!outcome.conversations.is_empty() || !outcome.skipped.is_empty(), "byte {at}");
    }
}
