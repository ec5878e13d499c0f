//! The rows of the table for talks and for recordings that are played.

use crate::tui::app::Screen;
use crate::tui::command::places::{PLAYING, TALK};
use crate::tui::command::{Command, CommandInfo, row};

/// In the order of help and footer.
pub(super) const ROWS: &[CommandInfo] = &[
    row(
        Command::TalkNext,
        "talk-next",
        &["space", "right", "enter", "pagedown"],
        TALK,
        "next",
        "the next step; after the last one the first",
    ),
    row(
        Command::TalkBack,
        "talk-back",
        &["left", "backspace", "pageup"],
        TALK,
        "back a step",
        "the step before",
    ),
    row(
        Command::TalkAuto,
        "talk-auto",
        &["a"],
        TALK,
        "by itself",
        "let the talk go on by itself, or wait for keys",
    ),
    row(
        Command::TalkFaster,
        "talk-faster",
        &["+", "="],
        PLAYING,
        "speed",
        "play recorded replies twice as fast",
    ),
    row(
        Command::TalkSlower,
        "talk-slower",
        &["-"],
        PLAYING,
        "speed",
        "play recorded replies half as fast",
    ),
    row(
        Command::Talk,
        "talk",
        &["T"],
        &[Screen::Browse, Screen::Instance],
        "",
        "go on with the talk or demo that the program was started for",
    ),
];
