//! Where planted text went in a reply, and what its citations are worth.

use crate::domain::probe::{Citation, Citations, PlantedTrace, Quote, Stance, Support, Trace};
use crate::domain::text::shortened;
use crate::tui::app::App;
use crate::tui::app::probe::Audit;
use crate::tui::app::reply::ReplyState;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::reply::part;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;

/// Characters of the reasoning that are shown on each side of a place.
const AROUND: usize = 40;

/// Longest span of words that is shown.
const LONGEST: usize = 60;

/// What was found in a reply; `gold` says whether right answers may be seen.
pub(super) fn write(app: &App, reply: &ReplyState, audit: &Audit, gold: bool, flow: &mut Flow) {
    if !gold {
        let key = app.keymap.key(Command::ToggleGold);
        let text = format!(
            "Right answers are hidden, so planted ones are too; {key} on the question's screen shows them."
        );
        return flow.say(&app.wraps, &text, Tone::Faint);
    }
    let reasoning = reply
        .parsed
        .as_ref()
        .and_then(|parsed| parsed.reasoning.as_deref())
        .unwrap_or_default();
    planted(app, &audit.trace, reasoning, flow);
    flow.gap();
    cited(app, &audit.citations, flow);
}

fn planted(app: &App, trace: &Trace, reasoning: &str, flow: &mut Flow) {
    flow.say(&app.wraps, "Planted text", Tone::Title);
    flow.say(&app.wraps, &trace.sentence(), Tone::Strong);
    for one in &trace.planted {
        claim(app, one, reasoning, flow);
    }
}

fn claim(app: &App, one: &PlantedTrace, reasoning: &str, flow: &mut Flow) {
    let (mark, tone) = match one.stance {
        Stance::Adopted => ("✗", Tone::Bad),
        Stance::Repeated => ("!", Tone::Warning),
        Stance::Flagged => ("✓", Tone::Good),
        Stance::Absent => ("·", Tone::Faint),
    };
    let planted = one.planted.as_deref().unwrap_or("(no planted answer)");
    let truth = one.truth.as_deref().unwrap_or("?");
    let pieces = [
        (format!("{mark} {}  ", one.stance.describe()), tone),
        (
            format!("planted \"{}\"", one_line(planted)),
            Tone::Adversarial,
        ),
        (format!(", true \"{}\"", one_line(truth)), Tone::Text),
    ];
    part(app, flow, &one.label, &pieces);
    for at in &one.sub_answers {
        let text = format!("sub-answer {} gives it", at + 1);
        part(app, flow, "", &[(text, Tone::Bad)]);
    }
    let runs = one.edited_runs.iter().map(|run| &run.at);
    for at in one.in_reasoning.iter().chain(runs) {
        if let Some(pieces) = excerpt(reasoning, at.start, at.end) {
            part(app, flow, "", &pieces);
        }
    }
}

/// A place of the reasoning between what stands around it.
fn excerpt(text: &str, start: usize, end: usize) -> Option<[(String, Tone); 3]> {
    let words = text.get(start..end)?;
    let before: Vec<char> = text[..start].chars().rev().take(AROUND).collect();
    let before: String = before.into_iter().rev().collect();
    let after: String = text[end..].chars().take(AROUND).collect();
    let dots = |cut: bool| if cut { "…" } else { "" };
    let flat = |text: &str| crate::domain::text::clean(text).replace(['\n', '\t'], " ");
    Some([
        (
            format!("“{}{}", dots(before.len() < start), flat(&before)),
            Tone::Faint,
        ),
        (flat(words), Tone::Match),
        (
            format!("{}{}”", flat(&after), dots(after.len() < text.len() - end)),
            Tone::Faint,
        ),
    ])
}

fn cited(app: &App, citations: &Citations, flow: &mut Flow) {
    flow.say(&app.wraps, "Citations", Tone::Title);
    flow.say(&app.wraps, &citations.sentence(), Tone::Strong);
    for (at, one) in citations.sub_answers.iter().enumerate() {
        part(app, flow, &format!("sub {}", at + 1), &citation(one));
    }
    for quote in &citations.quotes {
        part(app, flow, "quoted", &quotation(quote));
    }
}

fn citation(one: &Citation) -> [(String, Tone); 2] {
    let given = match &one.answer {
        Some(given) => format!("\"{}\"", shortened(&one_line(given), LONGEST)),
        None => "skipped".to_owned(),
    };
    let cited = match (&one.cited, &one.unknown_name) {
        (Some(label), _) => label.clone(),
        (None, Some(name)) => format!("\"{}\" (no such document)", shortened(&one_line(name), 24)),
        (None, None) => "nothing".to_owned(),
    };
    let right = match one.cited.as_deref() == Some(one.expected.as_str()) {
        true => String::new(),
        false => format!(", asked about {}", one.expected),
    };
    [
        (format!("{given} cites {cited}{right}: "), Tone::Text),
        judged(one.support, &one.contained_in),
    ]
}

fn quotation(quote: &Quote) -> [(String, Tone); 2] {
    let cited = match quote.cited.is_empty() {
        true => "nothing".to_owned(),
        false => quote.cited.join(", "),
    };
    let text = shortened(&one_line(&quote.text), LONGEST);
    [
        (format!("\"{text}\" cites {cited}: "), Tone::Text),
        judged(quote.support, &quote.contained_in),
    ]
}

/// How the citation stands, with where the words really are if that is news.
fn judged(support: Support, contained_in: &[String]) -> (String, Tone) {
    let (mark, tone) = match support {
        Support::Supported => ("✓", Tone::Good),
        Support::Elsewhere | Support::Nowhere => ("✗", Tone::Bad),
        Support::NotCited => ("!", Tone::Warning),
        Support::Uncheckable => ("·", Tone::Faint),
    };
    let place = match support {
        Support::Elsewhere | Support::NotCited => format!(" ({})", contained_in.join(", ")),
        _ => String::new(),
    };
    (format!("{mark} {}{place}", support.describe()), tone)
}
