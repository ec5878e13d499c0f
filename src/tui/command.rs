//! The command table: every name, key and help line of the explorer, said once.
//!
//! The key map, the footer, the help overlay and the palette are all derived from it.

use crate::tui::app::Screen;

/// Everything a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the table says what each does
pub enum Command {
    Open,
    Filter,
    ClearFilter,
    Problems,
    Ask,
    Stop,
    LessSignal,
    MoreSignal,
    LessSignalFine,
    MoreSignalFine,
    MoreDocs,
    FewerDocs,
    NextScenario,
    PreviousScenario,
    NewSeed,
    NextMode,
    NextSource,
    NextQuestion,
    PreviousQuestion,
    ToggleGold,
    ToggleRaw,
    NextDiffView,
    ShowPrompt,
    Why,
    Zoom,
    FocusNext,
    FocusPrevious,
    NextDocument,
    PreviousDocument,
    Retrieval,
    EditQuery,
    ToggleMap,
    Rebuild,
    CancelBuild,
    Talk,
    TalkNext,
    TalkBack,
    TalkAuto,
    TalkFaster,
    TalkSlower,
    Copy,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Help,
    Palette,
    Back,
    Leave,
    Quit,
    Suspend,
    Redraw,
    ToggleMouse,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo {
    /// What it is.
    pub command: Command,
    /// Its name in the config and the palette.
    pub name: &'static str,
    /// Keys unless the config says otherwise.
    pub keys: &'static [&'static str],
    /// Where it works.
    pub screens: &'static [Screen],
    /// One line for the help overlay.
    pub help: &'static str,
    /// Word in the footer; commands that share it stand together. Empty: not in the footer.
    pub footer: &'static str,
}

const BROWSE: &[Screen] = &[Screen::Browse];
const INSTANCE: &[Screen] = &[Screen::Instance];
const RETRIEVAL: &[Screen] = &[Screen::Retrieval];
const INNER: &[Screen] = &[Screen::Instance, Screen::Retrieval];
const ALL: &[Screen] = &[Screen::Browse, Screen::Instance, Screen::Retrieval];
const TALK: &[Screen] = &[Screen::Talk];
/// All screens, talks too, whose keys for paging go from step to step.
const EVERYWHERE: &[Screen] = &[
    Screen::Browse,
    Screen::Instance,
    Screen::Retrieval,
    Screen::Talk,
];

const fn row(
    command: Command,
    name: &'static str,
    keys: &'static [&'static str],
    screens: &'static [Screen],
    footer: &'static str,
    help: &'static str,
) -> CommandInfo {
    CommandInfo {
        command,
        name,
        keys,
        screens,
        help,
        footer,
    }
}

