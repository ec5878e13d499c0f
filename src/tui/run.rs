//! The loop: input first, then what jobs report, then at most one frame every 16 ms; never a tick when idle.

use std::sync::Arc;
#[cfg(unix)]
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use tokio::sync::mpsc;

use crate::domain::annotation::Taxonomy;
use crate::domain::text::{count, short};
use crate::tui::app::sweep::Phase;
use crate::tui::app::talk::Talk;
use crate::tui::app::{App, DatasetState, Looks, Settings};
use crate::tui::editor::{News, Outside, Prepared, Purpose, Visit};
use crate::tui::effects::{Effect, Effects};
use crate::tui::keyboard::Keyboard;
use crate::tui::keymap::{Chord, Keymap};
use crate::tui::message::Message;
use crate::tui::terminal::background::{self, Input};
use crate::tui::theme::{self, Background, ColorDepth, Theme};
use crate::tui::update::{start, update};
use crate::tui::widgets::line::one_line;
use crate::tui::{Setup, Source, TuiError, app, command, terminal, view};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);

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

/// The state before the first frame; mistakes in theme and keys are shown, not fatal.
fn app_of(setup: &Setup, size: (u16, u16)) -> App {
    let variable = |name: &str| std::env::var(name).ok();
    let depth = setup
        .colors
        .unwrap_or_else(|| terminal::color_depth(variable));
    let mut complaints: Vec<String> = terminal::wrong_colors(variable).into_iter().collect();
    let (theme, looks) = theme_of(setup, depth, background::told(variable), &mut complaints);
    let keymap = Keymap::new(&setup.keys).unwrap_or_else(|mistakes| {
        let said: Vec<String> = mistakes
            .iter()
            .map(|mistake| mistake.said(&setup.key_places))
            .collect();
        complaints.push(format!("{} (using the built-in keys)", said.join("; ")));
        Keymap::default()
    });
    let settings = Settings {
        model: setup.model.name.clone(),
        dataset: match &setup.dataset {
            Source::Folder(path) => path.display().to_string(),
            Source::Sample => "the sample benchmark".into(),
        },
        k: setup.hits.clamp(1, 100),
        templates: setup.templates.clone(),
    };
    let mut app = App::new(settings, keymap, theme, size);
    app.mouse = setup.mouse;
    app.looks = looks;
    app.talk = setup.talk.clone().map(Talk::new);
    app.braille = terminal::has_braille(variable);
    app.sweep.models.clone_from(&setup.shelf.names);
    app.sweep.flags.clone_from(&setup.shelf.flags);
    app.annotate.annotator.clone_from(&setup.annotator);
    app.comeback.on = setup.session.is_some();
    app.comeback.annotator_named = setup.annotator_named;
    app.annotate.taxonomy = taxonomy_of(setup, &app.keymap, &mut complaints);
    if !complaints.is_empty() {
        let again = app.keymap.key(command::Command::Problems);
        app.complain(format!(
            "{} ({again} shows this again)",
            complaints.join(" · ")
        ));
    }
    app.faults = complaints;
    app
}

/// The theme to begin with and, where the terminal's background decides, both that it may come to. What is asked for
/// and can't be had is said.
fn theme_of(
    setup: &Setup,
    depth: ColorDepth,
    told: Option<Background>,
    complaints: &mut Vec<String>,
) -> (Theme, Option<Looks>) {
    if depth == ColorDepth::None {
        return (Theme::built_in("mono", depth), None);
    }
    let folder = setup.themes.as_deref();
    let mut wrong = None;
    if setup.theme != theme::AUTO && !setup.theme.is_empty() {
        match theme::load(&setup.theme, folder, depth) {
            Ok(theme) => return (theme, None),
            Err(error) => wrong = Some(error),
        }
    }
    let begin = told.unwrap_or_default();
    if let Some(error) = wrong {
        let place = setup.theme_place.as_deref();
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        let name = begin.name();
        complaints.push(format!("{place}{error} (using the theme \"{name}\")"));
    }
    let mut look = |name: &str| {
        theme::load(name, folder, depth).unwrap_or_else(|error| {
            complaints.push(format!("{error} (using the built-in theme \"{name}\")"));
            Theme::built_in(name, depth)
        })
    };
    let looks = Looks::new(look("dark"), look("light"));
    (looks.on(begin).as_ref().clone(), Some(looks))
}

