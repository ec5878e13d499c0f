//! The form of a build: its fields, what is expected in them, and what they ask for.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::domain::build::settings::{self, Number};
use crate::domain::build::{Private, Scope, Settings, Stage};
use crate::domain::text::short;
use crate::tui::app::input::Input;

/// The fields of the form, in screen order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Whether this stage is run.
    Stage(Stage),
    /// The folder that is made.
    Out,
    /// Which model.
    Model,
    /// The indexes that are searched.
    Index,
    /// The web search.
    Web,
    /// Which questions.
    Only,
    /// How many of the questions.
    Limit,
    /// Search topics per question.
    Topics,
    /// Documents per topic.
    PerTopic,
    /// Web pages per question.
    Pages,
    /// Which private addresses pages are read from.
    Private,
    /// How often an item is asked for again.
    Repairs,
    /// Whether the model checks too.
    Checks,
    /// Calls at a time.
    Concurrency,
    /// Whether what was answered for them counts no longer.
    Again,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 18] = [
        Field::Stage(Stage::Topics),
        Field::Stage(Stage::Retrieve),
        Field::Stage(Stage::SubQuestions),
        Field::Stage(Stage::Adversarial),
        Field::Out,
        Field::Model,
        Field::Index,
        Field::Web,
        Field::Only,
        Field::Limit,
        Field::Topics,
        Field::PerTopic,
        Field::Pages,
        Field::Private,
        Field::Repairs,
        Field::Checks,
        Field::Concurrency,
        Field::Again,
    ];

    /// Its name and what is expected in it.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Field::Stage(Stage::Topics) => {
                ("topics", "a model writes search topics for each question")
            }
            Field::Stage(Stage::Retrieve) => (
                "retrieve",
                "the topics are searched for in an index, on the web, or both",
            ),
            Field::Stage(Stage::SubQuestions) => (
                "sub-questions",
                "a model writes one for each document, with a short answer from it",
            ),
            Field::Stage(Stage::Adversarial) => (
                "adversarial edits",
                "a model edits each document so that it supports a wrong answer",
            ),
            Field::Out => (
                "into",
                "the folder that is made; one of an earlier build goes on",
            ),
            Field::Model => (
                "model",
                "a name of your configuration, openai:NAME, embedded or embedded:FILE.gguf",
            ),
            Field::Index => (
                "index",
                "index folders with commas between them, for retrieve; empty: none",
            ),
            Field::Web => (
                "web",
                "for retrieve: the address of a SearXNG instance, or google; empty: none",
            ),
            Field::Only => (
                "questions",
                "\"all\", or ids with commas between them; the others stay as they are",
            ),
            Field::Limit => ("limit", settings::LIMIT),
            Field::Topics => ("topics each", settings::TOPICS.about),
            Field::PerTopic => ("per topic", settings::PER_TOPIC.about),
            Field::Pages => ("pages", settings::PAGES.about),
            Field::Private => (
                "private pages",
                "web pages at private addresses are read: none, all (for an intranet), or at these IP addresses",
            ),
            Field::Repairs => ("repairs", settings::REPAIRS.about),
            Field::Checks => ("model checks", settings::MODEL_CHECKS),
            Field::Concurrency => ("at a time", settings::CONCURRENCY.about),
            Field::Again => (
                "anew",
                "ask again for the named questions, whatever was answered before",
            ),
        }
    }

    /// Values that stepping goes through; none for free text.
    fn presets(self) -> &'static [&'static str] {
        match self {
            Field::Limit => &[ALL, "1", "5", "10", "20", "50", "100"],
            Field::Topics => &["1", "2", "3", "5", "8", "10", "20"],
            Field::PerTopic => &["1", "2", "3", "5", "10"],
            Field::Pages => &["1", "3", "5", "10", "20", "30"],
            Field::Private => &[Private::NONE, Private::ALL],
            Field::Repairs => &["0", "1", "2", "3", "5"],
            Field::Concurrency => &["1", "2", "4", "8", "16", "32", "64"],
            _ => &[],
        }
    }
}

/// What stands in the fields of questions and of their number that take every one.
pub const ALL: &str = "all";

/// The form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Which stages, in their order.
    pub stages: [bool; 4],
    /// The texts of the fields, in the order of [`Field::ALL`]; unused for those that are turned on and off.
    texts: [Input; Field::ALL.len()],
    /// Whether the model checks too.
    pub checks: bool,
    /// Whether it is asked anew.
    pub again: bool,
    /// Which of [`Field::ALL`] is chosen.
    pub selected: usize,
    /// Whether keys go to the chosen field.
    pub typing: bool,
}

impl Default for Form {
    fn default() -> Self {
        let mut form = Form {
            stages: [true; 4],
            texts: std::array::from_fn(|_| Input::default()),
            checks: false,
            again: false,
            selected: 0,
            typing: false,
        };
        for (field, number) in [
            (Field::Topics, settings::TOPICS),
            (Field::PerTopic, settings::PER_TOPIC),
            (Field::Pages, settings::PAGES),
            (Field::Repairs, settings::REPAIRS),
            (Field::Concurrency, settings::CONCURRENCY),
        ] {
            form.put(field, &number.usual.to_string());
        }
        for (field, text) in [
            (Field::Only, ALL),
            (Field::Limit, ALL),
            (Field::Private, Private::NONE),
        ] {
            form.put(field, text);
        }
        form
    }
}

