//! `medrgb score`: saved replies of standard questions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, say_json, write_out};
use crate::data::predictions::{
    Prediction, PredictionError, read_predictions, read_questions, split_set,
};
use crate::domain::answer::Outcome;
use crate::domain::definition::{Definition, read, standard_shape};
use crate::domain::question::Question;
use crate::domain::stats::wilson;
use crate::domain::text::short;

/// Arguments of `medrgb score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Questions: a MIRAGE benchmark.json (or .gz) with #mmlu, #medqa …, a qa.jsonl, or a dataset folder
    #[arg(long, value_name = "FILE[#SET]")]
    pub questions: String,
    /// Saved replies: JSON lines {"id", "response"}
    #[arg(long, value_name = "FILE")]
    pub predictions: PathBuf,
    /// How replies are read: paper, strict or mirage
    #[arg(long, default_value = "paper", value_name = "NAME")]
    pub definition: Definition,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The score of a file of saved replies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How replies were read.
    pub definition: Definition,
    /// Questions with a saved reply.
    pub n: usize,
    /// Replies with the right option.
    pub correct: usize,
    /// `correct / (n - unavailable)`, under `mirage` `correct / n`; null where that is zero.
    pub accuracy: Option<f64>,
    /// Replies that say that the information is insufficient.
    pub insufficient: usize,
    /// Replies from which no answer can be read: unreadable, cut off or empty.
    pub unreadable: usize,
    /// Error messages that were saved as replies: not in the denominator (under `mirage` they are).
    pub unavailable: usize,
    /// Questions without a saved reply: not in `n`.
    pub missing: usize,
    /// Replies by kind; they add up to `n`.
    pub kinds: BTreeMap<Outcome, usize>,
    /// Wilson interval of the accuracy at 95 %, low and high; null where there is no accuracy.
    pub interval: Option<(f64, f64)>,
    /// Right among the replies that chose an option; null where none did.
    pub accuracy_when_answered: Option<f64>,
    /// Replies that needed a repair or that are odd.
    pub with_notes: usize,
    /// How often each repair or oddity was noted.
    pub notes: BTreeMap<String, usize>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence: a set that must be named, a file that can't be read, a wrong
/// line, or nothing to score.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let _ = environment;
    let report = evaluate(&args)?;
    if args.json {
        say_json(&report)
    } else {
        write_out(&table(&report))
    }
}

/// Scores a file of saved replies.
///
/// # Errors
/// As [`run`].
pub fn evaluate(args: &Args) -> Result<Report, Failure> {
    let (file, set) = split_set(&args.questions);
    if file.as_os_str().is_empty() {
        return Err(Failure::Usage(format!(
            "--questions {}: there is no file before the #; expected FILE or FILE#SET, such as benchmark.json#mmlu",
            short(&args.questions)
        )));
    }
    let questions = read_questions(&file, set.as_deref()).map_err(failure)?;
    let by_id: std::collections::HashMap<&str, &Question> = questions
        .iter()
        .map(|question| (question.id.as_str(), question))
        .collect();
    let mut count = Count::default();
    read_predictions(&args.predictions, &mut |_, prediction| {
        let question = by_id.get(prediction.id.as_str()).ok_or_else(|| {
            format!(
                "id \"{}\" is no question of {}; check that both files belong together",
                short(&prediction.id),
                args.questions
            )
        })?;
        count.add(args.definition, question, &prediction);
        Ok(())
    })
    .map_err(failure)?;
    if count.n == 0 {
        return Err(Failure::Failed(format!(
            "{} holds no reply, so there is nothing to score",
            args.predictions.display()
        )));
    }
    Ok(count.report(args.definition, questions.len()))
}

fn failure(error: PredictionError) -> Failure {
    match error {
        PredictionError::Usage(text) => Failure::Usage(text),
        PredictionError::File(text) => Failure::Failed(text),
    }
}

