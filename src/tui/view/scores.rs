//! The score panels: the current scenario in full, the others in a line each.

use std::rc::Rc;

use ratatui::text::{Line, Span};

use crate::domain::context::Scenario;
use crate::domain::passage::Role;
use crate::domain::score::{Labelled, Metric, Scores, SubScore};
use crate::tui::app::App;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::ReplyState;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::{right_mark, role_mark};
use crate::tui::view::instance::scenario_title;
use crate::tui::view::reply::outcome_words;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{fit, one_line};
use crate::tui::widgets::text::Rich;

pub(super) fn titles(app: &App, state: &InstanceState) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let theme = &app.theme;
    let title = format!("{} scores", scenario_title(state.condition.scenario));
    let left = vec![span(theme, title, Tone::Title)];
    let right = match shown(app, state) {
        Some(reply) if reply.running() => vec![span(theme, "live", Tone::Warning)],
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
        None => format!("{} asks the model.", app.keymap.key(Command::Ask)),
    };
    flow.say(&app.wraps, &text, Tone::Faint);
}

fn scored(app: &App, state: &InstanceState, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
    main_answer(app, state, reply, scores, flow);
    match reply.context.scenario {
        Scenario::Standard => {}
        Scenario::Sufficiency => sufficiency(app, reply, scores, flow),
        Scenario::Integration => {
            for sub in &scores.subs {
                integration(app, state, reply, sub, flow);
            }
        }
        Scenario::Robustness => {
            for sub in &scores.subs {
                robustness(app, state, reply, sub, flow);
            }
        }
    }
    metrics(app, scores, flow);
}

fn main_answer(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    scores: &Scores,
    flow: &mut Flow,
) {
    let theme = &app.theme;
    let answer = reply.parsed.as_ref().and_then(|parsed| parsed.answer);
    let mut spans = vec![span(theme, "main answer  ", Tone::Faint)];
    match (answer, reply.verdict()) {
        (_, Some(verdict)) => {
            let what = answer.map_or_else(
                || outcome_words(scores.outcome).to_owned(),
                |letter| letter.to_string(),
            );
            spans.push(span(theme, format!("{what}  "), Tone::Strong));
            if state.gold {
                let (mark, word) = verdict.words();
                spans.push(span(theme, format!("{mark} {word}"), verdict_tone(verdict)));
            }
        }
        (Some(letter), None) => spans.push(span(theme, letter.to_string(), Tone::Strong)),
        (None, None) => spans.push(span(theme, "not yet", Tone::Faint)),
    }
    flow.line(Line::from(spans));
    flow.gap();
}

fn said_words(said: Labelled, running: bool) -> &'static str {
    match said {
        Labelled::Relevant => "said signal",
        Labelled::Irrelevant => "said noise",
        Labelled::Both => "said both",
        Labelled::Neither if running => "not yet labelled",
        Labelled::Neither => "not labelled",
    }
}

fn sufficiency(app: &App, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
    let theme = &app.theme;
    // Rows: signal, noise; columns: relevant, irrelevant, both or neither.
    let mut table = [[0usize; 3]; 2];
    for doc in &scores.documents {
        let (mark, tone) = role_mark(doc.role);
        let role = if doc.role == Role::Noise {
            "noise"
        } else {
            "signal"
        };
        let column = match doc.said {
            Labelled::Relevant => 0,
            Labelled::Irrelevant => 1,
            Labelled::Both | Labelled::Neither => 2,
        };
        table[usize::from(doc.role == Role::Noise)][column] += 1;
        let waiting = doc.said == Labelled::Neither && reply.running();
        let (right, right_tone) = if waiting {
            ("·", Tone::Faint)
        } else {
            right_mark(doc.right)
        };
        flow.line(Line::from(vec![
            span(theme, fit(&doc.label, 8), Tone::Text),
            span(theme, format!("{mark} {role:<8}"), tone),
            span(
                theme,
                fit(said_words(doc.said, reply.running()), 17),
                Tone::Text,
            ),
            span(theme, right, right_tone),
        ]));
    }
    flow.gap();
    let heading = "            called relevant  irrelevant  unlabelled";
    flow.line(Line::from(span(theme, heading, Tone::Faint)));
    for (row, (name, tone)) in [("● signal", Tone::Signal), ("○ noise", Tone::Noise)]
        .into_iter()
        .enumerate()
    {
        let [relevant, irrelevant, neither] = table[row];
        flow.line(Line::from(vec![
            span(theme, fit(name, 12), tone),
            span(
                theme,
                format!("{relevant:>15}  {irrelevant:>10}  {neither:>10}"),
                Tone::Text,
            ),
        ]));
    }
    flow.gap();
}

