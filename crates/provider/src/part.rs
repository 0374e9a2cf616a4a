//! What a message says, piece by piece, in one form for all providers: text, images in any of the shapes that are about, parts
//! that only one provider understands, and everything else.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Provider;
use super::json::field;
use threadkeep_core::{Content, Message, Part};

/// One piece of a content.
#[derive(Debug, Clone)]
pub(super) enum Piece<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// An image.
    Image(Image<'a>),
    /// A part in the provider's own shape, which it takes as it is.
    Own(&'a Map<String, Value>),
    /// Anything else, as the words that stand for it.
    Other(String),
}

/// Where an image is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Image<'a> {
    /// In the message, as base64.
    Inline {
        /// `image/png` and so on.
        mime: &'a str,
        /// The bytes in base64.
        data: &'a str,
    },
    /// Elsewhere.
    Url {
        /// The address.
        url: &'a str,
        /// Its type, where the part says so.
        mime: Option<&'a str>,
    },
}

impl<'a> Image<'a> {
    /// Reads `data:` URLs in base64 and other addresses.
    fn at(url: &'a str) -> Option<Self> {
        match url.strip_prefix("data:") {
            Some(rest) => {
                let (head, data) = rest.split_once(',')?;
                let (mime, _) =
                    head.strip_suffix(";base64")?.split_once(';').unwrap_or((head.strip_suffix(";base64")?, ""));
                Some(Self::Inline { mime, data })
            }
            None if url.starts_with("https://") || url.starts_with("http://") || url.starts_with("gs://") => {
                Some(Self::Url { url, mime: None })
            }
            None => None,
        }
    }

    /// The type: as given, or by the address's ending.
    pub fn mime(&self) -> Option<&'a str> {
        match *self {
            Self::Inline { mime, .. } | Self::Url { mime: Some(mime), .. } => Some(mime),
            Self::Url { url, mime: None } => {
                let path = url.split(['?', '#']).next().unwrap_or_default();
                let ending = path.rsplit('.').next().unwrap_or_default();
                let known: [(&str, &str); 7] = [
                    ("png", "image/png"),
                    ("jpg", "image/jpeg"),
                    ("jpeg", "image/jpeg"),
                    ("webp", "image/webp"),
                    ("gif", "image/gif"),
                    ("heic", "image/heic"),
                    ("heif", "image/heif"),
                ];
                known.iter().find(|(end, _)| ending.eq_ignore_ascii_case(end)).map(|(_, mime)| *mime)
            }
        }
    }

    /// Whether the provider takes it.
    pub fn fits(&self, provider: Provider) -> bool {
        let kinds: &[&str] = match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses | Provider::Anthropic => {
                &["image/png", "image/jpeg", "image/gif", "image/webp"]
            }
            Provider::Gemini => &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
            Provider::Ollama => &["image/png", "image/jpeg", "image/webp"],
        };
        match self {
            Self::Inline { mime, data } => kinds.contains(mime) && is_base64(data),
            Self::Url { url, .. } => match provider {
                Provider::Ollama => false,
                // It wants the type beside the address.
                Provider::Gemini => !url.is_empty() && self.mime().is_some_and(|mime| kinds.contains(&mime)),
                _ => url.starts_with("https://") || url.starts_with("http://"),
            },
        }
    }

    /// What stands for it where it cannot be sent.
    pub fn words(&self) -> String {
        match self {
            Self::Inline { mime, .. } => words("image", mime),
            Self::Url { url, .. } => words("image", url),
        }
    }

    /// It as a `data:` URL or an address.
    pub fn url(&self) -> Cow<'a, str> {
        match *self {
            Self::Inline { mime, data } => Cow::Owned(["data:", mime, ";base64,", data].concat()),
            Self::Url { url, .. } => Cow::Borrowed(url),
        }
    }
}

/// Whether `data` is base64, padded or not. Providers refuse a request with anything else in it.
fn is_base64(data: &str) -> bool {
    let bare = data.trim_end_matches('=');
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !bare.is_empty() && data.len() - bare.len() <= 2 && bare.len() % 4 != 1 && bare.bytes().all(letter)
}

/// `[kind: name]`, or `[kind]`.
fn words(kind: &str, name: &str) -> String {
    let name: String = name.chars().take(200).filter(|char| !char.is_control()).collect();
    if name.is_empty() { ["[", kind, "]"].concat() } else { ["[", kind, ": ", &name, "]"].concat() }
}

