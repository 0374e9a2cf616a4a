//! Addresses of servers: just as much of a URL as connections need.

/// An http or https address, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address<'a> {
    pub secure: bool,
    /// The host, with its port.
    pub authority: &'a str,
    /// From the first `/` on, without one at its end; may be empty.
    pub path: &'a str,
    /// Behind the `?`, may be empty.
    pub query: &'a str,
}

impl<'a> Address<'a> {
    /// Takes an address apart; `None` for anything that is no plain http or https address: a user or password in it, white space,
    /// a fragment.
    pub fn read(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let secure = match scheme {
            scheme if scheme.eq_ignore_ascii_case("https") => true,
            scheme if scheme.eq_ignore_ascii_case("http") => false,
            _ => return None,
        };
        if rest.bytes().any(|byte| byte <= b' ' || byte == 0x7f || byte == b'#' || byte == b'\\') {
            return None;
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let fine = !authority.is_empty() && !authority.contains('@');
        fine.then_some(Self { secure, authority, path: path.trim_end_matches('/'), query })
    }

    /// `https://host:port`.
    pub fn origin(&self) -> String {
        [if self.secure { "https://" } else { "http://" }, self.authority].concat()
    }

    /// The host without its port.
    pub fn host(&self) -> &'a str {
        if self.authority.starts_with('[') {
            return self.authority.split_inclusive(']').next().unwrap_or_default();
        }
        self.authority.split(':').next().unwrap_or_default()
    }

    /// The port, where one is given.
    pub fn port(&self) -> Option<&'a str> {
        self.authority.get(self.host().len()..)?.strip_prefix(':')
    }

    /// Whether it is this machine, which browsers trust without https.
    pub fn is_local(&self) -> bool {
        let host = self.host();
        host.eq_ignore_ascii_case("localhost")
            || host.ends_with(".localhost")
            || host == "[::1]"
            || (host.starts_with("127.") && host.split('.').count() == 4)
    }

    /// Whether the host is `domain` or lies under it.
    pub fn is_under(&self, domain: &str) -> bool {
        self.host().strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_are_taken_apart() {
        let address = Address::read("http://[::1]:8080/v1/?a=b").unwrap();
        assert_eq!(
            (address.host(), address.port(), address.path, address.query),
            ("[::1]", Some("8080"), "/v1", "a=b")
        );
        assert!(address.is_local() && !address.secure);
        let address = Address::read("HTTPS://api.openai.com").unwrap();
        assert_eq!((address.origin().as_str(), address.port(), address.path), ("https://api.openai.com", None, ""));
        assert!(address.is_under("openai.com") && !address.is_under("ai.com") && !address.is_local());
        assert!(Address::read("http://127.0.0.1:1").unwrap().is_local());
        assert!(!Address::read("http://127.evil.example").unwrap().is_local());
        for bad in
            ["", "localhost:1", "ftp://a", "http://", "http://a b", "http://u:p@a/", "http://a/#x", "javascript:1"]
        {
            assert_eq!(Address::read(bad), None, "{bad}");
        }
    }
}
