//! State of the instance screen: a question under a condition.

use std::rc::Rc;
use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::domain::answer::ReplyShape;
use crate::domain::context::{Condition, Context, compose};
use crate::domain::passage::Role;
use crate::domain::prompt::{Prompt, Templates, reply_shape};
use crate::domain::question::Question;
use crate::tui::theme::Tone;
use crate::tui::widgets::diff::{self, DiffView};
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

pub use seek::Seek;

mod seek;

/// The parts of the screen that can be focused, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Panel {
    /// Question and options.
    Question,
    /// Signal documents.
    Signal,
    /// Noise documents.
    Noise,
    /// Adversarial documents.
    Adversarial,
    /// The model's reply.
    Reply,
    /// Its scores.
    Scores,
}

impl Panel {
    /// All of them in the order of Tab.
    pub const ALL: [Panel; 6] = [
        Panel::Question,
        Panel::Signal,
        Panel::Noise,
        Panel::Adversarial,
        Panel::Reply,
        Panel::Scores,
    ];

    /// The role whose documents it shows.
    pub fn role(self) -> Option<Role> {
        match self {
            Panel::Signal => Some(Role::Signal),
            Panel::Noise => Some(Role::Noise),
            Panel::Adversarial => Some(Role::Adversarial),
            _ => None,
        }
    }

    /// Its place in arrays.
    pub fn index(self) -> usize {
        Panel::ALL
            .iter()
            .position(|&panel| panel == self)
            .unwrap_or(0)
    }
}

/// A document of the context, ready to be drawn.
#[derive(Debug, Clone)]
pub struct DocView {
    /// The dataset's id, cleaned.
    pub id: String,
    /// Title on one line; may be empty.
    pub title: String,
    /// The question a noise document belongs to.
    pub from: Option<String>,
    /// What the model sees.
    pub text: Rc<Rich>,
    /// Adversarial documents: the difference in three views, and words inserted and deleted.
    pub diff: Option<Difference>,
    /// Whether it was not in the context before the last step.
    pub fresh: bool,
    /// Position of its sub-question in the context.
    pub sub: Option<usize>,
}

/// The difference between an adversarial document and its original.
#[derive(Debug, Clone)]
pub struct Difference {
    views: [Rc<Rich>; 3],
    /// Words inserted and deleted.
    pub words: (usize, usize),
}

impl Difference {
    fn new(old: &str, new: &str, marks: bool) -> Difference {
        let diff = diff::compare(old, new);
        Difference {
            views: [DiffView::Both, DiffView::Inserted, DiffView::Deleted]
                .map(|view| diff.rich(view, marks)),
            words: diff.changed,
        }
    }

    /// The text of a view.
    pub fn view(&self, view: DiffView) -> &Rc<Rich> {
        match view {
            DiffView::Both => &self.views[0],
            DiffView::Inserted => &self.views[1],
            DiffView::Deleted => &self.views[2],
        }
    }
}

/// A context with its prompt, ready to be shown and asked.
#[derive(Debug, Clone)]
pub struct Composed {
    /// What the model will see, with roles.
    pub context: Context,
    /// The messages, or why the template is broken.
    pub prompt: Result<Prompt, String>,
    /// The shape of the reply.
    pub shape: ReplyShape,
    /// The documents in context order.
    pub docs: Vec<DocView>,
}

/// A question under a condition.
#[derive(Debug, Clone)]
pub struct InstanceState {
    /// Position in the dataset.
    pub index: usize,
    /// The question.
    pub question: Question,
    /// Its text, ready to be drawn.
    pub text: Rc<Rich>,
    /// What is asked for.
    pub condition: Condition,
    /// What came of it; boxed, since it is large.
    pub composed: Result<Box<Composed>, String>,
    /// Which panel keys go to.
    pub focus: Panel,
    /// Whether it fills the screen.
    pub zoom: bool,
    /// Whether right answers are shown.
    pub gold: bool,
    /// Whether the reply is shown as received.
    pub raw: bool,
    /// How adversarial documents are shown.
    pub diff: DiffView,
    /// Rows scrolled per panel.
    pub scroll: [usize; 6],
    /// Whether the reply panel stays at its end while text comes.
    pub follow: bool,
    /// Whether the adversarial column was scrolled since it was composed; until then it shows its first change.
    pub moved: bool,
    /// Whether the columns of documents scroll together.
    pub locked: bool,
    /// What is looked for inside the documents.
    pub seek: Option<Seek>,
    /// The document in the context that was shown last because it is cited.
    pub cited: Option<usize>,
}