/// Reads an image in the shapes of OpenAI Chat (`image_url`), Responses (`input_image`), Anthropic (`image` with a source),
/// Gemini (`inlineData`, `fileData`), MCP (`image` with `data` and `mimeType`) and the AI SDK (`image` with `image`).
pub(super) fn image(part: &Map<String, Value>) -> Option<Image<'_>> {
    let kind = field(part, "type").unwrap_or_default();
    match kind {
        "image_url" | "input_image" => {
            let url = part.get("image_url")?;
            Image::at(url.as_str().or_else(|| url.get("url")?.as_str())?)
        }
        "image" => {
            if let Some(source) = part.get("source").and_then(Value::as_object) {
                return match field(source, "type")? {
                    "base64" => {
                        Some(Image::Inline { mime: field(source, "media_type")?, data: field(source, "data")? })
                    }
                    "url" => Image::at(field(source, "url")?),
                    _ => None,
                };
            }
            let mime = ["mimeType", "mediaType", "media_type"].iter().find_map(|name| field(part, name));
            match (field(part, "data").or_else(|| field(part, "image"))?, mime) {
                (data, Some(mime)) if !data.contains(':') => Some(Image::Inline { mime, data }),
                (url, _) => Image::at(url),
            }
        }
        "" => {
            if let Some(inline) = part.get("inlineData").and_then(Value::as_object) {
                let mime = field(inline, "mimeType").filter(|mime| mime.starts_with("image/"))?;
                return Some(Image::Inline { mime, data: field(inline, "data")? });
            }
            let file = part.get("fileData")?.as_object()?;
            let mime = field(file, "mimeType").filter(|mime| mime.starts_with("image/"))?;
            Some(Image::Url { url: field(file, "fileUri")?, mime: Some(mime) })
        }
        _ => None,
    }
}

/// The pieces of a content for a provider.
pub(super) fn pieces<'a>(message: &'a Message, provider: Provider) -> Vec<Piece<'a>> {
    match &message.content {
        Content::Absent | Content::Null => {
            // OpenAI keeps a refusal beside the content.
            let refusal = message.extra.get("refusal").and_then(Value::as_str);
            refusal.into_iter().map(|text| Piece::Text(Cow::Borrowed(text))).collect()
        }
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![Piece::Text(Cow::Borrowed(text))],
        Content::Parts(parts) => parts.iter().filter_map(|part| piece(part, provider)).collect(),
    }
}

/// Parts that a provider takes in just this shape, beside text and images.
fn own(part: &Map<String, Value>, provider: Provider) -> bool {
    let kind = field(part, "type").unwrap_or_default();
    match provider {
        Provider::OpenAiChat => matches!(kind, "input_audio" | "file") && part.get(kind).is_some_and(Value::is_object),
        Provider::OpenAiResponses => kind == "input_file",
        Provider::Anthropic => kind == "document" && part.get("source").is_some_and(Value::is_object),
        Provider::Gemini => {
            let inner = |name: &str| part.get(name).and_then(Value::as_object).filter(|_| part.len() == 1);
            let filled = |map, name| field(map, name).is_some_and(|text| !text.is_empty());
            let data = |map| filled(map, "mimeType") && field(map, "data").is_some_and(is_base64);
            inner("inlineData").is_some_and(data) || inner("fileData").is_some_and(|map| filled(map, "fileUri"))
        }
        Provider::Ollama => false,
    }
}

fn piece(part: &Part, provider: Provider) -> Option<Piece<'_>> {
    let map = &part.0;
    if let Some(image) = image(map) {
        return Some(Piece::Image(image));
    }
    if own(map, provider) {
        return Some(Piece::Own(map));
    }
    if let Some(text) = part.as_text().or_else(|| field(map, "refusal")) {
        return if text.is_empty() { None } else { Some(Piece::Text(Cow::Borrowed(text))) };
    }
    let names = ["name", "file_name", "filename", "title", "url", "file_id"];
    let inner = ["attachment", "file", "source"].iter().filter_map(|name| map.get(*name)?.as_object());
    let name = std::iter::once(map).chain(inner).find_map(|map| names.iter().find_map(|name| field(map, name)));
    let kind = if part.kind().is_empty() { "part" } else { part.kind() };
    // A `data:` URL is no name.
    let name = name.filter(|name| !name.starts_with("data:")).unwrap_or_default();
    Some(Piece::Other(words(kind, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Option<(String, String)> {
        let Value::Object(map) = value else { return None };
        image(&map).map(|image| (image.url().into_owned(), image.words()))
    }

    #[test]
    fn images_in_every_shape() {
        let inline = Some(("data:image/png;base64,QUJD".to_owned(), "[image: image/png]".to_owned()));
        let url = "data:image/png;base64,QUJD";
        assert_eq!(read(json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}})), inline);
        assert_eq!(read(json!({"type": "image_url", "image_url": url})), inline);
        assert_eq!(read(json!({"type": "input_image", "image_url": url, "detail": "auto"})), inline);
        let source = json!({"type": "base64", "media_type": "image/png", "data": "QUJD"});
        assert_eq!(read(json!({"type": "image", "source": source})), inline);
        assert_eq!(read(json!({"inlineData": {"mimeType": "image/png", "data": "QUJD"}})), inline);
        assert_eq!(read(json!({"type": "image", "mimeType": "image/png", "data": "QUJD"})), inline);
        assert_eq!(read(json!({"type": "image", "image": url})), inline);
        let there = Some(("https://x.example/a.png".to_owned(), "[image: https://x.example/a.png]".to_owned()));
        assert_eq!(read(json!({"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}})), there);
        assert_eq!(read(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})), None);
        assert_eq!(read(json!({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}})), None);
    }

    #[test]
    fn base64_is_checked() {
        assert!(is_base64("QUJD") && is_base64("QQ==") && is_base64("QQ"));
        assert!(!is_base64("") && !is_base64("=") && !is_base64("QUJ D") && !is_base64("Q") && !is_base64("a-b_"));
    }
}
