//! What became of a sweep, in one sentence.

use super::prepare::Part;
use crate::cli::Failure;
use crate::cli::common::note;
use crate::domain::text::{clean, count};
use crate::engine::sweep::{GivenUp, PartEnd, Stopped};

const GO_ON: &str = "the same command goes on";

/// Done where something was measured of every part and nothing cut the sweep short.
///
/// # Errors
/// [`Failure::Failed`] otherwise.
pub(super) fn of_all(parts: &[Part], done: &[PartEnd]) -> Result<(), Failure> {
    let not_begun = || parts.iter().skip(done.len()).map(|part| &part.plan);
    let sum = |of: fn(&PartEnd) -> usize| done.iter().map(of).sum::<usize>();
    let replies =
        sum(|one| one.summary.replies()) + not_begun().map(|plan| plan.done()).sum::<usize>();
    let left = sum(|one| one.summary.left())
        + not_begun()
            .map(|plan| plan.instances() - plan.done() - plan.too_long())
            .sum::<usize>();
    let too_long =
        sum(|one| one.summary.too_long()) + not_begun().map(|plan| plan.too_long()).sum::<usize>();
    let mut measured = match replies {
        0 => "nothing was measured".to_owned(),
        replies => format!(
            "{} have a reply, {left} are missing",
            count(replies, "instance")
        ),
    };
    if too_long > 0 {
        measured += &format!("; {too_long} more do not fit the model's window and can't be asked");
    }
    let mut given_up = GivenUp::default();
    for (part, one) in parts.iter().zip(done) {
        given_up.note(&part.sweep, &one.ended);
    }
    match done.last().and_then(|one| one.ended.stopped.as_ref()) {
        Some(Stopped::NotStored(why)) => {
            return Err(Failure::Failed(format!(
                "{measured}; the sweep stopped: {why}"
            )));
        }
        Some(Stopped::ByUser) => {
            return Err(Failure::Failed(format!("stopped; {measured}; {GO_ON}")));
        }
        Some(Stopped::GivenUp(_)) | None => {}
    }
    let several = parts.iter().any(|part| part.sweep.company.len() > 1);
    if let Some(why) = given_up.sentence(several) {
        return Err(Failure::Failed(format!("{measured}; {why}; then {GO_ON}")));
    }
    parts
        .iter()
        .zip(done)
        .try_for_each(|(part, one)| of_part(part, one, parts.len() > 1))?;
    if left > 0 {
        note(&format!("{measured}; {GO_ON} with the missing ones"));
    } else if too_long > 0 {
        note(&measured);
    }
    if let Some(part) = parts.first() {
        note(&format!("stored in the run \"{}\"", clean(&part.sweep.run)));
    }
    Ok(())
}

/// A part of which nothing was measured is a failure.
fn of_part(part: &Part, done: &PartEnd, several: bool) -> Result<(), Failure> {
    let summary = &done.summary;
    if summary.replies() > 0 {
        return Ok(());
    }
    let whose = match several {
        true => format!("{}: ", part.title()),
        false => String::new(),
    };
    if part.plan.instances() == 0 {
        note(&format!(
            "note: {whose}nothing can be asked: no question of {} has documents for this grid",
            clean(&part.sweep.dataset.name)
        ));
        return Ok(());
    }
    if part.plan.instances() == part.plan.too_long() {
        return Err(Failure::Failed(format!(
            "{whose}nothing was measured: none of {} fits the model's window; take fewer documents or a model with a larger one",
            count(part.plan.instances(), "prompt")
        )));
    }
    if part.sweep.only_failed && part.plan.todo.is_empty() && summary.unavailable() == 0 {
        return Err(Failure::Failed(format!(
            "{whose}nothing was asked: the run \"{}\" holds no failed call of this grid (--only-failed)",
            clean(&part.sweep.run)
        )));
    }
    let last = match &done.ended.progress.last_failure {
        Some(message) => format!("; the last one: {message}"),
        None => String::new(),
    };
    Err(Failure::Failed(format!(
        "{whose}nothing was measured: none of {} gave a reply{last}",
        count(summary.unavailable(), "call")
    )))
}
