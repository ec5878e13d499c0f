//! The time as it is stored.

/// The time in UTC, RFC 3339, to the millisecond.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Millisecond)
        .unwrap_or(now)
        .to_string()
}

/// Whether a text is a time as [`now`] gives it (RFC 3339), to any precision and in any zone.
pub fn is_time(text: &str) -> bool {
    text.parse::<jiff::Timestamp>().is_ok()
}
