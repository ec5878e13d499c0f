//! The score panels: the current scenario in full, the others in a line each.

use ratatui::text::{Line, Span};

use crate::domain::context::Scenario;
use crate::domain::score::Scores;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::{ReplyState, Whose};
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::span;
use crate::tui::view::instance::scenario_title;
use crate::tui::view::reply::outcome_words;
use crate::tui::view::scores::others::other_lines;
use crate::tui::view::scores::rates::{metrics, rates};
use crate::tui::view::scores::subs::{integration, robustness};
use crate::tui::view::scores::sufficiency::sufficiency;
use crate::tui::widgets::flow::Flow;

pub(super) use rates::so_far_words;

mod others;
mod rates;
mod subs;
mod sufficiency;

/// Below this width names do not stand beside what they name.
const NARROW: usize = 40;

pub(super) fn titles(app: &App, state: &InstanceState) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let theme = &app.theme;
    let title = format!("{} scores", scenario_title(state.condition.scenario));
    let left = vec![span(theme, title, Tone::Title)];
    let right = match shown(app, state) {
        Some(reply) if reply.running() => vec![span(theme, "live", Tone::Warning)],
        Some(reply) if app.replies.whose(reply) == Whose::Another => {
            vec![span(theme, "of another model", Tone::Warning)]
        }
        Some(_) => vec![span(theme, "final", Tone::Faint)],
        None => Vec::new(),
    };
    (left, right)
}

fn shown<'a>(app: &'a App, state: &InstanceState) -> Option<&'a ReplyState> {
    app.replies.shown(state.context()?)
}

/// The scores of the current scenario; with `others` the rest follows in a line each.
pub(super) fn flow(app: &App, state: &InstanceState, width: u16, others: bool) -> Flow {
    let mut flow = Flow::new(width);
    let reply = shown(app, state);
    match reply.and_then(|reply| reply.scores.as_ref().map(|scores| (reply, scores))) {
        Some((reply, scores)) => scored(app, state, reply, scores, &mut flow),
        None => expected(app, state, &mut flow),
    }
    if others {
        flow.gap();
        flow.line(Line::from(span(&app.theme, "Other scenarios", Tone::Title)));
        other_lines(app, state, &mut flow);
    }
    flow
}

/// The panel of the other scenarios.
pub(super) fn others(app: &App, state: &InstanceState, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    other_lines(app, state, &mut flow);
    flow
}

/// What will be scored, before there is anything to score.
fn expected(app: &App, state: &InstanceState, flow: &mut Flow) {
    let text = match state.condition.scenario {
        Scenario::Standard => "Does the model choose the right option?",
        Scenario::Sufficiency => {
            "Does the model tell relevant documents (●) from irrelevant ones (○), and say so when they do not suffice?"
        }
        Scenario::Integration => {
            "Does the model answer each sub-question, and from the right document?"
        }
        Scenario::Robustness => {
            "Does the model notice which documents were edited (▲), and give the true answer all the same?"
        }
    };
    flow.say(&app.wraps, text, Tone::Text);
    flow.gap();
    let text = match shown(app, state) {
        Some(reply) if reply.running() => "Scores appear here as the reply comes.".to_owned(),
        Some(_) => "No reply came, so there is nothing to score; it counts in no rate.".to_owned(),
        // Its panel says what must be changed before anything can be asked.
        None if state.composed.is_err() || app.screen == Screen::Talk => String::new(),
        None => format!("{} asks the model.", app.keymap.key(Command::Ask)),
    };
    flow.say(&app.wraps, &text, Tone::Faint);
}

fn scored(app: &App, state: &InstanceState, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
    main_answer(app, state, reply, scores, flow);
    rates(app, reply, scores, flow);
    flow.gap();
    match reply.context.scenario {
        Scenario::Standard => {}
        Scenario::Sufficiency => sufficiency(app, reply, scores, flow),
        Scenario::Integration => {
            for (index, sub) in scores.subs.iter().enumerate() {
                integration(app, state, reply, index, sub, flow);
            }
        }
        Scenario::Robustness => {
            for (index, sub) in scores.subs.iter().enumerate() {
                robustness(app, state, reply, index, sub, flow);
            }
        }
    }
    metrics(app, reply, scores, flow);
}

