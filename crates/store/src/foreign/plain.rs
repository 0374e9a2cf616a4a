//! Commits, ranges and records as plain JavaScript objects, to an adapter and from a user of the package.
//!
//! What comes from JavaScript is read leniently: the package's TypeScript has checked it. What is missing is empty; what is of
//! another type is left out.

use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::{Commit, Durability, Record, Scan};

// The names of properties are part of the glue's code: a name that is handed over is copied and decoded each time.
#[wasm_bindgen]
extern "C" {
    /// A commit as an adapter gets it.
    type PlainCommit;
    #[wasm_bindgen(method, setter)]
    fn set_absent(this: &PlainCommit, keys: Array);
    #[wasm_bindgen(method, setter)]
    fn set_present(this: &PlainCommit, keys: Array);
    #[wasm_bindgen(method, setter)]
    fn set_deletes(this: &PlainCommit, keys: Array);
    #[wasm_bindgen(method, setter, js_name = deleteRanges)]
    fn set_delete_ranges(this: &PlainCommit, ranges: Array);
    #[wasm_bindgen(method, setter)]
    fn set_puts(this: &PlainCommit, records: Array);
    #[wasm_bindgen(method, setter)]
    fn set_durability(this: &PlainCommit, durability: &str);

    /// A range as an adapter gets it.
    type PlainScan;
    #[wasm_bindgen(method, setter)]
    fn set_start(this: &PlainScan, key: &str);
    #[wasm_bindgen(method, setter)]
    fn set_end(this: &PlainScan, key: &str);
    #[wasm_bindgen(method, setter)]
    fn set_limit(this: &PlainScan, limit: u32);
    #[wasm_bindgen(method, setter)]
    fn set_reverse(this: &PlainScan, reverse: bool);
}

/// A commit as `{absent, present, deletes, deleteRanges, puts, durability}`.
pub(super) fn commit(commit: &Commit) -> JsValue {
    let keys = |keys: &[String]| keys.iter().map(|key| JsValue::from_str(key)).collect::<Array>();
    let range = |(start, end): &(String, String)| Array::of2(&JsValue::from_str(start), &JsValue::from_str(end));
    let plain: PlainCommit = Object::new().unchecked_into();
    plain.set_absent(keys(&commit.absent));
    plain.set_present(keys(&commit.present));
    plain.set_deletes(keys(&commit.deletes));
    plain.set_delete_ranges(commit.delete_ranges.iter().map(range).collect());
    plain.set_puts(records(&commit.puts));
    plain.set_durability(match commit.durability {
        Durability::Strict => "strict",
        Durability::Relaxed => "relaxed",
    });
    plain.into()
}

/// A range as `{start, end, limit?, reverse}`.
pub(super) fn scan(scan: &Scan) -> JsValue {
    let plain: PlainScan = Object::new().unchecked_into();
    plain.set_start(&scan.start);
    plain.set_end(&scan.end);
    plain.set_reverse(scan.reverse);
    if let Some(limit) = scan.limit {
        plain.set_limit(u32::try_from(limit).unwrap_or(u32::MAX));
    }
    plain.into()
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
