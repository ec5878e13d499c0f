//! The `medrgb` program.

fn main() -> std::process::ExitCode {
    medrgb::cli::main(medrgb::explore::DOOR)
}
