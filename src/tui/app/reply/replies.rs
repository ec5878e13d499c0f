//! All replies at hand, and which of them is shown.

use std::collections::HashSet;

use crate::domain::context::{Context, Scenario};
use crate::model::ModelIdentity;
use crate::tui::app::reply::ReplyState;

/// The model that is asked, as far as it is known.
#[derive(Debug)]
pub enum Chosen {
    /// By the name that the settings give it; replies may be stored under another.
    Named(String),
    /// It has been opened.
    Opened(ModelIdentity),
}

/// Whose a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The chosen model's.
    Chosen,
    /// Another model's.
    Another,
    /// That can't be said before the chosen model has been opened.
    Unknown,
}

/// All replies at hand.
#[derive(Debug)]
pub struct Replies {
    /// The model that is asked: its replies come before those of others.
    pub chosen: Chosen,
    /// The one that is coming; at most one at a time.
    pub running: Option<ReplyState>,
    /// Finished in this session, oldest first.
    pub recent: Vec<ReplyState>,
    /// Question id and its stored replies, newest first.
    pub stored: Option<(String, Vec<ReplyState>)>,
}

/// Finished replies kept in memory; older ones are in the store.
const KEPT: usize = 100;

impl Replies {
    /// None yet; the model that is asked has this name in the settings.
    pub fn of(model: &str) -> Replies {
        Replies {
            chosen: Chosen::Named(model.to_owned()),
            running: None,
            recent: Vec::new(),
            stored: None,
        }
    }

    /// Whose a reply is. What was not read from the store came in this session, from the chosen model.
    pub fn whose(&self, reply: &ReplyState) -> Whose {
        match &self.chosen {
            _ if reply.stored_at.is_none() => Whose::Chosen,
            Chosen::Named(name) if *name == reply.model => Whose::Chosen,
            Chosen::Named(_) => Whose::Unknown,
            Chosen::Opened(identity) if identity.answers_to(&reply.model) => Whose::Chosen,
            Chosen::Opened(_) => Whose::Another,
        }
    }

    fn is_chosen(&self, reply: &ReplyState) -> bool {
        self.whose(reply) == Whose::Chosen
    }

    /// How many models have a reply that counts to exactly this context.
    pub fn models(&self, context: &Context) -> usize {
        let replies = self.newest_first();
        let names: HashSet<Option<&str>> = replies
            .filter(|reply| reply.context == *context && reply.counts())
            .map(|reply| (!self.is_chosen(reply)).then_some(reply.model.as_str()))
            .collect();
        names.len()
    }

    /// The reply to show with exactly this context: the one that is coming, else the chosen model's newest that
    /// counts, else the newest that counts, else the newest, the chosen model's first.
    pub fn shown(&self, context: &Context) -> Option<&ReplyState> {
        self.best(|reply| reply.context == *context)
    }

    /// As [`Replies::shown`], of all replies to a question in a scenario.
    pub fn latest(&self, question_id: &str, scenario: Scenario) -> Option<&ReplyState> {
        self.best(|reply| reply.question.id == question_id && reply.context.scenario == scenario)
    }

    /// All replies to a question that are at hand, newest first.
    pub fn to<'a>(&'a self, question_id: &'a str) -> impl Iterator<Item = &'a ReplyState> + 'a {
        self.newest_first()
            .filter(move |reply| reply.question.id == question_id)
    }

    fn best(&self, fits: impl Fn(&ReplyState) -> bool) -> Option<&ReplyState> {
        let all = || self.newest_first().filter(|reply| fits(reply));
        all()
            .find(|reply| reply.running() || (reply.counts() && self.is_chosen(reply)))
            .or_else(|| all().find(|reply| reply.counts()))
            .or_else(|| all().find(|reply| self.is_chosen(reply)))
            .or_else(|| all().next())
    }

    /// The newest try of a model with exactly this context, where its older reply is shown because this one was stopped
    /// or failed; where another model's reply is shown, the newest try of the chosen one.
    pub fn failed_since(&self, context: &Context) -> Option<&ReplyState> {
        let shown = self.shown(context).filter(|reply| reply.counts())?;
        let mut tries = self
            .newest_first()
            .filter(|reply| reply.context == *context && !reply.running());
        if self.whose(shown) == Whose::Another {
            return tries.find(|reply| self.is_chosen(reply));
        }
        let of_it = |reply: &&ReplyState| match self.is_chosen(shown) {
            true => self.is_chosen(reply),
            false => reply.model == shown.model,
        };
        tries
            .take_while(|reply| !std::ptr::eq(*reply, shown))
            .find(of_it)
    }

    /// As [`Replies::shown`], to change it.
    pub fn shown_mut(&mut self, context: &Context) -> Option<&mut ReplyState> {
        let shown = std::ptr::from_ref(self.shown(context)?);
        let at = self
            .newest_first()
            .position(|reply| std::ptr::eq(reply, shown))?;
        let stored = self.stored.iter_mut().flat_map(|(_, replies)| replies);
        self.running
            .iter_mut()
            .chain(self.recent.iter_mut().rev())
            .chain(stored)
            .nth(at)
    }

    fn newest_first(&self) -> impl Iterator<Item = &ReplyState> {
        let stored = self.stored.iter().flat_map(|(_, replies)| replies);
        self.running
            .iter()
            .chain(self.recent.iter().rev())
            .chain(stored)
    }

    /// Moves the running reply to the finished ones.
    pub fn settle(&mut self) {
        if let Some(reply) = self.running.take() {
            if self.recent.len() >= KEPT {
                self.recent.remove(0);
            }
            self.recent.push(reply);
        }
    }
}
