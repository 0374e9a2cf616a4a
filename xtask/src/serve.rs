//! A small static server for the built page, on loopback only, with the headers that the page is meant to have. A browser that
//! takes gzip gets the files that the build has compressed. It is for development: no TLS, one page.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use axum::Router;
use axum::http::{HeaderName, HeaderValue};
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::page;
use crate::paths::Paths;

/// What the page may do: run its own scripts and wasm, nothing inline, nothing from elsewhere. Its worker, whose policy is this header
/// alone, may call the models that the reader has connected, wherever they are; the page itself (`index.html`) only its own server.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; manifest-src 'self'; connect-src 'self' https: http:; worker-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// The headers that the page is meant to have, as [`serve`] sends them, and `threadkeep serve` of the npm package.
pub(crate) const HEADERS: [(&str, &str); 5] = [
    ("cache-control", "no-cache"),
    ("vary", "accept-encoding"),
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
];
/// How many ports above the wanted one are tried.
const TRIES: u16 = 50;

/// Builds the page and serves it until the process is ended.
///
/// # Errors
/// The page cannot be built, or no port is free.
pub(crate) fn run(paths: &Paths, port: u16) -> Result<()> {
    let listener = free_port(port)?;
    if let Err(error) = page::build(paths)?.check() {
        eprintln!("warning: {error:#}");
    }
    let found = listener.local_addr()?.port();
    if port != 0 && found != port {
        println!("port {port} is taken, using {found}");
    }
    println!("Threadkeep is at http://127.0.0.1:{found}/ (Ctrl-C ends it)");
    serve(listener, &paths.site())
}

/// Serves a built page beside whatever else this process does, until it ends; returns the page's address.
///
/// # Errors
/// No port is free.
pub(crate) fn in_background(site: &Path) -> Result<String> {
    let listener = free_port(0)?;
    let address = format!("http://{}/", listener.local_addr()?);
    let site = site.to_owned();
    thread::spawn(move || {
        if let Err(error) = serve(listener, &site) {
            eprintln!("the server of the page ended: {error:#}");
        }
    });
    Ok(address)
}

/// The first free port from `wanted` upwards, held open. Port 0 is any that is free.
fn free_port(wanted: u16) -> Result<TcpListener> {
    let last = wanted.saturating_add(TRIES);
    let mut refused = None;
    for port in wanted..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = Some(error),
        }
    }
    Err(anyhow!("no free port from {wanted} to {last}"))
        .with_context(|| refused.map(|it| it.to_string()).unwrap_or_default())
}

fn serve(listener: TcpListener, site: &Path) -> Result<()> {
    let mut app = Router::new().fallback_service(ServeDir::new(site).precompressed_gzip());
    for (name, value) in HEADERS {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
        app = app.layer(SetResponseHeaderLayer::overriding(name, value));
    }
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        axum::serve(tokio::net::TcpListener::from_std(listener)?, app).await?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpStream};
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::folder::TestFolder;

    fn site(name: &str) -> (TestFolder, PathBuf) {
        let folder = TestFolder::new(name);
        let site = folder.0.join("site");
        fs::create_dir_all(site.join("sub")).unwrap();
        fs::write(folder.0.join("secret.txt"), "secret").unwrap();
        fs::write(site.join("index.html"), "<p>page").unwrap();
        fs::write(site.join("a b.wasm"), "wasm").unwrap();
        (folder, site)
    }

    #[test]
    fn the_docs_have_the_headers() {
        let docs = include_str!("../../docs/hosting.md").to_lowercase();
        for (name, value) in HEADERS {
            assert!(docs.contains(&format!("{name}: {}", value.to_lowercase())), "{name}: {value}");
        }
    }

    #[test]
    fn a_taken_port_gives_the_next_free_one() {
        let first = free_port(0).unwrap();
        let wanted = first.local_addr().unwrap().port();
        if wanted > u16::MAX - TRIES {
            return;
        }
        let second = free_port(wanted).unwrap().local_addr().unwrap().port();
        assert!(second > wanted && second <= wanted + TRIES, "{wanted} then {second}");
    }

    fn start(site: PathBuf) -> SocketAddr {
        let listener = free_port(0).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(listener, &site));
        address
    }

    fn ask(address: SocketAddr, method: &str, target: &str) -> String {
        String::from_utf8(answer(address, method, target, "")).unwrap()
    }

    fn answer(address: SocketAddr, method: &str, target: &str, headers: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_browser_that_takes_gzip_gets_compressed_files() {
        let (_folder, site) = site("gzip");
        let script = "// The page.\n".repeat(1000);
        fs::write(site.join("app.js"), &script).unwrap();
        page::compress(&site).unwrap();
        let address = start(site);
        let sent = answer(address, "GET", "/app.js", "Accept-Encoding: gzip, br\r\n");
        let body = sent.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(sent[..body].to_vec()).unwrap();
        for header in ["content-encoding: gzip", "content-type: text/javascript", "vary: accept-encoding"] {
            assert!(head.contains(header), "{header} is missing in {head}");
        }
        assert!(sent.len() - body < script.len() / 10);
        let mut read = String::new();
        flate2::read::GzDecoder::new(&sent[body..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, script);
        assert!(ask(address, "GET", "/app.js").ends_with(&script), "who does not take it gets the file as it is");
    }

    #[test]
    fn only_files_of_the_site_are_found() {
        let (_folder, site) = site("place");
        let address = start(site);
        assert!(ask(address, "GET", "/?thread=1").ends_with("\r\n\r\n<p>page"));
        assert!(ask(address, "GET", "/a%20b.wasm?v=2").ends_with("\r\n\r\nwasm"));
        for target in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/sub/../../secret.txt",
            "//../secret.txt",
            "/%ff",
            "/sub/",
            "/none",
            "/..",
        ] {
            let answer = ask(address, "GET", target);
            assert!(answer.starts_with("HTTP/1.1 4"), "{target}: {answer}");
            assert!(!answer.ends_with("secret"), "{target}: {answer}");
        }
    }

    #[test]
    fn an_answer_has_the_headers_that_the_page_needs() {
        let (_folder, site) = site("answer");
        let address = start(site);
        let answer = ask(address, "GET", "/a%20b.wasm");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        for header in [
            "content-type: application/wasm",
            "cache-control: no-cache",
            "content-security-policy: default-src 'none';",
        ] {
            assert!(answer.contains(header), "{header} is missing in {answer}");
        }
        assert!(ask(address, "GET", "/no").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST", "/").starts_with("HTTP/1.1 405"));
    }

    /// A first import asks for several files at once, over connections that stay open.
    #[test]
    fn connections_that_stay_open_keep_none_waiting() {
        let (_folder, site) = site("kept-open");
        let address = start(site);
        let mut open = Vec::new();
        for _ in 0..20 {
            let mut fresh: Vec<TcpStream> = (0..6).map(|_| TcpStream::connect(address).unwrap()).collect();
            for stream in &mut fresh {
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            }
            for stream in &mut fresh {
                let mut start = [0; 15];
                stream.read_exact(&mut start).unwrap();
                assert_eq!(&start, b"HTTP/1.1 200 OK");
            }
            open.append(&mut fresh);
        }
    }
}
