//! The figures of a reply, also while it comes.

use ratatui::text::Line;

use crate::domain::context::Scenario;
use crate::domain::score::{Metric, Scores};
use crate::tui::app::App;
use crate::tui::app::reached::SoFar;
use crate::tui::app::reply::ReplyState;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::span;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::fit;

/// The figures that the scenario is about, in a line: the documents below say where they come from.
pub(super) fn rates(app: &App, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
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

/// Metrics of one reply, in the order and with the names of the benchmark.
pub(super) fn metrics(app: &App, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
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
pub(in crate::tui::view) fn so_far_words(
    reply: &ReplyState,
    metric: Metric,
) -> (String, &'static str) {
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