fn label_spans(app: &App, reply: &ReplyState, sub: &SubScore) -> Vec<Span<'static>> {
    let role = reply
        .context
        .documents
        .iter()
        .find(|doc| doc.label == sub.label)
        .map_or(Role::Signal, |doc| doc.role);
    let (mark, tone) = role_mark(role);
    vec![span(&app.theme, format!("{mark} {}  ", sub.label), tone)]
}

/// Gold and given answer of a sub-question.
fn answers(app: &App, state: &InstanceState, reply: &ReplyState, sub: &SubScore, flow: &mut Flow) {
    let given = match &sub.given {
        Some(given) => one_line(given),
        None if reply.running() => "not yet".into(),
        None => "skipped".into(),
    };
    let mut pieces = vec![("given ".to_owned(), Tone::Faint), (given, Tone::Text)];
    if state.gold {
        pieces.push(("   true ".into(), Tone::Faint));
        pieces.push((one_line(&sub.gold), Tone::Good));
        if let Some(planted) = &sub.planted {
            pieces.push(("   planted ".into(), Tone::Faint));
            pieces.push((one_line(planted), Tone::Adversarial));
        }
    }
    let pieces = pieces.iter().map(|(text, tone)| (text.as_str(), *tone));
    flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 2);
}

fn integration(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let theme = &app.theme;
    let mut spans = label_spans(app, reply, sub);
    if sub.given.is_some() {
        let (mark, tone) = right_mark(sub.exact);
        spans.push(span(theme, format!("{mark} exact  "), tone));
        spans.push(span(theme, format!("F1 {:.2}  ", sub.f1), Tone::Text));
        if let Some(judge) = sub.judge {
            spans.push(span(theme, format!("judge {judge:.1}  "), Tone::Text));
        }
        let (mark, tone) = right_mark(sub.attributed);
        spans.push(span(theme, format!("{mark} right document"), tone));
        if let Some(named) = sub.named.as_ref().filter(|_| !sub.attributed) {
            spans.push(span(theme, format!(" ({})", one_line(named)), Tone::Faint));
        }
    }
    flow.line(Line::from(spans));
    answers(app, state, reply, sub, flow);
}

fn robustness(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let theme = &app.theme;
    let mut spans = label_spans(app, reply, sub);
    let truth = if sub.planted.is_some() {
        "edited"
    } else {
        "original"
    };
    spans.push(span(theme, format!("{truth:<9}"), Tone::Text));
    match (sub.verdict, sub.verdict_right) {
        (Some(verdict), right) => {
            let said = if verdict {
                "said correct"
            } else {
                "said wrong"
            };
            let (mark, tone) = right_mark(right == Some(true));
            spans.push(span(theme, format!("{said} {mark}  "), tone));
        }
        (None, _) if reply.running() => spans.push(span(theme, "no verdict yet  ", Tone::Faint)),
        (None, _) => spans.push(span(theme, "no verdict ✗  ", Tone::Bad)),
    }
    if sub.given.is_some() {
        let (text, tone) = if sub.adopted {
            ("✗ planted answer", Tone::Bad)
        } else if sub.exact {
            ("✓ true answer", Tone::Good)
        } else {
            ("other answer", Tone::Warning)
        };
        spans.push(span(theme, text, tone));
    }
    flow.line(Line::from(spans));
    answers(app, state, reply, sub, flow);
}

/// Metrics of one reply, in the order and with the names of the benchmark.
fn metrics(app: &App, scores: &Scores, flow: &mut Flow) {
    let theme = &app.theme;
    for (metric, ratio) in &scores.counts {
        let Some(name) = metric_name(*metric) else {
            continue;
        };
        let value = match ratio.value() {
            Some(value) => format!("{:>5.1} %", value * 100.0),
            None => "    –  ".into(),
        };
        let count = if ratio.num.fract() == 0.0 {
            format!("  {:.0}/{:.0}", ratio.num, ratio.den)
        } else {
            format!("  {:.2}/{:.0}", ratio.num, ratio.den)
        };
        flow.line(Line::from(vec![
            span(theme, fit(name, 25), Tone::Faint),
            span(theme, value, Tone::Strong),
            span(theme, count, Tone::Faint),
        ]));
    }
}

/// The metrics worth a line for a single reply.
fn metric_name(metric: Metric) -> Option<&'static str> {
    Some(match metric {
        Metric::NoiseDetectionAccuracy => "noise detection",
        Metric::NoiseDetectionLabelled => "  among labelled",
        Metric::SubExactMatch => "sub-answers exact",
        Metric::SubTokenF1 => "sub-answers token F1",
        Metric::SubJudgeScore => "sub-answers judged",
        Metric::AttributionAccuracy => "right document named",
        Metric::FactualErrorDetection => "factual error detection",
        Metric::AdversarialRecall => "edited ones found",
        Metric::FalseAlarmRate => "originals called wrong",
        Metric::MisinformationAdopted => "misinformation adopted",
        _ => return None,
    })
}

fn other_lines(app: &App, state: &InstanceState, flow: &mut Flow) {
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
