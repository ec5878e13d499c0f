//! The form in which a sweep is planned, and what it asks for.

use crate::domain::context::{Mode, Scenario};
use crate::domain::plan::{Grid, check_size};
use crate::domain::run;
use crate::domain::text::{one_line, short};
use crate::tui::app::input::Input;

mod estimate;
mod request;

pub use estimate::{Estimate, EstimatedCondition, JudgePlan, TimeEstimate};
pub use request::{SweepRequest, quoted};

/// What stands in a field that takes the paper's values.
pub const AS_PAPER: &str = "paper";

/// What stands in a field that takes every question.
pub const ALL: &str = "all";

/// What stands in the field of a judge that is not asked.
pub const NONE: &str = "none";

/// The fields of the form, in the order in which they are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Whether this test is asked.
    Test(Scenario),
    /// Documents per context.
    Docs,
    /// Per cent of signal.
    P,
    /// How contexts hang together.
    Mode,
    /// Which documents may be used.
    Source,
    /// Seeds of the draws.
    Seeds,
    /// How often every instance is asked.
    Repeats,
    /// Which models.
    Model,
    /// Which model judges the sub-answers.
    Judge,
    /// How many questions, the first ones.
    Limit,
    /// How many of these are drawn.
    Sample,
    /// Whether replies to the same requests are taken over.
    Reuse,
    /// The run's name.
    Run,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 16] = [
        Field::Test(Scenario::Standard),
        Field::Test(Scenario::Sufficiency),
        Field::Test(Scenario::Integration),
        Field::Test(Scenario::Robustness),
        Field::Docs,
        Field::P,
        Field::Mode,
        Field::Source,
        Field::Seeds,
        Field::Repeats,
        Field::Model,
        Field::Judge,
        Field::Limit,
        Field::Sample,
        Field::Reuse,
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
            Field::Mode => (
                "mode",
                "how contexts hang together: nested (prefixes of one order), independent (drawn anew), or both with a comma between them",
            ),
            Field::Source => (
                "source",
                "any, offline or online documents, with commas between them; \"paper\" takes any, and in standard with the paper's n offline and online where there are both",
            ),
            Field::Seeds => (
                "seeds",
                "seeds of the draws, with commas between them: every context is drawn anew for each",
            ),
            Field::Repeats => (
                "repeats",
                "how often every instance is asked, 1 to 100: repeats count the sampler's seed up",
            ),
            Field::Model => (
                "model",
                "a name of your configuration, openai:NAME, embedded or embedded:FILE.gguf; several with commas between them",
            ),
            Field::Judge => (
                "judge",
                "the model that judges the sub-answers after the sweep, or \"none\"",
            ),
            Field::Limit => ("limit", "the first so many questions, or \"all\""),
            Field::Sample => (
                "sample",
                "so many of these, drawn so that each set and each right answer has its share, or \"all\"",
            ),
            Field::Reuse => (
                "reuse",
                "finished replies to the same requests are taken over from any run",
            ),
            Field::Run => (
                "run",
                "name under which replies are stored; a name that is there goes on where it stopped",
            ),
        }
    }

    /// Whether it is on or off and holds no text.
    pub fn is_switch(self) -> bool {
        matches!(self, Field::Test(_) | Field::Reuse)
    }

    /// Values that stepping goes through; none for free text.
    fn presets(self) -> &'static [&'static str] {
        match self {
            Field::Docs => &[AS_PAPER, "5", "10", "20", "0,5"],
            Field::P => &[AS_PAPER, "0,20,40,60,80,100", "0,50,100", "20,60,100", "60"],
            Field::Mode => &["nested", "independent", "nested,independent"],
            Field::Source => &[AS_PAPER, "any", "offline", "online", "offline,online"],
            Field::Seeds => &["0", "0,1", "0,1,2", "0,1,2,3,4"],
            Field::Repeats => &["1", "2", "3", "5", "10"],
            Field::Limit | Field::Sample => {
                &[ALL, "1", "2", "4", "8", "16", "32", "100", "200", "500"]
            }
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
    /// How contexts hang together.
    pub mode: Input,
    /// Which documents may be used.
    pub source: Input,
    /// Seeds of the draws.
    pub seeds: Input,
    /// How often every instance is asked.
    pub repeats: Input,
    /// The models' names.
    pub model: Input,
    /// The judge's name.
    pub judge: Input,
    /// How many questions.
    pub limit: Input,
    /// How many of these are drawn.
    pub sample: Input,
    /// Whether replies are taken over.
    pub reuse: bool,
    /// The run's name.
    pub run: Input,
    /// Whether the user named the run; until then its name follows dataset and models.
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
            mode: Input::new(Mode::default().name()),
            source: Input::new(AS_PAPER),
            seeds: Input::new("0"),
            repeats: Input::new("1"),
            model: Input::default(),
            judge: Input::new(NONE),
            limit: Input::new(ALL),
            sample: Input::new(ALL),
            reuse: false,
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

    /// The text of a field; `None` for a switch.
    pub fn text(&self, field: Field) -> Option<&Input> {
        match field {
            Field::Test(_) | Field::Reuse => None,
            Field::Docs => Some(&self.docs),
            Field::P => Some(&self.p),
            Field::Mode => Some(&self.mode),
            Field::Source => Some(&self.source),
            Field::Seeds => Some(&self.seeds),
            Field::Repeats => Some(&self.repeats),
            Field::Model => Some(&self.model),
            Field::Judge => Some(&self.judge),
            Field::Limit => Some(&self.limit),
            Field::Sample => Some(&self.sample),
            Field::Run => Some(&self.run),
        }
    }

    /// As [`Form::text`], to change it.
    pub fn text_mut(&mut self, field: Field) -> Option<&mut Input> {
        match field {
            Field::Test(_) | Field::Reuse => None,
            Field::Docs => Some(&mut self.docs),
            Field::P => Some(&mut self.p),
            Field::Mode => Some(&mut self.mode),
            Field::Source => Some(&mut self.source),
            Field::Seeds => Some(&mut self.seeds),
            Field::Repeats => Some(&mut self.repeats),
            Field::Model => Some(&mut self.model),
            Field::Judge => Some(&mut self.judge),
            Field::Limit => Some(&mut self.limit),
            Field::Sample => Some(&mut self.sample),
            Field::Run => Some(&mut self.run),
        }
    }

    /// Whether a switch is on.
    pub fn is_on(&self, field: Field) -> bool {
        match field {
            Field::Test(scenario) => {
                let at = Scenario::ALL.iter().position(|&known| known == scenario);
                at.and_then(|at| self.tests.get(at)).copied() == Some(true)
            }
            Field::Reuse => self.reuse,
            _ => false,
        }
    }

    /// Turns a switch on or off.
    pub fn toggle(&mut self, field: Field) {
        match field {
            Field::Test(scenario) => {
                let at = Scenario::ALL.iter().position(|&known| known == scenario);
                if let Some(is) = at.and_then(|at| self.tests.get_mut(at)) {
                    *is = !*is;
                }
            }
            Field::Reuse => self.reuse = !self.reuse,
            _ => {}
        }
    }

    /// Sets the chosen field to the next or previous of its usual values; `models` are those of the fields that name
    /// one. False where it has none.
    pub fn step(&mut self, forward: bool, models: &[String]) -> bool {
        let field = self.field();
        if field.is_switch() {
            self.toggle(field);
            return true;
        }
        let names = || models.iter().map(String::as_str);
        let values: Vec<&str> = match field {
            Field::Model => names().collect(),
            Field::Judge => [NONE].into_iter().chain(names()).collect(),
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

    /// Names the run after dataset and models, as the command does, unless the user named it.
    pub fn name_run(&mut self, dataset: &str) {
        if !self.named {
            let models = self.models().join("+");
            self.run = Input::new(&format!("{dataset}-{models}"));
        }
    }

    /// The models' names, each once.
    fn models(&self) -> Vec<String> {
        let mut models: Vec<String> = Vec::new();
        for name in self.model.text().split(',').map(one_line) {
            if !name.is_empty() && !models.contains(&name) {
                models.push(name);
            }
        }
        models
    }

    /// What the form asks for; `both_sources` says whether the dataset has documents of both.
    ///
    /// # Errors
    /// One sentence that names the field.
    pub fn request(&self, both_sources: bool) -> Result<SweepRequest, String> {
        let tests = Scenario::ALL.iter().zip(self.tests);
        let whole = "whole numbers such as 5,20";
        let grid = Grid {
            scenarios: tests.filter(|(_, is)| *is).map(|(test, _)| *test).collect(),
            docs: paper_or(Field::Docs, self.docs.text(), whole)?,
            p: paper_or(
                Field::P,
                self.p.text(),
                "numbers from 0 to 100 such as 0,50,100",
            )?,
            seeds: list(
                Field::Seeds,
                self.seeds.text(),
                "whole numbers such as 0,1,2",
            )?,
            modes: list(Field::Mode, self.mode.text(), "nested or independent")?,
            sources: paper_or(Field::Source, self.source.text(), "any, offline or online")?,
        };
        if grid.scenarios.is_empty() {
            return Err("no test is chosen: turn at least one of the four on".into());
        }
        check_size(&[grid.most_conditions(), usize::from(self.times()?)])?;
        let conditions = grid
            .conditions(both_sources)
            .map_err(|why| why.to_string())?;
        let models = self.models();
        if models.is_empty() {
            return Err("model: a name is expected, such as embedded or openai:NAME".into());
        }
        Ok(SweepRequest {
            grid,
            conditions,
            models,
            repeats: self.times()?,
            limit: all_or(Field::Limit, self.limit.text())?,
            sample: all_or(Field::Sample, self.sample.text())?,
            judge: match one_line(self.judge.text()) {
                name if name.is_empty() || name == NONE => None,
                name => Some(name),
            },
            reuse: self.reuse,
            run: run::named(self.run.text()).map_err(|why| format!("run: {why}"))?,
        })
    }

    fn times(&self) -> Result<u8, String> {
        match self.repeats.text().trim().parse::<u8>() {
            Ok(repeats @ 1..=100) => Ok(repeats),
            _ => Err(format!(
                "repeats: \"{}\" is no whole number from 1 to 100",
                short(self.repeats.text())
            )),
        }
    }
}

/// Reads a number of questions; `None` takes all.
fn all_or(field: Field, text: &str) -> Result<Option<usize>, String> {
    match text.trim() {
        "" | ALL => Ok(None),
        text => match text.parse::<usize>() {
            Ok(number @ 1..) => Ok(Some(number)),
            _ => Err(format!(
                "{}: \"{}\" is neither a whole number from 1 nor \"{ALL}\"",
                field.words().0,
                short(text)
            )),
        },
    }
}

/// Reads numbers with commas between them; `None` takes the paper's.
fn paper_or<T: std::str::FromStr>(
    field: Field,
    text: &str,
    expected: &str,
) -> Result<Option<Vec<T>>, String> {
    let text = text.trim();
    if text.is_empty() || text == AS_PAPER {
        return Ok(None);
    }
    let expected = format!("{expected}, or \"{AS_PAPER}\"");
    list(field, text, &expected).map(Some)
}

/// Reads numbers with commas between them.
fn list<T: std::str::FromStr>(field: Field, text: &str, expected: &str) -> Result<Vec<T>, String> {
    let numbers = text.split(',').map(|part| {
        part.trim().parse::<T>().map_err(|_| {
            format!(
                "{}: \"{}\" is not as expected: {expected}",
                field.words().0,
                short(part.trim())
            )
        })
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::data::dataset::Dataset;

    fn form(model: &str, run: &str) -> Form {
        Form {
            model: Input::new(model),
            run: Input::new(run),
            ..Form::default()
        }
    }

    #[test]
    fn the_form_asks_for_the_papers_grid_unless_told_otherwise() {
        let with_both = form("m", "r").request(true).unwrap();
        assert_eq!(with_both.conditions.kept.len(), 39);
        let request = form("m", "r").request(false).unwrap();
        assert_eq!(request.conditions.kept.len(), 37);
        assert_eq!((request.limit, &request.grid.docs), (None, &None));
        assert_eq!(
            (request.sample, &request.judge, request.reuse),
            (None, &None, false)
        );
        assert_eq!((request.repeats, &request.grid.seeds[..]), (1, &[0][..]));
        let mut small = form("m", "r");
        small.tests = [false, true, false, false];
        small.docs = Input::new("5");
        small.p = Input::new("0, 50");
        small.limit = Input::new("2");
        let request = small.request(false).unwrap();
        assert_eq!(request.conditions.kept.len(), 2);
        let mut dataset = Dataset::default();
        dataset.path.push("/tmp/it's");
        assert_eq!(
            request.command(&dataset, &["--base-url".into(), "http://h:1/v1".into()]),
            "medrgb sweep --dataset '/tmp/it'\\''s' --scenario sufficiency --docs 5 --p 0,50 --limit 2 --model m --run r --base-url http://h:1/v1"
        );
    }

    #[test]
    fn everything_else_of_a_sweep_is_asked_for_by_its_flag() {
        let mut full = form("a, b,a", "r");
        full.mode = Input::new("independent, nested");
        full.source = Input::new("offline,online");
        full.seeds = Input::new("0, 7");
        full.repeats = Input::new("3");
        full.sample = Input::new("40");
        full.judge = Input::new("openai:j");
        full.reuse = true;
        let request = full.request(false).unwrap();
        assert_eq!(request.models, ["a", "b"]);
        // Each seed, mode and source, but standard without documents once for each seed.
        assert_eq!(request.conditions.kept.len(), 2 * (4 * 36 + 1));
        let dataset = Dataset::default();
        let flags = ["--base-url".into(), "http://h:1/v1".into()];
        assert_eq!(
            request.command(&dataset, &flags),
            "medrgb sweep --mode independent,nested --source offline,online --seeds 0,7 --sample 40 --model a,b --repeats 3 --judge openai:j --run r --reuse --base-url http://h:1/v1 --judge-base-url http://h:1/v1"
        );
        let factors = request.factors(&dataset);
        assert_eq!((factors.models, factors.repeats), (2, 3));
        full.name_run("set");
        assert_eq!(full.run.text(), "set-a+b");
    }

    #[test]
    fn mistakes_name_their_field() {
        let wrong = |change: fn(&mut Form)| {
            let mut form = form("m", "r");
            change(&mut form);
            form.request(false).unwrap_err()
        };
        for (error, part) in [
            (wrong(|form| form.docs = Input::new("five")), "n: \"five\""),
            (wrong(|form| form.p = Input::new("0,,5")), "p: \"\""),
            (wrong(|form| form.p = Input::new("120")), "120"),
            (wrong(|form| form.limit = Input::new("0")), "limit: \"0\""),
            (
                wrong(|form| form.run = Input::new("probe")),
                "run: this name",
            ),
            (
                wrong(|form| form.seeds = Input::new("0;1")),
                "seeds: \"0;1\"",
            ),
            (
                wrong(|form| form.repeats = Input::new("101")),
                "repeats: \"101\"",
            ),
            (wrong(|form| form.sample = Input::new("x")), "sample: \"x\""),
            (
                wrong(|form| form.mode = Input::new("loose")),
                "mode: \"loose\"",
            ),
            (
                wrong(|form| form.source = Input::new("web")),
                "source: \"web\"",
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
        form.selected = 12;
        assert_eq!(form.field(), Field::Limit);
        form.step(true, &[]);
        assert_eq!(form.limit.text(), "1");
        form.step(false, &[]);
        form.step(false, &[]);
        assert_eq!(form.limit.text(), "500");
        form.selected = 10;
        assert!(!form.step(true, &[]));
        form.step(true, &["a".into(), "b".into()]);
        assert_eq!(form.model.text(), "a");
        form.selected = 11;
        form.step(true, &["a".into()]);
        assert_eq!(form.judge.text(), "a");
        form.step(true, &["a".into()]);
        assert_eq!(form.judge.text(), NONE);
        form.selected = 14;
        form.step(true, &[]);
        assert!(form.is_on(Field::Reuse));
    }
}
