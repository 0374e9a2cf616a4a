//! Commits, ranges and records as plain JavaScript objects, to an adapter and from a user of the package.
//!
//! What comes from JavaScript is read leniently: the package's TypeScript has checked it. What is missing is empty; what is of
//! another type is left out.

use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::{Commit, Durability, Record, Scan};

/// A commit as `{absent, present, deletes, deleteRanges, puts, durability}`.
pub(super) fn commit(commit: &Commit) -> JsValue {
    let durability = match commit.durability {
        Durability::Strict => "strict",
        Durability::Relaxed => "relaxed",
    };
    let keys = |keys: &[String]| keys.iter().map(|key| JsValue::from_str(key)).collect::<Array>().into();
    let range = |(start, end): &(String, String)| Array::of2(&JsValue::from_str(start), &JsValue::from_str(end));
    object(&[
        ("absent", keys(&commit.absent)),
        ("present", keys(&commit.present)),
        ("deletes", keys(&commit.deletes)),
        ("deleteRanges", commit.delete_ranges.iter().map(range).collect::<Array>().into()),
        ("puts", records(&commit.puts).into()),
        ("durability", JsValue::from_str(durability)),
    ])
}

/// A range as `{start, end, limit?, reverse}`.
pub(super) fn scan(scan: &Scan) -> JsValue {
    let range = object(&[
        ("start", JsValue::from_str(&scan.start)),
        ("end", JsValue::from_str(&scan.end)),
        ("reverse", JsValue::from_bool(scan.reverse)),
    ]);
    if let Some(limit) = scan.limit {
        set(&range, "limit", &JsValue::from_f64(f64::from(u32::try_from(limit).unwrap_or(u32::MAX))));
    }
    range
}

/// Records as a list of `[key, value]`.
pub fn records(records: &[Record]) -> Array {
    let pair = |(key, value): &Record| Array::of2(&JsValue::from_str(key), &Uint8Array::from(value.as_slice()));
    records.iter().map(pair).collect()
}

/// A commit of the form that [`Store::commit`](crate::Store::commit) of an adapter gets.
pub fn commit_from(value: &JsValue) -> Commit {
    let keys = |name| list(value, name).iter().filter_map(|key| key.as_string()).collect();
    let pairs = |name| list(value, name).into_iter().map(|pair| Array::from(&pair));
    let range = |pair: Array| Some((pair.get(0).as_string()?, pair.get(1).as_string()?));
    let put = |pair: Array| Some((pair.get(0).as_string()?, Uint8Array::new(&pair.get(1)).to_vec()));
    let relaxed = get(value, "durability").as_string().as_deref() == Some("relaxed");
    Commit {
        absent: keys("absent"),
        present: keys("present"),
        deletes: keys("deletes"),
        delete_ranges: pairs("deleteRanges").filter_map(range).collect(),
        puts: pairs("puts").filter_map(put).collect(),
        durability: if relaxed { Durability::Relaxed } else { Durability::Strict },
    }
}

/// A range of the form that an adapter gets.
pub fn scan_from(value: &JsValue) -> Scan {
    let text = |name| get(value, name).as_string().unwrap_or_default();
    // Saturates: beyond what a list can hold there is no difference.
    let limit = get(value, "limit").as_f64().map(|limit| limit as usize);
    Scan { start: text("start"), end: text("end"), limit, reverse: get(value, "reverse").is_truthy() }
}

fn list(value: &JsValue, name: &str) -> Array {
    get(value, name).dyn_into().unwrap_or_default()
}

fn get(value: &JsValue, name: &str) -> JsValue {
    Reflect::get(value, &JsValue::from_str(name)).unwrap_or_default()
}

fn object(properties: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new().into();
    for (name, value) in properties {
        set(&object, name, value);
    }
    object
}

fn set(object: &JsValue, name: &str, value: &JsValue) {
    // A plain new object takes every property.
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}
