//! Test sets for retrieval in BEIR's layout: `queries.jsonl` and `qrels/SPLIT.tsv` beside the corpus.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::domain::plain::{expect_object, json_reason};
use crate::domain::text::short;
use crate::source::{self, Line, Lines};

/// Problems that are kept word for word; further ones are only counted.
const MOST_PROBLEMS: usize = 20;

/// The judged queries of one split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSet {
    /// In the order of the queries' file.
    pub queries: Vec<JudgedQuery>,
    /// Lines that can't be used and judged queries without a text: one sentence each, the first few.
    pub problems: Vec<String>,
    /// All of them.
    pub problem_count: usize,
}

/// A query with what was judged for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedQuery {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Grade of each judged document; 0 and below are not relevant.
    pub grades: HashMap<String, i64>,
}

/// The set can't be used: one sentence.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BeirError(pub String);

#[derive(Deserialize)]
struct Query {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// Judgements by query; a tree, so that problems come in the same order every time.
type Judgements = BTreeMap<String, HashMap<String, i64>>;

/// Reads the queries of a split and their judgements. A line that can't be used fails alone.
///
/// # Errors
/// When a file is missing or can't be read, or no query with a judgement is left.
pub fn open(folder: &Path, split: &str) -> Result<TestSet, BeirError> {
    let mut set = TestSet::default();
    let judged = folder.join("qrels").join(format!("{split}.tsv"));
    let mut judgements = judgements(&judged, &mut set)?;
    let path = packed_or_not(folder, "queries.jsonl");
    let mut seen = HashSet::new();
    let mut lines = lines(&path)?;
    while let Some((number, line)) = next(&mut lines, &path)? {
        let query: Result<Query, String> = match line {
            Line::Text(text) => query_of(text),
            Line::Bad(why) => Err(why),
        };
        match query {
            Err(why) => set.problem(format!("{} line {number}: {why}", path.display())),
            Ok(query) if !seen.insert(query.id.clone()) => set.problem(format!(
                "{} line {number}: the query \"{}\" is there already; the first one counts",
                path.display(),
                short(&query.id)
            )),
            Ok(query) => {
                if let Some(grades) = judgements.remove(&query.id) {
                    set.queries.push(JudgedQuery {
                        id: query.id,
                        text: query.text,
                        grades,
                    });
                }
            }
        }
    }
    for id in judgements.keys() {
        set.problem(format!(
            "{}: the query \"{}\" is judged but has no text in {}",
            judged.display(),
            short(id),
            path.display()
        ));
    }
    match set.queries.is_empty() {
        false => Ok(set),
        true => Err(BeirError(format!(
            "no query of {} is judged in {}, so nothing can be evaluated{}",
            path.display(),
            judged.display(),
            set.problems
                .first()
                .map_or_else(String::new, |first| format!("; {first}"))
        ))),
    }
}

fn query_of(text: &str) -> Result<Query, String> {
    let wrong = |why: String| format!("expected {{\"_id\",\"text\"}}: {why}");
    expect_object(text).map_err(wrong)?;
    serde_json::from_str(text).map_err(|error| wrong(json_reason(&error)))
}

impl TestSet {
    fn problem(&mut self, sentence: String) {
        self.problem_count += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(sentence);
        }
    }
}

/// Reads `query-id corpus-id score` (with a header or not) and TREC's `query 0 document grade`.
fn judgements(path: &Path, set: &mut TestSet) -> Result<Judgements, BeirError> {
    let mut all = Judgements::new();
    let mut lines = lines(path)?;
    let mut first = true;
    while let Some((number, line)) = next(&mut lines, path)? {
        let read = match &line {
            Line::Text(text) => judgement(text),
            Line::Bad(why) => Err(why.clone()),
        };
        let header = std::mem::take(&mut first) && read.is_err();
        match read {
            Ok((query, document, grade)) => {
                let grades = all.entry(query.to_owned()).or_default();
                if let Some(other) = grades.insert(document.to_owned(), grade)
                    && other != grade
                {
                    set.problem(format!(
                        "{} line {number}: \"{}\" was judged {other} for this query before; {grade} counts",
                        path.display(),
                        short(document)
                    ));
                }
            }
            Err(_) if header => {}
            Err(why) => set.problem(format!("{} line {number}: {why}", path.display())),
        }
    }
    Ok(all)
}

