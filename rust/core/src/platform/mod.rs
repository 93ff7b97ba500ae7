//! Differences of the file systems of POSIX and Windows: permissions, the identity of a file, durable names.
//!
//! Both sides have the same functions; `posix` describes them. The rest of the core does not ask on which system it runs.

#[cfg(unix)]
mod posix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use posix::{
    create_private_file, create_private_folder, identity, make_private, rename, resolve, retry, stamp, sync_names,
};
#[cfg(windows)]
pub use windows::{
    create_private_file, create_private_folder, identity, make_private, rename, resolve, retry, stamp, sync_names,
};

/// Identifies a file among all files of the machine: its device and its inode.
pub type Identity = (u64, u64);

/// Identifies one version of a file: inode, modification time in seconds and nanoseconds (Windows: in steps of 100
/// nanoseconds, and zero), and size.
pub type Stamp = (u64, i64, i64, u64);