/// The table, in the order of help and footer.
pub const COMMANDS: &[CommandInfo] = &[
    row(
        Command::Open,
        "open",
        &["enter"],
        BROWSE,
        "open",
        "open the question",
    ),
    row(
        Command::Filter,
        "filter",
        &["/"],
        BROWSE,
        "filter",
        "filter the list as you type",
    ),
    row(
        Command::ClearFilter,
        "clear-filter",
        &["esc"],
        BROWSE,
        "",
        "show all questions again",
    ),
    row(
        Command::Problems,
        "problems",
        &["!"],
        BROWSE,
        "problems",
        "list what could not be loaded",
    ),
    row(
        Command::Ask,
        "ask",
        &["a"],
        INSTANCE,
        "ask",
        "ask the model this question with these documents",
    ),
    row(
        Command::Stop,
        "stop",
        &["x"],
        INSTANCE,
        "stop",
        "stop the running reply; what came so far is kept",
    ),
    row(
        Command::LessSignal,
        "p-down",
        &["["],
        INSTANCE,
        "step p",
        "20 % fewer signal (robustness: original) documents",
    ),
    row(
        Command::MoreSignal,
        "p-up",
        &["]"],
        INSTANCE,
        "step p",
        "20 % more signal (robustness: original) documents",
    ),
    row(
        Command::LessSignalFine,
        "p-down-fine",
        &["{"],
        INSTANCE,
        "",
        "5 % fewer",
    ),
    row(
        Command::MoreSignalFine,
        "p-up-fine",
        &["}"],
        INSTANCE,
        "",
        "5 % more",
    ),
    row(
        Command::MoreDocs,
        "docs-more",
        &["n"],
        INSTANCE,
        "docs",
        "one document more (n + 1)",
    ),
    row(
        Command::FewerDocs,
        "docs-fewer",
        &["N"],
        INSTANCE,
        "docs",
        "one document fewer (n − 1)",
    ),
    row(
        Command::NextScenario,
        "scenario",
        &["s"],
        INSTANCE,
        "scenario",
        "next scenario: standard, sufficiency, integration, robustness",
    ),
    row(
        Command::PreviousScenario,
        "scenario-back",
        &["S"],
        INSTANCE,
        "",
        "previous scenario",
    ),
    row(
        Command::FocusNext,
        "focus-next",
        &["tab", "right", "l"],
        INNER,
        "panel",
        "next panel",
    ),
    row(
        Command::FocusPrevious,
        "focus-previous",
        &["shift-tab", "left", "h"],
        INNER,
        "",
        "previous panel",
    ),
    row(
        Command::Zoom,
        "zoom",
        &["z"],
        INNER,
        "zoom",
        "show the focused panel alone on the whole screen, and back",
    ),
    row(
        Command::NextDiffView,
        "diff",
        &["d"],
        INSTANCE,
        "diff",
        "adversarial documents: old and new words, edited text, original text",
    ),
    row(
        Command::ToggleRaw,
        "raw",
        &["v"],
        INSTANCE,
        "raw",
        "the reply as received, or folded into its parts",
    ),
    row(
        Command::ShowPrompt,
        "prompt",
        &["p"],
        INSTANCE,
        "prompt",
        "the prompt exactly as the model gets it",
    ),
    row(
        Command::Why,
        "why",
        &["w"],
        INSTANCE,
        "why",
        "why each score is what it is: the rule, the words of the reply, the right answer",
    ),
    row(
        Command::ToggleGold,
        "gold",
        &["g"],
        INSTANCE,
        "gold",
        "hide or show the right answers",
    ),
    row(
        Command::NewSeed,
        "seed",
        &["R"],
        INSTANCE,
        "",
        "another random draw (seed + 1)",
    ),
    row(
        Command::NextMode,
        "mode",
        &["m"],
        INSTANCE,
        "",
        "nested draws (conditions share documents) or independent ones",
    ),
    row(
        Command::NextSource,
        "source",
        &["o"],
        INSTANCE,
        "",
        "signal documents retrieved offline, online, or any",
    ),
    row(
        Command::NextQuestion,
        "next-question",
        &["."],
        INSTANCE,
        "question",
        "next question of the list",
    ),
    row(
        Command::PreviousQuestion,
        "previous-question",
        &[","],
        INSTANCE,
        "question",
        "previous question of the list",
    ),
    row(
        Command::NextDocument,
        "next-document",
        &["J"],
        INSTANCE,
        "",
        "scroll to the next document of the column",
    ),
    row(
        Command::PreviousDocument,
        "previous-document",
        &["K"],
        INSTANCE,
        "",
        "scroll to the previous document of the column",
    ),
    row(
        Command::Copy,
        "copy",
        &["y"],
        INSTANCE,
        "",
        "copy the raw reply (through the terminal's clipboard)",
    ),
    row(
        Command::EditQuery,
        "query",
        &["/", "e"],
        RETRIEVAL,
        "edit query",
        "write another query",
    ),
    row(
        Command::ToggleMap,
        "map",
        &["m"],
        RETRIEVAL,
        "map",
        "the query and its hits on a map of their vectors, and back",
    ),
    row(
        Command::Rebuild,
        "build-index",
        &["b"],
        RETRIEVAL,
        "build",
        "build the index (again)",
    ),
    row(
        Command::CancelBuild,
        "cancel-build",
        &["x"],
        RETRIEVAL,
        "cancel",
        "stop building the index",
    ),
    row(
        Command::Retrieval,
        "retrieval",
        &["r"],
        &[Screen::Browse, Screen::Instance],
        "retrieval",
        "search the documents of this dataset",
    ),
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
        TALK,
        "speed",
        "play replies twice as fast",
    ),
    row(
        Command::TalkSlower,
        "talk-slower",
        &["-"],
        TALK,
        "speed",
        "play replies half as fast",
    ),
    row(
        Command::Talk,
        "talk",
        &["T"],
        &[Screen::Browse, Screen::Instance],
        "",
        "go on with the talk or demo that the program was started for",
    ),
    row(Command::Up, "up", &["k", "up"], ALL, "", "up"),
    row(Command::Down, "down", &["j", "down"], ALL, "", "down"),
    row(
        Command::PageUp,
        "page-up",
        &["pageup", "ctrl-b"],
        ALL,
        "",
        "a page up",
    ),
    row(
        Command::PageDown,
        "page-down",
        &["pagedown", "ctrl-f", "space"],
        ALL,
        "",
        "a page down",
    ),
    row(Command::Top, "top", &["home", "<"], ALL, "", "to the start"),
    row(
        Command::Bottom,
        "bottom",
        &["end", "G", ">"],
        ALL,
        "",
        "to the end",
    ),
    row(
        Command::Palette,
        "palette",
        &[":"],
        EVERYWHERE,
        "",
        "find a command by name",
    ),
    row(
        Command::ToggleMouse,
        "mouse",
        &["f8"],
        EVERYWHERE,
        "",
        "mouse on or off (on: the terminal's own text selection stops)",
    ),
    row(
        Command::Redraw,
        "redraw",
        &["ctrl-l"],
        EVERYWHERE,
        "",
        "draw the screen anew",
    ),
    row(
        Command::Suspend,
        "suspend",
        &["ctrl-z"],
        EVERYWHERE,
        "",
        "back to the shell; `fg` returns",
    ),
    row(
        Command::Back,
        "back",
        &["q", "esc"],
        &[Screen::Instance, Screen::Retrieval, Screen::Talk],
        "back",
        "back to where you came from",
    ),
    row(
        Command::Leave,
        "leave",
        &["q"],
        BROWSE,
        "quit",
        "leave the program",
    ),
    row(
        Command::Quit,
        "quit",
        &["ctrl-c"],
        EVERYWHERE,
        "",
        "leave the program",
    ),
    row(
        Command::Help,
        "help",
        &["?"],
        EVERYWHERE,
        "all keys",
        "this list",
    ),
];

/// The row of a command.
pub fn info(command: Command) -> Option<&'static CommandInfo> {
    COMMANDS.iter().find(|row| row.command == command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, row) in COMMANDS.iter().enumerate() {
            assert!(
                COMMANDS[..index]
                    .iter()
                    .all(|other| other.name != row.name && other.command != row.command),
                "{} stands twice in the table",
                row.name
            );
        }
    }
}
