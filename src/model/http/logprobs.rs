//! The probabilities of the options, from the likeliest tokens that a server reports for every place of a reply.
//!
//! The place that counts is the token with the letter behind the last `answer_choice`: there each of the likeliest
//! tokens that is an option's letter (whatever quotation marks and spaces stand around it) gives its probability to
//! that option, and what all options have together is made 1. A letter that is not among the reported tokens has 0.

use std::collections::BTreeMap;

use serde_json::Value;

/// The field that holds the answer.
const FIELD: &str = "answer_choice";

/// Most bytes of token texts that are kept.
const MOST: usize = 1 << 20;

/// What has been reported so far.
#[derive(Debug, Default)]
pub(crate) struct Logprobs {
    /// The texts of the tokens, one behind the other.
    spelt: String,
    /// The tokens that are a letter: where their text begins, and the letters among the likeliest tokens.
    letters: Vec<(usize, BTreeMap<char, f64>)>,
}

impl Logprobs {
    /// Takes the field `logprobs` of a choice.
    pub(crate) fn take(&mut self, logprobs: &Value) {
        let tokens = logprobs.get("content").and_then(Value::as_array);
        for token in tokens.into_iter().flatten() {
            let Some(text) = token.get("token").and_then(Value::as_str) else {
                continue;
            };
            if self.spelt.len() + text.len() > MOST {
                return;
            }
            if letter(text).is_some() {
                self.letters.push((self.spelt.len(), likeliest(token)));
            }
            self.spelt.push_str(text);
        }
    }

    /// The probability of each of these letters at the answer; `None` where that place is not known, or none of the
    /// letters was among the likeliest tokens there.
    pub(crate) fn of_options(&self, letters: &[char]) -> Option<Vec<(char, f64)>> {
        let field = self.spelt.rfind(FIELD)? + FIELD.len();
        let (at, likeliest) = self.letters.iter().find(|(at, _)| *at >= field)?;
        let between = self.spelt.get(field..*at)?;
        if !between.chars().all(is_around) {
            return None;
        }
        let of = |letter: &char| likeliest.get(letter).copied().unwrap_or(0.0);
        let total: f64 = letters.iter().map(of).sum();
        if !(total > 0.0 && total.is_finite()) {
            return None;
        }
        Some(
            letters
                .iter()
                .map(|letter| (*letter, of(letter) / total))
                .collect(),
        )
    }
}

/// What may stand between the field's name and its letter, or around the letter within a token.
fn is_around(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ':')
}

/// The letter that a token is.
fn letter(token: &str) -> Option<char> {
    let mut inner = token.trim_matches(is_around).chars();
    let letter = inner.next().filter(char::is_ascii_uppercase)?;
    inner.next().is_none().then_some(letter)
}

/// The letters among the likeliest tokens of a place, with their probabilities; the token itself is one of them.
fn likeliest(token: &Value) -> BTreeMap<char, f64> {
    let top = token.get("top_logprobs").and_then(Value::as_array);
    let is_itself = |other: &Value| other.get("token") == token.get("token");
    let listed = top.is_some_and(|top| top.iter().any(is_itself));
    let itself = (!listed).then_some(token);
    let mut found = BTreeMap::new();
    for one in top.into_iter().flatten().chain(itself) {
        let text = one.get("token").and_then(Value::as_str);
        let logprob = one.get("logprob").and_then(Value::as_f64);
        if let (Some(letter), Some(logprob)) = (text.and_then(letter), logprob) {
            // More than certain is a server's rounding.
            *found.entry(letter).or_default() += logprob.min(0.0).exp();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    fn token(text: &str, top: &[(&str, f64)]) -> Value {
        let top: Vec<Value> = top
            .iter()
            .map(|(text, p)| json!({"token": text, "logprob": p.ln()}))
            .collect();
        json!({"content": [{"token": text, "logprob": -0.1, "top_logprobs": top}]})
    }

    fn of(tokens: &[Value]) -> Logprobs {
        let mut found = Logprobs::default();
        for one in tokens {
            found.take(one);
        }
        found
    }

    #[test]
    fn the_letter_behind_the_last_answer_field_counts() {
        let found = of(&[
            token("{\"answer", &[]),
            token("_choice", &[]),
            token("\": \"", &[]),
            token("A", &[("A", 0.9)]),
            token("\"} or {\"answer_choice\":", &[]),
            token(
                " \"B",
                &[(" \"B", 0.5), ("B", 0.1), (" \"A", 0.2), (" \"The", 0.2)],
            ),
            token("\"} C", &[]),
        ]);
        let probabilities = found.of_options(&['A', 'B', 'C']).unwrap();
        for ((letter, p), (expected, value)) in
            probabilities
                .into_iter()
                .zip([('A', 0.25), ('B', 0.75), ('C', 0.0)])
        {
            assert_eq!(letter, expected);
            assert!((p - value).abs() < 1e-9, "{letter} {p}");
        }
    }

    #[test]
    fn nothing_is_guessed() {
        // No field, a letter far behind it, and a place whose likeliest tokens are no options.
        assert_eq!(of(&[token("A", &[("A", 1.0)])]).of_options(&['A']), None);
        let far = [
            token("answer_choice", &[]),
            token(" is the vitamin ", &[]),
            token("A", &[("A", 1.0)]),
        ];
        assert_eq!(of(&far).of_options(&['A']), None);
        let other = [token("answer_choice: ", &[]), token("Z", &[("Z", 1.0)])];
        assert_eq!(of(&other).of_options(&['A', 'B']), None);
        let strange =
            json!({"content": [{"token": "answer_choice: A", "logprob": "x"}, {"token": 3}, null]});
        assert_eq!(
            of(&[strange, json!(null), json!([])]).of_options(&['A']),
            None
        );
    }

    #[test]
    fn a_token_outside_its_own_list_counts_too() {
        let found = of(&[
            json!({"content": [{"token": "answer_choice\":\""}, {"token": "B", "logprob": (0.25f64).ln(),
                "top_logprobs": [{"token": "A", "logprob": (0.75f64).ln()}]}]}),
        ]);
        let p = found.of_options(&['A', 'B']).unwrap();
        assert!((p[0].1 - 0.75).abs() < 1e-9 && (p[1].1 - 0.25).abs() < 1e-9);
    }
}
