//! What calls are predicted to cost.

use serde::Serialize;

use crate::domain::text::count;

/// Predicted dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cost {
    /// For the prompts; `None` where no price is known.
    pub prompt: Option<f64>,
    /// For replies that all use up their tokens: an upper bound.
    pub reply_at_most: Option<f64>,
}

impl Cost {
    /// The cost of so many instances and prompt tokens, by dollars per million prompt and reply tokens.
    pub fn of(
        (instances, prompt_tokens): (usize, u64),
        max_tokens: u32,
        (price_in, price_out): (Option<f64>, Option<f64>),
    ) -> Cost {
        let reply_tokens = instances as f64 * f64::from(max_tokens);
        Cost {
            prompt: price_in.map(|price| prompt_tokens as f64 * price / 1e6),
            reply_at_most: price_out.map(|price| reply_tokens * price / 1e6),
        }
    }

    /// Both costs together; unknown where one of them is.
    pub fn and(self, other: Cost) -> Cost {
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        Cost {
            prompt: sum(self.prompt, other.prompt),
            reply_at_most: sum(self.reply_at_most, other.reply_at_most),
        }
    }

    /// For people, to be put behind the number of tokens; empty where no price is known.
    pub fn words(self) -> String {
        let dollars = |cost: Option<f64>| cost.map(|cost| format!("${cost:.2}"));
        match (dollars(self.prompt), dollars(self.reply_at_most)) {
            (Some(prompt), Some(reply)) => {
                format!(", about {prompt} for them and at most {reply} for the replies")
            }
            (Some(prompt), None) => format!(", about {prompt} for them"),
            (None, Some(reply)) => format!(", at most {reply} for the replies"),
            (None, None) => String::new(),
        }
    }
}

/// What calls have cost so far, in words; `None` where a price is not known. `unmeasured` of their replies came without
/// counts of tokens, which are therefore missing in the dollars.
pub fn spent(dollars: Option<f64>, tokens: u64, unmeasured: usize) -> Option<String> {
    let dollars = dollars?;
    Some(match (unmeasured, tokens) {
        (0, _) => format!("${dollars:.2}"),
        (_, 0) => "cost unknown, since the server reports no tokens".to_owned(),
        _ => format!(
            "at least ${dollars:.2}, since the server reported no tokens of {}",
            count(unmeasured, "reply")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_reported_is_not_free() {
        assert_eq!(spent(None, 10, 0), None);
        assert_eq!(spent(Some(1.5), 10, 0).as_deref(), Some("$1.50"));
        assert_eq!(spent(Some(0.0), 0, 0).as_deref(), Some("$0.00"));
        let unknown = spent(Some(0.0), 0, 3).unwrap_or_default();
        assert!(
            unknown.contains("unknown") && !unknown.contains('$'),
            "{unknown}"
        );
        let some = spent(Some(1.5), 10, 3).unwrap_or_default();
        assert!(
            some.starts_with("at least $1.50") && some.contains("3 replies"),
            "{some}"
        );
    }

    #[test]
    fn prompts_are_predicted_and_replies_bounded() {
        let cost = Cost::of((10, 500_000), 1_000, (Some(2.0), Some(8.0)));
        assert_eq!(
            cost.words(),
            ", about $1.00 for them and at most $0.08 for the replies"
        );
        assert_eq!(Cost::of((1, 1), 1, (None, None)).words(), "");
        let half = Cost::of((1, 250_000), 1, (Some(2.0), None));
        assert_eq!(cost.and(half).prompt, Some(1.5));
        assert_eq!(cost.and(half).reply_at_most, None);
    }
}
