//! Checksums of the files of the indexes.

use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};

/// Number of bytes read from a file at once.
pub const READ_AT_ONCE: usize = 1 << 18;

/// The size of a file, and its xxh3-128, hexadecimal.
pub fn digest(path: &Path) -> Result<(u64, String)> {
    let fail = |source| Error::storage("read", path, source);
    let mut file = fs_err::File::open(path).map_err(fail)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0_u8; READ_AT_ONCE];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(fail)?;
        if read == 0 {
            return Ok((bytes, format!("{:032x}", hasher.digest128())));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}
