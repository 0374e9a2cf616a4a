//! A small static server for the built page, on loopback only, with the headers that the page is meant to have.
//! It is for development: no compression, no TLS, one page.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::mime;
use crate::page;
use crate::paths::Paths;

/// What the page may do: run its own scripts and wasm, and talk to its own origin. Nothing inline, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; manifest-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// How many ports above the wanted one are tried.
const TRIES: u16 = 50;
/// Requests answered at a time.
const THREADS: usize = 4;

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
    let server = Server::from_listener(listener, None).map_err(|error| anyhow!("cannot listen: {error}"))?;
    let server = Arc::new(server);
    let workers: Vec<_> = (0..THREADS)
        .map(|_| {
            let (server, site) = (Arc::clone(&server), site.to_owned());
            thread::spawn(move || {
                for request in server.incoming_requests() {
                    // A browser that goes away amid an answer is its own business.
                    answer(request, &site).ok();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().map_err(|_| anyhow!("the server's thread panicked"))?;
    }
    Ok(())
}

fn answer(request: Request, site: &Path) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::from_string("only GET and HEAD").with_status_code(405));
    }
    let opened = place(site, request.url()).and_then(|path| File::open(&path).ok().map(|file| (path, file)));
    let Some((path, file)) = opened else {
        return request.respond(Response::from_string("not found").with_status_code(404));
    };
    let mut response = Response::from_file(file);
    let headers = [
        ("Content-Type", mime::of(&path)),
        ("Cache-Control", "no-cache"),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
    ];
    for (name, value) in headers {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    request.respond(response)
}

/// The file that a request's target names. `None` when it is none of ours.
fn place(site: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?;
    let name = decoded(path)?;
    let name = Path::new(name.trim_start_matches('/'));
    if !name.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let mut file = site.join(name);
    if file.is_dir() {
        file.push("index.html");
    }
    file.is_file().then_some(file)
}

/// `text` with its percent signs resolved. `None` when that gives no UTF-8, or a byte that no file name of ours has.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(['\0', '\\', ':'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

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
    fn only_files_of_the_site_are_found() {
        let (_folder, site) = site("place");
        assert_eq!(place(&site, "/"), Some(site.join("index.html")));
        assert_eq!(place(&site, "/?thread=1#x"), Some(site.join("index.html")));
        assert_eq!(place(&site, "/a%20b.wasm?v=2"), Some(site.join("a b.wasm")));
        for target in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/sub/../../secret.txt",
            "//../secret.txt",
            "/%zz",
            "/%ff",
            "/sub",
            "/none",
            "/..",
        ] {
            assert_eq!(place(&site, target), None, "{target}");
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

    #[test]
    fn an_answer_has_the_headers_that_the_page_needs() {
        let (_folder, site) = site("answer");
        let listener = free_port(0).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(listener, &site));
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let answer = ask("GET /a%20b.wasm HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        for header in [
            "Content-Type: application/wasm",
            "Cache-Control: no-cache",
            "Content-Security-Policy: default-src 'none';",
        ] {
            assert!(answer.contains(header), "{header} is missing in {answer}");
        }
        assert!(answer.ends_with("\r\n\r\nwasm"), "{answer}");
        assert!(ask("GET /no HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(
            ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                .starts_with("HTTP/1.1 405")
        );
    }
}
