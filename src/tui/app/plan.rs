//! The form in which a sweep is planned, and what it asks for.

use crate::data::dataset::Dataset;
use crate::domain::context::{Condition, Mode, Scenario, SourceFilter};
use crate::domain::cost::Cost;
use crate::domain::plan::{Conditions, Grid};
use crate::domain::probe::PROBES;
use crate::domain::report::PAPER;
use crate::domain::text::{clean, collapse};
use crate::tui::app::input::Input;

/// What stands in a field that takes the paper's values.
pub const AS_PAPER: &str = "paper";

/// What stands in the limit that takes every question.
pub const ALL: &str = "all";

/// The fields of the form, in screen order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Whether this test is asked.
    Test(Scenario),
    /// Documents per context.
    Docs,
    /// Per cent of signal.
    P,
    /// Which model.
    Model,
    /// How many questions.
    Limit,
    /// The run's name.
    Run,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 9] = [
        Field::Test(Scenario::Standard),
        Field::Test(Scenario::Sufficiency),
        Field::Test(Scenario::Integration),
        Field::Test(Scenario::Robustness),
        Field::Docs,
        Field::P,
        Field::Model,
        Field::Limit,
        Field::Run,
    ];

    /// Its name and what is expected in it.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Field::Test(scenario) => (scenario.name(), ""),
            Field::Docs => (
                "n",
                "documents per context, with commas between them; \"paper\" takes the paper's for each test",
            ),
            Field::P => (
                "p",
                "per cent of signal (robustness: original) documents; \"paper\" takes 0 to 100 by 20",
            ),
            Field::Model => (
                "model",
                "a name of your configuration, openai:NAME, embedded or embedded:FILE.gguf",
            ),
            Field::Limit => ("limit", "the first so many questions, or \"all\""),
            Field::Run => (
                "run",
                "name under which replies are stored; a name that is there goes on where it stopped",
            ),
        }
    }

    /// Values that stepping goes through; none for free text.
    fn presets(self) -> &'static [&'static str] {
        match self {
            Field::Docs => &[AS_PAPER, "5", "10", "20", "0,5"],
            Field::P => &[AS_PAPER, "0,20,40,60,80,100", "0,50,100", "20,60,100", "60"],
            Field::Limit => &[ALL, "1", "2", "4", "8", "16", "32", "100", "500"],
            _ => &[],
        }
    }
}

/// The form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Which tests, in the order of [`Scenario::ALL`].
    pub tests: [bool; 4],
    /// Documents per context.
    pub docs: Input,
    /// Per cent of signal.
    pub p: Input,
    /// The model's name.
    pub model: Input,
    /// How many questions.
    pub limit: Input,
    /// The run's name.
    pub run: Input,
    /// Whether the user named the run; until then its name follows dataset and model.
    pub named: bool,
    /// Which of [`Field::ALL`] is chosen.
    pub selected: usize,
    /// Whether keys go to the chosen field.
    pub typing: bool,
}

impl Default for Form {
    fn default() -> Self {
        Form {
            tests: [true; 4],
            docs: Input::new(AS_PAPER),
            p: Input::new(AS_PAPER),
            model: Input::default(),
            limit: Input::new(ALL),
            run: Input::default(),
            named: false,
            selected: 0,
            typing: false,
        }
    }
}

impl Form {
    /// The chosen field.
    pub fn field(&self) -> Field {
        Field::ALL[self.selected.min(Field::ALL.len() - 1)]
    }

    /// The text of a field; `None` for the tests.
    pub fn text(&self, field: Field) -> Option<&Input> {
        match field {
            Field::Test(_) => None,
            Field::Docs => Some(&self.docs),
            Field::P => Some(&self.p),
            Field::Model => Some(&self.model),
            Field::Limit => Some(&self.limit),
            Field::Run => Some(&self.run),
        }
    }

    /// As [`Form::text`], to change it.
    pub fn text_mut(&mut self, field: Field) -> Option<&mut Input> {
        match field {
            Field::Test(_) => None,
            Field::Docs => Some(&mut self.docs),
            Field::P => Some(&mut self.p),
            Field::Model => Some(&mut self.model),
            Field::Limit => Some(&mut self.limit),
            Field::Run => Some(&mut self.run),
        }
    }

    /// Whether a test is asked.
    pub fn has(&self, scenario: Scenario) -> bool {
        let at = Scenario::ALL.iter().position(|&known| known == scenario);
        at.and_then(|at| self.tests.get(at))
            .copied()
            .unwrap_or(false)
    }

    /// Turns a test on or off.
    pub fn toggle(&mut self, scenario: Scenario) {
        let at = Scenario::ALL.iter().position(|&known| known == scenario);
        if let Some(is) = at.and_then(|at| self.tests.get_mut(at)) {
            *is = !*is;
        }
    }

