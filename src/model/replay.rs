//! Plays recorded replies with their real timing: no network, no model.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::answer::Ending;
use crate::domain::prompt::Prompt;
use crate::model::{
    BackendKind, ChatModel, ChatRequest, Delta, FailureKind, ModelError, ModelIdentity, Reply,
    Timing,
};

/// What was recorded for one prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The prompt that was asked.
    pub prompt: Prompt,
    /// The reply with its timing, or the failure.
    pub result: Result<Reply, ModelError>,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Name of the run.
    pub run: String,
    /// Names of the models that replied then.
    pub models: Vec<String>,
    /// Day of the recording, as shown.
    pub date: String,
    /// Caution of the recorded model, to be shown beside every score again.
    pub caution: Option<String>,
    /// Records in the order in which they were stored; for the same prompt the last reply counts, else the
    /// last failure.
    pub replies: Vec<Recorded>,
}

/// How fast recordings are played: 1 is real time, 2 twice as fast, infinity at once. Clones share it, so it
/// can be changed while a reply is being played.
#[derive(Debug, Clone)]
pub struct Pace(Arc<AtomicU64>);

impl Pace {
    /// A pace of its own.
    pub fn new(speed: f64) -> Pace {
        Pace(Arc::new(AtomicU64::new(speed.to_bits())))
    }

    /// Changes it for all who share it.
    pub fn set(&self, speed: f64) {
        self.0.store(speed.to_bits(), Ordering::Relaxed);
    }

    /// As it is now.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// Longest time for which a change of pace goes unnoticed.
const SLICE: Duration = Duration::from_millis(100);

/// Plays a recorded run.
#[derive(Debug)]
pub struct ReplayModel {
    identity: ModelIdentity,
    run: String,
    replies: HashMap<(String, String), Result<Reply, ModelError>>,
    pace: Pace,
}

impl ReplayModel {
    /// A model that plays `recording`.
    ///
    /// # Errors
    /// [`FailureKind::BadRequest`] for a pace that is not above 0, [`FailureKind::NotFound`] for a
    /// recording without replies.
    pub fn new(recording: Recording, pace: Pace) -> Result<ReplayModel, ModelError> {
        let speed = pace.get();
        if speed.is_nan() || speed <= 0.0 {
            return Err(ModelError::new(
                FailureKind::BadRequest,
                format!("the replay speed is {speed}, but it must be above 0 (1 is real time)"),
            ));
        }
        if recording.replies.is_empty() {
            return Err(ModelError::new(
                FailureKind::NotFound,
                format!("the run \"{}\" holds no reply to play", recording.run),
            ));
        }
        let identity = ModelIdentity {
            name: format!("replay:{}", recording.run),
            backend: BackendKind::Replay,
            detail: format!(
                "{}, recorded on {}, replay of the run {}",
                recording.models.join(", "),
                recording.date,
                recording.run
            ),
            caution: recording.caution,
            window: None,
            replayed: recording.models,
        };
        let mut replies: HashMap<_, Result<Reply, ModelError>> = HashMap::new();
        for Recorded { prompt, result } in recording.replies {
            let key = (prompt.system, prompt.user);
            // Asking again after a reply, in vain, takes nothing away from the reply.
            if result.is_ok() || !replies.get(&key).is_some_and(Result::is_ok) {
                replies.insert(key, result);
            }
        }
        Ok(ReplayModel {
            identity,
            run: recording.run,
            replies,
            pace,
        })
    }

    fn of(&self, request: &ChatRequest) -> Option<&Result<Reply, ModelError>> {
        let key = (request.prompt.system.clone(), request.prompt.user.clone());
        self.replies.get(&key)
    }

    async fn play(
        &self,
        request: &ChatRequest,
        cancel: &CancellationToken,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        let recorded = self.of(request).ok_or_else(|| {
            ModelError::new(
                FailureKind::NotFound,
                format!(
                    "the run \"{}\" holds no reply to this prompt; open the dataset, scenario, n, p and seed that were recorded",
                    self.run
                ),
            )
        })?;
        let reply = recorded.as_ref().map_err(|failure| {
            let mut failure = failure.clone();
            failure.message = format!("the recorded call failed: {}", failure.message);
            failure
        })?;
        let mut played = 0;
        let mut reasoned = false;
        let mut clock = 0;
        let pieces = pieces(reply);
        if let Some((first, _)) = pieces.first() {
            // Who does not know that recordings keep their timing would take the wait for a standstill.
            let seconds = (*first as f64 / 1000.0).round();
            on_delta(Delta::Status(format!(
                "waiting for the first token (recorded: {seconds} s)"
            )));
        }
        for (at, piece) in pieces {
            if let Err(waited) = self.wait(at.saturating_sub(clock), cancel).await {
                return Ok(cut(reply, played, reasoned, clock + waited));
            }
            clock = at.max(clock);
            match piece {
                Piece::Reasoning => {
                    reasoned = true;
                    on_delta(Delta::Reasoning(reply.reasoning.clone()));
                }
                Piece::Text(end) => {
                    on_delta(Delta::Text(reply.text[played..end].to_owned()));
                    played = end;
                }
                Piece::End => {}
            }
        }
        Ok(reply.clone())
    }

