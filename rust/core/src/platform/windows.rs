//! Windows.
//!
//! * A new file has the access list of its folder, which the caller made private. Permission bits do not exist.
//! * NTFS keeps names in its journal, and a folder cannot be synced.
//! * A file that another process has open can be replaced only if that process allows it, and a virus scanner may hold a
//!   file for a moment. So a replacement is tried again for a short time.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_READ_ATTRIBUTES, GetFileInformationByHandle,
};

use super::{Identity, Stamp};

const PAUSES: [Duration; 6] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

pub fn identity(path: &Path) -> io::Result<Identity> {
    let found = information(path)?;
    Ok((u64::from(found.dwVolumeSerialNumber), index(&found)))
}

pub fn stamp(path: &Path) -> Option<Stamp> {
    let found = information(path).ok()?;
    let modified = join(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime);
    Some((index(&found), modified as i64, 0, join(found.nFileSizeHigh, found.nFileSizeLow)))
}

pub fn create_private_folder(path: &Path) -> io::Result<()> {
    fs_err::create_dir_all(path)
}

pub fn create_private_file(path: &Path) -> io::Result<()> {
    fs_err::OpenOptions::new().create_new(true).write(true).open(path).map(|_| ())
}

#[allow(clippy::unnecessary_wraps)] // as on POSIX
pub fn make_private(_path: &Path, _metadata: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    retry(|| fs_err::rename(from, to))
}

pub fn retry(replace: impl Fn() -> io::Result<()>) -> io::Result<()> {
    for pause in PAUSES {
        match replace() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => std::thread::sleep(pause),
            done => return done,
        }
    }
    replace()
}

pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let resolved = fs_err::canonicalize(path)?;
    // The other form of the path is not equal to the one that a user types, and SQLite cannot open it by a URI.
    Ok(resolved
        .to_str()
        .and_then(|text| text.strip_prefix(r"\\?\"))
        .filter(|text| !text.starts_with("UNC\\"))
        .map_or(resolved.clone(), PathBuf::from))
}

#[allow(clippy::unnecessary_wraps)] // as on POSIX
pub fn sync_names(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn information(path: &Path) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    // Without access to the content, the handle is compatible with those of every other process.
    let file: File =
        OpenOptions::new().access_mode(FILE_READ_ATTRIBUTES).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?;
    let mut found = MaybeUninit::<BY_HANDLE_FILE_INFORMATION>::uninit();
    // SAFETY: the handle is open through the call, which writes `found` when it returns another value than 0.
    let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), found.as_mut_ptr()) };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled the struct.
    Ok(unsafe { found.assume_init() })
}

fn index(found: &BY_HANDLE_FILE_INFORMATION) -> u64 {
    join(found.nFileIndexHigh, found.nFileIndexLow)
}

fn join(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