impl InstanceState {
    /// Opens a question; `None` where there is no such position.
    pub fn open(
        dataset: &Arc<Dataset>,
        templates: &Templates,
        index: usize,
        condition: Condition,
        marks: bool,
    ) -> Option<InstanceState> {
        let question = dataset.questions.get(index)?.clone();
        let text = Rc::new(Rich::plain(question.text.trim(), Tone::Strong));
        let composed = composed(dataset, templates, &question, &condition, marks);
        let mut state = InstanceState {
            index,
            question,
            text,
            condition,
            composed,
            focus: Panel::Signal,
            zoom: false,
            gold: true,
            raw: false,
            diff: DiffView::default(),
            scroll: [0; 6],
            follow: true,
            moved: false,
            locked: false,
            seek: None,
            cited: None,
        };
        state.settle_focus();
        Some(state)
    }

    /// Composes anew under another condition and marks the documents that were not there before.
    pub fn recompose(
        &mut self,
        dataset: &Arc<Dataset>,
        templates: &Templates,
        condition: Condition,
        marks: bool,
    ) {
        let before: Option<Vec<(String, Role)>> = self.composed.as_ref().ok().map(|composed| {
            let documents = composed.context.documents.iter();
            documents.map(|doc| (doc.id.clone(), doc.role)).collect()
        });
        let mut next = composed(dataset, templates, &self.question, &condition, marks);
        if let (Ok(next), Some(before)) = (&mut next, before) {
            for (view, doc) in next.docs.iter_mut().zip(&next.context.documents) {
                view.fresh = !before
                    .iter()
                    .any(|(id, role)| *id == doc.id && *role == doc.role);
            }
        }
        self.condition = condition;
        self.composed = next;
        for panel in [Panel::Signal, Panel::Noise, Panel::Adversarial] {
            self.scroll[panel.index()] = 0;
        }
        self.follow = true;
        // Locked columns all begin at their top.
        self.moved = self.locked;
        self.cited = None;
        if let Some(seek) = &mut self.seek {
            seek.at = None;
        }
        self.scroll[Panel::Reply.index()] = 0;
        self.scroll[Panel::Scores.index()] = 0;
        self.settle_focus();
    }

    /// Moves the focus off a column that has nothing to show.
    fn settle_focus(&mut self) {
        if let Some(role) = self.focus.role()
            && self.count(role) == 0
            && let Some(panel) = [Panel::Signal, Panel::Noise, Panel::Adversarial]
                .into_iter()
                .find(|panel| panel.role().is_some_and(|role| self.count(role) > 0))
        {
            self.focus = panel;
        }
    }

    /// Documents of a role.
    pub fn count(&self, role: Role) -> usize {
        self.composed.as_ref().map_or(0, |composed| {
            let documents = composed.context.documents.iter();
            documents.filter(|doc| doc.role == role).count()
        })
    }

    /// The context, where one could be composed.
    pub fn context(&self) -> Option<&Context> {
        self.composed
            .as_ref()
            .ok()
            .map(|composed| &composed.context)
    }
}

fn composed(
    dataset: &Arc<Dataset>,
    templates: &Templates,
    question: &Question,
    condition: &Condition,
    marks: bool,
) -> Result<Box<Composed>, String> {
    let pools = dataset.pools(&question.id);
    let context = compose(question, pools, condition).map_err(|error| error.to_string())?;
    let prompt = templates
        .render(question, &context)
        .map_err(|error| error.to_string());
    let shape = reply_shape(question, &context);
    let docs = context
        .documents
        .iter()
        .map(|doc| {
            let original = doc
                .original_id
                .as_ref()
                .and_then(|id| pools.signal.iter().find(|signal| signal.id == *id));
            let from = doc.from_question.as_ref().map(|id| {
                let position = dataset.position(id);
                let question = position.and_then(|at| dataset.questions.get(at));
                one_line(question.map_or(id.as_str(), |question| question.text.as_str()))
            });
            DocView {
                id: one_line(&doc.id),
                title: one_line(&doc.title),
                from,
                text: Rc::new(Rich::plain(doc.content.trim(), Tone::Text)),
                diff: original.map(|original| {
                    Difference::new(original.content.trim(), doc.content.trim(), marks)
                }),
                fresh: false,
                sub: context
                    .sub_questions
                    .iter()
                    .position(|sub| sub.label == doc.label),
            }
        })
        .collect();
    Ok(Box::new(Composed {
        context,
        prompt,
        shape,
        docs,
    }))
}
