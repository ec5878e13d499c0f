//! The time as it is stored.

/// The time in UTC, RFC 3339, to the millisecond.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Millisecond)
        .unwrap_or(now)
        .to_string()
}

/// Refuses what is no time as [`now`] gives it; nothing at all is allowed.
///
/// # Errors
/// Half a sentence, to follow the name of the field.
pub fn check_time(text: &str) -> Result<(), String> {
    match text.is_empty() || text.parse::<jiff::Timestamp>().is_ok() {
        true => Ok(()),
        false => Err(format!(
            "is \"{}\"; a time such as 2026-11-30T10:00:00Z is expected",
            crate::domain::text::short(text)
        )),
    }
}
