//! How many tokens a prompt will take, before any server has counted them.

use crate::domain::prompt::Prompt;
use crate::model::{FailureKind, ModelError};

/// Characters per token in English medical text, on the low side: tokenisers of the paper's models
/// take 3.5 to 4.5.
const ASCII_PER_TOKEN: f64 = 3.2;

/// Tokens that the chat template puts around the two messages.
const TEMPLATE_TOKENS: u64 = 16;

/// A conservative estimate of the tokens of a text: ASCII characters / 3.2 plus one per other
/// character, never below the number of words. It is meant to be too high rather than too low.
pub fn estimate(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    let words = text.split_whitespace().count();
    let by_length = (ascii as f64 / ASCII_PER_TOKEN).ceil() as u64 + other as u64;
    by_length.max(words as u64)
}

/// An estimate for both messages with what the chat template adds.
pub fn estimate_prompt(prompt: &Prompt) -> u64 {
    estimate(&prompt.system) + estimate(&prompt.user) + TEMPLATE_TOKENS
}

/// Refuses a prompt that, with the reply, is predicted not to fit the window.
///
/// # Errors
/// [`FailureKind::Overflow`] with zero attempts.
pub fn check_window(
    prompt: &Prompt,
    max_tokens: u32,
    window: Option<u32>,
    model: &str,
) -> Result<(), ModelError> {
    let Some(window) = window else {
        return Ok(());
    };
    let prompt_tokens = estimate_prompt(prompt);
    if prompt_tokens + u64::from(max_tokens) <= u64::from(window) {
        return Ok(());
    }
    Err(ModelError {
        attempts: 0,
        ..ModelError::new(
            FailureKind::Overflow,
            format!(
                "the prompt needs about {prompt_tokens} tokens and the reply up to {max_tokens}, but the window of {model} has {window}; no call was made; take fewer documents, fewer reply tokens or a larger window"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn prompt(user: &str) -> Prompt {
        Prompt {
            system: String::new(),
            user: user.to_owned(),
        }
    }

    #[test]
    fn estimates_are_on_the_high_side() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("a b c d"), 4);
        assert_eq!(estimate(&"x".repeat(320)), 100);
        assert_eq!(estimate("乳汁の細菌"), 5);
    }

    #[test]
    fn the_reply_counts_against_the_window() {
        let long = prompt(&"x".repeat(3_200));
        assert!(check_window(&long, 1_000, None, "m").is_ok());
        assert!(check_window(&long, 1_000, Some(2_016), "m").is_ok());
        let refused = check_window(&long, 1_001, Some(2_016), "m").unwrap_err();
        assert_eq!(refused.kind, FailureKind::Overflow);
        assert_eq!(refused.attempts, 0);
        assert!(refused.message.contains("1016"), "{refused}");
    }
}