fn judgement(line: &str) -> Result<(&str, &str, i64), String> {
    let fields: Vec<&str> = match line.contains('\t') {
        true => line.split('\t').map(str::trim).collect(),
        false => line.split_whitespace().collect(),
    };
    let (query, document, grade) = match fields.as_slice() {
        [query, document, grade] => (*query, *document, *grade),
        [query, _, document, grade] => (*query, *document, *grade),
        other => {
            return Err(format!(
                "expected query, document and grade, found {} fields",
                other.len()
            ));
        }
    };
    let grade = grade
        .parse()
        .map_err(|_| format!("the grade \"{}\" is no whole number", short(grade)))?;
    Ok((query, document, grade))
}

/// `name`, or `name.gz` where only that is there.
pub fn packed_or_not(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(name);
    let packed = folder.join(format!("{name}.gz"));
    match !plain.exists() && packed.exists() {
        true => packed,
        false => plain,
    }
}

fn lines(path: &Path) -> Result<Lines, BeirError> {
    source::refuse_special(path)
        .and_then(|()| source::open(path))
        .map(|(reader, _)| Lines::new(reader))
        .map_err(|error| unreadable(path, &error))
}

fn next<'a>(lines: &'a mut Lines, path: &Path) -> Result<Option<(usize, Line<'a>)>, BeirError> {
    lines.next_line().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> BeirError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => {
            "it is not there; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv"
                .to_owned()
        }
        _ => error.to_string(),
    };
    BeirError(format!("{} can't be read: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn folder(queries: &str, qrels: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("queries.jsonl"), queries).unwrap();
        std::fs::create_dir(folder.path().join("qrels")).unwrap();
        std::fs::write(folder.path().join("qrels/test.tsv"), qrels).unwrap();
        folder
    }

    #[test]
    fn judged_queries_come_in_the_order_of_their_file() {
        let queries = "{\"_id\":\"b\",\"text\":\"B?\"}\n{\"_id\":\"a\",\"text\":\"A?\",\"metadata\":{}}\n{\"_id\":\"c\",\"text\":\"C?\"}\n";
        let beir = "query-id\tcorpus-id\tscore\na\td1\t1\nb\td2\t2\nb\td 3\t0\n";
        let set = open(folder(queries, beir).path(), "test").unwrap();
        let ids: Vec<&str> = set.queries.iter().map(|query| query.id.as_str()).collect();
        assert_eq!(ids, ["b", "a"]);
        assert_eq!(set.queries[0].grades["d2"], 2);
        assert_eq!(set.queries[0].grades["d 3"], 0);
        assert_eq!(set.problems, Vec::<String>::new());
        let trec = "a 0 d1 1\nb Q0 d2 2\nb 0 d3 0\n";
        let set = open(folder(queries, trec).path(), "test").unwrap();
        assert_eq!(set.queries[0].grades["d2"], 2);
    }

    #[test]
    fn bad_lines_fail_alone_and_are_counted() {
        let queries = "{\"_id\":\"a\",\"text\":\"A?\"}\n{\"_id\":\"a\",\"text\":\"again\"}\n{\"text\":\"no id\"}\n[]\n";
        let qrels = "a\td1\t1\na\td1\t2\na\td2\tgood\nz\td1\t1\nx\n";
        let set = open(folder(queries, qrels).path(), "test").unwrap();
        assert_eq!(set.queries.len(), 1);
        assert_eq!(set.queries[0].text, "A?");
        assert_eq!(set.queries[0].grades["d1"], 2);
        assert_eq!((set.problem_count, set.problems.len()), (7, 7));
        let all = set.problems.join("\n");
        for part in [
            "line 2: \"d1\" was judged 1",
            "the grade \"good\"",
            "test.tsv line 5",
            "queries.jsonl line 3",
            "line 4",
            "\"a\" is there already",
            "\"z\" is judged but has no text",
        ] {
            assert!(all.contains(part), "{part}\n{all}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let empty = tempfile::tempdir().unwrap();
        let error = open(empty.path(), "test").unwrap_err().to_string();
        assert!(
            error.contains("test.tsv") && error.contains("BEIR folder"),
            "{error}"
        );
        let none = folder("{\"_id\":\"a\",\"text\":\"A?\"}\n", "q\td\t1\n");
        let error = open(none.path(), "test").unwrap_err().to_string();
        assert!(error.contains("nothing can be evaluated"), "{error}");
    }
}