fn place(field: Field) -> usize {
    Field::ALL.iter().position(|one| *one == field).unwrap_or(0)
}

impl Form {
    /// The chosen field.
    pub fn field(&self) -> Field {
        Field::ALL[self.selected.min(Field::ALL.len() - 1)]
    }

    /// Whether a field is on; `None` for texts.
    pub fn is_on(&self, field: Field) -> Option<bool> {
        match field {
            Field::Stage(stage) => {
                let at = Stage::ALL.iter().position(|one| *one == stage)?;
                Some(self.stages[at])
            }
            Field::Checks => Some(self.checks),
            Field::Again => Some(self.again),
            _ => None,
        }
    }

    /// Whether a field changes anything in what is planned.
    pub fn has_effect(&self, field: Field) -> bool {
        let [topics, retrieve, subs, edits] = self.stages;
        let filled = |field| retrieve && !self.text(field).text().trim().is_empty();
        let asks = topics || subs || edits || filled(Field::Web);
        match field {
            Field::Model | Field::Repairs => asks,
            Field::Index | Field::Web => retrieve,
            Field::Topics => topics,
            Field::PerTopic => filled(Field::Index),
            Field::Pages | Field::Private => filled(Field::Web),
            Field::Checks => subs || edits,
            _ => true,
        }
    }

    /// Turns a field on or off; false for texts.
    pub fn toggle(&mut self, field: Field) -> bool {
        let on = match field {
            Field::Stage(stage) => {
                let at = Stage::ALL.iter().position(|one| *one == stage);
                match at {
                    Some(at) => &mut self.stages[at],
                    None => return false,
                }
            }
            Field::Checks => &mut self.checks,
            Field::Again => &mut self.again,
            _ => return false,
        };
        *on = !*on;
        true
    }

    /// The text of a field.
    pub fn text(&self, field: Field) -> &Input {
        &self.texts[place(field)]
    }

    /// The text of the chosen field, to be changed; `None` where it is none.
    pub fn chosen_text(&mut self) -> Option<&mut Input> {
        let field = self.field();
        match self.is_on(field) {
            Some(_) => None,
            None => Some(&mut self.texts[place(field)]),
        }
    }

    /// Puts a text into a field.
    pub fn put(&mut self, field: Field, text: &str) {
        self.texts[place(field)] = Input::new(text);
    }

    /// The next or previous usual value of the chosen field; false where there is none.
    pub fn step(&mut self, forward: bool, models: &[String]) -> bool {
        let field = self.field();
        if self.toggle(field) {
            return true;
        }
        let values: Vec<&str> = match field {
            Field::Model => models.iter().map(String::as_str).collect(),
            _ => field.presets().to_vec(),
        };
        if values.is_empty() {
            return false;
        }
        let now = self.text(field).text().trim().to_owned();
        let here = values.iter().position(|value| *value == now);
        let next = match (here, forward) {
            (Some(at), true) => (at + 1) % values.len(),
            (Some(at), false) => (at + values.len() - 1) % values.len(),
            (None, true) => 0,
            (None, false) => values.len() - 1,
        };
        let value = values[next].to_owned();
        self.put(field, &value);
        true
    }

    /// What was planned, on questions of the folder itself or, where no build has begun there, of `given`.
    ///
    /// # Errors
    /// One sentence: which field is wrong and what was expected.
    pub fn request(
        &self,
        given: Option<&Arc<Dataset>>,
        begun: bool,
    ) -> Result<BuildRequest, String> {
        let text = |field: Field| self.text(field).text().trim().to_owned();
        let stages: Vec<Stage> = Stage::ALL
            .into_iter()
            .zip(self.stages)
            .filter_map(|(stage, on)| on.then_some(stage))
            .collect();
        if stages.is_empty() {
            return Err("no stage is chosen; turn one on".to_owned());
        }
        let out = text(Field::Out);
        if out.is_empty() {
            return Err("say into which folder it goes".to_owned());
        }
        if text(Field::Model).is_empty() {
            return Err("say which model is asked".to_owned());
        }
        let request = BuildRequest {
            out: PathBuf::from(out),
            given: given.filter(|_| !begun).cloned(),
            model: text(Field::Model),
            indexes: self.list(Field::Index),
            web: text(Field::Web),
            private: Private::read(&text(Field::Private)).map_err(named(Field::Private))?,
            settings: self.settings()?,
            scope: self.scope()?,
            stages,
        };
        let searches = !request.indexes.is_empty() || !request.web.is_empty();
        match request.stages.contains(&Stage::Retrieve) && !searches {
            true => Err(
                "say where to search for documents: an index folder in \"index\", or a SearXNG address or google in \"web\"; or turn retrieve off"
                    .to_owned(),
            ),
            false => Ok(request),
        }
    }

