//! The score panels: the current scenario in full, the others in a line each.

use std::rc::Rc;

use ratatui::text::{Line, Span};

use crate::domain::context::Scenario;
use crate::domain::passage::Role;
use crate::domain::score::{Labelled, Metric, Scores, SubScore};
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reached::SoFar;
use crate::tui::app::reply::{ReplyState, Whose};
use crate::tui::app::{App, Screen};
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

/// The figures that the scenario is about, in a line: the documents below say where they come from.
fn rates(app: &App, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
    let groups: Vec<Vec<(String, Tone)>> = short_names(reply.context.scenario)
        .iter()
        .filter_map(|(metric, name)| {
            let ratio = scores.counts.get(metric)?;
            let value = match (reply.running(), reply.so_far(*metric)) {
                (true, Some(SoFar { right, judged })) if judged > 0 => {
                    format!("{right:.0}/{judged}")
                }
                (true, _) => "–".to_owned(),
                (false, _) if ratio.den == 0.0 => "–".to_owned(),
                (false, _) => format!("{:.0}/{:.0}", ratio.num, ratio.den),
            };
            let name = format!("{name} ");
            Some(vec![(name, Tone::Faint), (value, Tone::Strong)])
        })
        .collect();
    if !groups.is_empty() {
        flow.groups(&app.wraps, Line::default(), 0, &groups);
    }
}

/// The metrics that are shares of documents, with names for a line of several.
fn short_names(scenario: Scenario) -> &'static [(Metric, &'static str)] {
    match scenario {
        Scenario::Standard => &[],
        Scenario::Sufficiency => &[(Metric::NoiseDetectionAccuracy, "labels right")],
        Scenario::Integration => &[
            (Metric::SubExactMatch, "exact"),
            (Metric::AttributionAccuracy, "right document"),
        ],
        Scenario::Robustness => &[
            (Metric::AdversarialRecall, "edited found"),
            (Metric::FalseAlarmRate, "false alarms"),
            (Metric::MisinformationAdopted, "adopted"),
        ],
    }
}

fn said_words(reply: &ReplyState, said: Labelled) -> &'static str {
    match said {
        Labelled::Relevant => "said signal",
        Labelled::Irrelevant => "said noise",
        Labelled::Both => "said both",
        Labelled::Neither if reply.document_reached(said) => "not labelled",
        Labelled::Neither if reply.running() => "not yet labelled",
        Labelled::Neither => "not reached",
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
        let reached = reply.document_reached(doc.said);
        table[usize::from(doc.role == Role::Noise)][column] += usize::from(reached);
        let (right, right_tone) = if reached {
            right_mark(doc.right)
        } else {
            ("·", Tone::Faint)
        };
        let said = said_words(reply, doc.said);
        let head = Line::from(span(theme, fit(&doc.label, 8), Tone::Text));
        // Columns one below the other where there is room for the widest row.
        let groups = if flow.width() < 36 {
            vec![
                vec![(format!("{mark} {role}"), tone)],
                vec![
                    (format!("{said} "), Tone::Text),
                    (right.to_owned(), right_tone),
                ],
            ]
        } else {
            vec![vec![
                (format!("{mark} {role:<8}"), tone),
                (fit(said, 17), Tone::Text),
                (right.to_owned(), right_tone),
            ]]
        };
        flow.groups(&app.wraps, head, 8, &groups);
    }
    flow.gap();
    confusion(app, &table, flow);
    flow.gap();
}

/// How often documents of each role were called what: a table, or a sentence per role where it is too wide.
/// Rows: signal, noise; columns: relevant, irrelevant, both or neither.
fn confusion(app: &App, table: &[[usize; 3]; 2], flow: &mut Flow) {
    let theme = &app.theme;
    let heading = "called    relevant  irrelevant  unlabelled";
    let tabular = flow.width() >= heading.len();
    if tabular {
        flow.line(Line::from(span(theme, heading, Tone::Faint)));
    }
    let names = [("● signal", Tone::Signal), ("○ noise", Tone::Noise)];
    for ((name, tone), [relevant, irrelevant, neither]) in names.into_iter().zip(table) {
        let head = span(theme, fit(name, 10), tone);
        if tabular {
            let numbers = format!("{relevant:>8}  {irrelevant:>10}  {neither:>10}");
            let numbers = span(theme, numbers, Tone::Text);
            flow.line(Line::from(vec![head, numbers]));
        } else {
            let groups: Vec<_> = [
                format!("{relevant} called relevant"),
                format!("{irrelevant} irrelevant"),
                format!("{neither} unlabelled"),
            ]
            .map(|text| vec![(text, Tone::Text)])
            .into();
            flow.groups(&app.wraps, Line::from(head), 10, &groups);
        }
    }
}

/// A sub-question's document with its mark, and the columns that take.
fn label(app: &App, reply: &ReplyState, sub: &SubScore) -> (Line<'static>, u16) {
    let role = reply
        .context
        .documents
        .iter()
        .find(|doc| doc.label == sub.label)
        .map_or(Role::Signal, |doc| doc.role);
    let (mark, tone) = role_mark(role);
    let head = Line::from(span(&app.theme, format!("{mark} {}  ", sub.label), tone));
    let columns = u16::try_from(head.width()).unwrap_or(0);
    (head, columns)
}

