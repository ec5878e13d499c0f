//! What the same model says in the other scenarios, in a line each.

use std::rc::Rc;

use crate::domain::context::Scenario;
use crate::domain::score::Metric;
use crate::tui::app::App;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::{ReplyState, Whose};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::instance::scenario_title;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

pub(super) fn other_lines(app: &App, state: &InstanceState, flow: &mut Flow) {
    let key = app.keymap.key(Command::NextScenario);
    for scenario in Scenario::ALL {
        if scenario == state.condition.scenario {
            continue;
        }
        let mut pieces = vec![(format!("{:<13}", scenario_title(scenario)), Tone::Strong)];
        if flow.width() < 50 {
            pieces[0].0 = format!("{}\n  ", scenario_title(scenario));
        }
        let latest = app.replies.latest(&state.question.id, scenario);
        match latest.and_then(|reply| reply.verdict().map(|verdict| (reply, verdict))) {
            Some((reply, verdict)) => {
                let (mark, word) = verdict.words();
                pieces.push((format!("{mark} {word}"), verdict_tone(verdict)));
                let context = &reply.context;
                let p = if scenario == Scenario::Standard {
                    String::new()
                } else {
                    format!(", p {} %", context.p_requested)
                };
                let text = format!("  n {}{p}, seed {}", context.docs_requested, context.seed);
                pieces.push((text, Tone::Faint));
                if app.replies.whose(reply) == Whose::Another {
                    let text = format!("  of {}", one_line(&reply.model));
                    pieces.push((text, Tone::Warning));
                }
                if let Some(text) = headline(reply) {
                    pieces.push((format!("  {text}"), Tone::Text));
                }
            }
            None if latest.is_some() => pieces.push(("being answered".into(), Tone::Warning)),
            None => pieces.push((why_empty(app, state, scenario, &key), Tone::Faint)),
        }
        let pieces = pieces.iter().map(|(text, tone)| (text.as_str(), *tone));
        flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 0);
    }
}

/// The number that a scenario is about.
fn headline(reply: &ReplyState) -> Option<String> {
    let scores = reply.scores.as_ref()?;
    let (metric, name) = match reply.context.scenario {
        Scenario::Standard => return None,
        Scenario::Sufficiency => (Metric::NoiseDetectionAccuracy, "labels right"),
        Scenario::Integration => (Metric::SubExactMatch, "sub-answers exact"),
        Scenario::Robustness => (Metric::FactualErrorDetection, "verdicts right"),
    };
    let ratio = scores.counts.get(&metric)?;
    Some(format!("{name} {:.0}/{:.0}", ratio.num, ratio.den))
}

fn why_empty(app: &App, state: &InstanceState, scenario: Scenario, key: &str) -> String {
    let Some(dataset) = app.data() else {
        return String::new();
    };
    let pools = dataset.pools(&state.question.id);
    match scenario {
        Scenario::Integration | Scenario::Robustness if pools.sub_questions.is_empty() => {
            "this question has no sub-questions".into()
        }
        Scenario::Robustness if pools.counterfactuals.is_empty() => {
            "this question has no adversarial documents".into()
        }
        _ => format!("no reply yet ({key} switches)"),
    }
}
