//! A real `milvus-lite` server for tests: fetched once from PyPI into the target folder, started on a free
//! port of this machine.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::process::wait_until;

/// Names the program of a `milvus-lite` that is installed already.
const INSTALLED: &str = "MEDRGB_TEST_MILVUS_LITE";
const PACKAGES: [&str; 2] = ["milvus-lite==3.2.2", "pymilvus==3.0.2"];
/// The longest that a server may take to start, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running server; it ends with its value.
pub struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts a server; `None`, said loudly, where the package can't be had.
    pub fn start() -> Option<Server> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let child = launch(&program, folder.path(), port);
        Some(Server {
            child,
            port,
            folder,
        })
    }

    /// The address of a collection on it.
    pub fn url(&self, collection: &str) -> String {
        format!("milvus://127.0.0.1:{}/{collection}", self.port)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, over the same data.
    pub fn restart(&mut self) {
        self.kill();
        let program = program().unwrap();
        // A killed server leaves its lock behind where the system does not clear it.
        self.child = launch(&program, self.folder.path(), self.port);
    }

    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        crate::process::signal(&self.child, name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(program: &Path, folder: &Path, port: u16) -> Child {
    let log = std::fs::File::create(folder.join("server.log")).unwrap();
    let mut child = Command::new(program)
        .arg("server")
        .arg("--data-dir")
        .arg(folder.join("data"))
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    wait_until(PATIENCE, || {
        let log = || std::fs::read_to_string(folder.join("server.log")).unwrap_or_default();
        assert!(child.try_wait().unwrap().is_none(), "it ended: {}", log());
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    child
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// The `milvus-lite` program, installed at first use.
fn program() -> Option<PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM
        .get_or_init(|| {
            if let Some(named) = std::env::var_os(INSTALLED) {
                return Some(named.into());
            }
            install()
                .map_err(|why| eprintln!("SKIPPED: milvus-lite can't be had here: {why}"))
                .ok()
        })
        .clone()
}

fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("milvus-lite-3.2.2");
    let program = folder.join("bin/milvus-lite");
    let complete = folder.join("complete");
    if complete.is_file() && program.is_file() {
        return Ok(program);
    }
    // What an interrupted installation left is no base for another.
    let _ = std::fs::remove_dir_all(&folder);
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--no-compile"])
        .args([
            "--disable-pip-version-check",
            "--no-input",
            "--timeout",
            "20",
        ])
        .args(PACKAGES))?;
    std::fs::write(complete, "").map_err(|error| error.to_string())?;
    Ok(program)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("it failed").to_owned())
}
