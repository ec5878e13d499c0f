//! What somebody probably meant who wrote a name that does not exist.

use crate::domain::text::short;

/// From this likeness on, 0 to 1, a name is offered in the place of another.
const LIKE: f64 = 0.5;

/// From this Jaro-Winkler likeness on a name that begins alike counts (`temp` for `temperature`).
const BEGINS_ALIKE: f64 = 0.85;

/// The most valid names that a message lists.
const LISTED: usize = 32;

/// The candidate most like `name`, if any is like it at all; the first of several that are equally like it.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: String = name.chars().take(80).flat_map(char::to_lowercase).collect();
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = likeness(&wanted, &candidate.to_lowercase());
        if likeness >= LIKE && best.is_none_or(|(found, _)| likeness > found) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Swapped letters count as one mistake.
fn likeness(a: &str, b: &str) -> f64 {
    let beginning = strsim::jaro_winkler(a, b);
    let letters = strsim::normalized_damerau_levenshtein(a, b);
    match beginning >= BEGINS_ALIKE {
        true => letters.max(beginning),
        false => letters,
    }
}

/// The way out of a wrong name: the nearest valid one, else all of them (where they are not too many).
pub fn hint(name: &str, valid: &[&str]) -> String {
    match nearest(name, valid.iter().copied()) {
        Some(best) => format!("did you mean \"{}\"?", short(best)),
        None if valid.is_empty() => "there is none".to_owned(),
        None => {
            let more = if valid.len() > LISTED { ", …" } else { "" };
            let listed: Vec<String> = valid.iter().take(LISTED).map(|name| short(name)).collect();
            format!("there are {}{more}", listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found() {
        let valid = ["theme", "temperature", "retrieval", "keys", "ask", "stop"];
        for (wrong, meant) in [
            ("teme", "theme"),
            ("Theme", "theme"),
            ("temp", "temperature"),
            ("retreival", "retrieval"),
            ("key", "keys"),
            ("aks", "ask"),
        ] {
            assert_eq!(nearest(wrong, valid), Some(meant), "{wrong}");
        }
        assert_eq!(nearest("zzzzzz", valid), None);
        assert_eq!(nearest("", valid), None);
    }

    #[test]
    fn without_one_the_valid_names_are_listed() {
        assert_eq!(hint("drak", &["dark", "light"]), "did you mean \"dark\"?");
        assert_eq!(hint("qqqqqq", &["dark", "light"]), "there are dark, light");
        assert_eq!(hint("x", &[]), "there is none");
        let many = ["a"; 40];
        assert!(hint("zzz", &many).ends_with("a, …"));
    }
}
