//! Control tokens of chat templates that servers leave in replies: `</s>`, `<|im_end|>`, `<|eot_id|>`, the
//! channels of gpt-oss.
//!
//! A token is never text. What follows the end of the reply, or stands in another's turn, is not the reply's; the
//! channels before the final one are hidden reasoning.

/// What a token says of the text that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// The same text goes on.
    Same,
    /// The reply has ended.
    Nothing,
    /// The model's own turn.
    Own,
    /// Somebody else's turn.
    Other,
    /// A channel for reasoning or for calls of tools.
    Hidden,
}

/// A control token, with the role or the channel that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub follows: Follows,
    /// Where the text after it begins.
    pub end: usize,
}

/// Longest name of a token, in bytes.
const MAX_NAME: usize = 40;
/// How far behind a channel's name its text begins at most, in bytes.
const MAX_HEADER: usize = 200;

/// The token that begins at `at`, where `<` or `[` stands.
pub(super) fn token_at(text: &str, at: usize) -> Option<Token> {
    let rest = text.get(at..)?;
    let (name, length) = name_of(rest)?;
    let end = at + length;
    let follows = match name.as_str() {
        "im_end" | "end" | "eot_id" | "eom_id" | "eot" | "endoftext" | "end_of_text" | "return"
        | "end_of_turn" | "end_of_turn_token" | "end_of_sentence" | "/s" | "eos" | "eos_token" => {
            Follows::Nothing
        }
        "assistant" | "chatbot_token" | "/inst" => Follows::Own,
        "user" | "system" | "human" | "tool" | "observation" | "user_token" | "system_token"
        | "inst" => Follows::Other,
        "im_start" | "start" | "start_header_id" | "header_start" | "start_of_turn"
        | "start_of_role" => return Some(turn(text, end)),
        "channel" => return Some(channel(text, end)),
        _ => Follows::Same,
    };
    Some(Token { follows, end })
}

/// The name of the token that a text begins with, in lower case, and the token's length.
fn name_of(text: &str) -> Option<(String, usize)> {
    let near = &text[..text.floor_char_boundary(MAX_NAME + 8)];
    for (open, close) in [("<|", "|>"), ("<\u{ff5c}", "\u{ff5c}>")] {
        if let Some(inner) = near.strip_prefix(open) {
            let name = &inner[..inner.find(close)?];
            let is_name = !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\u{2581}'));
            let length = open.len() + name.len() + close.len();
            let plain = name.replace('\u{2581}', "_").to_ascii_lowercase();
            return is_name.then_some((plain, length));
        }
    }
    const TAGS: [&str; 9] = [
        "</s>",
        "<eos>",
        "<bos>",
        "<pad>",
        "<end_of_turn>",
        "<start_of_turn>",
        "<eos_token>",
        "[inst]",
        "[/inst]",
    ];
    let tag = TAGS.iter().find(|tag| {
        near.get(..tag.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(tag))
    })?;
    Some((tag[1..tag.len() - 1].to_owned(), tag.len()))
}

/// A turn whose role is the word at `at`.
fn turn(text: &str, at: usize) -> Token {
    let rest = &text[at..];
    let word = rest.find(|c: char| !c.is_ascii_alphabetic());
    let role = rest[..word.unwrap_or(rest.len())].to_ascii_lowercase();
    let follows = match role.as_str() {
        "assistant" | "model" | "ai" | "bot" | "gpt" => Follows::Own,
        "user" | "system" | "human" | "developer" | "tool" | "function" => Follows::Other,
        // No role: the word is text.
        _ => {
            return Token {
                follows: Follows::Own,
                end: at,
            };
        }
    };
    Token {
        follows,
        end: at + role.len(),
    }
}

/// A channel whose name is the word at `at`.
fn channel(text: &str, at: usize) -> Token {
    const MESSAGE: &str = "<|message|>";
    let rest = &text[at..];
    let header = &rest[..rest.floor_char_boundary(MAX_HEADER)];
    let name = header.trim_start();
    let length = name
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(name.len());
    let is_final = name[..length].eq_ignore_ascii_case("final");
    let end = match header.find(MESSAGE) {
        Some(found) => found + MESSAGE.len(),
        None => header.len() - name.len() + length,
    };
    Token {
        follows: match is_final {
            true => Follows::Own,
            false => Follows::Hidden,
        },
        end: at + end,
    }
}

/// The first token from `from` on that `wanted` takes, with its place.
pub(super) fn next_token(
    text: &str,
    from: usize,
    wanted: impl Fn(Follows) -> bool,
) -> Option<(usize, Token)> {
    let mut pos = from;
    while let Some(step) = text.get(pos..)?.find(['<', '[']) {
        let at = pos + step;
        if let Some(token) = token_at(text, at)
            && wanted(token.follows)
        {
            return Some((at, token));
        }
        pos = at + 1;
    }
    None
}

/// Where the final channel begins of a reply whose tokens were left out: "analysisWe need … assistantfinalC". `None`
/// in the tuple where it never came.
pub(super) fn run_together(text: &str) -> Option<Option<usize>> {
    const FINAL: &str = "assistantfinal";
    let rest = text.trim_start().strip_prefix("analysis")?;
    if !rest.starts_with(|c: char| c.is_uppercase()) {
        return None;
    }
    Some(text.rfind(FINAL).map(|at| at + FINAL.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn tokens_say_what_follows() {
        for (text, follows, after) in [
            ("</s>", Follows::Nothing, ""),
            ("<|eot_id|>x", Follows::Nothing, "x"),
            ("<|im_start|>assistant\nC", Follows::Own, "\nC"),
            (
                "<|start_header_id|>user<|end_header_id|>",
                Follows::Other,
                "<|end_header_id|>",
            ),
            ("<start_of_turn>model\nC", Follows::Own, "\nC"),
            (
                "<|channel|>final <|constrain|>json<|message|>{}",
                Follows::Own,
                "{}",
            ),
            ("<|channel|>analysis<|message|>We", Follows::Hidden, "We"),
            (
                "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
                Follows::Nothing,
                "",
            ),
            ("<|begin_of_text|>C", Follows::Same, "C"),
            ("[/INST] C", Follows::Own, " C"),
        ] {
            let token = token_at(text, 0).unwrap();
            assert_eq!(
                (token.follows, &text[token.end..]),
                (follows, after),
                "{text}"
            );
        }
        for text in ["<s>", "<answer>", "<|", "<|a b|>", "[1]", "<|\u{e9}", "<"] {
            assert_eq!(token_at(text, 0), None, "{text}");
        }
    }
}