    /// Sets the chosen field to the next or previous of its usual values; `models` are those of the model field.
    /// False where it has none.
    pub fn step(&mut self, forward: bool, models: &[String]) -> bool {
        let field = self.field();
        if let Field::Test(scenario) = field {
            self.toggle(scenario);
            return true;
        }
        let values: Vec<&str> = match field {
            Field::Model => models.iter().map(String::as_str).collect(),
            _ => field.presets().to_vec(),
        };
        let Some(input) = self.text_mut(field) else {
            return false;
        };
        let here = values
            .iter()
            .position(|value| *value == input.text().trim());
        let count = values.len();
        let next = match (here, forward) {
            (_, _) if count == 0 => return false,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
            (None, _) => 0,
        };
        *input = Input::new(values[next]);
        true
    }

    /// Names the run after dataset and model, as the command does, unless the user named it.
    pub fn name_run(&mut self, dataset: &str) {
        if !self.named {
            let model = self.model.text().trim();
            self.run = Input::new(&format!("{dataset}-{model}"));
        }
    }

    /// What the form asks for.
    ///
    /// # Errors
    /// One sentence that names the field.
    pub fn request(&self) -> Result<SweepRequest, String> {
        let tests = Scenario::ALL.iter().zip(self.tests);
        let grid = Grid {
            scenarios: tests.filter(|(_, is)| *is).map(|(test, _)| *test).collect(),
            docs: list(Field::Docs, self.docs.text(), "whole numbers such as 5,20")?,
            p: list(
                Field::P,
                self.p.text(),
                "numbers from 0 to 100 such as 0,50,100",
            )?,
            seeds: vec![0],
            mode: Mode::default(),
            source: SourceFilter::default(),
        };
        if grid.scenarios.is_empty() {
            return Err("no test is chosen: turn at least one of the four on".into());
        }
        let conditions = grid.conditions().map_err(|why| why.to_string())?;
        let model = collapse(&clean(self.model.text()));
        if model.is_empty() {
            return Err("model: a name is expected, such as embedded or openai:NAME".into());
        }
        let limit = match self.limit.text().trim() {
            "" | ALL => None,
            text => match text.parse::<usize>() {
                Ok(limit @ 1..) => Some(limit),
                _ => {
                    return Err(format!(
                        "limit: \"{}\" is neither a whole number from 1 nor \"all\"",
                        crate::domain::text::short(text)
                    ));
                }
            },
        };
        let run = collapse(&clean(self.run.text()));
        match run.as_str() {
            "" => Err("run: a name is expected".into()),
            PAPER | PROBES => Err(format!(
                "run: the name \"{run}\" is taken by the program; choose another"
            )),
            _ => Ok(SweepRequest {
                grid,
                conditions,
                model,
                limit,
                run,
            }),
        }
    }
}

/// Reads numbers with commas between them; `None` takes the paper's.
fn list<T: std::str::FromStr>(
    field: Field,
    text: &str,
    expected: &str,
) -> Result<Option<Vec<T>>, String> {
    let text = text.trim();
    if text.is_empty() || text == AS_PAPER {
        return Ok(None);
    }
    let numbers = text.split(',').map(|part| {
        part.trim().parse::<T>().map_err(|_| {
            format!(
                "{}: \"{}\" is not as expected: {expected}, or \"{AS_PAPER}\"",
                field.words().0,
                crate::domain::text::short(part.trim())
            )
        })
    });
    numbers.collect::<Result<Vec<T>, String>>().map(Some)
}

/// A sweep as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRequest {
    /// The grid.
    pub grid: Grid,
    /// Its conditions.
    pub conditions: Conditions,
    /// The model's name.
    pub model: String,
    /// Only the first so many questions.
    pub limit: Option<usize>,
    /// The run's name.
    pub run: String,
}

impl SweepRequest {
    /// Instances at most, before anything is composed.
    pub fn most_calls(&self, dataset: &Dataset) -> (usize, usize, usize) {
        let questions = dataset
            .questions
            .len()
            .min(self.limit.unwrap_or(usize::MAX));
        let conditions = self.conditions.kept.len();
        (conditions, questions, conditions * questions)
    }

