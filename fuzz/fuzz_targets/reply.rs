//! Any text, read as a reply to every scenario and with every ending: no panic, and what is promised of
//! the result holds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use medrgb::domain::answer::{Ending, Outcome, ReplyShape, Span, parse};
use medrgb::domain::context::Scenario;

fn shape(scenario: Scenario, words: bool) -> ReplyShape {
    let texts: &[&str] = if words {
        &["yes", "no", "maybe"]
    } else {
        &["Vitamin D", "Clindamycin", "Hepatitis B", "Rest"]
    };
    ReplyShape {
        scenario,
        labels: (1..=4).map(|k| format!("DOC_{k}")).collect(),
        ids: (1..=4).map(|k| format!("pm{k}77")).collect(),
        options: ('A'..='Z')
            .zip(texts.iter().map(|text| (*text).to_owned()))
            .collect(),
        sub_questions: vec!["Which dose was given?".to_owned(), "How many?".to_owned()],
    }
}

fuzz_target!(|input: (u8, &str)| {
    let (choice, raw) = input;
    let scenario = Scenario::ALL[usize::from(choice) % Scenario::ALL.len()];
    let ending = [
        Ending::Complete,
        Ending::Length,
        Ending::Interrupted,
        Ending::Running,
    ][usize::from(choice >> 2) % 4];
    let shape = shape(scenario, choice & 0x80 != 0);
    let reply = parse(raw, &shape, ending);
    assert_eq!(reply.answer.is_some(), reply.outcome == Outcome::Answered);
    assert_eq!(reply.subs.len(), shape.sub_questions.len());
    let evidence = reply.evidence.map(|evidence| evidence.span());
    let sources = reply.sources;
    let parts = [
        evidence,
        sources.reasoning,
        sources.relevant,
        sources.irrelevant,
    ];
    for span in parts.into_iter().chain(sources.subs).flatten() {
        let Span { start, end } = span;
        assert!(start <= end && span.of(raw).is_some(), "{span:?}");
    }
});
