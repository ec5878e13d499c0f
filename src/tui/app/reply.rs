//! A reply: running, finished in this session, or read from the store.

use std::rc::Rc;
use std::time::Duration;

use crate::data::annotations::reply_id;
use crate::data::store::ReplyRecord;
use crate::domain::answer::{Ending, ParsedReply, ReplyShape, parse};
use crate::domain::context::Context;
use crate::domain::question::Question;
use crate::domain::score::{Scores, score};
use crate::model::{Reply, Timing, Usage};
use crate::tui::app::Ticket;
use crate::tui::app::probe::Audit;
use crate::tui::widgets::text::Rich;

mod introduced;
mod replies;
mod verdict;

pub use introduced::{caution, introduced};
pub use replies::{Chosen, Replies, Whose};
pub use verdict::{LastReply, Verdict};

use introduced::caution_of;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_counted_as_whole_words() {
        assert_eq!(mentions("DOC_1, DOC_12 and DOC_1.", "DOC_1"), 2);
        assert_eq!(mentions("", "DOC_1"), 0);
    }
}
