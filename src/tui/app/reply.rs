//! Replies: running, finished in this session, or read from the store.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use crate::data::annotations::reply_id;
use crate::data::store::{Brief, ReplyRecord};
use crate::domain::answer::{Ending, Outcome, ParsedReply, ReplyShape, parse};
use crate::domain::context::{Context, Scenario};
use crate::domain::question::Question;
use crate::domain::score::{Scores, score};
use crate::model::{ModelIdentity, Reply, Timing, Usage};
use crate::tui::app::Ticket;
use crate::tui::app::probe::Audit;
use crate::tui::widgets::line::{cut, one_line};
use crate::tui::widgets::text::Rich;

/// A reply in one word, for lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Chose the right option.
    Right,
    /// Chose a wrong one.
    Wrong,
    /// Said that the information does not suffice.
    Insufficient,
    /// Came, but no answer can be read from it.
    Unreadable,
    /// No reply came.
    Unavailable,
}

impl Verdict {
    /// All of them, in the order of lists.
    pub const ALL: [Verdict; 5] = [
        Verdict::Right,
        Verdict::Wrong,
        Verdict::Insufficient,
        Verdict::Unreadable,
        Verdict::Unavailable,
    ];

    /// The verdict on a stored reply of which only the outline is known.
    pub fn of_brief(brief: &Brief) -> Verdict {
        Verdict::from(brief.outcome, brief.correct)
    }

    /// The verdict on a stored reply.
    pub fn of(record: &ReplyRecord) -> Verdict {
        match (&record.parsed, &record.scores) {
            (Some(parsed), Some(scores)) => Verdict::from(parsed.outcome, scores.main_correct),
            _ => Verdict::Unavailable,
        }
    }

    fn from(outcome: Outcome, correct: Option<bool>) -> Verdict {
        match outcome {
            Outcome::Insufficient => Verdict::Insufficient,
            Outcome::Answered if correct == Some(true) => Verdict::Right,
            Outcome::Answered => Verdict::Wrong,
            outcome if !outcome.is_reply() => Verdict::Unavailable,
            _ => Verdict::Unreadable,
        }
    }

    /// Whether a reply with this verdict says something about the model.
    pub fn counts(self) -> bool {
        self != Verdict::Unavailable
    }

    /// Mark and word.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Verdict::Right => ("✓", "right"),
            Verdict::Wrong => ("✗", "wrong"),
            Verdict::Insufficient => ("–", "insufficient"),
            Verdict::Unreadable => ("?", "unreadable"),
            Verdict::Unavailable => ("!", "unavailable"),
        }
    }
}

/// What a list says of the tries at a question: one that was stopped does not hide an earlier answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastReply {
    /// The verdict on the newest try which counts, else on the newest.
    pub verdict: Verdict,
    /// Whether a later try was stopped or gave no reply.
    pub later_try: bool,
}

impl LastReply {
    /// Of several tries, newest first.
    pub fn of(tries: impl Iterator<Item = Verdict>) -> Option<LastReply> {
        let mut newest = None;
        for verdict in tries {
            if verdict.counts() {
                let later_try = newest.is_some();
                return Some(LastReply { verdict, later_try });
            }
            newest.get_or_insert(verdict);
        }
        newest.map(|verdict| LastReply {
            verdict,
            later_try: false,
        })
    }

    /// After one more try.
    pub fn after(earlier: Option<LastReply>, verdict: Verdict) -> LastReply {
        match earlier {
            Some(last) if last.verdict.counts() && !verdict.counts() => LastReply {
                later_try: true,
                ..last
            },
            _ => LastReply {
                verdict,
                later_try: false,
            },
        }
    }
}

/// Where a reply stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Still coming.
    Running,
    /// Came, complete or not.
    Done,
    /// Did not come: one sentence.
    Failed(String),
}

