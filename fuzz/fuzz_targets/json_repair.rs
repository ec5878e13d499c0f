//! A reply that is valid JSON of the schema, damaged at one place: no panic, and undamaged it comes back
//! as it was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use medrgb::domain::answer::{Ending, ReplyShape, parse};
use medrgb::domain::context::Scenario;
use serde_json::json;

fuzz_target!(|input: (&str, u8, u16, char)| {
    let (thinking, letter, at, sign) = input;
    let letter = char::from(b'A' + letter % 4);
    let shape = ReplyShape {
        scenario: Scenario::Standard,
        labels: Vec::new(),
        ids: Vec::new(),
        options: ('A'..='D')
            .map(|own| (own, format!("text {own}")))
            .collect(),
        sub_questions: Vec::new(),
    };
    let letter_text = letter.to_string();
    let whole =
        json!({"step_by_step_thinking": thinking, "answer_choice": letter_text}).to_string();
    let reply = parse(&whole, &shape, Ending::Complete);
    assert_eq!(reply.answer, Some(letter));
    assert_eq!(reply.reasoning.as_deref(), Some(thinking));

    let mut damaged: Vec<char> = whole.chars().collect();
    let place = usize::from(at) % damaged.len();
    damaged[place] = sign;
    let damaged: String = damaged.into_iter().collect();
    parse(&damaged, &shape, Ending::Complete);
    let cut = damaged.floor_char_boundary(place);
    parse(&damaged[..cut], &shape, Ending::Running);
});
