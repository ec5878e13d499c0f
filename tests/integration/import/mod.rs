//! `medrgb import` and `medrgb export`: small hand-made files of every kind, and the real ones where they are.

mod logs;
mod program;
mod real;
mod round_trip;
mod sets;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use medrgb::data::dataset::Dataset;
use medrgb::data::import::{ImportError, Kind, Mapping, Report, Request, import};
use medrgb::data::store::{ReplyRecord, Store};

/// A folder with its own run store.
struct House {
    dir: tempfile::TempDir,
}

impl House {
    fn new() -> House {
        House {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// What to import into this house.
    fn request(&self, kind: Option<Kind>, paths: &[&Path]) -> Request<'static> {
        Request {
            kind,
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            out: None,
            force: false,
            mapping: None,
            set: None,
            run: None,
            model: None,
            dataset: None,
            store: self.path("runs.sqlite"),
        }
    }

    /// Imports files into the folder `out`.
    fn set(&self, kind: Kind, path: &Path) -> (Report, Dataset) {
        let mut request = self.request(Some(kind), &[path]);
        request.out = Some(self.path("out"));
        request.force = true;
        let report = run(&request).unwrap();
        let dataset = Dataset::open(&self.path("out")).unwrap();
        assert_eq!(
            dataset.problems,
            Vec::<String>::new(),
            "what is written can be read"
        );
        (report, dataset)
    }

    fn records(&self, run: &str) -> Vec<ReplyRecord> {
        let store = Store::open(&self.path("runs.sqlite")).unwrap();
        store.replies_of_run(run).unwrap()
    }

    /// What lies in the folder beside the store and `keep`.
    fn others(&self, keep: &[&str]) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names
            .filter(|name| !name.starts_with("runs.sqlite") && !keep.contains(&name.as_str()))
            .collect()
    }
}

fn run(request: &Request<'_>) -> Result<Report, ImportError> {
    import(request, &mut |_| ControlFlow::Continue(()))
}

fn mapping(house: &House, text: &str) -> Mapping {
    Mapping::read(&house.file("mapping.toml", text)).unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/import")
        .join(name)
}

fn manifest(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A folder of the shared data, if this machine has it.
fn shared(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("MEDRGB_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let path = shared.join("data").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: no {}; set MEDRGB_SHARED", path.display());
    None
}