    /// Waits for `millis` of the recording. Long waits are cut into slices, so that another pace is felt at once.
    ///
    /// # Errors
    /// How many of them had passed when the user stopped it.
    async fn wait(&self, millis: u64, cancel: &CancellationToken) -> Result<(), u64> {
        let mut left = millis as f64 / 1000.0;
        let passed = |left: f64| Err(millis.saturating_sub((left.max(0.0) * 1000.0) as u64));
        loop {
            if cancel.is_cancelled() {
                return passed(left);
            }
            let speed = self.pace.get();
            // A pace that was set to nonsense plays in real time.
            let speed = if speed > 0.0 { speed } else { 1.0 };
            let whole = Duration::try_from_secs_f64(left / speed).unwrap_or(Duration::MAX);
            if whole.is_zero() {
                return Ok(());
            }
            let slice = whole.min(SLICE);
            let began = Instant::now();
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(slice) => {}
            }
            // By the clock, so that late timers do not add up.
            left -= began.elapsed().as_secs_f64() * speed;
            if left <= 0.0 && !cancel.is_cancelled() {
                return Ok(());
            }
        }
    }
}

impl ChatModel for ReplayModel {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn recorded(&self, request: &ChatRequest) -> Option<&Timing> {
        let reply = self.of(request)?.as_ref().ok()?;
        Some(&reply.timing)
    }

    fn reply<'a>(
        &'a self,
        request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.play(request, cancel, on_delta).boxed()
    }
}

/// Something to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// All reasoning: single times are recorded only for the text.
    Reasoning,
    /// Text up to this byte.
    Text(usize),
    /// Nothing more; the recorded reply ended here.
    End,
}

/// Pieces with their times in milliseconds. Cuts inside a character move to its start, and text beyond the
/// timeline comes with the end.
fn pieces(reply: &Reply) -> Vec<(u64, Piece)> {
    let mut pieces = Vec::with_capacity(reply.timing.timeline.len() + 2);
    if !reply.reasoning.is_empty() {
        pieces.push((reply.timing.first_token_ms.unwrap_or(0), Piece::Reasoning));
    }
    let mut bytes = 0usize;
    let mut shown = 0;
    for (at, count) in &reply.timing.timeline {
        bytes = bytes.saturating_add(*count as usize);
        let end = reply.text.floor_char_boundary(bytes);
        if end > shown {
            pieces.push((u64::from(*at), Piece::Text(end)));
            shown = end;
        }
    }
    if shown < reply.text.len() {
        pieces.push((reply.timing.total_ms, Piece::Text(reply.text.len())));
    }
    pieces.push((reply.timing.total_ms, Piece::End));
    pieces
}

