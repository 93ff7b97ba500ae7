//! Atomic and durable file writes: write under another name, sync, rename, sync the folder (I5).

use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::platform;

/// Make the creation, renaming or removal of `path` durable.
pub fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    platform::sync_names(folder).map_err(|source| Error::storage("sync", folder, source))
}

/// Make the content of a file durable. It is opened for writing, because Windows syncs no file that is open for reading.
pub fn sync_file(path: &Path) -> io::Result<()> {
    fs_err::OpenOptions::new().write(true).open(path)?.sync_all()
}

/// Replace the content of `path` by `bytes` atomically. After a crash, the file has the old or the new content.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let fail = |source| Error::storage("write", path, source);
    let mut file = fs_err::File::create(partial).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.sync_all().map_err(fail)?;
    crate::crash::point("durable:written");
    drop(file); // Windows renames no file that is open for writing.
    platform::rename(partial, path).map_err(fail)?;
    sync_folder_of(path)
}
