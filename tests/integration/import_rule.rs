//! Who may import whom: a broken rule fails here, with file and line.

use std::path::{Path, PathBuf};

/// A rule broken at a line.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    line: usize,
    text: String,
}

/// The floors of the house; a room imports only from floors below its own.
const FLOORS: [(&str, u8); 10] = [
    ("domain", 0),
    ("source", 0),
    ("config", 0),
    ("data", 1),
    ("retrieval", 1),
    ("model", 1),
    ("engine", 2),
    ("tui", 3),
    ("cli", 3),
    ("explore", 4),
];

/// Crates whose types stay in their files: crate, and path prefixes where it may be named.
const KEPT: [(&str, &[&str]); 11] = [
    ("burn", &[]),
    ("usearch", &["retrieval/vector/graph"]),
    ("tantivy", &["retrieval/lexical"]),
    ("quick_xml", &["retrieval/corpus/markup"]),
    ("tonic", &["retrieval/remote/client"]),
    ("prost", &["retrieval/remote/"]),
    ("reqwest", &["model/", "engine/build"]),
    ("llama_cpp_2", &["model/"]),
    ("rusqlite", &["data/"]),
    ("parquet", &["data/parquet_file"]),
    ("resvg", &["cli/report/png"]),
];

/// What the views may know of the explorer.
const VIEW_MAY: [&str; 6] = ["app", "theme", "keymap", "command", "widgets", "view"];

/// Checks one file; `path` is relative to `src`, with `/`.
fn check(path: &str, text: &str) -> Vec<Violation> {
    let room = path.split(['/', '.']).next().unwrap_or_default();
    let mut found = Vec::new();
    for (line, path_parts) in crate_paths(text) {
        if let Some(broken) = broken_rule(path, room, &path_parts) {
            found.push(Violation { line, text: broken });
        }
    }
    for (number, line) in text.lines().enumerate() {
        let code = without_comment(line);
        for (name, places) in KEPT {
            let named = mentions(code, &format!("{name}::"));
            if named && !places.iter().any(|place| path.starts_with(place)) {
                let text = format!("names the crate {name}, which stays in {places:?}");
                found.push(Violation {
                    line: number + 1,
                    text,
                });
            }
        }
        if mentions(code, "super::super::") {
            found.push(Violation {
                line: number + 1,
                text: "climbs with super::super; write the path from the crate".into(),
            });
        }
    }
    found
}

fn broken_rule(path: &str, room: &str, parts: &[String]) -> Option<String> {
    let floor = |name: &str| FLOORS.iter().find(|(room, _)| *room == name).map(|f| f.1);
    let target = parts.first()?;
    // Without a floor: `lib.rs` and `main.rs`, or a macro of the crate.
    let (here, there) = (floor(room)?, floor(target)?);
    if target != room && there >= here {
        return Some(format!(
            "{room} (floor {here}) imports {target} (floor {there})"
        ));
    }
    if room != "tui" {
        return None;
    }
    let outside = !(path.starts_with("tui/effects") || path == "tui/run.rs");
    if target == "engine" && outside {
        return Some("only tui::effects and the loop may touch the engine".into());
    }
    let inner = parts.get(1).filter(|_| target == "tui")?;
    let is_module = inner.starts_with(|c: char| c.is_ascii_lowercase());
    let in_view = path.starts_with("tui/view");
    if in_view && is_module && !VIEW_MAY.contains(&inner.as_str()) {
        return Some(format!("a view imports tui::{inner}"));
    }
    if path.starts_with("tui/widgets")
        && is_module
        && !["theme", "widgets"].contains(&inner.as_str())
    {
        return Some(format!("a widget imports tui::{inner}"));
    }
    None
}

