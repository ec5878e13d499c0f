//! Scripts of talks: the steps that talk mode and the demo go through.
//!
//! A script is TOML: `[[steps]]` with a caption and what is to be seen. What a step leaves out stays as it was
//! in the step before, so that a read script says for every step the whole of what it shows, and going back
//! needs no memory.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use crate::domain::context::{Condition, MAX_DOCS, Mode, Scenario, SourceFilter};
use crate::domain::nearest::hint;
use crate::domain::report::{Measure, Published};
use crate::domain::text::{line_at, one_line, short};
use crate::domain::toml_file;

/// What of an instance is on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    /// Question and options alone.
    Question,
    /// The question above its documents.
    Documents,
    /// The question above the reply.
    Reply,
    /// The reply beside its scores.
    Scores,
    /// Everything at once.
    All,
    /// The curves of a stored run over p.
    Curves,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The line that the audience reads.
    pub caption: String,
    /// Id of the question; empty where only curves have been shown so far.
    pub question: String,
    /// Which curves a step with [`Show::Curves`] shows; the condition says of which test and n.
    pub curves: CurvesShown,
    /// The condition under which its context is composed.
    pub condition: Condition,
    /// What is on screen.
    pub show: Show,
    /// Whether the recorded reply is played.
    pub ask: bool,
    /// Whether right answers are shown.
    pub gold: bool,
    /// Seconds that the step stands, after its reply is through, when the talk goes on by itself.
    pub hold: f64,
    /// Line of the file, for messages.
    pub line: usize,
}

/// Which curves are shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CurvesShown {
    /// The stored run; `None` is the talk's own.
    pub run: Option<String>,
    /// Which rate; `None` is the first of the test.
    pub metric: Option<Measure>,
    /// Which of the paper's models stands beside it: its name, or `none`; `None` leaves that to the explorer.
    pub paper: Option<String>,
}

/// A talk.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// What it is about.
    pub title: String,
    /// The recorded run that is played.
    pub run: Option<String>,
    /// Every stored run that it names, with the line where it does: the one that is played, those of curves.
    pub runs: Vec<(String, usize)>,
    /// How fast replies are played: 1 is real time.
    pub speed: f64,
    /// Whether it goes on by itself from the start.
    pub auto: bool,
    /// Whether it begins anew after the last step.
    pub repeat: bool,
    /// The steps; at least one.
    pub steps: Vec<Step>,
}

/// The demo's script.
const DEMO: &str = include_str!("../../sample-data/demo.toml");

/// Fastest and slowest playing.
pub const SPEEDS: (f64, f64) = (0.25, 64.0);

/// Seconds that a step stands where the script says nothing.
const HOLD: f64 = 6.0;

/// Longest caption in characters: it must fit into four rows of a small screen.
const CAPTION: usize = 280;

/// Largest script in bytes.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    title: Option<String>,
    run: Option<toml::Spanned<String>>,
    speed: Option<toml::Spanned<f64>>,
    #[serde(default)]
    auto: bool,
    #[serde(default)]
    repeat: bool,
    #[serde(default)]
    steps: Vec<toml::Spanned<StepFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    caption: toml::Spanned<String>,
    question: Option<String>,
    scenario: Option<Scenario>,
    docs: Option<toml::Spanned<usize>>,
    p: Option<toml::Spanned<f64>>,
    seed: Option<u64>,
    mode: Option<Mode>,
    source: Option<SourceFilter>,
    show: Option<Show>,
    curves: Option<toml::Spanned<String>>,
    metric: Option<toml::Spanned<String>>,
    paper: Option<toml::Spanned<String>>,
    #[serde(default)]
    ask: bool,
    gold: Option<bool>,
    hold: Option<toml::Spanned<f64>>,
}

/// What is wrong with a step, and the byte at which it stands where that is not the step as a whole.
struct Fault {
    why: String,
    at: Option<usize>,
}

