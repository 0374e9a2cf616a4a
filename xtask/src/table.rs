//! Plain tables for the terminal: cells in, aligned lines out.

/// Lines with every column as wide as its widest cell. The first column is set to the left, those in `right` to the right.
pub(crate) fn render(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            if column > 0 {
                line.push_str("  ");
            }
            if right.contains(&column) {
                line.push_str(&format!("{cell:>width$}"));
            } else {
                line.push_str(&format!("{cell:<width$}"));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["file".to_owned(), "bytes".to_owned()], vec!["a".to_owned(), "1".to_owned()]];
        assert_eq!(render(&rows, &[1]), "file  bytes\na         1\n");
        assert_eq!(render(&[], &[]), "");
    }
}