fn main_answer(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    scores: &Scores,
    flow: &mut Flow,
) {
    let answer = reply.parsed.as_ref().and_then(|parsed| parsed.answer);
    let mut groups = Vec::new();
    match (answer, reply.verdict()) {
        (_, Some(verdict)) => {
            let what = answer.map_or_else(
                || outcome_words(scores.outcome).to_owned(),
                |letter| letter.to_string(),
            );
            groups.push(vec![(what, Tone::Strong)]);
            if state.gold {
                let (mark, word) = verdict.words();
                groups.push(vec![(format!("{mark} {word}"), verdict_tone(verdict))]);
            }
        }
        (Some(letter), None) => groups.push(vec![(letter.to_string(), Tone::Strong)]),
        (None, None) => groups.push(vec![("not yet".into(), Tone::Faint)]),
    }
    let name = "main answer";
    if flow.width() < NARROW {
        groups.insert(0, vec![(name.into(), Tone::Faint)]);
        flow.groups(&app.wraps, Line::default(), 0, &groups);
    } else {
        let head = Line::from(span(&app.theme, name, Tone::Faint));
        flow.groups(&app.wraps, head, 13, &groups);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;
    use std::time::Duration;

    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use crate::data::dataset::Dataset;
    use crate::domain::answer::{Ending, parse};
    use crate::domain::context::Condition;
    use crate::domain::prompt::{Templates, reply_shape};
    use crate::domain::score::score;
    use crate::tui::app::reply::Phase;
    use crate::tui::app::{DatasetState, Settings, Ticket};
    use crate::tui::keymap::Keymap;
    use crate::tui::theme::{ColorDepth, Theme};

    /// A reply that broke off, to a question of the sample in this scenario.
    fn scene(scenario: Scenario, raw: &str) -> (App, InstanceState) {
        let dataset = Arc::new(Dataset::sample().unwrap());
        let settings = Settings {
            model: "m".into(),
            dataset: "sample".into(),
            k: 5,
            templates: Templates::default(),
        };
        let theme = Theme::built_in("dark", ColorDepth::True);
        let mut app = App::new(settings, Keymap::default(), theme, (100, 30));
        app.dataset = DatasetState::Ready(Arc::clone(&dataset));
        let condition = Condition {
            scenario,
            ..Condition::default()
        };
        let templates = Templates::default();
        let state = InstanceState::open(&dataset, &templates, 0, condition, false).unwrap();
        let context = state.context().unwrap().clone();
        let shape = reply_shape(&state.question, &context);
        let parsed = parse(raw, &shape, Ending::Interrupted);
        let question = state.question.clone();
        let mut reply = ReplyState::asked(Ticket(1), question, context, shape, "m", Duration::ZERO);
        reply.raw = raw.to_owned();
        reply.scores = Some(score(&state.question, &reply.context, &parsed));
        reply.parsed = Some(parsed);
        reply.phase = Phase::Done;
        app.replies.recent.push(reply);
        (app, state)
    }

    /// Everything that is drawn at a width, without white space.
    fn letters(app: &App, state: &InstanceState, width: u16) -> String {
        let flow = flow(app, state, width, true);
        let area = Rect::new(0, 0, width, u16::try_from(flow.rows()).unwrap());
        let mut buffer = Buffer::empty(area);
        flow.draw(area, &mut buffer, 0, &app.theme);
        let text: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
        text.split_whitespace().collect()
    }

    #[test]
    fn no_value_is_lost_at_any_width() {
        let cases = [
            (
                Scenario::Sufficiency,
                "{\"relevant_doc_id\": [\"DOC_1\", \"DOC_2\"], \"irrelevant_doc_id\": [\"DOC_4\"], \"step_by",
                vec![
                    "unlabelled",
                    "irrelevant",
                    "calledrelevant",
                    "DOC_5",
                    "notlabelled",
                ],
            ),
            (
                Scenario::Robustness,
                "{\"sub_1\": {\"relevant_doc_id\": \"DOC_1\", \"factual_correctness\": true, \"answer\": \"x\"}, \"sub_2",
                vec![
                    "saidcorrect",
                    "verdictnotreached",
                    "otheranswer",
                    "edited",
                    "givennotreached",
                ],
            ),
            (
                Scenario::Integration,
                "{\"sub_1\": {\"relevant_doc_id\": \"DOC_99\", \"answer\": \"x\"}, \"sub_2",
                vec!["✗exact", "F10.00", "✗rightdocument", "notreached"],
            ),
        ];
        for (scenario, raw, wanted) in cases {
            let (app, state) = scene(scenario, raw);
            // A panel of 30 columns has 26 inside its frame.
            for width in 26..=140 {
                let text = letters(&app, &state, width);
                let always = ["mainanswer", "brokeoffbeforeananswer", "unavailable"];
                for word in always.iter().chain(&wanted) {
                    // The wide table has its two words in a column each.
                    let found = text.contains(word)
                        || (*word == "calledrelevant"
                            && text.contains("called")
                            && text.contains("relevantirrelevant"));
                    assert!(found, "{scenario:?} at {width}: no {word} in {text}");
                }
            }
        }
    }
}
