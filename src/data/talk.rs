//! Scripts of talks: the steps that talk mode and the demo go through.
//!
//! A script is TOML: `[[steps]]` with a caption and what is to be seen. What a step leaves out stays as it was
//! in the step before, so that a read script says for every step the whole of what it shows, and going back
//! needs no memory.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use crate::domain::context::{Condition, MAX_DOCS, Mode, Scenario, SourceFilter};
use crate::domain::plain::plain;
use crate::domain::text::{line_at, one_line};

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
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The line that the audience reads.
    pub caption: String,
    /// Id of the question.
    pub question: String,
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

/// A talk.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// What it is about.
    pub title: String,
    /// The recorded run that is played.
    pub run: Option<String>,
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
    run: Option<String>,
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
    caption: String,
    question: Option<String>,
    scenario: Option<Scenario>,
    docs: Option<usize>,
    p: Option<f64>,
    seed: Option<u64>,
    mode: Option<Mode>,
    source: Option<SourceFilter>,
    show: Option<Show>,
    #[serde(default)]
    ask: bool,
    gold: Option<bool>,
    hold: Option<f64>,
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
    let file: ScriptFile = toml::from_str(text).map_err(|error| {
        let message = plain(error.message()).replace('\n', " ");
        let at = error.span().map_or(1, line);
        format!("{origin}, line {at}: {message}")
    })?;
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
                speed.as_ref(),
                SPEEDS.0,
                SPEEDS.1
            ));
        }
        Some(speed) => speed.into_inner(),
        None => 1.0,
    };
    let mut steps: Vec<Step> = Vec::with_capacity(file.steps.len());
    for step in file.steps {
        let line = line(step.span());
        let step = complete(step.into_inner(), steps.last(), line)
            .map_err(|why| format!("{origin}, line {line}: {why}"))?;
        steps.push(step);
    }
    Ok(Script {
        title: one_line(file.title.as_deref().unwrap_or("Talk")),
        run: file.run,
        speed,
        auto: file.auto,
        repeat: file.repeat,
        steps,
    })
}

/// A step with what it takes over from the one before.
fn complete(step: StepFile, before: Option<&Step>, line: usize) -> Result<Step, String> {
    let question = step
        .question
        .or_else(|| before.map(|step| step.question.clone()))
        .ok_or("the first step needs a question (its id)")?;
    let old = before.map_or_else(Condition::default, |step| step.condition);
    let condition = Condition {
        scenario: step.scenario.unwrap_or(old.scenario),
        docs: step.docs.unwrap_or(old.docs),
        p: step.p.unwrap_or(old.p),
        seed: step.seed.unwrap_or(old.seed),
        mode: step.mode.unwrap_or(old.mode),
        source: step.source.unwrap_or(old.source),
    };
    if !(0.0..=100.0).contains(&condition.p) {
        return Err(format!(
            "p is {}, but must lie between 0 and 100",
            condition.p
        ));
    }
    if condition.docs > MAX_DOCS {
        return Err(format!(
            "docs is {}, but must be at most {MAX_DOCS}",
            condition.docs
        ));
    }
    let hold = step.hold.unwrap_or(HOLD);
    if !(0.0..=3600.0).contains(&hold) {
        return Err(format!(
            "hold is {hold}, but must lie between 0 and 3600 seconds"
        ));
    }
    let caption = one_line(&step.caption);
    let length = caption.chars().count();
    if length > CAPTION {
        return Err(format!(
            "the caption has {length} characters, but can have at most {CAPTION}"
        ));
    }
    Ok(Step {
        caption,
        question,
        condition,
        show: step
            .show
            .or_else(|| before.map(|step| step.show))
            .unwrap_or(Show::All),
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
                "line 1: p is 101",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\ndocs=100000\n",
                "line 1: docs is 100000",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\nhold=-1.0\n",
                "line 1: hold is -1",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\ncolour=1\n",
                "line 4: unknown field `colour`",
            ),
            (
                "[[steps]]\ncaption=\"c\"\nquestion=\"q\"\nshow=\"al\"\n",
                "line 4: unknown variant `al`",
            ),
        ];
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
