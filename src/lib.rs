//! medrgb
