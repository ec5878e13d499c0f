//! The `medrgb` program.

fn main() -> std::process::ExitCode {
    // First of all: it changes the environment, which is only safe before any thread is started.
    #[cfg(feature = "embedded")]
    medrgb::model::embedded::prepare_environment();
    medrgb::cli::main(medrgb::explore::run)
}
