//! Cells of CSV files that a spreadsheet would take for formulas.

/// What a formula can begin with, for the usual spreadsheet programs.
const STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(STARTS)
}

/// A cell that is text in every spreadsheet: one that begins with `= + - @`, a tab or a carriage return gets
/// an apostrophe before it (and so does one that begins so after apostrophes, so that [`unguarded`] gives
/// every text back as it was).
pub fn guarded(cell: &str) -> String {
    match is_formula(cell) {
        true => format!("'{cell}"),
        false => cell.to_owned(),
    }
}

/// The text that [`guarded`] was given.
pub fn unguarded(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_formula(rest) => rest,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_is_a_formula() {
        for cell in [
            "", "plain", "=1+1", "+4", "-0.5", "@x", "\tx", "\rx", "'=1", "''=1", "'quoted'", "'",
            "a=b", "−5",
        ] {
            let written = guarded(cell);
            assert!(!written.starts_with(STARTS), "{cell:?}");
            assert_eq!(unguarded(&written), cell);
        }
        assert_eq!(guarded("=1+1"), "'=1+1");
        assert_eq!(guarded("plain"), "plain");
    }
}