/// A reply as far as it is known.
#[derive(Debug, Clone)]
pub struct ReplyState {
    /// Its job.
    pub ticket: Ticket,
    /// The question asked.
    pub question: Question,
    /// The context it was asked with.
    pub context: Context,
    /// What it should look like.
    pub shape: ReplyShape,
    /// Where it stands.
    pub phase: Phase,
    /// The text as received.
    pub raw: String,
    /// The provider's separate reasoning field.
    pub reasoning: String,
    /// What the backend is doing.
    pub status: String,
    /// When it was asked, on the app's clock.
    pub started: Duration,
    /// Time to the first token.
    pub first_token: Option<Duration>,
    /// Time to the end.
    pub total: Option<Duration>,
    /// Token counts.
    pub usage: Usage,
    /// How it ended.
    pub ending: Ending,
    /// The model's own probability per option.
    pub probabilities: Vec<(char, f64)>,
    /// The reply as read so far.
    pub parsed: Option<ParsedReply>,
    /// The scores so far.
    pub scores: Option<Scores>,
    /// How often each document's label stands in the reasoning.
    pub cited: Vec<usize>,
    /// The model's name.
    pub model: String,
    /// A caution about the model, or that this is a replay.
    pub caution: Option<String>,
    /// When it was stored, if it was read from the store.
    pub stored_at: Option<String>,
    /// Its run and the id by which annotations name it, once it is in the store.
    pub origin: Option<(String, String)>,
    /// The raw text with syntax colours, once they are there.
    pub highlighted: Option<Rc<Rich>>,
    /// The colours were asked for.
    pub colours_asked: bool,
    /// Where planted text went and what the citations are worth, once it was asked for.
    pub audit: Option<Rc<Audit>>,
    /// Stop was asked for.
    pub stopping: bool,
    /// Of a recording that is played: when its pieces came.
    pub recording: Option<Timing>,
    /// New text since it was last read.
    stale: bool,
}

impl ReplyState {
    /// A reply just asked for.
    pub fn asked(
        ticket: Ticket,
        question: Question,
        context: Context,
        shape: ReplyShape,
        model: &str,
        now: Duration,
    ) -> ReplyState {
        ReplyState {
            ticket,
            question,
            context,
            shape,
            phase: Phase::Running,
            raw: String::new(),
            reasoning: String::new(),
            status: "waiting for the model".into(),
            started: now,
            first_token: None,
            total: None,
            usage: Usage::default(),
            ending: Ending::Running,
            probabilities: Vec::new(),
            parsed: None,
            scores: None,
            cited: Vec::new(),
            model: model.to_owned(),
            caution: None,
            stored_at: None,
            origin: None,
            highlighted: None,
            colours_asked: false,
            audit: None,
            stopping: false,
            recording: None,
            stale: false,
        }
    }

    /// A reply from the store.
    pub fn stored(record: &ReplyRecord) -> ReplyState {
        let shape = crate::domain::prompt::reply_shape(&record.question, &record.context);
        let mut reply = ReplyState::asked(
            Ticket(0),
            record.question.clone(),
            record.context.clone(),
            shape,
            &record.model_name,
            Duration::ZERO,
        );
        reply.stored_at = Some(record.created_at.clone());
        reply.finish(record);
        reply
    }

    /// Takes what the finished record says.
    pub fn finish(&mut self, record: &ReplyRecord) {
        self.raw.clone_from(&record.raw);
        self.parsed.clone_from(&record.parsed);
        self.scores.clone_from(&record.scores);
        self.model.clone_from(&record.model_name);
        self.origin = (record.id > 0).then(|| (record.run.clone(), reply_id(record)));
        self.status.clear();
        self.caution = caution_of(record);
        let mut whole = record.reply.clone();
        if let Some(fields) = whole.as_object_mut() {
            fields.insert("text".into(), record.raw.clone().into());
            fields.entry("reasoning").or_insert_with(|| "".into());
        }
        if let Ok(reply) = serde_json::from_value::<Reply>(whole) {
            self.reasoning = reply.reasoning;
            self.ending = reply.ending;
            self.usage = reply.usage;
            self.first_token = reply.timing.first_token_ms.map(Duration::from_millis);
            self.total = Some(Duration::from_millis(reply.timing.total_ms));
            self.probabilities = reply.option_probabilities.unwrap_or_default();
        } else {
            self.ending = Ending::Complete;
        }
        self.phase = match record.failure.get("message").and_then(|text| text.as_str()) {
            Some(message) => Phase::Failed(message.to_owned()),
            None if record.parsed.is_none() && !record.failure.is_null() => {
                Phase::Failed(record.failure.to_string())
            }
            None => Phase::Done,
        };
        self.stale = false;
        self.count_citations();
    }