/// What stands for a part of sub-answer k that is not there.
fn missing(reply: &ReplyState, index: usize, left_out: &'static str) -> &'static str {
    match reply.sub_reached(index) {
        true => left_out,
        false => reply.missing_words(left_out),
    }
}

/// Gold and given answer of a sub-question.
fn answers(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    index: usize,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let given = match &sub.given {
        Some(given) if reply.sub_reached(index) => one_line(given),
        Some(given) => format!("{}…", one_line(given)),
        None => missing(reply, index, "skipped").into(),
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
    index: usize,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let (head, columns) = label(app, reply, sub);
    let mut groups = Vec::new();
    if sub.given.is_some() && reply.sub_reached(index) {
        let (mark, tone) = right_mark(sub.exact);
        groups.push(vec![(format!("{mark} exact"), tone)]);
        groups.push(vec![(format!("F1 {:.2}", sub.f1), Tone::Text)]);
        if let Some(judge) = sub.judge {
            groups.push(vec![(format!("judge {judge:.1}"), Tone::Text)]);
        }
        let (mark, tone) = right_mark(sub.attributed);
        let mut document = vec![(format!("{mark} right document"), tone)];
        if let Some(named) = sub.named.as_ref().filter(|_| !sub.attributed) {
            document.push((format!(" ({})", one_line(named)), Tone::Faint));
        }
        groups.push(document);
    }
    flow.groups(&app.wraps, head, columns, &groups);
    answers(app, state, reply, index, sub, flow);
}

fn robustness(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    index: usize,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let (head, columns) = label(app, reply, sub);
    let truth = if sub.planted.is_some() {
        "edited"
    } else {
        "original"
    };
    let mut groups = vec![vec![(format!("{truth:<8}"), Tone::Text)]];
    match (sub.verdict, sub.verdict_right) {
        (Some(verdict), right) => {
            let said = if verdict {
                "said correct"
            } else {
                "said wrong"
            };
            let (mark, tone) = right_mark(right == Some(true));
            groups.push(vec![(format!("{said} {mark}"), tone)]);
        }
        (None, _) if reply.sub_reached(index) => {
            groups.push(vec![("no verdict ✗".into(), Tone::Bad)]);
        }
        (None, _) => groups.push(vec![(
            format!("verdict {}", reply.missing_words("missing")),
            Tone::Faint,
        )]),
    }
    if sub.given.is_some() && reply.sub_reached(index) {
        let (text, tone) = if sub.adopted {
            ("✗ planted answer", Tone::Bad)
        } else if sub.exact {
            ("✓ true answer", Tone::Good)
        } else {
            ("other answer", Tone::Warning)
        };
        groups.push(vec![(text.to_owned(), tone)]);
    }
    flow.groups(&app.wraps, head, columns, &groups);
    answers(app, state, reply, index, sub, flow);
}

/// Metrics of one reply, in the order and with the names of the benchmark.
fn metrics(app: &App, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
    for (metric, ratio) in &scores.counts {
        let Some(name) = metric_name(*metric) else {
            continue;
        };
        if reply.running() {
            let (value, count) = so_far_words(reply, *metric);
            metric_line(app, name, &value, count, flow);
            continue;
        }
        let value = match ratio.value() {
            Some(value) => format!("{:>5.1} %", value * 100.0),
            None => "    –  ".into(),
        };
        let count = if ratio.num.fract() == 0.0 {
            format!("  {:.0}/{:.0}", ratio.num, ratio.den)
        } else {
            format!("  {:.2}/{:.0}", ratio.num, ratio.den)
        };
        metric_line(app, name, &value, &count, flow);
    }
}

/// A figure of a reply that still comes: never a rate, which would look like a result.
pub(super) fn so_far_words(reply: &ReplyState, metric: Metric) -> (String, &'static str) {
    match reply.so_far(metric) {
        Some(SoFar { right, judged }) if judged > 0 => {
            let right = if right.fract() == 0.0 {
                format!("{right:.0}")
            } else {
                format!("{right:.2}")
            };
            (format!("{:>7}", format!("{right}/{judged}")), " so far")
        }
        _ => ("      –".into(), ""),
    }
}

/// Name, value and count on one line in columns, or the numbers below the name where that is too wide.
fn metric_line(app: &App, name: &str, value: &str, count: &str, flow: &mut Flow) {
    let theme = &app.theme;
    let line = Line::from(vec![
        span(theme, fit(name, 25), Tone::Faint),
        span(theme, value.to_owned(), Tone::Strong),
        span(theme, count.to_owned(), Tone::Faint),
    ]);
    if line.width() <= flow.width() {
        return flow.line(line);
    }
    let groups = [
        vec![(name.to_owned(), Tone::Faint)],
        vec![
            (value.trim().to_owned(), Tone::Strong),
            (count.to_owned(), Tone::Faint),
        ],
    ];
    flow.groups(&app.wraps, Line::default(), 0, &groups);
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
