//! The messages of Milvus's gRPC protocol that are needed here, with the field numbers of its version 2.
//!
//! Fields that are neither sent nor read are left out: protobuf skips unknown ones.

use prost::{Message, Oneof};

/// Field and vector types by the protocol's numbers.
pub mod data_type {
    pub const INT64: i32 = 5;
    pub const VARCHAR: i32 = 21;
    pub const FLOAT_VECTOR: i32 = 101;
    pub const FLOAT16_VECTOR: i32 = 102;
}

/// How fresh an answer must be, by the protocol's numbers.
pub mod consistency {
    /// All that was written before is seen.
    pub const STRONG: i32 = 0;
    /// What was written some seconds ago is seen; the fastest that is still orderly.
    pub const BOUNDED: i32 = 2;
}

/// States of loading, by the protocol's numbers.
pub mod load_state {
    pub const LOADED: i32 = 3;
}

/// The filter language; the protocol wants it named even where there is no filter.
pub const BOOLEAN_EXPRESSION: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub struct Status {
    /// Of servers before 2.3; both are 0 where all went well.
    #[prost(int32, tag = "1")]
    pub error_code: i32,
    #[prost(string, tag = "2")]
    pub reason: String,
    #[prost(int32, tag = "3")]
    pub code: i32,
    #[prost(bool, tag = "4")]
    pub retriable: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A request about one collection: describe, drop, statistics, and indexes.
#[derive(Clone, PartialEq, Message)]
pub struct OfCollection {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct CreateCollection {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
    /// An encoded [`CollectionSchema`].
    #[prost(bytes = "vec", tag = "4")]
    pub schema: Vec<u8>,
    #[prost(int32, tag = "5")]
    pub shards: i32,
    #[prost(int32, tag = "6")]
    pub consistency: i32,
    #[prost(message, repeated, tag = "7")]
    pub properties: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CollectionSchema {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub description: String,
    #[prost(message, repeated, tag = "4")]
    pub fields: Vec<FieldSchema>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldSchema {
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(bool, tag = "3")]
    pub is_primary_key: bool,
    #[prost(int32, tag = "5")]
    pub data_type: i32,
    #[prost(message, repeated, tag = "6")]
    pub type_params: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Described {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    pub schema: Option<CollectionSchema>,
    #[prost(int32, tag = "8")]
    pub shards: i32,
    #[prost(message, repeated, tag = "13")]
    pub properties: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CreateIndex {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
    #[prost(string, tag = "4")]
    pub field: String,
    #[prost(message, repeated, tag = "5")]
    pub params: Vec<KeyValue>,
    #[prost(string, tag = "6")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct DescribedIndexes {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub indexes: Vec<DescribedIndex>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DescribedIndex {
    #[prost(message, repeated, tag = "3")]
    pub params: Vec<KeyValue>,
    #[prost(string, tag = "4")]
    pub field: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Load {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
    #[prost(int32, tag = "4")]
    pub replicas: i32,
}

/// Unlike elsewhere the collection comes first.
#[derive(Clone, PartialEq, Message)]
pub struct GetLoadState {
    #[prost(string, tag = "2")]
    pub collection: String,
    #[prost(string, tag = "4")]
    pub database: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct LoadState {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(int32, tag = "2")]
    pub state: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Flush {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, repeated, tag = "3")]
    pub collections: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Statistics {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub values: Vec<KeyValue>,
}

/// An answer of which only the status matters here.
#[derive(Clone, PartialEq, Message)]
pub struct Answered {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Upsert {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
    #[prost(message, repeated, tag = "5")]
    pub fields: Vec<FieldData>,
    #[prost(uint32, tag = "7")]
    pub rows: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Mutated {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(uint32, repeated, tag = "4")]
    pub failed_rows: Vec<u32>,
    #[prost(int64, tag = "8")]
    pub upserted: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldData {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(oneof = "Column", tags = "3, 4")]
    pub column: Option<Column>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Column {
    #[prost(message, tag = "3")]
    Scalars(Scalars),
    #[prost(message, tag = "4")]
    Vectors(Vectors),
}

#[derive(Clone, PartialEq, Message)]
pub struct Scalars {
    #[prost(oneof = "ScalarData", tags = "3, 6")]
    pub data: Option<ScalarData>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ScalarData {
    #[prost(message, tag = "3")]
    Longs(Longs),
    #[prost(message, tag = "6")]
    Strings(Strings),
}

#[derive(Clone, PartialEq, Message)]
pub struct Longs {
    #[prost(int64, repeated, tag = "1")]
    pub data: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Strings {
    #[prost(string, repeated, tag = "1")]
    pub data: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Vectors {
    #[prost(int64, tag = "1")]
    pub dim: i64,
    #[prost(oneof = "VectorData", tags = "2, 4")]
    pub data: Option<VectorData>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum VectorData {
    #[prost(message, tag = "2")]
    Floats(Floats),
    /// Little-endian, row after row.
    #[prost(bytes = "vec", tag = "4")]
    Halves(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
pub struct Floats {
    #[prost(float, repeated, tag = "1")]
    pub data: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Search {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
    /// The filter: always empty, so that no text of a user's or a document's can be one.
    #[prost(string, tag = "5")]
    pub filter: String,
    /// Encoded [`Placeholders`].
    #[prost(bytes = "vec", tag = "6")]
    pub placeholders: Vec<u8>,
    #[prost(int32, tag = "7")]
    pub filter_kind: i32,
    #[prost(string, repeated, tag = "8")]
    pub output_fields: Vec<String>,
    #[prost(message, repeated, tag = "9")]
    pub params: Vec<KeyValue>,
    #[prost(int64, tag = "12")]
    pub queries: i64,
    #[prost(int32, tag = "14")]
    pub consistency: i32,
    #[prost(bool, tag = "15")]
    pub use_default_consistency: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Placeholders {
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Placeholder>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Placeholder {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// One query vector each, little-endian.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub values: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Searched {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    pub results: Option<SearchedData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SearchedData {
    #[prost(message, repeated, tag = "3")]
    pub fields: Vec<FieldData>,
    #[prost(float, repeated, tag = "4")]
    pub scores: Vec<f32>,
    #[prost(message, optional, tag = "5")]
    pub ids: Option<Ids>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Ids {
    #[prost(message, optional, tag = "2")]
    pub strings: Option<Strings>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Query {
    #[prost(string, tag = "2")]
    pub database: String,
    #[prost(string, tag = "3")]
    pub collection: String,
    #[prost(string, repeated, tag = "5")]
    pub output_fields: Vec<String>,
    #[prost(int32, tag = "11")]
    pub consistency: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Queried {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub fields: Vec<FieldData>,
}
