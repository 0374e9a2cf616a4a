//! Files in and out: an archive is read slice by slice, so that no more of it than a slice is in memory; an export is
//! put together from blobs of about a megabyte, which the browser may keep on the disk.

use js_sys::{Array, Uint8Array};
use threadkeep::protocol::ErrorReply;
use threadkeep::{Secret, Sharing, Source};
use threadkeep_core::TranscriptId;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, File};

use super::Engine;

/// A file that is read in slices.
#[derive(Debug)]
pub struct Slices {
    file: File,
    name: String,
}

impl Slices {
    /// A file under its path in the folder that was dropped; an empty path stands for the file's own name.
    pub fn new(file: File, path: String) -> Self {
        let name = if path.is_empty() { file.name() } else { path };
        Self { file, name }
    }
}

impl Source for Slices {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.file.size() as u64
    }

    async fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        let (start, end) = (offset as f64, (offset + len as u64) as f64);
        let slice = self.file.slice_with_f64_and_f64(start, end).map_err(words)?;
        let buffer = JsFuture::from(slice.array_buffer()).await.map_err(words)?;
        Ok(Uint8Array::new(&buffer).to_vec())
    }
}

fn words(error: JsValue) -> String {
    let error: &js_sys::Error = error.unchecked_ref();
    let said = String::from(error.message());
    if said.is_empty() { "the browser could not read it".to_owned() } else { said }
}

/// A file of one transcript, or of all.
pub async fn export(
    engine: &Engine,
    transcript: Option<TranscriptId>,
    sharing: Option<Sharing>,
) -> Result<(Blob, Vec<Secret>), ErrorReply> {
    const PIECE: usize = 1 << 20;
    let parts = Array::new();
    let mut piece = String::new();
    let flush = |piece: &mut String| {
        let strings = Array::of1(&JsValue::from_str(piece));
        if let Ok(blob) = Blob::new_with_str_sequence(&strings) {
            parts.push(&blob);
        }
        piece.clear();
    };
    let sink = |text: String| {
        piece.push_str(&text);
        if piece.len() >= PIECE {
            flush(&mut piece);
        }
    };
    let found = match sharing {
        Some(sharing) => engine.export_shared(transcript.as_ref(), &sharing, sink).await,
        None => engine.export(transcript.as_ref(), sink).await.map(|()| Vec::new()),
    };
    let found = found.map_err(|error| error.reply())?;
    flush(&mut piece);
    let kind = BlobPropertyBag::new();
    kind.set_type("application/jsonl");
    let blob = Blob::new_with_blob_sequence_and_options(&parts, &kind).map_err(|error| ErrorReply {
        code: "export".into(),
        message: format!("the file could not be put together: {}", words(error)),
        details: serde_json::Value::Null,
    })?;
    Ok((blob, found))
}