    /// What stands between the commas of a field.
    fn list(&self, field: Field) -> Vec<String> {
        let items = self.text(field).text().split(',').map(str::trim);
        items
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// The numbers of the form.
    fn settings(&self) -> Result<Settings, String> {
        let number = |field: Field, bounds: Number| {
            bounds.read(self.text(field).text()).map_err(named(field))
        };
        Ok(Settings {
            topics: usize::from(number(Field::Topics, settings::TOPICS)?),
            per_topic: usize::from(number(Field::PerTopic, settings::PER_TOPIC)?),
            pages: usize::from(number(Field::Pages, settings::PAGES)?),
            repairs: u32::from(number(Field::Repairs, settings::REPAIRS)?),
            model_checks: self.checks,
            concurrency: usize::from(number(Field::Concurrency, settings::CONCURRENCY)?),
            ..Settings::default()
        })
    }

    /// Which questions the form names.
    fn scope(&self) -> Result<Scope, String> {
        let only = match self.text(Field::Only).text().trim() {
            "" | ALL => Vec::new(),
            _ => self.list(Field::Only),
        };
        if self.again && only.is_empty() {
            return Err(
                "\"anew\" needs the questions that are made anew: name them in \"questions\""
                    .to_owned(),
            );
        }
        let limit = match self.text(Field::Limit).text().trim() {
            "" | ALL => None,
            number => {
                let read = number.parse::<u32>().ok().filter(|limit| *limit > 0);
                let wrong = || {
                    let what = short(number);
                    format!("limit is \"{what}\"; \"all\" or a whole number from 1 on is expected")
                };
                Some(read.ok_or_else(wrong)? as usize)
            }
        };
        Ok(Scope {
            only,
            limit,
            again: self.again,
        })
    }
}

/// Puts the name of a field before what is wrong with it.
fn named(field: Field) -> impl Fn(String) -> String {
    move |why| format!("{} {why}", field.words().0)
}

/// What is to be made.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// The folder.
    pub out: PathBuf,
    /// The dataset that questions and documents come from, where no build has begun there.
    pub given: Option<Arc<Dataset>>,
    /// Which stages.
    pub stages: Vec<Stage>,
    /// Name of the model.
    pub model: String,
    /// Index folders or addresses.
    pub indexes: Vec<String>,
    /// Address of a SearXNG instance, `google`, or nothing.
    pub web: String,
    /// Which pages may be read that are at no public address.
    pub private: Private,
    /// How it works.
    pub settings: Settings,
    /// Which questions.
    pub scope: Scope,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn filled() -> Form {
        let mut form = Form::default();
        form.put(Field::Out, "set");
        form.put(Field::Model, "m");
        form
    }

    #[test]
    fn a_form_says_which_field_is_wrong() {
        let why = |change: fn(&mut Form)| {
            let mut form = filled();
            change(&mut form);
            form.request(None, true).unwrap_err()
        };
        assert!(why(|_| ()).contains("where to search"));
        let off = |form: &mut Form| assert!(form.toggle(Field::Stage(Stage::Retrieve)));
        let mut form = filled();
        off(&mut form);
        form.put(Field::Only, "q1, q2,");
        form.again = true;
        let request = form.request(None, true).unwrap();
        assert_eq!(request.scope.only, ["q1", "q2"]);
        assert_eq!((request.scope.limit, request.stages.len()), (None, 3));
        assert_eq!(
            (request.settings, request.private),
            (Settings::default(), Private::Closed)
        );
        assert!(
            why(|form| form.put(Field::Topics, "21"))
                .contains("\"21\"; a whole number from 1 to 20")
        );
        for (field, text, part) in [
            (
                Field::Pages,
                "0",
                "pages is \"0\"; a whole number from 1 to 30",
            ),
            (
                Field::Concurrency,
                "",
                "at a time is \"\"; a whole number from 1 to 256",
            ),
            (
                Field::Limit,
                "-3",
                "limit is \"-3\"; \"all\" or a whole number from 1 on",
            ),
            (
                Field::Private,
                "yes",
                "private pages has \"yes\"; none, all, or IP addresses",
            ),
        ] {
            let mut form = filled();
            off(&mut form);
            form.put(field, text);
            let why = form.request(None, true).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
        assert!(why(|form| form.put(Field::Out, " ")).contains("which folder"));
        assert!(why(|form| form.again = true).contains("\"anew\" needs"));
        assert!(why(|form| form.stages = [false; 4]).contains("no stage"));
    }

    #[test]
    fn stepping_goes_round_and_turns_on_and_off() {
        let mut form = filled();
        form.selected = place(Field::Repairs);
        assert!(form.step(true, &[]));
        assert_eq!(form.text(Field::Repairs).text(), "3");
        form.selected = place(Field::Checks);
        assert!(form.step(false, &[]) && form.checks);
        form.selected = place(Field::Out);
        assert!(!form.step(true, &[]));
        form.selected = place(Field::Model);
        assert!(form.step(true, &["a".into(), "b".into()]));
        assert_eq!(form.text(Field::Model).text(), "a");
    }
}