/// The recorded reply as far as it has been played: until this millisecond of the recording, however fast.
fn cut(reply: &Reply, played: usize, reasoned: bool, clock: u64) -> Reply {
    let mut cut = reply.clone();
    cut.text.truncate(played);
    if !reasoned {
        cut.reasoning.clear();
    }
    cut.ending = Ending::Interrupted;
    cut.timing.total_ms = clock;
    if played == 0 && !reasoned {
        cut.timing.first_token_ms = None;
    }
    let mut bytes = 0;
    cut.timing.timeline.retain(|(_, count)| {
        bytes += *count as usize;
        bytes <= played
    });
    cut
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::domain::answer::ReplyShape;
    use crate::domain::context::Scenario;
    use crate::model::{ReplyForm, Sampling, Usage};

    fn reply(timeline: &[(u32, u32)]) -> Reply {
        Reply {
            text: "ab é cd".into(),
            reasoning: "hm".into(),
            ending: Ending::Complete,
            usage: Usage::default(),
            timing: Timing {
                first_token_ms: Some(100),
                total_ms: 1_000,
                timeline: timeline.to_vec(),
            },
            option_probabilities: None,
            reported_model: None,
            attempts: 1,
            broke_off: None,
        }
    }

    fn request(user: &str) -> ChatRequest {
        ChatRequest {
            prompt: Prompt {
                system: "s".into(),
                user: user.into(),
            },
            form: ReplyForm::Instance(ReplyShape {
                scenario: Scenario::Standard,
                labels: vec![],
                ids: vec![],
                options: vec![],
                sub_questions: vec![],
            }),
            sampling: Sampling::default(),
        }
    }

    fn model(speed: f64) -> ReplayModel {
        let recorded = |user: &str, result| Recorded {
            prompt: request(user).prompt,
            result,
        };
        let failure = ModelError::new(FailureKind::RateLimited, "busy");
        let recording = Recording {
            run: "night".into(),
            models: vec!["openai:m".into()],
            date: "2026-11-29".into(),
            caution: Some("demo model, not a serious score".into()),
            replies: vec![
                recorded("u", Ok(reply(&[(200, 3), (400, 1), (600, 4)]))),
                recorded("u", Err(failure.clone())),
                recorded("fails", Err(failure)),
            ],
        };
        ReplayModel::new(recording, Pace::new(speed)).unwrap()
    }

    #[tokio::test]
    async fn pieces_come_at_their_times() {
        for speed in [1.0, 4.0] {
            let start = Instant::now();
            let mut seen = Vec::new();
            let model = model(speed);
            let played = model
                .reply(&request("u"), &CancellationToken::new(), &mut |delta| {
                    seen.push((start.elapsed().as_secs_f64() * 1_000.0 * speed, delta));
                })
                .await
                .unwrap();
            // What one waits for is said at once, with the wait that was recorded.
            let waiting = "waiting for the first token (recorded: 0 s)";
            let (_, status) = seen.remove(0);
            assert_eq!(status, Delta::Status(waiting.into()));
            // A busy machine may be late, but never early.
            assert_eq!(seen.len(), 3);
            for ((at, delta), due) in seen.iter().zip([100.0, 200.0, 600.0]) {
                assert!(*at >= due, "{delta:?} at {at}");
            }
            assert!(seen[1].0 < 600.0, "{seen:?}");
            let text: String = seen
                .iter()
                .filter_map(|(_, delta)| match delta {
                    Delta::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(text, "ab é cd");
            assert_eq!(played, reply(&[(200, 3), (400, 1), (600, 4)]));
            assert!(start.elapsed().as_secs_f64() * speed >= 1.0);
        }
    }

    #[tokio::test]
    async fn stopping_keeps_what_was_played() {
        let cancel = CancellationToken::new();
        let trigger = cancel.clone();
        let model = model(1.0);
        let mut stop_at_text = move |delta| {
            if matches!(delta, Delta::Text(_)) {
                trigger.cancel();
            }
        };
        let cut = model
            .reply(&request("u"), &cancel, &mut stop_at_text)
            .await
            .unwrap();
        assert_eq!(
            (cut.text.as_str(), cut.ending),
            ("ab ", Ending::Interrupted)
        );
        assert_eq!(cut.timing.timeline, [(200, 3)]);
    }

    #[tokio::test]
    async fn what_was_stopped_has_the_times_of_the_recording() {
        let model = model(50.0);
        let recorded = model.recorded(&request("u")).unwrap().clone();
        assert_eq!(recorded.timeline, [(200, 3), (400, 1), (600, 4)]);
        assert_eq!(model.recorded(&request("fails")), None);
        assert_eq!(model.recorded(&request("other")), None);
        let cancel = CancellationToken::new();
        let trigger = cancel.clone();
        let mut texts = 0;
        let mut stop_at_the_second = move |delta| {
            texts += usize::from(matches!(delta, Delta::Text(_)));
            if texts == 2 {
                trigger.cancel();
            }
        };
        let cut = model
            .reply(&request("u"), &cancel, &mut stop_at_the_second)
            .await
            .unwrap();
        // At 50 times the speed 600 ms take 12.
        assert_eq!(cut.text, "ab é cd");
        assert_eq!(
            (cut.timing.first_token_ms, cut.timing.total_ms),
            (Some(100), 600)
        );
        let stopped = CancellationToken::new();
        stopped.cancel();
        let nothing = model
            .reply(&request("u"), &stopped, &mut |_| {})
            .await
            .unwrap();
        assert_eq!(
            (nothing.timing.first_token_ms, nothing.timing.total_ms),
            (None, 0)
        );
    }

    #[tokio::test]
    async fn failures_unknown_prompts_and_wrong_speeds() {
        let model = model(f64::INFINITY);
        assert_eq!(
            model.identity().detail,
            "openai:m, recorded on 2026-11-29, replay of the run night"
        );
        let cancel = CancellationToken::new();
        let kind = async |user: &str| {
            let request = request(user);
            let mut ignore = |_| {};
            model
                .reply(&request, &cancel, &mut ignore)
                .await
                .unwrap_err()
                .kind
        };
        assert_eq!(kind("fails").await, FailureKind::RateLimited);
        assert_eq!(kind("other").await, FailureKind::NotFound);
        let request = request("u");
        assert!(model.reply(&request, &cancel, &mut |_| {}).await.is_ok());
        let empty = Recording {
            run: "r".into(),
            models: vec!["m".into()],
            date: "d".into(),
            caution: None,
            replies: vec![],
        };
        for speed in [0.0, -1.0, f64::NAN] {
            assert!(ReplayModel::new(empty.clone(), Pace::new(speed)).is_err());
        }
        assert_eq!(
            ReplayModel::new(empty, Pace::new(1.0)).unwrap_err().kind,
            FailureKind::NotFound
        );
    }

    #[test]
    fn timelines_that_do_not_fit_lose_no_text() {
        for timeline in [
            &[][..],
            &[(5, 2)],
            &[(5, 400)],
            &[(1, u32::MAX), (2, u32::MAX)],
        ] {
            let reply = reply(timeline);
            let last = pieces(&reply)
                .iter()
                .filter_map(|(_, piece)| match piece {
                    Piece::Text(end) => Some(*end),
                    _ => None,
                })
                .max();
            assert_eq!(last, Some(reply.text.len()), "{timeline:?}");
        }
    }
}
