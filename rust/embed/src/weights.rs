//! Weights of the model, mapped from a `safetensors` file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use half::f16;
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use crate::error::{Error, Result};

/// A mapped file of weights.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    map: Mmap,
}

/// Values of half precision in the mapped file.
#[derive(Debug, Clone)]
pub struct Halves {
    bytes: Range<usize>,
}

impl Weights {
    /// Map the file. Only its header is read; each page is read when it is used.
    pub fn open(path: &Path) -> Result<Self> {
        let file = fs_err::File::open(path).map_err(|error| Error::unreadable(path, error))?;
        // SAFETY: the file belongs to the installed package. An installer replaces it by another file, which leaves this
        // one as it is. A value that changes nevertheless makes a wrong vector, which the caller checks; it is not used
        // as a length or an index.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::unreadable(path, error))?;
        Ok(Self { path: path.to_owned(), map })
    }

    /// Read the places of all tensors with `read`.
    pub fn read<T>(&self, read: impl FnOnce(&Header<'_>) -> Result<T>) -> Result<T> {
        let tensors = SafeTensors::deserialize(&self.map).map_err(|error| self.damaged(format!("{error}")))?;
        read(&Header { weights: self, tensors })
    }

    /// Values of half precision.
    pub fn halves(&self, halves: &Halves) -> &[f16] {
        let bytes = &self.map[halves.bytes.clone()];
        // SAFETY: `Header::halves` checked that the range begins at an even offset. A map begins at a page, so the values
        // are aligned. Each pair of bytes is a valid `f16`.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<f16>()) }
    }

    fn damaged(&self, reason: impl Into<String>) -> Error {
        Error::damaged(&self.path, reason)
    }
}

/// Names and places of the tensors in a file.
pub struct Header<'a> {
    weights: &'a Weights,
    tensors: SafeTensors<'a>,
}

impl Header<'_> {
    /// Find a tensor of half precision.
    pub fn halves(&self, name: &str, shape: &[usize]) -> Result<Halves> {
        let bytes = self.find(name, Dtype::F16, shape)?;
        if !bytes.start.is_multiple_of(size_of::<f16>()) {
            return Err(self.weights.damaged(format!("{name} is not aligned")));
        }
        Ok(Halves { bytes })
    }

    /// Copy a tensor of single precision.
    pub fn singles(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        let bytes = self.find(name, Dtype::F32, &[length])?;
        let (values, _) = self.weights.map[bytes].as_chunks();
        Ok(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
    }

    /// Number of rows of a tensor with two dimensions.
    pub fn rows(&self, name: &str) -> Result<usize> {
        let tensor = self.tensors.tensor(name).map_err(|error| self.weights.damaged(format!("{name}: {error}")))?;
        match tensor.shape() {
            [rows, _] => Ok(*rows),
            shape => Err(self.weights.damaged(format!("{name} has the shape {shape:?}"))),
        }
    }

    fn find(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<Range<usize>> {
        let tensor = self.tensors.tensor(name).map_err(|error| self.weights.damaged(format!("{name}: {error}")))?;
        if tensor.dtype() != dtype || tensor.shape() != shape {
            let found = format!("{name} is {:?} {:?} instead of {dtype:?} {shape:?}", tensor.dtype(), tensor.shape());
            return Err(self.weights.damaged(found));
        }
        let start = tensor.data().as_ptr() as usize - self.weights.map.as_ptr() as usize;
        Ok(start..start + tensor.data().len())
    }
}
