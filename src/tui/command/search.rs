//! The rows of the table for searching: the documents of a dataset, and the words of what is open.

use crate::tui::app::Screen;
use crate::tui::command::places::RETRIEVAL;
use crate::tui::command::{Command, CommandInfo, row};

/// In the order of help and footer.
pub(super) const ROWS: &[CommandInfo] = &[
    row(
        Command::NewQuery,
        "new-query",
        &["/"],
        &[Screen::Retrieval, Screen::Find],
        "new query",
        "write another query in an empty line (up brings the old one back)",
    ),
    row(
        Command::EditQuery,
        "query",
        &["e"],
        &[Screen::Retrieval, Screen::Find],
        "edit",
        "change the query",
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
];
