//! Files and folders of a store: made for their owner alone, removed, and refused where `SQLite` cannot keep them.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::platform;

/// The WAL beside `file`.
pub fn wal_of(file: &Path) -> PathBuf {
    with_ending(file, "-wal")
}

/// The shared memory beside `file`.
pub fn shared_memory_of(file: &Path) -> PathBuf {
    with_ending(file, "-shm")
}

/// The journal beside `file`, with which `SQLite` writes a copy.
pub fn journal_of(file: &Path) -> PathBuf {
    with_ending(file, "-journal")
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Create `dir` for its owner alone.
pub fn create_folder(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    platform::create_private_folder(dir).map_err(|source| Error::storage("create", dir, source))
}

/// Create `file` for its owner alone, if it does not exist; `SQLite` gives the WAL and the shared memory the same
/// permissions.
///
/// An existing file is not opened: closing it would drop the locks that `SQLite` has on it in this process.
pub fn create_file(file: &Path) -> Result<()> {
    match platform::create_private_file(file) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(Error::storage("open", file, source)),
        _ => Ok(()),
    }
}

/// Remove a file, or a folder with its content; no error if it does not exist.
pub fn remove_if_there(path: &Path) -> Result<()> {
    let removed = match fs_err::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs_err::remove_dir_all(path),
        Ok(_) => fs_err::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        // If a file has taken the place of the folder, the folder has no content.
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::storage("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Narrow the permissions of every file in `dir` to its owner.
pub fn make_private(dir: &Path) -> Result<()> {
    let fail = |source| Error::storage("set permissions in", dir, source);
    for found in fs_err::read_dir(dir).map_err(fail)? {
        let found = found.map_err(fail)?;
        let metadata = match found.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue, // removed since it was listed
            Err(error) => return Err(fail(error)),
        };
        match platform::make_private(&found.path(), &metadata) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
    }
    Ok(())
}

/// WAL needs shared memory and working locks, which network file systems do not give: a store there gets damaged.
#[cfg(target_os = "linux")]
pub(super) fn refuse_network_file_system(dir: &Path) -> Result<()> {
    use std::os::unix::ffi::OsStrExt;

    const NETWORK: [(i64, &str); 7] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFE53_4D42, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0x0102_1997, "9P"),
        (0x5346_414F, "AFS"),
        (0x00C3_6400, "Ceph"),
    ];
    let Ok(path) = std::ffi::CString::new(dir.as_os_str().as_bytes()) else {
        return Err(Error::invalid("data_dir", "has a NUL byte"));
    };
    let mut stats = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `path` is NUL-terminated and lives through the call; `stats` is written by it when it returns 0.
    let result = unsafe { libc::statfs(path.as_ptr(), stats.as_mut_ptr()) };
    if result != 0 {
        return Err(Error::storage("examine", dir, io::Error::last_os_error()));
    }
    // SAFETY: statfs returned 0, so it filled the struct.
    let kind = unsafe { stats.assume_init() }.f_type & 0xFFFF_FFFF;
    match NETWORK.iter().find(|(magic, _)| *magic == kind) {
        Some((_, name)) => Err(Error::storage(
            "open a store in",
            dir,
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "it is on a network file system ({name}), where SQLite's locks do not work; choose a local folder"
                ),
            ),
        )),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_network_file_system(_dir: &Path) -> Result<()> {
    Ok(())
}
