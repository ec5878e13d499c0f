//! The loop: input first, then what jobs report, then at most one frame every 16 ms, or sooner where a key
//! is to be answered; never a tick when idle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use tokio::sync::mpsc;

use crate::domain::text::{count, short};
use crate::tui::app::sweep::Phase;
use crate::tui::app::{App, DatasetState};
use crate::tui::editor::{News, Outside, Prepared, Purpose, Visit};
use crate::tui::effects::{Effect, Effects};
use crate::tui::keyboard::Keyboard;
use crate::tui::message::Message;
use crate::tui::run::begin::app_of;
use crate::tui::run::signals::{Signal, Signals};
use crate::tui::terminal::background::Input;
use crate::tui::update::{start, update};
use crate::tui::widgets::line::one_line;
use crate::tui::{Setup, TuiError, terminal, view};

mod begin;
mod signals;

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);

/// The same before a frame that answers a key or ends a wait: what streams in must not make the keyboard feel slow.
const ANSWER: Duration = Duration::from_millis(4);

/// Shortest time between two frames that only show how something goes on, where motion is reduced.
const STILL_FRAME: Duration = Duration::from_millis(500);

/// How often a running job's clock is drawn.
const TICK: Duration = Duration::from_millis(250);

/// The same where motion is reduced.
const STILL_TICK: Duration = Duration::from_secs(1);

/// How long a stopped reply may take to be stored when the program ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// The same for a sweep, whose model is given time to let go.
const SWEEP_FAREWELL: Duration = Duration::from_secs(6);

/// How long after something has happened it is stored where one is: a kill loses that much at most.
const KEEP: Duration = Duration::from_millis(1500);

/// Messages that may wait; senders wait beyond.
const CHANNEL: usize = 256;

/// Most messages handled before a frame may be drawn.
const BATCH: usize = 128;

