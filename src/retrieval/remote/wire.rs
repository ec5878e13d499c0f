//! The messages of Milvus's gRPC protocol that are needed here, with the field numbers of its version 2.
//!
//! Fields that are neither sent nor read are left out: protobuf skips unknown ones.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};

/// Field and vector types by the protocol's numbers.
pub mod data_type {
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One field of a message: how it is written, read and measured.
///
/// `one` is left out where it has its default value, as in proto3; a message is an `Option`. Of a `oneof` each
/// alternative is a field of its own, of which at most one is set: on the wire that is the same.
macro_rules! field {
    (write one message $tag:literal $value:expr, $out:expr) => {
        if let Some(message) = &$value {
            encoding::message::encode($tag, message, $out);
        }
    };
    (write one $kind:ident $tag:literal $value:expr, $out:expr) => {
        if !is_default(&$value) {
            encoding::$kind::encode($tag, &$value, $out);
        }
    };
    (write many $kind:ident $tag:literal $value:expr, $out:expr) => {
        encoding::$kind::encode_repeated($tag, &$value, $out)
    };
    (write packed $kind:ident $tag:literal $value:expr, $out:expr) => {
        encoding::$kind::encode_packed($tag, &$value, $out)
    };
    (read one message $value:expr, $wire:expr, $input:expr, $context:expr) => {
        encoding::message::merge($wire, $value.get_or_insert_default(), $input, $context)
    };
    (read one $kind:ident $value:expr, $wire:expr, $input:expr, $context:expr) => {
        encoding::$kind::merge($wire, &mut $value, $input, $context)
    };
    // Packed and unpacked numbers are both read, as the protocol asks for.
    (read $mode:ident $kind:ident $value:expr, $wire:expr, $input:expr, $context:expr) => {
        encoding::$kind::merge_repeated($wire, &mut $value, $input, $context)
    };
    (size one message $tag:literal $value:expr) => {
        $value
            .as_ref()
            .map_or(0, |message| encoding::message::encoded_len($tag, message))
    };
    (size one $kind:ident $tag:literal $value:expr) => {
        if is_default(&$value) {
            0
        } else {
            encoding::$kind::encoded_len($tag, &$value)
        }
    };
    (size many $kind:ident $tag:literal $value:expr) => {
        encoding::$kind::encoded_len_repeated($tag, &$value)
    };
    (size packed $kind:ident $tag:literal $value:expr) => {
        encoding::$kind::encoded_len_packed($tag, &$value)
    };
}

/// A message: its fields by number, how often they come, protobuf type, name and Rust type.
macro_rules! message {
    ($(#[$about:meta])* $name:ident {
        $($(#[$note:meta])* $tag:literal $mode:ident $kind:ident $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name {
            $($(#[$note])* pub $field: $type,)*
        }

        impl Message for $name {
            fn encode_raw(&self, out: &mut impl BufMut) {
                $(field!(write $mode $kind $tag self.$field, out);)*
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire: WireType,
                input: &mut impl Buf,
                context: DecodeContext,
            ) -> Result<(), DecodeError> {
                match tag {
                    $($tag => field!(read $mode $kind self.$field, wire, input, context),)*
                    _ => encoding::skip_field(wire, tag, input, context),
                }
            }

            fn encoded_len(&self) -> usize {
                0 $(+ field!(size $mode $kind $tag self.$field))*
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    };
}

message! {
    Status {
        /// Of servers before 2.3; both are 0 where all went well.
        1 one int32 error_code: i32,
        2 one string reason: String,
        3 one int32 code: i32,
        4 one bool retriable: bool,
    }
}

message! {
    KeyValue {
        1 one string key: String,
        2 one string value: String,
    }
}

message! {
    /// A request about one collection: describe, drop, statistics, and indexes.
    OfCollection {
        2 one string database: String,
        3 one string collection: String,
    }
}

message! {
    CreateCollection {
        2 one string database: String,
        3 one string collection: String,
        /// An encoded [`CollectionSchema`].
        4 one bytes schema: Vec<u8>,
        5 one int32 shards: i32,
        6 one int32 consistency: i32,
        7 many message properties: Vec<KeyValue>,
    }
}

message! {
    CollectionSchema {
        1 one string name: String,
        2 one string description: String,
        4 many message fields: Vec<FieldSchema>,
    }
}

message! {
    FieldSchema {
        2 one string name: String,
        3 one bool is_primary_key: bool,
        5 one int32 data_type: i32,
        6 many message type_params: Vec<KeyValue>,
    }
}

message! {
    Described {
        1 one message status: Option<Status>,
        2 one message schema: Option<CollectionSchema>,
        8 one int32 shards: i32,
        13 many message properties: Vec<KeyValue>,
    }
}

message! {
    /// Sets properties, or takes those named back.
    AlterCollection {
        2 one string database: String,
        3 one string collection: String,
        5 many message properties: Vec<KeyValue>,
        6 many string deleted: Vec<String>,
    }
}

message! {
    CreateIndex {
        2 one string database: String,
        3 one string collection: String,
        4 one string field: String,
        5 many message params: Vec<KeyValue>,
        6 one string name: String,
    }
}

message! {
    DescribedIndexes {
        1 one message status: Option<Status>,
        2 many message indexes: Vec<DescribedIndex>,
    }
}

message! {
    DescribedIndex {
        3 many message params: Vec<KeyValue>,
        4 one string field: String,
    }
}

message! {
    Load {
        2 one string database: String,
        3 one string collection: String,
        4 one int32 replicas: i32,
    }
}

message! {
    /// Unlike elsewhere the collection comes first.
    GetLoadState {
        2 one string collection: String,
        4 one string database: String,
    }
}

message! {
    LoadState {
        1 one message status: Option<Status>,
        2 one int32 state: i32,
    }
}

message! {
    Flush {
        2 one string database: String,
        3 many string collections: Vec<String>,
    }
}

message! {
    Statistics {
        1 one message status: Option<Status>,
        2 many message values: Vec<KeyValue>,
    }
}

message! {
    Versioned {
        1 one message status: Option<Status>,
        2 one string version: String,
    }
}

message! {
    /// An answer of which only the status matters here.
    Answered {
        1 one message status: Option<Status>,
    }
}

message! {
    Upsert {
        2 one string database: String,
        3 one string collection: String,
        5 many message fields: Vec<FieldData>,
        7 one uint32 rows: u32,
    }
}

message! {
    Mutated {
        1 one message status: Option<Status>,
        4 packed uint32 failed_rows: Vec<u32>,
        8 one int64 upserted: i64,
    }
}

message! {
    FieldData {
        1 one int32 data_type: i32,
        2 one string name: String,
        3 one message scalars: Option<Scalars>,
        4 one message vectors: Option<Vectors>,
    }
}

message! {
    Scalars {
        3 one message longs: Option<Longs>,
        6 one message strings: Option<Strings>,
    }
}

message! {
    Longs {
        1 packed int64 data: Vec<i64>,
    }
}

message! {
    Strings {
        1 many string data: Vec<String>,
    }
}

message! {
    Vectors {
        1 one int64 dim: i64,
        2 one message floats: Option<Floats>,
        /// Little-endian half-precision numbers, row after row.
        4 one bytes halves: Vec<u8>,
    }
}

message! {
    Floats {
        1 packed float data: Vec<f32>,
    }
}

message! {
    Search {
        2 one string database: String,
        3 one string collection: String,
        /// The filter: always empty, so that no text of a user's or a document's can be one.
        5 one string filter: String,
        /// Encoded [`Placeholders`].
        6 one bytes placeholders: Vec<u8>,
        7 one int32 filter_kind: i32,
        8 many string output_fields: Vec<String>,
        9 many message params: Vec<KeyValue>,
        12 one int64 queries: i64,
        14 one int32 consistency: i32,
        15 one bool use_default_consistency: bool,
    }
}

message! {
    Placeholders {
        1 many message values: Vec<Placeholder>,
    }
}

message! {
    Placeholder {
        1 one string tag: String,
        2 one int32 data_type: i32,
        /// One query vector each, little-endian.
        3 many bytes values: Vec<Vec<u8>>,
    }
}

message! {
    Searched {
        1 one message status: Option<Status>,
        2 one message results: Option<SearchedData>,
    }
}

message! {
    SearchedData {
        3 many message fields: Vec<FieldData>,
        4 packed float scores: Vec<f32>,
        5 one message ids: Option<Ids>,
    }
}

message! {
    Ids {
        2 one message strings: Option<Strings>,
    }
}

message! {
    Query {
        2 one string database: String,
        3 one string collection: String,
        4 one string expression: String,
        5 many string output_fields: Vec<String>,
        11 one int32 consistency: i32,
    }
}

message! {
    Queried {
        1 one message status: Option<Status>,
        2 many message fields: Vec<FieldData>,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn bytes_are_those_of_the_protocol() {
        // Key = number × 8 + wire type (0 varint, 2 with a length), then the value.
        let pair = KeyValue {
            key: "a".into(),
            value: "bc".into(),
        };
        assert_eq!(pair.encode_to_vec(), [0x0a, 1, b'a', 0x12, 2, b'b', b'c']);
        let searched = SearchedData {
            scores: vec![1.0],
            ids: Some(Ids {
                strings: Some(Strings {
                    data: vec!["x".into()],
                }),
            }),
            ..SearchedData::default()
        };
        let bytes = [0x22, 4, 0, 0, 0x80, 0x3f, 0x2a, 5, 0x12, 3, 0x0a, 1, b'x'];
        assert_eq!(searched.encode_to_vec(), bytes);
        assert_eq!(searched.encoded_len(), bytes.len());
        assert_eq!(SearchedData::decode(&bytes[..]).unwrap(), searched);
        // Defaults are left out, and the number of a high field takes two bytes.
        let search = Search {
            queries: 1,
            use_default_consistency: true,
            ..Search::default()
        };
        assert_eq!(search.encode_to_vec(), [0x60, 1, 0x78, 1]);
    }

    #[test]
    fn unknown_fields_are_skipped_and_damage_is_an_error() {
        let with_unknown = [0x0a, 1, b'a', 0x98, 0x06, 7, 0x12, 1, b'b'];
        let pair = KeyValue::decode(&with_unknown[..]).unwrap();
        assert_eq!((pair.key.as_str(), pair.value.as_str()), ("a", "b"));
        for damaged in [&with_unknown[..2], &[0x0a, 0xff][..], &[0x0a, 1, 0xff][..]] {
            assert!(KeyValue::decode(damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn numbers_are_read_packed_or_one_by_one() {
        let both = Longs { data: vec![3, 300] };
        assert_eq!(both.encode_to_vec(), [0x0a, 3, 3, 0xac, 2]);
        assert_eq!(Longs::decode(&[0x08, 3, 0x08, 0xac, 2][..]).unwrap(), both);
    }
}