    /// Ends without a record.
    pub fn fail(&mut self, message: String) {
        self.status.clear();
        self.phase = Phase::Failed(message);
        self.ending = Ending::Interrupted;
    }

    /// Adds text of the reply.
    pub fn add_text(&mut self, text: &str, now: Duration) {
        self.touch(now);
        self.raw.push_str(text);
        self.stale = true;
    }

    /// Adds text of the reasoning field.
    pub fn add_reasoning(&mut self, text: &str, now: Duration) {
        self.touch(now);
        self.reasoning.push_str(text);
    }

    fn touch(&mut self, now: Duration) {
        self.status.clear();
        let recorded = self.recording.as_ref().and_then(|one| one.first_token_ms);
        let first = recorded.map_or(now.saturating_sub(self.started), Duration::from_millis);
        self.first_token.get_or_insert(first);
    }

    /// Of a recording that is played: when what has come so far had come then, after the start, however fast it is played.
    /// `None` before its first piece.
    pub fn recorded_so_far(&self) -> Option<Duration> {
        let timing = self.recording.as_ref()?;
        if self.raw.is_empty() {
            return self.first_token.filter(|_| !self.reasoning.is_empty());
        }
        let mut bytes = 0usize;
        let mut so_far = timing.first_token_ms.unwrap_or(0);
        for (at, more) in &timing.timeline {
            bytes = bytes.saturating_add(*more as usize);
            if bytes > self.raw.len() {
                return Some(Duration::from_millis(so_far));
            }
            so_far = u64::from(*at);
        }
        // Text beyond the timeline comes with the end.
        match bytes < self.raw.len() {
            true => Some(Duration::from_millis(timing.total_ms)),
            false => Some(Duration::from_millis(so_far)),
        }
    }

    /// Drops what has come: a new attempt begins.
    pub fn restart(&mut self) {
        self.raw.clear();
        self.reasoning.clear();
        self.first_token = None;
        self.parsed = None;
        self.scores = None;
        self.cited.clear();
        self.stale = false;
    }

    /// Reads and scores what has come since the last frame.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let parsed = parse(&self.raw, &self.shape, Ending::Running);
        self.scores = Some(score(&self.question, &self.context, &parsed));
        self.parsed = Some(parsed);
        self.count_citations();
    }

    fn count_citations(&mut self) {
        let text = self
            .parsed
            .as_ref()
            .and_then(|parsed| parsed.reasoning.as_deref())
            .unwrap_or_default();
        self.cited = self
            .shape
            .labels
            .iter()
            .map(|label| mentions(text, label))
            .collect();
    }

    /// Whether it is still coming.
    pub fn running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Tokens of the reply: the backend's count, else an estimate (true).
    pub fn tokens(&self) -> (usize, bool) {
        match self.usage.completion_tokens {
            Some(count) => (count as usize, false),
            None => ((self.raw.len() + self.reasoning.len()).div_ceil(4), true),
        }
    }

    /// Tokens per second after the first token; of a recording those of the recording.
    pub fn rate(&self, now: Duration) -> Option<f64> {
        let first = self.first_token?;
        let end = self.total.or_else(|| self.recorded_so_far());
        let end = end.unwrap_or_else(|| now.saturating_sub(self.started));
        let seconds = end.saturating_sub(first).as_secs_f64();
        #[allow(clippy::cast_precision_loss)] // token counts are small
        (seconds > 0.2).then(|| self.tokens().0 as f64 / seconds)
    }

    /// The reply in one word; `None` while it runs.
    pub fn verdict(&self) -> Option<Verdict> {
        match (&self.phase, &self.parsed, &self.scores) {
            (Phase::Running, _, _) => None,
            (Phase::Failed(_), _, _) => Some(Verdict::Unavailable),
            (Phase::Done, Some(parsed), Some(scores)) => {
                Some(Verdict::from(parsed.outcome, scores.main_correct))
            }
            (Phase::Done, _, _) => Some(Verdict::Unavailable),
        }
    }
}

