//! The content type of a file, by its name.

use std::path::Path;

/// The `Content-Type` header for `path`; bytes of unknown kind are `application/octet-stream`.
pub(crate) fn of(path: &Path) -> &'static str {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "jsonl" => "application/jsonl; charset=utf-8",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "zip" => "application/zip",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_is_strict_about() {
        assert_eq!(of(Path::new("app_bg.wasm")), "application/wasm");
        assert_eq!(of(Path::new("a/app.js")), "text/javascript; charset=utf-8");
        assert_eq!(of(Path::new("STYLE.CSS")), "text/css; charset=utf-8");
        assert_eq!(of(Path::new("index.html")), "text/html; charset=utf-8");
        assert_eq!(of(Path::new("LICENSE")), "application/octet-stream");
    }
}
