//! Pushes that are stopped and killed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use medrgb::retrieval::exact::Vectors;
use medrgb::retrieval::remote::record::Precision;

use super::{
    create, json_of, load, medrgb, random_vectors, record, rows, tiny, write, write_until,
};
use crate::milvus_server::Server;
use crate::process::wait_until;
use crate::tiny_bert;

/// Stops when so many rows are dealt with.
fn until(rows: usize) -> impl FnMut(usize) -> ControlFlow<()> {
    move |done| match done >= rows {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

#[test]
fn a_stopped_push_goes_on_and_another_source_starts_anew() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let (dim, count) = (8, 5000);
    let vectors = Vectors::new(dim, random_vectors(count, dim, 3)).unwrap();
    let collection = super::collection(&server.url("stopped"));
    let record = record(dim, Precision::Float32);
    create(&collection, &record);
    let mut old = rows(&vectors, "text");
    // Two that can't be written, one of them before the stop.
    old[10].vector[0] = f32::NAN;
    old[4500].vector[0] = f32::NAN;
    let said = write_until(&collection, &record, &old, &mut until(2000)).unwrap_err();
    assert!(
        said.contains("2000 of 5000 documents are written") && said.contains("goes on there"),
        "{said}"
    );
    let facts = collection.facts().unwrap().unwrap();
    let standing = &facts.unfinished[..];
    // Row 10 makes way for one more in the first batch.
    assert_eq!(
        (standing.len(), standing[0].done, standing[0].of),
        (1, 2001, count)
    );

    // What is noted survives the server.
    server.restart();
    let collection = super::collection(&server.url("stopped"));
    let pushed = write(&collection, &record, &old);
    assert_eq!(
        (pushed.already, pushed.written, pushed.refused),
        (2000, 2998, 2)
    );
    assert_eq!(pushed.reasons.len(), 2, "{:?}", pushed.reasons);
    load(&collection);
    assert_eq!(collection.count().unwrap(), count - 2);
    assert!(collection.facts().unwrap().unwrap().unfinished.is_empty());
    // Done, it is written anew.
    let again = write(&collection, &record, &old);
    assert_eq!((again.already, again.written), (0, count - 2));

    // What another source wrote over is not believed to be there.
    write_until(&collection, &record, &old, &mut until(2000)).unwrap_err();
    let new = rows(&vectors, "newer");
    write_until(&collection, &record, &new, &mut until(1000)).unwrap_err();
    let pushed = write(&collection, &record, &old);
    assert_eq!((pushed.already, pushed.written), (0, count - 2));
    let near = collection
        .search(&random_vectors(1, dim, 4), 50, &record)
        .unwrap();
    assert_eq!(near.len(), 50);
    assert!(near.iter().all(|near| near.content.starts_with("text ")));
    // Where another source is begun meanwhile, the first one stops and takes no note of what it no longer knows.
    let mut beside = |_: usize| {
        write_until(&collection, &record, &new, &mut until(1000)).unwrap_err();
        ControlFlow::Break(())
    };
    let said = write_until(&collection, &record, &old, &mut beside).unwrap_err();
    assert!(said.contains("another push to"), "{said}");
    assert_eq!(write(&collection, &record, &old).already, 0);
    // A collection that is made anew knows of nothing.
    write_until(&collection, &record, &old, &mut until(2000)).unwrap_err();
    assert!(collection.drop_collection().unwrap());
    create(&collection, &record);
    assert_eq!(write(&collection, &record, &old).already, 0);
}

/// Documents with vectors, as an index folder whose encoder is the tiny one.
fn index_of(home: &Path, name: &str, documents: usize) -> PathBuf {
    let corpus = home.join(format!("{name}.jsonl"));
    let texts = tiny_bert::texts(documents);
    let lines = texts.iter().enumerate().map(|(number, text)| {
        let line = serde_json::json!({
            "id": format!("c{number}"), "title": "", "content": text, "contents": text,
        });
        format!("{line}\n")
    });
    std::fs::write(&corpus, lines.collect::<String>()).unwrap();
    let folder = home.join(name);
    json_of(&medrgb(
        home,
        &[
            "index",
            "build",
            "--corpus",
            corpus.to_str().unwrap(),
            "--out",
            folder.to_str().unwrap(),
            "--json",
        ],
    ));
    folder
}

/// The program is killed outright while it writes, again and again: every time it goes on, and in the end the server
/// holds what an undisturbed push gives.
#[cfg(unix)]
#[test]
fn a_push_killed_in_the_middle_goes_on_where_it_was() {
    let Some(server) = Server::start() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    tiny(home, "tiny", 1);
    let count = 12_000;
    let folder = index_of(home, "many", count);
    let folder = folder.to_str().unwrap();
    let url = server.url("killed");
    let collection = super::collection(&url);
    let done = || -> usize {
        let facts = collection.facts().ok().flatten();
        facts.map_or(0, |facts| {
            facts.unfinished.iter().map(|standing| standing.done).sum()
        })
    };
    // A scan of all vectors finds the same in whatever order they came.
    let arguments = [
        "index",
        "push",
        "--index",
        folder,
        "--to",
        &url,
        "--index-type",
        "flat",
        "--json",
    ];
    let mut before = 0;
    for _ in 0..2 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_medrgb"))
            .env("MEDRGB_HOME", home)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(Duration::from_secs(120), || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "it was not killed in the middle");
            done() > before
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let now = done();
        assert!(before < now && now < count, "{before} {now}");
        before = now;
    }
    let last = medrgb(home, &arguments);
    let said = String::from_utf8_lossy(&last.stderr).into_owned();
    assert!(
        said.contains(&format!("{before} of {count} documents already there")),
        "{said}"
    );
    let pushed = json_of(&last);
    let number = |field: &str| pushed[field].as_u64().unwrap() as usize;
    assert_eq!(
        (number("already"), number("written")),
        (before, count - before)
    );
    assert_eq!(number("documents"), count);
    assert_eq!(done(), 0);

    let whole = server.url("whole");
    let mut undisturbed = arguments;
    undisturbed[5] = &whole;
    json_of(&medrgb(home, &undisturbed));
    // Texts may have the same vector, whose order says nothing.
    let scores = |url: &str| -> Vec<f64> {
        let query = "renal failure and statin therapy";
        let found = json_of(&medrgb(
            home,
            &["search", "--index", url, "-k", "50", "--json", query],
        ));
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["score"].as_f64().unwrap()).collect()
    };
    let (killed, whole) = (scores(&url), scores(&whole));
    assert_eq!((killed.len(), whole.len()), (50, 50));
    for (one, other) in killed.iter().zip(&whole) {
        assert!((one - other).abs() < 1e-5, "{one} {other}");
    }
}