/// Runs the explorer until the user leaves. Gives what must be said where it stays readable, such as how a sweep
/// that was stopped goes on.
///
/// # Errors
/// [`TuiError`] where there is no terminal, or it fails.
pub fn run(setup: Setup) -> Result<Option<String>, TuiError> {
    let mut screen = terminal::Screen::enter(setup.mouse)?;
    let app = app_of(&setup, screen.size()?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("medrgb async")
        .enable_all()
        .build()?;
    let (sender, messages) = mpsc::channel(CHANNEL);
    let setup = Arc::new(setup);
    let still = setup.reduced_motion;
    let effects = Effects::new(Arc::clone(&setup), sender, runtime.handle().clone());
    let result = runtime.block_on(Loop::new(app, effects, messages, still).run(&mut screen));
    // Jobs may still hold threads (a model being read from disk); they must not delay the way out.
    runtime.shutdown_background();
    result
}

struct Loop {
    app: App,
    effects: Effects,
    messages: mpsc::Receiver<Message>,
    started: Instant,
    last_frame: Option<Instant>,
    dirty: bool,
    /// When it is stored where one is.
    keep_at: Option<Instant>,
    /// A program of the user's that has the terminal.
    visit: Option<Visit>,
    /// Something changed that is shown at once, however still the screen should be.
    urgent: bool,
    /// Nothing moves by itself.
    still: bool,
}

/// What woke the loop. It lives on the stack for one turn, so the size of a message costs nothing.
#[allow(clippy::large_enum_variant)]
enum Wake {
    Input(Option<std::io::Result<Input>>),
    Message(Option<Message>),
    Signal(Signal),
    Visit(News),
    Frame,
    Tick,
    Keep,
}

impl Loop {
    fn new(app: App, effects: Effects, messages: mpsc::Receiver<Message>, still: bool) -> Loop {
        Loop {
            app,
            effects,
            messages,
            started: Instant::now(),
            last_frame: None,
            dirty: true,
            keep_at: None,
            visit: None,
            urgent: true,
            still,
        }
    }

    /// Runs to the end, whatever ends it: the terminal is given back first, and what has come of a reply is
    /// stored then.
    async fn run(mut self, screen: &mut terminal::Screen) -> Result<Option<String>, TuiError> {
        let result = match self.turn(screen).await {
            // Nobody is there to be told that the terminal is gone.
            Err(TuiError::Terminal(_)) if terminal::is_gone() => Ok(()),
            result => result,
        };
        if let Some(visit) = self.visit.take() {
            visit.dismiss().await;
        }
        screen.leave();
        self.end(result).await
    }

    async fn turn(&mut self, screen: &mut terminal::Screen) -> Result<(), TuiError> {
        let mut signals = Signals::new()?;
        let (hang_up, mut hung_up) = tokio::sync::oneshot::channel::<()>();
        terminal::watch(move || {
            let _ = hang_up.send(());
        });
        // Asked before the first frame, so that the answer is there soon after it.
        let asked = match self.app.looks {
            Some(_) => screen.ask_background()?,
            None => None,
        };
        self.draw(screen)?;
        let mut events = Keyboard::start(asked)?;
        let tick = if self.still { STILL_TICK } else { TICK };
        for effect in start() {
            self.effects.start(effect);
        }
        while !self.app.quit {
            let frame_at = self.frame_at();
            let ticking = self.app.ticking();
            let ours = self.visit.is_none();
            let keep_at = self.keep_at;
            let wake = tokio::select! {
                biased;
                event = events.next(), if ours => Wake::Input(event),
                signal = signals.next() => Wake::Signal(signal),
                _ = &mut hung_up => Wake::Signal(Signal::End),
                news = news_of(&mut self.visit) => Wake::Visit(news),
                () = until(frame_at), if self.dirty && ours => Wake::Frame,
                message = self.messages.recv() => Wake::Message(message),
                () = until(keep_at.unwrap_or(frame_at)), if keep_at.is_some() => Wake::Keep,
                () = tokio::time::sleep(tick), if ticking => Wake::Tick,
            };
            match wake {
                Wake::Input(Some(Ok(input))) => self.input(input, screen, &mut events)?,
                // A terminal that can't be read any more ends the program.
                Wake::Input(Some(Err(error))) => return Err(error.into()),
                Wake::Input(None) | Wake::Signal(Signal::End) => break,
                // The whole process group gets what is typed; it is for the program that has the terminal.
                Wake::Signal(Signal::Interrupt | Signal::Suspend | Signal::Continue) if !ours => {}
                Wake::Signal(Signal::Interrupt) => break,
                Wake::Visit(news) => self.on_news(news, screen, &mut events)?,
                Wake::Signal(Signal::Suspend) => {
                    self.perform(Effect::Suspend, screen, &mut events)?;
                }
                Wake::Signal(Signal::Continue) => {
                    screen.resume(self.app.mouse)?;
                    self.dirty = true;
                    self.urgent = true;
                }
                Wake::Message(Some(message)) => {
                    self.handle(message, screen, &mut events)?;
                    self.drain(screen, &mut events)?;
                }
                Wake::Message(None) => break,
                Wake::Frame => self.draw(screen)?,
                Wake::Tick => self.handle(Message::Tick, screen, &mut events)?,
                Wake::Keep => self.keep(),
            }
            if self.dirty && self.visit.is_none() && self.frame_at() <= Instant::now() {
                self.draw(screen)?;
            }
        }
        Ok(())
    }

    /// Gives the terminal to a program of the user's; what comes of it, also a failure, is one message.
    fn go_out(
        &mut self,
        outside: Outside,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        let purpose = outside.purpose.clone();
        let prepared = match Prepared::new(outside) {
            Ok(prepared) => prepared,
            Err(problem) => return self.came_back(purpose, Err(problem), screen, events),
        };
        // It would go on reading the terminal that is no longer ours.
        events.stop();
        screen.lend();
        match prepared.start() {
            Ok(visit) => self.visit = Some(visit),
            Err(problem) => {
                self.retake(screen, events)?;
                return self.came_back(purpose, Err(problem), screen, events);
            }
        }
        Ok(())
    }

    fn on_news(
        &mut self,
        news: News,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        match (news, self.visit.take()) {
            (News::Stopped, Some(visit)) => {
                // The shell waits for us, not for the program: it gets its terminal once both stand still.
                terminal::stop_process_group();
                visit.go_on();
                self.visit = Some(visit);
                Ok(())
            }
            (News::Ended(end), Some(visit)) => {
                let (purpose, result) = visit.finish(end);
                self.retake(screen, events)?;
                self.came_back(purpose, result, screen, events)
            }
            (_, None) => Ok(()),
        }
    }

    fn retake(
        &mut self,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        screen.retake(self.app.mouse)?;
        *events = Keyboard::start(None)?;
        self.dirty = true;
        self.urgent = true;
        Ok(())
    }

    fn came_back(
        &mut self,
        purpose: Purpose,
        result: Result<Option<String>, String>,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        self.handle(Message::CameBack { purpose, result }, screen, events)
    }

    /// Handles the messages that are waiting, without waiting for more. The next turn of the loop looks
    /// for input first.
    fn drain(
        &mut self,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        for _ in 0..BATCH {
            match self.messages.try_recv() {
                Ok(message) => self.handle(message, screen, events)?,
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    fn frame_at(&self) -> Instant {
        let pause = match (self.urgent, self.still) {
            (true, _) => ANSWER,
            (false, true) => STILL_FRAME,
            (false, false) => FRAME,
        };
        self.last_frame
            .map_or_else(Instant::now, |last| last + pause)
    }

    fn input(
        &mut self,
        input: Input,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        let message = match input {
            Input::Background(background) => Message::Background(background),
            Input::Event(Event::Key(key)) if key.kind != KeyEventKind::Release => Message::Key(key),
            Input::Event(Event::Paste(text)) => Message::Paste(text),
            Input::Event(Event::Mouse(mouse)) => Message::Mouse(mouse),
            Input::Event(Event::Resize(columns, rows)) => {
                // Also where the size is the same again: in a storm of sizes the terminal has cut what stood on it.
                screen.forget()?;
                Message::Resize(columns, rows)
            }
            Input::Event(_) => return Ok(()),
        };
        self.handle(message, screen, events)
    }

    fn handle(
        &mut self,
        message: Message,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        self.dirty = true;
        if self.app.comeback.on {
            self.keep_at.get_or_insert_with(|| Instant::now() + KEEP);
        }
        self.urgent |= !message.goes_on();
        let effects = update(&mut self.app, message, self.started.elapsed());
        for effect in effects {
            self.perform(effect, screen, events)?;
        }
        Ok(())
    }

    fn perform(
        &mut self,
        effect: Effect,
        screen: &mut terminal::Screen,
        events: &mut Keyboard,
    ) -> Result<(), TuiError> {
        match effect {
            // These touch the terminal, which belongs to somebody else; only keys ask for them.
            Effect::Suspend
            | Effect::Redraw
            | Effect::Mouse(_)
            | Effect::Copy(_)
            | Effect::OpenOutside(_)
                if self.visit.is_some() => {}
            Effect::OpenOutside(outside) => self.go_out(*outside, screen, events)?,
            Effect::Suspend => {
                // It would go on reading the terminal that the shell now owns.
                events.stop();
                screen.suspend(self.app.mouse)?;
                *events = Keyboard::start(None)?;
                self.dirty = true;
                self.urgent = true;
            }
            Effect::Redraw => screen.forget()?,
            Effect::Mouse(on) => screen.mouse(on)?,
            Effect::Copy(text) => screen.copy(&text)?,
            effect => self.effects.start(effect),
        }
        Ok(())
    }

    /// Stores where one is, off the draw path.
    fn keep(&mut self) {
        self.keep_at = None;
        for effect in update(&mut self.app, Message::KeepSession, self.started.elapsed()) {
            self.effects.start(effect);
        }
    }

    fn draw(&mut self, screen: &mut terminal::Screen) -> Result<(), TuiError> {
        let now = self.started.elapsed();
        let size = screen.size()?;
        if size != self.app.size {
            let _ = update(&mut self.app, Message::Resize(size.0, size.1), now);
        }
        let _ = update(&mut self.app, Message::Frame, now);
        screen.draw(|buffer| view::draw(&self.app, buffer))?;
        self.last_frame = Some(Instant::now());
        self.dirty = false;
        self.urgent = false;
        Ok(())
    }

    /// Stops what runs; replies that were coming and labels that were given get the time to be stored.
    async fn end(mut self, result: Result<(), TuiError>) -> Result<Option<String>, TuiError> {
        self.effects.shut_down();
        self.keep_now();
        let result = result.and_then(|()| match &self.app.dataset {
            DatasetState::Failed(problem) => Err(TuiError::Dataset(one_line(problem))),
            _ => Ok(()),
        });
        let sweeping = self.app.sweep.is_active() || self.app.parting;
        let patience = match sweeping || self.app.build.is_active() {
            true => SWEEP_FAREWELL,
            false => FAREWELL,
        };
        let deadline = Instant::now() + patience;
        while self.app.replies.running.is_some()
            || self.app.probe.asking.is_some()
            || self.app.sweep.is_active()
            || self.app.build.is_active()
            || self.app.annotate.pending() > 0
            || self.app.review.pending() > 0
        {
            match tokio::time::timeout_at(deadline.into(), self.messages.recv()).await {
                Ok(Some(message)) => {
                    let _ = update(&mut self.app, message, self.started.elapsed());
                }
                _ => break,
            }
        }
        // A note that could not be saved at last is there at the next start.
        self.keep_now();
        result.map(|()| farewell(&self.app, sweeping))
    }

    /// Stores where one is before the program ends, notes that are being written among it.
    fn keep_now(&mut self) {
        for effect in update(&mut self.app, Message::KeepSession, self.started.elapsed()) {
            if let Effect::KeepSession(place) = effect {
                self.effects.keep_now(*place);
            }
        }
    }
}

/// How a sweep goes on that was under way or paused when the program ended.
fn farewell(app: &App, sweeping: bool) -> Option<String> {
    let running = app.sweep.running.as_ref()?;
    if !sweeping && running.phase != Phase::Paused {
        return None;
    }
    let replies = running.before() + running.progress.replies;
    Some(format!(
        "The sweep \"{}\" was stopped with {} of {}. They are stored; this goes on with it:\n  {}",
        short(&running.request.run),
        count(replies, "reply"),
        running.overall().1,
        running.command
    ))
}

/// What is next heard of the program that has the terminal; nothing while it is ours.
async fn news_of(visit: &mut Option<Visit>) -> News {
    match visit {
        Some(visit) => visit.news().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}
