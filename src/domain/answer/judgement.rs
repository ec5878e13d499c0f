//! Reading a judge model's reply: one score of 0, 0.5 or 1, or nothing.

use serde_json::{Map, Value};

use super::fields::{find, key_form};
use super::reader::Found;
use super::scan::Scan;

/// Marks around a word or a number that mean nothing.
const DECORATION: [char; 5] = ['*', '"', '`', ' ', '_'];
/// Longest text that is taken for a value.
const MAX_VALUE: usize = 40;

/// The score in a judge's reply: 0, 0.5 or 1, or `None` where none of them can be read. Never guesses.
///
/// `<think>` blocks are not searched. The last object with a score counts; it may be fenced, repaired, or
/// have text around it. Scores may be numbers, texts ("0.5", "1/2", "50 %") or the words of the scale
/// ("complete", "partial", "wrong"). Without an object the whole reply must be a score, or all its
/// statements of the form "score: X" must say the same. Any other number is no score, also 0.7 or 3.
pub fn read_judgement(raw: &str) -> Option<f64> {
    let scan = Scan::with(raw, has_score_key);
    if let Some(found) = scan.objects.last() {
        return score_of(found);
    }
    let prose = scan.prose.text.trim();
    // An object without a score: what it says elsewhere is no statement of one.
    let has_object = prose.contains('{');
    score_text(prose).or_else(|| (!has_object).then(|| stated(prose))?)
}

fn is_score_key(form: &str) -> bool {
    matches!(
        form,
        "score" | "judgescore" | "judgement" | "judgment" | "verdict" | "rating" | "grade"
    )
}

fn has_score_key(map: &Map<String, Value>) -> bool {
    map.keys().take(64).any(|key| is_score_key(&key_form(key)))
}

/// The score of an object; none where its value broke off or is torn apart ("0,5" without quotes).
fn score_of(found: &Found) -> Option<f64> {
    let is_torn = found
        .notes
        .contains(&"text that is no JSON inside the object");
    if is_torn || found.open.is_some() {
        return None;
    }
    match find(&found.map, is_score_key)?.1 {
        Value::Number(number) => number.as_f64().and_then(of_scale),
        Value::String(text) => score_text(text),
        _ => None,
    }
}

fn of_scale(number: f64) -> Option<f64> {
    [0.0, 0.5, 1.0].into_iter().find(|score| *score == number)
}

/// A text that is a score and nothing else.
fn score_text(text: &str) -> Option<f64> {
    if text.len() > MAX_VALUE {
        return None;
    }
    let folded = text.to_lowercase();
    let bare = folded
        .trim_matches(|c: char| c.is_whitespace() || "\"'`*_:;,!()[]".contains(c))
        .trim_end_matches('.');
    if let Some(score) = number(bare) {
        return Some(score);
    }
    let word = bare.strip_suffix(" match").unwrap_or(bare);
    match word {
        "complete" | "completely correct" | "fully correct" | "full" | "correct" => Some(1.0),
        "partial" | "partially correct" | "partly correct" | "half" => Some(0.5),
        "wrong" | "incorrect" => Some(0.0),
        _ => None,
    }
}

/// A number of the scale, also as a fraction, a share of 1 or a percentage.
fn number(text: &str) -> Option<f64> {
    if matches!(text, "1/2" | "½") {
        return Some(0.5);
    }
    if let Some(percent) = text.strip_suffix('%') {
        return of_scale(decimal(percent.trim_end())? / 100.0);
    }
    let share = text
        .strip_suffix("/1")
        .or_else(|| text.strip_suffix("/ 1"))
        .map_or(text, str::trim_end);
    of_scale(decimal(share)?)
}

/// Digits with at most one decimal point, or a comma and at most two digits after it.
fn decimal(text: &str) -> Option<f64> {
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.split_once(',') {
        Some((whole, part)) if part.len() <= 2 && is_plain(whole) && is_plain(part) => {
            format!("{whole}.{part}").parse().ok()
        }
        None if is_plain(text) => text.parse().ok(),
        _ => None,
    }
}

