//! The explorer: a pure machine (`update`) with views that are functions of its state.
