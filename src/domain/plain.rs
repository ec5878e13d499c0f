//! What libraries say of bad input, in the words of a person who wrote the file and not the program.

/// Refuses a JSON value that is no object: parsers would take a list for its fields in their order.
///
/// # Errors
/// One sentence that names what was found.
pub fn expect_object(text: &str) -> Result<(), String> {
    let found = match text.trim_start().chars().next() {
        Some('{') => return Ok(()),
        Some('[') => "a list",
        Some('"') => "a text",
        Some('-' | '0'..='9') => "a number",
        // No JSON at all: the parser says what is wrong.
        _ => return Ok(()),
    };
    Err(format!("found {found} where an object {{…}} is expected"))
}

/// What parsers say and what is said instead; longer phrases stand before their parts.
const WORDS: [(&str, &str); 38] = [
    // Numbers of flags.
    (
        "invalid digit found in string",
        "a whole number is expected",
    ),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is too small",
    ),
    (
        "cannot parse integer from empty string",
        "a whole number is expected",
    ),
    (
        "cannot parse float from empty string",
        "a number is expected",
    ),
    ("invalid float literal", "a number is expected"),
    // Addresses.
    (
        "relative URL without a base",
        "it does not begin with http:// or https://",
    ),
    // JSON as text.
    (
        "recursion limit exceeded",
        "lists and objects are nested more than 128 deep",
    ),
    (
        "EOF while parsing a string",
        "the text ends within a quoted text",
    ),
    ("EOF while parsing a list", "the text ends within a list"),
    (
        "EOF while parsing an object",
        "the text ends within an object",
    ),
    (
        "EOF while parsing a value",
        "the text ends where a value is expected",
    ),
    (
        "control character (\\u0000-\\u001F) found while parsing a string",
        "a line end or another control character within a quoted text; write it as \\n or \\u…",
    ),
    (
        "key must be a string",
        "the name of a field must be in quotes",
    ),
    ("trailing comma", "a comma too many"),
    (
        "trailing characters",
        "more text after the end of the value",
    ),
    (
        "expected ident",
        "a word that is neither true, false nor null (texts go into quotes)",
    ),
    (
        "invalid escape",
        "a backslash with something wrong after it",
    ),
    (
        "lone leading surrogate in hex escape",
        "half of a \\u… pair is missing",
    ),
    (
        "unexpected end of hex escape",
        "half of a \\u… pair is missing",
    ),
    // Types.
    ("invalid type: ", "found "),
    ("invalid value: ", "found "),
    ("missing field ", "there is no field "),
    ("duplicate field ", "twice the field "),
    ("sequence", "a list"),
    ("found map,", "found an object,"),
    // Numbers beyond those of the format itself.
    ("` as i128", "`"),
    ("` as u128", "`"),
    (
        "u64 value was too large",
        "the number is too large; 9223372036854775807 is the largest that the file can hold",
    ),
    ("boolean `", "`"),
    ("floating point `", "the number `"),
    ("integer `", "the number `"),
    ("string \"", "the text \""),
    ("expected a string", "expected a text"),
    ("expected a boolean", "expected true or false"),
    ("expected a map", "expected an object"),
    ("expected struct ", "expected an object: "),
    ("expected value", "a value is expected"),
];

/// Numbers of the program's own types: what is expected, in words.
const NUMBERS: [(&str, &str); 9] = [
    ("u128", "a whole number from 0 up"),
    ("usize", "a whole number from 0 up"),
    ("u64", "a whole number from 0 up"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u16", "a whole number from 0 to 65535"),
    ("u8", "a whole number from 0 to 255"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("f32", "a number"),
];

/// A library's message in plain words. Quoted values in it are left alone as far as they hold none of the
/// phrases.
pub fn plain(message: &str) -> String {
    let mut text = message.to_owned();
    for (from, to) in NUMBERS {
        text = text.replace(&format!("expected {from}"), &format!("expected {to}"));
    }
    for (from, to) in WORDS {
        if from == "sequence" && !text.contains("found sequence") {
            continue;
        }
        text = text.replace(from, to);
    }
    text
}

/// The reason of a JSON error in plain words and without its position.
pub fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    plain(&text[..end])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn json<T: serde::de::DeserializeOwned>(text: &str) -> String {
        match serde_json::from_str::<T>(text) {
            Ok(_) => String::new(),
            Err(error) => plain(&error.to_string()),
        }
    }

    #[test]
    fn parsers_speak_plainly() {
        type Object = std::collections::BTreeMap<String, u32>;
        for (said, expected) in [
            (
                json::<u32>("\"a\""),
                "found the text \"a\", expected a whole number from 0",
            ),
            (
                json::<u8>("300"),
                "found the number `300`, expected a whole number from 0 to 255",
            ),
            (json::<String>("[]"), "found a list, expected a text"),
            (json::<Object>("[]"), "found a list, expected an object"),
            (
                json::<Object>("{\"a\":-1}"),
                "found the number `-1`, expected a whole number",
            ),
            (
                json::<bool>("1.5"),
                "found the number `1.5`, expected true or false",
            ),
            (
                json::<serde_json::Value>(&"[".repeat(200)),
                "nested more than 128 deep",
            ),
            (
                json::<serde_json::Value>("{\"a"),
                "ends within a quoted text",
            ),
            (json::<serde_json::Value>("{a"), "must be in quotes"),
            (
                json::<serde_json::Value>("nonsense"),
                "neither true, false nor null",
            ),
            (
                plain(&"-1".parse::<u64>().unwrap_err().to_string()),
                "a whole number is expected",
            ),
            (
                plain(&"x".parse::<f64>().unwrap_err().to_string()),
                "a number is expected",
            ),
        ] {
            assert!(said.contains(expected), "{said} lacks {expected}");
        }
    }
}