/// Whether code contains this path as a whole word.
fn mentions(code: &str, path: &str) -> bool {
    code.match_indices(path)
        .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

fn without_comment(line: &str) -> &str {
    line.find("//").map_or(line, |at| &line[..at])
}

/// Every `crate::…` path with its line, groups taken apart; two segments suffice.
fn crate_paths(text: &str) -> Vec<(usize, Vec<String>)> {
    let code: String = text
        .lines()
        .map(|line| format!("{}\n", without_comment(line)))
        .collect();
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let mut ends = Vec::new();
        take_apart(&code[at + "crate::".len()..], Vec::new(), &mut ends);
        paths.extend(ends.into_iter().map(|path| (line, path)));
    }
    paths
}

/// Follows a path after `prefix`; gives the text after it.
fn take_apart<'a>(text: &'a str, mut prefix: Vec<String>, ends: &mut Vec<Vec<String>>) -> &'a str {
    let mut rest = text.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        rest = group.trim_start();
        while !rest.is_empty() && !rest.starts_with('}') {
            let before = rest.len();
            rest = take_apart(rest, prefix.clone(), ends).trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            if rest.len() == before {
                break;
            }
        }
        return rest.strip_prefix('}').unwrap_or(rest);
    }
    let end = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    prefix.push(rest[..end].to_owned());
    rest = &rest[end..];
    if let Some(further) = rest.strip_prefix("::") {
        return take_apart(further, prefix, ends);
    }
    // `use … as name`
    let rest = match rest.trim_start().strip_prefix("as ") {
        Some(renamed) => renamed.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
        None => rest,
    };
    ends.push(prefix);
    rest
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("src can be listed") {
        let path = entry.expect("src can be listed").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_house_keeps_its_floors() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 20, "src was not found");
    let mut broken = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).expect("inside src");
        let relative = relative.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        for violation in check(&relative, &text) {
            broken.push(format!(
                "src/{relative}:{}: {}",
                violation.line, violation.text
            ));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn planted_violations_are_found() {
    let cases = [
        ("domain/score.rs", "use crate::data::store::Store;"),
        ("model/http.rs", "fn f() { crate::retrieval::search() }"),
        (
            "engine/ask.rs",
            "use crate::{domain::text, tui::{app, theme}};",
        ),
        ("tui/app.rs", "\nuse crate::engine::ask::AskEvent;"),
        ("tui/view/browse.rs", "use crate::tui::update::update;"),
        (
            "tui/view/browse.rs",
            "use crate::tui::{app::App, effects::Effect};",
        ),
        ("tui/widgets/text.rs", "use crate::tui::app::App;"),
        ("tui/mod.rs", "use crate::cli::Cli;"),
        ("cli/ask.rs", "use crate::tui::run;"),
        ("cli/mod.rs", "use crate::explore::run;"),
        ("cli/search.rs", "use tantivy::Index;"),
        ("engine/search.rs", "fn f(x: usearch::Index) {}"),
        ("data/dataset.rs", "let client = reqwest::Client::new();"),
        ("tui/view/help.rs", "use super::super::effects::Effect;"),
    ];
    for (path, text) in cases {
        assert!(!check(path, text).is_empty(), "not found: {path}: {text}");
    }
    assert_eq!(check("tui/app.rs", "\n\nuse crate::engine::x;")[0].line, 3);
}

#[test]
fn allowed_imports_pass() {
    let cases = [
        (
            "engine/ask.rs",
            "use crate::{domain::text, model::{ChatModel, error::X as Y}, data::store};",
        ),
        ("tui/effects.rs", "use crate::engine::ask;"),
        (
            "tui/view/browse.rs",
            "use crate::tui::{app::App, widgets::{flow, text}};",
        ),
        ("tui/app.rs", "// crate::engine is not for the state"),
        ("retrieval/lexical.rs", "use tantivy::Index;"),
        ("model/http.rs", "use reqwest::Client;"),
        ("lib.rs", "pub mod tui;"),
        ("data/mod.rs", "use my_crate::tui::x;"),
    ];
    for (path, text) in cases {
        assert_eq!(check(path, text), [], "{path}: {text}");
    }
}
