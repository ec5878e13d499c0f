//! Where planted text went in a reply, and what its citations are worth.

use crate::domain::probe::{
    Around, Audited, Citations, Fact, PlantedTrace, Stance, Trace, Traced, Weight,
    facts_of_citation, facts_of_claim, facts_of_quote,
};
use crate::tui::app::App;
use crate::tui::app::probe::Audit;
use crate::tui::app::reply::ReplyState;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::reply::part;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;

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
    flow.say(&app.wraps, &Traced::of([trace]).sentence(), Tone::Strong);
    for one in &trace.planted {
        claim(app, trace, one, reasoning, flow);
    }
}

fn claim(app: &App, trace: &Trace, one: &PlantedTrace, reasoning: &str, flow: &mut Flow) {
    let (mark, tone) = match one.stance {
        Stance::Adopted => ("✗", Tone::Bad),
        Stance::Contained | Stance::Repeated => ("!", Tone::Warning),
        Stance::Elsewhere | Stance::Absent => ("·", Tone::Faint),
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
    for fact in facts_of_claim(trace, one, reasoning) {
        part(app, flow, "", &pieces_of(&fact));
    }
}

/// A fact with the words that show it, marked.
fn pieces_of(fact: &Fact) -> Vec<(String, Tone)> {
    let (mark, tone) = weighed(fact.weight);
    let mut pieces = vec![(format!("{mark} {}", fact.text), tone)];
    if let Some(Around {
        before,
        words,
        after,
    }) = &fact.words
    {
        pieces.push((format!(": “{before}"), Tone::Faint));
        pieces.push((words.clone(), Tone::Match));
        pieces.push((format!("{after}”"), Tone::Faint));
    }
    pieces
}

/// The mark and the tone of a fact.
fn weighed(weight: Weight) -> (&'static str, Tone) {
    match weight {
        Weight::Good => ("✓", Tone::Good),
        Weight::Bad => ("✗", Tone::Bad),
        Weight::Doubtful => ("!", Tone::Warning),
        Weight::Plain => ("·", Tone::Text),
    }
}

fn cited(app: &App, citations: &Citations, flow: &mut Flow) {
    flow.say(&app.wraps, "Citations", Tone::Title);
    flow.say(
        &app.wraps,
        &Audited::of([citations]).sentence(),
        Tone::Strong,
    );
    for (at, one) in citations.sub_answers.iter().enumerate() {
        let (cites, fact) = facts_of_citation(one);
        citation(app, &format!("sub {}", at + 1), &cites, &fact, flow);
    }
    for quote in &citations.quotes {
        let (cites, fact) = facts_of_quote(quote);
        citation(app, "quoted", &cites, &fact, flow);
    }
}

fn citation(app: &App, name: &str, cites: &str, fact: &Fact, flow: &mut Flow) {
    let mut pieces = vec![(format!("{cites}: "), Tone::Text)];
    pieces.extend(pieces_of(fact));
    part(app, flow, name, &pieces);
}
