//! Columns of the protocol: what is sent and what comes back.

use half::f16;

use crate::retrieval::RetrievalError;
use crate::retrieval::remote::record::Precision;
use crate::retrieval::remote::wire::{self, data_type};

/// A key with its value.
pub fn pair(key: &str, value: impl ToString) -> wire::KeyValue {
    wire::KeyValue {
        key: key.into(),
        value: value.to_string(),
    }
}

/// The value of a key.
pub fn value_of<'a>(pairs: &'a [wire::KeyValue], key: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|pair| pair.key == key)
        .map(|pair| pair.value.as_str())
}

/// A column of texts.
pub fn texts(name: &str, data: Vec<String>) -> wire::FieldData {
    wire::FieldData {
        data_type: data_type::VARCHAR,
        name: name.into(),
        scalars: Some(wire::Scalars {
            strings: Some(wire::Strings { data }),
            ..wire::Scalars::default()
        }),
        ..wire::FieldData::default()
    }
}

/// A column of vectors, given row after row.
pub fn vectors(name: &str, dim: usize, precision: Precision, data: Vec<f32>) -> wire::FieldData {
    let mut vectors = wire::Vectors {
        dim: dim as i64,
        ..wire::Vectors::default()
    };
    let data_type = match precision {
        Precision::Float32 => {
            vectors.floats = Some(wire::Floats { data });
            data_type::FLOAT_VECTOR
        }
        Precision::Float16 => {
            vectors.halves = to_bytes(precision, &data);
            data_type::FLOAT16_VECTOR
        }
    };
    wire::FieldData {
        data_type,
        name: name.into(),
        vectors: Some(vectors),
        ..wire::FieldData::default()
    }
}

/// A vector as a placeholder of a search: little-endian numbers.
pub fn to_bytes(precision: Precision, vector: &[f32]) -> Vec<u8> {
    match precision {
        Precision::Float32 => vector.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Precision::Float16 => vector
            .iter()
            .flat_map(|&x| f16::from_f32(x).to_le_bytes())
            .collect(),
    }
}

/// The placeholders of a search for one vector.
pub fn placeholders(precision: Precision, vector: &[f32]) -> Vec<u8> {
    let data_type = match precision {
        Precision::Float32 => data_type::FLOAT_VECTOR,
        Precision::Float16 => data_type::FLOAT16_VECTOR,
    };
    let placeholder = wire::Placeholder {
        tag: "$0".into(),
        data_type,
        values: vec![to_bytes(precision, vector)],
    };
    prost::Message::encode_to_vec(&wire::Placeholders {
        values: vec![placeholder],
    })
}

/// Takes the column of texts with this name; it must have `rows` of them.
///
/// # Errors
/// When the answer has no such column.
pub fn take_texts(
    fields: &mut Vec<wire::FieldData>,
    name: &str,
    rows: usize,
) -> Result<Vec<String>, RetrievalError> {
    let strings = take(fields, name)
        .and_then(|field| field.scalars?.strings)
        .unwrap_or_default();
    if strings.data.len() == rows {
        return Ok(strings.data);
    }
    Err(unexpected(name))
}

/// Takes the only number of the column with this name.
///
/// # Errors
/// When the answer has no such column.
pub fn take_number(fields: &mut Vec<wire::FieldData>, name: &str) -> Result<i64, RetrievalError> {
    let longs = take(fields, name)
        .and_then(|field| field.scalars?.longs)
        .unwrap_or_default();
    match longs.data[..] {
        [number] => Ok(number),
        _ => Err(unexpected(name)),
    }
}

/// Takes the column of vectors with this name, as `rows` vectors of `dim` numbers.
///
/// # Errors
/// When the answer has no such column.
pub fn take_vectors(
    fields: &mut Vec<wire::FieldData>,
    name: &str,
    rows: usize,
    dim: usize,
) -> Result<Vec<Vec<f32>>, RetrievalError> {
    let vectors = take(fields, name)
        .and_then(|field| field.vectors)
        .unwrap_or_default();
    let numbers = match vectors.floats {
        Some(floats) => floats.data,
        None => vectors
            .halves
            .chunks_exact(2)
            .map(|two| f16::from_le_bytes([two[0], two[1]]).to_f32())
            .collect(),
    };
    if dim == 0 || numbers.len() != rows * dim {
        return Err(unexpected(name));
    }
    Ok(numbers.chunks_exact(dim).map(<[f32]>::to_vec).collect())
}

fn take(fields: &mut Vec<wire::FieldData>, name: &str) -> Option<wire::FieldData> {
    let at = fields.iter().position(|field| field.name == name)?;
    Some(fields.swap_remove(at))
}

fn unexpected(name: &str) -> RetrievalError {
    RetrievalError(format!(
        "the Milvus server's answer lacks the field \"{name}\", or it has another shape than asked for; was the collection made by `medrgb index push`?"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn columns_come_back_as_they_were_sent() {
        let data = vec![1.0, -2.5, 0.25, 3.0, 0.0, 65504.0];
        for precision in [Precision::Float32, Precision::Float16] {
            let mut fields = vec![
                texts("id", vec!["a".into(), "b\u{0}\"".into()]),
                vectors("vector", 3, precision, data.clone()),
            ];
            let rows = take_vectors(&mut fields, "vector", 2, 3).unwrap();
            assert_eq!(rows.concat(), data);
            assert_eq!(take_texts(&mut fields, "id", 2).unwrap(), ["a", "b\u{0}\""]);
            assert!(fields.is_empty());
        }
    }

    #[test]
    fn halves_are_little_endian() {
        // 1.0 is 0x3C00 and -2.0 is 0xC000 in IEEE 754 half precision.
        assert_eq!(
            to_bytes(Precision::Float16, &[1.0, -2.0]),
            [0x00, 0x3c, 0x00, 0xc0]
        );
    }

    #[test]
    fn answers_of_another_shape_are_refused() {
        let mut fields = vec![texts("id", vec!["a".into()])];
        assert!(take_texts(&mut fields.clone(), "id", 2).is_err());
        assert!(take_vectors(&mut fields.clone(), "id", 1, 1).is_err());
        assert!(take_number(&mut fields, "id").is_err());
        let message = take_number(&mut fields, "count(*)")
            .unwrap_err()
            .to_string();
        assert!(message.contains("count(*)"), "{message}");
    }
}
