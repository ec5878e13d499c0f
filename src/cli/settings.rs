//! Where settings come from: files, environment, flags.
