//! What a reader must know before the numbers: cautions, what was left out, how to read the tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::report::build::{Options, published_model};
use crate::domain::report::observation::Percent;
use crate::domain::report::place::Series;
use crate::domain::report::{NOT_COMPARABLE, Observation, Report};
use crate::domain::score::Metric;

/// All remarks, the weightiest first.
pub(super) fn remarks(
    report: &Report,
    askings: &[Observation],
    series: &[Series],
    options: &Options<'_>,
) -> Vec<String> {
    let mut all = cautions(askings);
    all.extend(comparison(report, series, options));
    all.extend(left_out(report));
    all.extend(settings(series));
    all.extend(judges(askings));
    if has_repeats(askings) {
        all.push(
            "Questions asked several times under one condition (seeds) count each time; their intervals are bootstrapped by question."
                .to_owned(),
        );
    }
    if !askings.is_empty() && report.calibration.is_empty() {
        all.push("No calibration: no counted reply that chose an option has probabilities of the options; the embedded model records them, and so does a server that gives them where top_logprobs is set for its model in the config.".to_owned());
    }
    if !askings.is_empty() {
        all.push("Rates in per cent with 95 % intervals: Wilson's for one yes or no per question, else a bootstrap by question (2,000 draws), which has no width where no question differs.".to_owned());
        all.push("n is what a rate is divided by. A reply that can't be read counts as wrong; a call without a reply (unavailable) counts in no rate.".to_owned());
    }
    all
}

fn cautions(askings: &[Observation]) -> Vec<String> {
    let cautions: BTreeSet<(&str, &str)> = askings
        .iter()
        .filter_map(|asking| Some((&*asking.model, asking.caution.as_deref()?)))
        .collect();
    cautions
        .into_iter()
        .map(|(model, caution)| format!("Caution, {model}: {caution}."))
        .collect()
}

/// The judge belongs to the judge score; several in one run are not alike.
fn judges(askings: &[Observation]) -> Vec<String> {
    let mut by_run: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for asking in askings {
        if let Some(judge) = asking.judge.as_deref() {
            by_run.entry(&asking.run).or_default().insert(judge);
        }
    }
    by_run
        .into_iter()
        .map(|(run, judges)| {
            let names: Vec<&str> = judges.into_iter().collect();
            let of_run = askings.iter().filter(|asking| *asking.run == *run);
            let missing = unjudged(of_run);
            format!(
                "Sub-answers of {run} were judged by {}.{missing}",
                names.join(", ")
            )
        })
        .collect()
}

/// How many sub-answers the judge score is not about; nothing where it is about all.
fn unjudged<'a>(askings: impl Iterator<Item = &'a Observation>) -> String {
    let (mut judged, mut asked) = (0.0, 0.0);
    for asking in askings {
        let den = |metric| asking.counts.get(&metric).map_or(0.0, |ratio| ratio.den);
        judged += den(Metric::SubJudgeScore);
        asked += den(Metric::SubExactMatch);
    }
    match judged < asked {
        true => format!(
            " The judge score is about {judged} of {asked}: the others were not judged, or their judgement failed or can't be read."
        ),
        false => String::new(),
    }
}

fn comparison(report: &Report, series: &[Series], options: &Options<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for one in report.comparisons.iter().filter(|one| !one.comparable) {
        let reason = match one.reason.starts_with(NOT_COMPARABLE) {
            true => one.reason.clone(),
            false => format!("not compared with the paper: {}", one.reason),
        };
        all.push(format!("{}: {reason}.", one.dataset));
    }
    if report.published.is_some() {
        all.push(format!(
            "Published figures: {}; they come without intervals and numbers of replies.",
            options.paper.source
        ));
    }
    let compared = options.against && report.comparisons.iter().any(|one| one.comparable);
    if compared {
        all.push("The paper's draws of documents are its own and it does not say where the documents of Tables 4 to 6 were retrieved: its figures stand beside runs that use all sources.".to_owned());
        let unknown: BTreeSet<&str> = series
            .iter()
            .filter(|series| !series.is_paper && published_model(&series.model, options).is_none())
            .map(|series| &*series.model)
            .collect();
        all.extend(unknown.into_iter().map(|model| {
            format!(
                "The paper has no figures of {model} (its models: {}).",
                options.paper.models().join(", ")
            )
        }));
    }
    all
}

fn left_out(report: &Report) -> Vec<String> {
    let mut all = Vec::new();
    for run in &report.runs {
        if run.superseded > 0 {
            all.push(format!(
                "{}: {} of {} records are left out because a newer one of the same request counts.",
                run.name, run.superseded, run.records
            ));
        }
        if run.short_left_out > 0 {
            all.push(format!(
                "{}: {} askings with short contexts are left out.",
                run.name, run.short_left_out
            ));
        }
    }
    all
}

fn settings(series: &[Series]) -> Vec<String> {
    let numbered = series
        .iter()
        .filter(|series| series.label.contains(&format!("{} #", series.model)));
    numbered
        .map(|series| {
            format!(
                "{} stands for the settings {}.",
                series.label, series.settings
            )
        })
        .collect()
}

/// Whether a question was asked more than once for the same cell.
fn has_repeats(askings: &[Observation]) -> bool {
    let mut seen = BTreeMap::new();
    askings.iter().any(|asking| {
        let condition = &asking.condition;
        let cell = (
            (&asking.run, &asking.model, &asking.settings),
            (&asking.fingerprint, &asking.question),
            (condition.scenario, condition.docs, Percent::of(condition)),
            (condition.mode.name(), condition.source.name()),
        );
        let times = seen.entry(cell).or_insert(0);
        *times += 1;
        *times > 1
    })
}
