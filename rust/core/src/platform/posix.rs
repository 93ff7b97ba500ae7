//! Linux and macOS.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;

use super::{Identity, Stamp};

/// Return the identity of a file.
pub fn identity(path: &Path) -> io::Result<Identity> {
    std::fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Return the version of a file; `None` if it does not exist.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

/// Create a folder for its owner alone, with its parents.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Create an empty file for its owner alone.
pub fn create_private_file(path: &Path) -> io::Result<()> {
    fs_err::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).map(|_| ())
}

/// Narrow the permissions of a file or a folder to its owner.
pub fn make_private(path: &Path, metadata: &std::fs::Metadata) -> io::Result<()> {
    let mode = if metadata.is_dir() { 0o700 } else { 0o600 };
    if metadata.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Give a file the name of another file, which it replaces, also while a reader has that file open.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs_err::rename(from, to)
}

/// Replace a file; try again for a short time if a reader prevents it.
pub fn retry(replace: impl Fn() -> io::Result<()>) -> io::Result<()> {
    replace()
}

/// Return the absolute path without links.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    fs_err::canonicalize(path)
}

/// Make the creation, renaming or removal of the names in a folder durable.
pub fn sync_names(folder: &Path) -> io::Result<()> {
    fs_err::File::open(folder)?.sync_all()
}
