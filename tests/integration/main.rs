//! Tests of the whole, one file per subject.

mod retrieval;
mod tiny_bert;
