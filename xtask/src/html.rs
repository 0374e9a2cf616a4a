//! `index.html` carries links for those who build with Trunk; our own build takes them out. Text in, text out.

/// `page` without its `<link data-trunk …>` elements and the blank lines they would leave.
pub(crate) fn without_trunk_links(page: &str) -> String {
    let mut kept = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(start) = rest.find("<link") {
        let Some(length) = rest[start..].find('>') else { break };
        let end = start + length + 1;
        if !is_trunk_link(&rest[start..end]) {
            kept.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        kept.push_str(&rest[..start]);
        rest = &rest[end..];
        // The element had a line of its own: the line goes with it.
        let line = kept.rfind('\n').map_or(0, |at| at + 1);
        if kept[line..].trim().is_empty()
            && let Some(after) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))
        {
            kept.truncate(line);
            rest = after;
        }
    }
    kept.push_str(rest);
    kept
}

fn is_trunk_link(element: &str) -> bool {
    element.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>' | '=')).any(|word| word == "data-trunk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trunk_links_go() {
        let page = "<head>\n  <link rel=\"stylesheet\" href=\"./a.css\">\n  <link data-trunk rel=\"rust\" data-bin=\"app\">\n  <link\n    rel=\"copy-dir\" data-trunk href=\"web/public\" />\n</head>\n";
        assert_eq!(without_trunk_links(page), "<head>\n  <link rel=\"stylesheet\" href=\"./a.css\">\n</head>\n");
    }

    #[test]
    fn a_link_amid_a_line_leaves_the_line() {
        assert_eq!(without_trunk_links("a<link data-trunk>b\n"), "ab\n");
        assert_eq!(without_trunk_links("a <link data-trunk"), "a <link data-trunk");
        assert_eq!(without_trunk_links("<link title=\"data-trunks\">"), "<link title=\"data-trunks\">");
    }
}
