//! What stored runs hold: their list, the curves of one, two of them compared.

use crate::data::store::{ReplyRecord, RunSummary, Store};
use crate::domain::compare::{Comparison, LeftOut, Observation, answered, compare};
use crate::domain::probe::PROBES;
use crate::domain::report::{Options, Published, build};
use crate::domain::score::Metric;
use crate::domain::stats::Resampling;
use crate::domain::text::{count, short};
use crate::engine::compare::{Aligned, RunView, align};
use crate::tui::app::compare::{Compared, Contender};
use crate::tui::app::curves::Figures;
use crate::tui::effects::Job;

/// As `medrgb compare` resamples where it is not told otherwise.
const RESAMPLING: Resampling = Resampling {
    resamples: 10_000,
    seed: 0,
};

/// The runs, newest first.
pub(super) fn list(job: &Job) -> Result<Vec<RunSummary>, String> {
    match job.reading()? {
        Some(store) => store.runs().map_err(|error| error.to_string()),
        None => Ok(Vec::new()),
    }
}

fn store_of(job: &Job) -> Result<Store, String> {
    job.reading()?
        .ok_or_else(|| "nothing has been stored yet".to_owned())
}

/// The report on a run, as `medrgb report --against paper` makes it.
pub(super) fn figures(job: &Job, run: &str) -> Result<Figures, String> {
    if run == PROBES {
        return Err(format!(
            "the run \"{PROBES}\" holds replies to contexts that were changed by hand, which no curve counts"
        ));
    }
    let askings = store_of(job)?
        .observations(run)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("there is no run \"{}\" any more", short(run)))?;
    if askings.is_empty() {
        return Err(format!("the run \"{}\" holds no replies yet", short(run)));
    }
    let paper = Published::embedded().map_err(|error| error.to_string())?;
    let options = Options {
        against: true,
        ..Options::new(&paper)
    };
    let report = build(vec![(run.to_owned(), askings)], &options);
    if report.tables.is_empty() {
        return Err(format!(
            "nothing could be measured in the run \"{}\": no call brought a reply",
            short(run)
        ));
    }
    Ok(Figures { report, paper })
}

/// Two sides compared, as `medrgb compare --model-a --model-b` does it.
pub(super) fn compared(job: &Job, a: &Contender, b: &Contender) -> Result<Compared, String> {
    let store = store_of(job)?;
    let view = |side: &Contender| {
        RunView::of_run(&store, &side.run, Some(&side.model)).map_err(|error| error.to_string())
    };
    let (mut first, second) = (view(a)?, view(b)?);
    let aligned = align(&mut first, &second);
    let (mut notes, mut cautions) = (Vec::new(), Vec::new());
    for (letter, view) in [("A", &first), ("B", &second)] {
        if view.broken > 0 {
            let records = count(view.broken, "record");
            notes.push(format!("{records} of {letter} can't be read"));
        }
        cautions.extend(
            view.cautions
                .iter()
                .map(|caution| format!("{letter}: {caution}")),
        );
    }
    notes.extend(notes_of_questions(aligned));
    let judges_differ = first.judges != second.judges;
    let pairs = answered(slim(&first.observations), slim(&second.observations));
    let comparison = compare(
        first.observations,
        second.observations,
        &Metric::HEADLINE,
        RESAMPLING,
    );
    if comparison.pairs == 0 {
        return Err(format!(
            "these two hold no replies to the same question of the same dataset under the same condition, so there is nothing to compare ({})",
            left_out_words(&comparison.left_out)
        ));
    }
    notes.extend(notes_of(&comparison, judges_differ));
    Ok(Compared {
        comparison,
        pairs,
        notes,
        cautions,
    })
}

/// What became of questions whose datasets differ as wholes.
fn notes_of_questions(Aligned { same, different }: Aligned) -> Vec<String> {
    let mut notes = Vec::new();
    if same > 0 {
        notes.push(format!(
            "{} from datasets that differ as wholes: paired since id, text, options and right answer are the same",
            count(same, "question")
        ));
    }
    if different > 0 {
        notes.push(format!(
            "{} not paired: the same id, but another text, other options or another right answer",
            count(different, "question")
        ));
    }
    notes
}

/// With the accuracy alone: that is all a list needs.
fn slim(observations: &[Observation]) -> Vec<Observation> {
    let slim = |one: &Observation| Observation {
        dataset: one.dataset.clone(),
        question: one.question.clone(),
        asker: one.asker.clone(),
        counts: one.counts.as_ref().map(|counts| {
            let accuracy = counts.get_key_value(&Metric::MainAccuracy);
            accuracy
                .map(|(metric, ratio)| (*metric, *ratio))
                .into_iter()
                .collect()
        }),
        ..*one
    };
    observations.iter().map(slim).collect()
}

fn notes_of(comparison: &Comparison, judges_differ: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let older = comparison.superseded;
    for (letter, records) in [("A", older.a), ("B", older.b)] {
        if records > 0 {
            let records = count(records, "record");
            notes.push(format!(
                "{records} of {letter} left out, since a newer one of the same request counts"
            ));
        }
    }
    if comparison.left_out.total() > 0 {
        let why = left_out_words(&comparison.left_out);
        notes.push(format!("not paired: {why}"));
    }
    if comparison.different_documents > 0 {
        let pairs = count(comparison.different_documents, "pair");
        notes.push(format!("in {pairs} the two saw different documents"));
    }
    if judges_differ && comparison.pooled.contains_key(&Metric::SubJudgeScore) {
        notes.push("the judge scores come from different judges".to_owned());
    }
    notes
}

fn left_out_words(left_out: &LeftOut) -> String {
    let reasons = [
        (left_out.only_a, "only in A"),
        (left_out.only_b, "only in B"),
        (left_out.unavailable_a, "unavailable in A"),
        (left_out.unavailable_b, "unavailable in B"),
        (left_out.unavailable_both, "unavailable in both"),
    ];
    let reasons: Vec<String> = reasons
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    match reasons.is_empty() {
        true => "no replies on either side".to_owned(),
        false => reasons.join(", "),
    }
}

/// Both records of a pair.
pub(super) fn pair(job: &Job, (a, b): (i64, i64)) -> Result<(ReplyRecord, ReplyRecord), String> {
    let store = store_of(job)?;
    let get = |id| {
        let record = store.get(id).map_err(|error| error.to_string())?;
        record.ok_or_else(|| format!("record {id} is not in the store any more"))
    };
    Ok((get(a)?, get(b)?))
}