impl Fault {
    /// Of a value.
    fn of<T>(value: &toml::Spanned<T>, why: String) -> Fault {
        Fault {
            why,
            at: Some(value.span().start),
        }
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Fault {
        Fault { why, at: None }
    }
}

/// What is in a value with a place.
fn plain<T: Clone>(value: Option<&toml::Spanned<T>>) -> Option<T> {
    value.map(|value| value.get_ref().clone())
}

/// A number as a person reads it: one of 300 digits is shortened.
fn number(value: f64) -> String {
    match value.abs() < 1e12 {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// Reads a script.
///
/// # Errors
/// One sentence with the file and the line of the first mistake.
pub fn read(path: &Path) -> Result<Script, String> {
    let failed = |why: String| format!("the script {} can't be read: {why}", path.display());
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !size.is_file() {
        return Err(failed("it is no file".into()));
    }
    if size.len() > LARGEST {
        return Err(failed(format!(
            "it has {} bytes, but a script has at most {LARGEST}",
            size.len()
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    parse(&text, &path.display().to_string())
}

/// The demo that comes with the sample benchmark.
///
/// # Errors
/// Never, as long as the embedded script is sound; a test sees to that.
pub fn demo() -> Result<Script, String> {
    parse(DEMO, "sample-data/demo.toml")
}

/// Reads a script's text; `origin` names it in messages.
///
/// # Errors
/// One sentence with the line of the first mistake.
pub fn parse(text: &str, origin: &str) -> Result<Script, String> {
    let line = |at: Range<usize>| line_at(text, at.start);
    let file: ScriptFile =
        toml::from_str(text).map_err(|error| toml_file::explain(origin, text, &error))?;
    if file.steps.is_empty() {
        return Err(format!(
            "{origin} has no step; write at least one [[steps]] with a caption and a question"
        ));
    }
    let speed = match file.speed {
        Some(speed) if !(SPEEDS.0..=SPEEDS.1).contains(speed.as_ref()) => {
            return Err(format!(
                "{origin}, line {}: speed is {}, but must lie between {} and {} (1 is real time)",
                line(speed.span()),
                number(*speed.as_ref()),
                SPEEDS.0,
                SPEEDS.1
            ));
        }
        Some(speed) => speed.into_inner(),
        None => 1.0,
    };
    let mut steps: Vec<Step> = Vec::with_capacity(file.steps.len());
    let mut runs: Vec<(String, usize)> = Vec::new();
    let named = file.steps.iter().map(|step| step.get_ref().curves.as_ref());
    for run in file.run.iter().chain(named.flatten()) {
        runs.push((run.get_ref().clone(), line(run.span())));
    }
    let run = plain(file.run.as_ref());
    for step in file.steps {
        let at = line(step.span());
        let step = complete(step.into_inner(), steps.last(), run.as_deref(), at).map_err(
            |Fault { why, at: byte }| {
                let at = byte.map_or(at, |byte| line_at(text, byte));
                format!("{origin}, line {at}: {why}")
            },
        )?;
        steps.push(step);
    }
    Ok(Script {
        title: one_line(file.title.as_deref().unwrap_or("Talk")),
        run,
        runs,
        speed,
        auto: file.auto,
        repeat: file.repeat,
        steps,
    })
}

/// What a step says where none of the paper's models shall stand beside the curves.
pub const NO_PAPER: &str = "none";

/// Which curves a step shows, with what it takes over from the one before.
fn curves(step: &StepFile, before: Option<&Step>) -> Result<CurvesShown, Fault> {
    let old = before.map(|step| step.curves.clone()).unwrap_or_default();
    let metric = match &step.metric {
        Some(name) => Some(Measure::named(name.get_ref()).ok_or_else(|| {
            let said = short(name.get_ref());
            let why = format!(
                "there is no metric \"{said}\"; names are those of `medrgb report --format csv`, such as main_accuracy"
            );
            Fault::of(name, why)
        })?),
        None => old.metric,
    };
    let paper = match &step.paper {
        Some(name) if name.get_ref() != NO_PAPER => {
            let published = Published::embedded().map_err(|error| error.to_string())?;
            let models = published.models();
            if !models.contains(&name.get_ref().as_str()) {
                let why = format!(
                    "the paper has no model \"{}\" ({NO_PAPER} shows none); {}",
                    short(name.get_ref()),
                    hint(name.get_ref(), &models)
                );
                return Err(Fault::of(name, why));
            }
            Some(name.get_ref().clone())
        }
        Some(_) => Some(NO_PAPER.to_owned()),
        None => old.paper,
    };
    Ok(CurvesShown {
        run: plain(step.curves.as_ref()).or(old.run),
        metric,
        paper,
    })
}

/// A step with what it takes over from the one before; `run` is the run of the talk.
fn complete(
    step: StepFile,
    before: Option<&Step>,
    run: Option<&str>,
    line: usize,
) -> Result<Step, Fault> {
    let curves = curves(&step, before)?;
    let show = step
        .show
        .or_else(|| before.map(|step| step.show))
        .unwrap_or(Show::All);
    if show == Show::Curves && curves.run.is_none() && run.is_none() {
        let why = "curves are those of a stored run: write curves = \"NAME\", or run = \"NAME\" at the top";
        return Err(why.to_owned().into());
    }
    let question = step
        .question
        .or_else(|| before.map(|step| step.question.clone()))
        .unwrap_or_default();
    if question.is_empty() && show != Show::Curves {
        return Err("the first step needs a question (its id)".to_owned().into());
    }
    let old = before.map_or_else(Condition::default, |step| step.condition);
    let condition = Condition {
        scenario: step.scenario.unwrap_or(old.scenario),
        docs: plain(step.docs.as_ref()).unwrap_or(old.docs),
        p: plain(step.p.as_ref()).unwrap_or(old.p),
        seed: step.seed.unwrap_or(old.seed),
        mode: step.mode.unwrap_or(old.mode),
        source: step.source.unwrap_or(old.source),
    };
    // What is taken over from the step before was checked there.
    if let Some(p) = &step.p
        && !(0.0..=100.0).contains(p.get_ref())
    {
        let why = format!(
            "p is {}, but must lie between 0 and 100",
            number(condition.p)
        );
        return Err(Fault::of(p, why));
    }
    if let Some(docs) = &step.docs
        && *docs.get_ref() > MAX_DOCS
    {
        let why = format!("docs is {}, but must be at most {MAX_DOCS}", docs.get_ref());
        return Err(Fault::of(docs, why));
    }
    let hold = plain(step.hold.as_ref()).unwrap_or(HOLD);
    if let Some(said) = &step.hold
        && !(0.0..=3600.0).contains(&hold)
    {
        let why = format!(
            "hold is {}, but must lie between 0 and 3600 seconds",
            number(hold)
        );
        return Err(Fault::of(said, why));
    }
    let caption = one_line(step.caption.get_ref());
    let length = caption.chars().count();
    if length > CAPTION {
        let why = format!("the caption has {length} characters, but can have at most {CAPTION}");
        return Err(Fault::of(&step.caption, why));
    }
    Ok(Step {
        caption,
        question,
        curves,
        condition,
        show,
        ask: step.ask,
        gold: step
            .gold
            .or_else(|| before.map(|step| step.gold))
            .unwrap_or(true),
        hold,
        line,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GOOD: &str = "title = \"T\"\nrun = \"night\"\nspeed = 4.0\n\n[[steps]]\ncaption = \"one\"\nquestion = \"q1\"\nscenario = \"robustness\"\np = 40\n\n[[steps]]\ncaption = \"two\\u001b[31m\"\np = 60\nshow = \"reply\"\nask = true\n";

    #[test]
    fn a_step_takes_over_what_it_leaves_out() {
        let script = parse(GOOD, "s.toml").unwrap();
        assert_eq!((script.title.as_str(), script.speed), ("T", 4.0));
        assert_eq!(script.run.as_deref(), Some("night"));
        assert_eq!(script.runs, [("night".to_owned(), 2)]);
        let [one, two] = script.steps.as_slice() else {
            unreachable!()
        };
        assert_eq!((one.show, one.ask, one.line), (Show::All, false, 5));
        assert_eq!(two.question, "q1");
        assert_eq!(two.condition.scenario, Scenario::Robustness);
        assert_eq!((one.condition.p, two.condition.p), (40.0, 60.0));
        assert_eq!((two.show, two.ask), (Show::Reply, true));
        assert!(!two.caption.contains('\u{1b}'), "{:?}", two.caption);
    }

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("", "s.toml has no step"),
            (
                "[[steps]]\ncaption = \"c\"\n",
                "line 1: the first step needs a question",
            ),
            (
                "\nspeed = 900.0\n[[steps]]\ncaption=\"c\"\nquestion=\"q\"\n",
                "line 2: speed is 900",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\np=101\n",
                "line 4: p is 101",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\ndocs=100000\n",
                "line 4: docs is 100000",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\nhold=-1.0\n",
                "line 4: hold is -1",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\ncolour=1\n",
                "line 4: there is no field \"colour\" in [steps]; ",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nshow=\"curves\"\n",
                "line 1: curves are those of a stored run",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nshow=\"curves\"\ncurves=\"r\"\nmetric=\"luck\"\n",
                "line 5: there is no metric \"luck\"",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nshow=\"curves\"\ncurves=\"r\"\npaper=\"GPT-9\"\n",
                "line 5: the paper has no model \"GPT-9\" (none shows none); ",
            ),
            (
                "run=\"r\"\n[[steps]]\ncaption=\"c\"\nshow=\"curves\"\n[[steps]]\ncaption=\"d\"\nshow=\"all\"\n",
                "line 5: the first step needs a question",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\nshow=\"al\"\n",
                "line 4: steps.show can't be \"al\"; did you mean \"all\"?",
            ),
        ];
        let huge = parse(
            "speed = 1e300\n[[steps]]\ncaption=\"c\"\nquestion=\"q\"\n",
            "s.toml",
        );
        assert!(huge.unwrap_err().contains("speed is 1e300, but"));
        for (text, expected) in cases {
            let why = parse(text, "s.toml").unwrap_err();
            assert!(why.contains(expected), "{text:?}: {why}");
        }
    }

    #[test]
    fn a_script_that_is_not_there() {
        let why = read(Path::new("/no/such/script.toml")).unwrap_err();
        assert!(why.contains("/no/such/script.toml can't be read"), "{why}");
    }
}