/// The score that every "score: X" of a prose states.
fn stated(prose: &str) -> Option<f64> {
    let folded = prose.to_lowercase();
    let mut found = None;
    for (at, word) in folded.match_indices("score") {
        let rest = folded[at + word.len()..].trim_start_matches(DECORATION);
        let is_said = rest.strip_prefix("is ");
        let Some(said) = rest.strip_prefix([':', '=']).or(is_said) else {
            continue;
        };
        let said = said.trim_start_matches(DECORATION).trim_start();
        let end = said
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '/' | '%' | '½')))
            .unwrap_or(said.len());
        // "The score is 0 if …" explains the scale.
        let after = said[end..].trim_start_matches(DECORATION);
        let ends = after.is_empty() || after.starts_with(['.', '\n']) || said[..end].ends_with('.');
        if is_said.is_some() && !ends {
            continue;
        }
        let value = number(said[..end].trim_end_matches(['.', ',']))?;
        if found.is_some_and(|before| before != value) {
            return None;
        }
        found = Some(value);
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores_in_many_shapes() {
        for (raw, score) in [
            (r#"{"reasoning": "Same drug.", "score": "1"}"#, 1.0),
            (r#"{"reasoning": "0.5 or 1?", "score": 0.5}"#, 0.5),
            (r#"{"score": 0}"#, 0.0),
            (r#"{"score": "1.0", "reasoning": "x"}"#, 1.0),
            ("```json\n{\"score\": \"0.5\",}\n```", 0.5),
            ("{'score': '1/2'}", 0.5),
            ("Here it is: {\"Score\": \".5\"} Hope it helps.", 0.5),
            ("<think>score: 0, surely</think>{\"score\": 1}", 1.0),
            ("{\"score\": 0} No, wait: {\"score\": 1}", 1.0),
            (r#"{"reasoning": "cut", "score": "1""#, 1.0),
            (r#"{"score": "1 / 1"}"#, 1.0),
            (r#"{"score": "50 %"}"#, 0.5),
            (r#"{"verdict": "Partially correct."}"#, 0.5),
            (r#"{"verdict": "complete match"}"#, 1.0),
            (r#"{\"score\": \"0\"}"#, 0.0),
            ("0.5", 0.5),
            (" **1** ", 1.0),
            ("0.", 0.0),
            ("1.", 1.0),
            ("Wrong", 0.0),
            ("The answers agree.\n\n**Score:** 1", 1.0),
            ("I give a score of 0.5. Final score: 0.5", 0.5),
            ("The score is 0 if it is wrong. So the score is **1**.", 1.0),
            ("0,5", 0.5),
        ] {
            assert_eq!(read_judgement(raw), Some(score), "{raw}");
        }
    }

    #[test]
    fn nothing_is_guessed() {
        for raw in [
            "",
            "The answer seems fine.",
            r#"{"score": 0.7}"#,
            r#"{"score": "5"}"#,
            r#"{"score": "0 or 1"}"#,
            r#"{"score": null}"#,
            r#"{"score": [1]}"#,
            r#"{"score": 0,5}"#,
            r#"{"score": 0"#,
            r#"{"score": "0"#,
            r#"{"score": -1}"#,
            r#"{"reasoning": "score: 1"}"#,
            "<think>score: 1",
            "score: 1, or rather score: 0",
            "score: 10",
            "between 0 and 1",
            "2/2",
            "1,000",
            "The score is 0 if it is wrong.",
            "1e0",
        ] {
            assert_eq!(read_judgement(raw), None, "{raw}");
        }
    }

    fn score() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(0.5), Just(1.0)]
    }

    proptest! {
        /// What the schema allows is read back, whatever the reasoning says and stands around it.
        #[test]
        fn replies_of_the_schema_are_read_back(score in score(), reasoning in any::<String>(), before in "[a-z .\n]{0,40}", fenced in any::<bool>()) {
            let object = serde_json::json!({"reasoning": reasoning, "score": score.to_string()});
            let raw = if fenced { format!("{before}\n```json\n{object}\n```") } else { object.to_string() };
            prop_assert_eq!(read_judgement(&raw), Some(score));
        }

        /// Anything else gives a score of the scale or none, and never panics.
        #[test]
        fn any_text_is_survived(raw in any::<String>(), tail in "(\\{\"score\": ?[\"0-9.,/%a-z ]{0,6}\\}?|score: ?[0-9./]{0,4}|<think>)?") {
            let read = read_judgement(&format!("{raw}{tail}"));
            prop_assert!(matches!(read, None | Some(0.0 | 0.5 | 1.0)));
        }
    }
}