#[derive(Default)]
struct Count {
    n: usize,
    correct: usize,
    answered: usize,
    with_notes: usize,
    kinds: BTreeMap<Outcome, usize>,
    notes: BTreeMap<String, usize>,
}

impl Count {
    fn add(&mut self, definition: Definition, question: &Question, prediction: &Prediction) {
        let reading = read(
            definition,
            prediction.response.as_deref(),
            &standard_shape(question),
        );
        self.n += 1;
        *self.kinds.entry(reading.outcome).or_default() += 1;
        self.correct += usize::from(reading.answer == Some(question.answer));
        self.answered += usize::from(reading.outcome == Outcome::Answered);
        self.with_notes += usize::from(!reading.notes.is_empty());
        for note in reading.notes {
            *self.notes.entry(note).or_default() += 1;
        }
    }

    fn report(self, definition: Definition, questions: usize) -> Report {
        let count = |fits: fn(Outcome) -> bool| {
            let kinds = self.kinds.iter().filter(|(kind, _)| fits(**kind));
            kinds.map(|(_, count)| count).sum::<usize>()
        };
        let unavailable = count(|kind| !kind.is_reply());
        let out_of = match definition {
            Definition::Mirage => self.n,
            Definition::Paper | Definition::Strict => self.n - unavailable,
        };
        let ratio = |num: usize, den: usize| (den > 0).then(|| num as f64 / den as f64);
        Report {
            definition,
            n: self.n,
            correct: self.correct,
            accuracy: ratio(self.correct, out_of),
            insufficient: count(|kind| kind == Outcome::Insufficient),
            unreadable: count(Outcome::is_unreadable),
            unavailable,
            missing: questions - self.n,
            interval: (out_of > 0).then(|| wilson(self.correct, out_of)),
            accuracy_when_answered: ratio(self.correct, self.answered),
            with_notes: self.with_notes,
            kinds: self.kinds,
            notes: self.notes,
        }
    }
}

/// The text form.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    let percent = |rate: Option<f64>| match rate {
        Some(rate) => format!("{:.2} %", rate * 100.0),
        None => "-".to_owned(),
    };
    let out_of = match report.definition {
        Definition::Mirage => report.n,
        Definition::Paper | Definition::Strict => report.n - report.unavailable,
    };
    let interval = report.interval.map_or(String::new(), |(low, high)| {
        format!(
            "  (95 % interval {:.2} to {:.2} %)",
            low * 100.0,
            high * 100.0
        )
    });
    let mut row = |name: &str, value: String, meaning: &str| {
        let line = format!("{name:<16} {value:>8}  {meaning}");
        let _ = writeln!(out, "{}", line.trim_end());
    };
    row("definition", report.definition.to_string(), "");
    row(
        "accuracy",
        percent(report.accuracy),
        &format!("{} right of {out_of}{interval}", report.correct),
    );
    row(
        "when answered",
        percent(report.accuracy_when_answered),
        "right among replies that chose one option",
    );
    row("n", report.n.to_string(), "questions with a saved reply");
    row(
        "insufficient",
        report.insufficient.to_string(),
        "replies that say the information is insufficient; not right",
    );
    row(
        "unreadable",
        report.unreadable.to_string(),
        "unreadable, cut off or empty; counted as wrong",
    );
    row(
        "unavailable",
        report.unavailable.to_string(),
        match report.definition {
            Definition::Mirage => "error messages saved as replies; not told apart by mirage",
            _ => "error messages saved as replies; left out of the accuracy",
        },
    );
    row(
        "missing",
        report.missing.to_string(),
        "questions without a saved reply; not in n",
    );
    let _ = writeln!(out, "\nkinds of replies");
    for (kind, count) in &report.kinds {
        let share = percent(Some(*count as f64 / report.n as f64));
        let _ = writeln!(out, "  {:<16} {count:>6}  {share:>8}", kind.name());
    }
    if report.with_notes > 0 {
        let _ = writeln!(
            out,
            "\n{} replies were repaired or are odd (--json lists the kinds of repair)",
            report.with_notes
        );
    }
    out
}