/// The labels; where their keys clash with the annotate screen's own, that is said and ours are taken.
fn taxonomy_of(setup: &Setup, keymap: &Keymap, complaints: &mut Vec<String>) -> Taxonomy {
    let clash = setup.taxonomy.labels.iter().find_map(|label| {
        let chord = Chord::parse(&label.key.to_string())?;
        let command = keymap.command(app::Screen::Annotate, chord)?;
        Some((label, command))
    });
    let Some((label, command)) = clash else {
        return setup.taxonomy.clone();
    };
    let name = command::info(command).map_or("", |row| row.name);
    complaints.push(format!(
        "the key \"{}\" of the label {} runs the command {name} on the annotate screen; change one of them (the taxonomy's key, or [keys] in config.toml); using the built-in labels",
        label.key, label.id
    ));
    Taxonomy::default()
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

enum Signal {
    End,
    /// Ctrl-C, where it is not a key: meant for whatever has the terminal.
    Interrupt,
    Suspend,
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
                Wake::Signal(Signal::Interrupt | Signal::Suspend) if !ours => {}
                Wake::Signal(Signal::Interrupt) => break,
                Wake::Visit(news) => self.on_news(news, screen, &mut events)?,
                Wake::Signal(Signal::Suspend) => {
                    self.perform(Effect::Suspend, screen, &mut events)?;
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
        let pause = match self.still && !self.urgent {
            true => STILL_FRAME,
            false => FRAME,
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
        for effect in update(&mut self.app, Message::KeepSession, self.started.elapsed()) {
            if let Effect::KeepSession(place) = effect {
                self.effects.keep_now(*place);
            }
        }
        let result = result.and_then(|()| match &self.app.dataset {
            DatasetState::Failed(problem) => Err(TuiError::Dataset(one_line(problem))),
            _ => Ok(()),
        });
        let sweeping = self.app.sweep.is_active();
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
        result.map(|()| farewell(&self.app, sweeping))
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

/// Signals that end a program which does not catch them, and that a person may send: the terminal must not be
/// left behind as it is.
#[cfg(unix)]
const ENDS: [i32; 5] = [
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

/// Those that a terminal sends for a key.
#[cfg(unix)]
const INTERRUPTS: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

#[cfg(unix)]
struct Signals {
    ends: Vec<tokio::signal::unix::Signal>,
    interrupts: Vec<tokio::signal::unix::Signal>,
    stop: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |number| signal(SignalKind::from_raw(number));
        Ok(Signals {
            ends: ENDS.into_iter().map(listen).collect::<Result<_, _>>()?,
            interrupts: INTERRUPTS
                .into_iter()
                .map(listen)
                .collect::<Result<_, _>>()?,
            stop: listen(libc::SIGTSTP)?,
        })
    }

    async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            // Each is asked, so that each remembers whom to wake.
            let mut any = |signals: &mut Vec<tokio::signal::unix::Signal>| {
                let heard = signals.iter_mut();
                heard
                    .filter_map(|signal| signal.poll_recv(context).is_ready().then_some(()))
                    .count()
                    > 0
            };
            let (ended, interrupted) = (any(&mut self.ends), any(&mut self.interrupts));
            match (ended, interrupted, self.stop.poll_recv(context)) {
                (true, ..) => Poll::Ready(Signal::End),
                (false, true, _) => Poll::Ready(Signal::Interrupt),
                (false, false, Poll::Ready(_)) => Poll::Ready(Signal::Suspend),
                (false, false, Poll::Pending) => Poll::Pending,
            }
        })
        .await
    }
}

#[cfg(not(unix))]
struct Signals {}

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    async fn next(&mut self) -> Signal {
        let _ = tokio::signal::ctrl_c().await;
        Signal::End
    }
}