    /// The command that goes on with the sweep; `more` are flags of the model.
    pub fn command(&self, dataset: &Dataset, more: &[String]) -> String {
        let joined = |numbers: Vec<String>| numbers.join(",");
        let mut words = vec!["medrgb".to_owned(), "sweep".to_owned()];
        let mut flag = |name: &str, value: String| {
            words.push(name.to_owned());
            words.push(quoted(&value));
        };
        if !dataset.path.as_os_str().is_empty() {
            flag("--dataset", dataset.path.display().to_string());
        }
        if self.grid.scenarios.len() < Scenario::ALL.len() {
            let names = self.grid.scenarios.iter().map(|one| one.name().to_owned());
            flag("--scenario", joined(names.collect()));
        }
        if let Some(docs) = &self.grid.docs {
            flag(
                "--docs",
                joined(docs.iter().map(usize::to_string).collect()),
            );
        }
        if let Some(p) = &self.grid.p {
            flag("--p", joined(p.iter().map(f64::to_string).collect()));
        }
        if let Some(limit) = self.limit {
            flag("--limit", limit.to_string());
        }
        flag("--model", self.model.clone());
        flag("--run", self.run.clone());
        words.extend(more.iter().map(|word| quoted(word)));
        clean(&words.join(" "))
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What a sweep will ask.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// The model's own name.
    pub model: String,
    /// A caution about it.
    pub caution: Option<String>,
    /// Questions looked at.
    pub questions: usize,
    /// The conditions.
    pub conditions: Vec<EstimatedCondition>,
    /// Instances that can be asked.
    pub instances: usize,
    /// Instances that the run holds a reply to.
    pub done: usize,
    /// Calls.
    pub to_ask: usize,
    /// Predicted prompt tokens of the calls.
    pub tokens: u64,
    /// Most tokens of a reply.
    pub max_tokens: u32,
    /// The most calls at a time.
    pub concurrency: usize,
    /// What the calls are predicted to cost.
    pub cost: Cost,
    /// Dollars per million prompt and reply tokens.
    pub prices: (Option<f64>, Option<f64>),
    /// What earlier replies say about the time.
    pub time: Option<TimeEstimate>,
    /// What should be known before anything runs.
    pub notes: Vec<String>,
}

/// How long the calls will take by earlier replies of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeEstimate {
    /// Mean seconds of a reply.
    pub per_reply: f64,
    /// Replies that this is taken from.
    pub replies: usize,
    /// Seconds for all calls, that many at a time.
    pub seconds: f64,
}

/// What a sweep will ask under one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedCondition {
    /// Which.
    pub condition: Condition,
    /// Instances that can be asked.
    pub instances: usize,
    /// Questions that have nothing to compose from.
    pub without: usize,
    /// Instances with fewer documents than asked for.
    pub short: usize,
    /// Instances that do not fit the model's window.
    pub overflow: usize,
    /// Instances that the run holds a reply to.
    pub done: usize,
    /// Calls.
    pub to_ask: usize,
    /// Predicted prompt tokens of the calls.
    pub tokens: u64,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn form(model: &str, run: &str) -> Form {
        Form {
            model: Input::new(model),
            run: Input::new(run),
            ..Form::default()
        }
    }

    #[test]
    fn the_form_asks_for_the_papers_grid_unless_told_otherwise() {
        let request = form("m", "r").request().unwrap();
        assert_eq!(request.conditions.kept.len(), 37);
        assert_eq!((request.limit, request.grid.docs), (None, None));
        let mut small = form("m", "r");
        small.tests = [false, true, false, false];
        small.docs = Input::new("5");
        small.p = Input::new("0, 50");
        small.limit = Input::new("2");
        let request = small.request().unwrap();
        assert_eq!(request.conditions.kept.len(), 2);
        let mut dataset = Dataset::default();
        dataset.path.push("/tmp/it's");
        assert_eq!(
            request.command(&dataset, &["--base-url".into(), "http://h:1/v1".into()]),
            "medrgb sweep --dataset '/tmp/it'\\''s' --scenario sufficiency --docs 5 --p 0,50 --limit 2 --model m --run r --base-url http://h:1/v1"
        );
    }

    #[test]
    fn mistakes_name_their_field() {
        let wrong = |change: fn(&mut Form)| {
            let mut form = form("m", "r");
            change(&mut form);
            form.request().unwrap_err()
        };
        for (error, part) in [
            (wrong(|form| form.docs = Input::new("five")), "n: \"five\""),
            (wrong(|form| form.p = Input::new("0,,5")), "p: \"\""),
            (wrong(|form| form.p = Input::new("120")), "120"),
            (wrong(|form| form.limit = Input::new("0")), "limit: \"0\""),
            (
                wrong(|form| form.run = Input::new("probe")),
                "run: the name",
            ),
            (wrong(|form| form.model = Input::new(" ")), "model: "),
            (wrong(|form| form.tests = [false; 4]), "no test"),
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn fields_step_through_their_usual_values() {
        let mut form = form("b", "r");
        form.selected = 7;
        assert_eq!(form.field(), Field::Limit);
        form.step(true, &[]);
        assert_eq!(form.limit.text(), "1");
        form.step(false, &[]);
        form.step(false, &[]);
        assert_eq!(form.limit.text(), "500");
        form.selected = 6;
        assert!(!form.step(true, &[]));
        form.step(true, &["a".into(), "b".into()]);
        assert_eq!(form.model.text(), "a");
    }
}
