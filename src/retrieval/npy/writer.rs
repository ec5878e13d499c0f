//! Writing a NumPy file row by row, without knowing how many there will be.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::header;
use crate::retrieval::RetrievalError;
use crate::retrieval::exact::Precision;
use crate::retrieval::mapped::{beside, write_reason};

/// Room for the header, whatever the number of rows turns out to be.
const HEAD: usize = 128;
/// Bytes that are gathered before the file is written.
const BUFFER: usize = 1 << 20;

/// An array that grows row by row. The file appears under its name, whole, with [`NpyWriter::finish`]; until
/// then it lies beside it and vanishes when the writer is dropped.
#[derive(Debug)]
pub struct NpyWriter {
    path: PathBuf,
    out: BufWriter<NamedTempFile>,
    dim: usize,
    rows: usize,
    precision: Precision,
}

impl NpyWriter {
    /// Begins an array of vectors of `dim` numbers.
    ///
    /// # Errors
    /// One sentence with the path where its folder can't be written.
    pub fn create(
        path: &Path,
        dim: usize,
        precision: Precision,
    ) -> Result<NpyWriter, RetrievalError> {
        let begun = || {
            let file = beside(path)?;
            let mut out = BufWriter::with_capacity(BUFFER, file);
            out.write_all(&header::text(0, dim, precision, HEAD))?;
            Ok(out)
        };
        Ok(NpyWriter {
            path: path.to_path_buf(),
            out: begun().map_err(|error| failed(path, &error))?,
            dim,
            rows: 0,
            precision,
        })
    }

    /// Appends rows, one after the other; nothing of them where an error comes back.
    ///
    /// # Errors
    /// When `data` holds no whole rows, a number is too large for half precision, or the disk is full.
    pub fn append(&mut self, data: &[f32]) -> Result<(), RetrievalError> {
        if self.dim == 0 || !data.len().is_multiple_of(self.dim) {
            return Err(RetrievalError(format!(
                "{} numbers do not make whole vectors of {} dimensions",
                data.len(),
                self.dim
            )));
        }
        match self.precision {
            Precision::Full => put(&mut self.out, data),
            Precision::Half => {
                let mut half = vec![0; data.len()];
                medrgb_kernels::narrow(data, &mut half);
                let lost = |(bits, number): (&u16, &f32)| bits & 0x7c00 == 0x7c00 && number.is_finite();
                if let Some(at) = half.iter().zip(data).position(lost) {
                    return Err(RetrievalError(format!(
                        "vector {} holds {}, too large for half precision (its limit is 65,504); write these vectors in f32",
                        self.rows + at / self.dim,
                        data[at]
                    )));
                }
                put_half(&mut self.out, &half)
            }
        }
        .map_err(|error| failed(&self.path, &error))?;
        self.rows += data.len() / self.dim;
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Writes the number of rows into the header and puts the file in its place. Gives that number.
    ///
    /// # Errors
    /// One sentence with the path where the disk is full or the place can't be written.
    pub fn finish(self) -> Result<usize, RetrievalError> {
        let (path, rows) = (self.path, self.rows);
        let head = header::text(rows, self.dim, self.precision, HEAD);
        let place = || {
            let mut file = self.out.into_inner().map_err(|error| error.into_error())?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&head)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)
        };
        place().map_err(|error| failed(&path, &error))?;
        Ok(rows)
    }
}

fn failed(path: &Path, error: &io::Error) -> RetrievalError {
    RetrievalError(format!(
        "{} can't be written: {}",
        path.display(),
        write_reason(error)
    ))
}

/// Numbers in their little-endian form.
pub(super) fn put(out: &mut impl Write, data: &[f32]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(data));
    }
    data.iter()
        .try_for_each(|number| out.write_all(&number.to_le_bytes()))
}

fn put_half(out: &mut impl Write, data: &[u16]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(data));
    }
    data.iter()
        .try_for_each(|number| out.write_all(&number.to_le_bytes()))
}
