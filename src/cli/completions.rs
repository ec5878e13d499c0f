//! `medrgb completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, Failure, common};

/// Arguments of `medrgb completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example for bash:\n  medrgb completions bash > ~/.local/share/bash-completion/completions/medrgb"
)]
pub struct Args {
    /// The shell to complete for.
    pub shell: Shell,
}

/// Prints the completion script.
///
/// # Errors
/// [`Failure`] when standard output can't be written.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "medrgb", &mut script);
    common::write_out(&String::from_utf8_lossy(&script))
}