/// Caution to show beside the scores of a stored reply.
fn caution_of(record: &ReplyRecord) -> Option<String> {
    let identity = record.model.get("identity").unwrap_or(&record.model);
    let identity: ModelIdentity = serde_json::from_value(identity.clone()).ok()?;
    caution(&identity)
}

/// What must be said beside everything this model says.
pub fn caution(identity: &ModelIdentity) -> Option<String> {
    match identity.backend {
        crate::model::BackendKind::Replay => Some(match &identity.caution {
            Some(caution) => format!("{} · {caution}", identity.detail),
            None => identity.detail.clone(),
        }),
        _ => identity.caution.clone(),
    }
}

/// A model in at most `width` columns: name, what is behind it, caution. What lies between the name and the caution
/// is shortened first.
pub fn introduced(identity: &ModelIdentity, width: usize) -> (String, Option<String>) {
    const LEAST: usize = 12;
    let name = one_line(&identity.name);
    let room = width.saturating_sub(name.width());
    let behind = match identity.backend {
        crate::model::BackendKind::Replay => Some(one_line(&identity.detail)),
        _ => None,
    };
    let caution = identity.caution.as_deref().map(one_line);
    let taken = caution.as_ref().map_or(0, |caution| caution.width() + 3);
    let middle = room.saturating_sub(taken + 3);
    let behind = behind
        .filter(|behind| middle >= LEAST.min(behind.width()))
        .map(|behind| cut(&behind, middle));
    let parts: Vec<String> = behind.into_iter().chain(caution).collect();
    (name, (!parts.is_empty()).then(|| parts.join(" · ")))
}

/// How often a label stands in a text as a whole word (`DOC_1` is not in `DOC_12`).
fn mentions(text: &str, label: &str) -> usize {
    if label.is_empty() {
        return 0;
    }
    text.match_indices(label)
        .filter(|(at, _)| {
            !text[at + label.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
        .count()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_that_gave_nothing_hides_no_reply_but_is_marked() {
        let last = |verdict, later_try| LastReply { verdict, later_try };
        let of = |tries: &[Verdict]| LastReply::of(tries.iter().copied());
        let (right, wrong, none) = (Verdict::Right, Verdict::Wrong, Verdict::Unavailable);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[none, none]), Some(last(none, false)));
        assert_eq!(of(&[none, right, wrong]), Some(last(right, true)));
        assert_eq!(of(&[wrong, none, right]), Some(last(wrong, false)));
        // One try after the other gives the same.
        for tries in [
            vec![none, none],
            vec![none, right, wrong],
            vec![wrong, none, right],
        ] {
            let one_by_one = tries.iter().rev().fold(None, |earlier, &verdict| {
                Some(LastReply::after(earlier, verdict))
            });
            assert_eq!(one_by_one, of(&tries), "{tries:?}");
        }
    }

    #[test]
    fn the_caution_is_cut_last() {
        let identity = ModelIdentity {
            name: "replay:night".into(),
            backend: crate::model::BackendKind::Replay,
            detail: "embedded:small-model, recorded on 2026-11-30, replay of the run night".into(),
            caution: Some("demo model, not a serious score".into()),
            window: None,
            replayed: Vec::new(),
        };
        let at = |width| {
            let (name, rest) = introduced(&identity, width);
            format!("{name} · {}", rest.unwrap_or_default())
        };
        assert_eq!(
            at(200),
            "replay:night · embedded:small-model, recorded on 2026-11-30, replay of the run night · demo model, not a serious score"
        );
        assert_eq!(
            at(76),
            "replay:night · embedded:small-model, reco… · demo model, not a serious score"
        );
        assert_eq!(at(50), "replay:night · demo model, not a serious score");
    }

    #[test]
    fn labels_are_counted_as_whole_words() {
        assert_eq!(mentions("DOC_1, DOC_12 and DOC_1.", "DOC_1"), 2);
        assert_eq!(mentions("", "DOC_1"), 0);
    }
}
