//! The one error of the core: variants carry data, [`Error::kind`] is what a binding maps to its own classes.

use std::path::{Path, PathBuf};

/// Everything that can go wrong in the core.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument breaks a rule; nothing was written.
    #[error("{field}: {message}")]
    InvalidInput {
        /// The argument's name.
        field: &'static str,
        /// What is wrong and what would be right.
        message: String,
        /// The bound that was broken, where there is one.
        limit: Option<String>,
    },
    /// An embedding of another length than the active model's.
    #[error("embedding: the active model has {expected} dimensions, but {received} were given")]
    DimensionMismatch {
        /// Length that the store holds.
        expected: usize,
        /// Length that came.
        received: usize,
    },
    /// No memory, project or key of that name.
    #[error("{what} {id:?} was not found{hint}")]
    NotFound {
        /// `memory`, `project` ….
        what: &'static str,
        /// What was asked for.
        id: String,
        /// A suggestion, or nothing.
        hint: String,
    },
    /// The change contradicts what is stored.
    #[error("{0}")]
    Conflict(String),
    /// A lock was held for longer than the timeout.
    #[error("{attempted}: another process is writing to {path} and did not finish in time; try again")]
    Busy {
        /// What was attempted.
        attempted: String,
        /// On which file.
        path: PathBuf,
    },
    /// The engine was closed, or belongs to the parent of this forked process.
    #[error("{0}")]
    Closed(String),
    /// The file system refused.
    #[error("{attempted} {}: {source}", path.display())]
    Storage {
        /// What was attempted.
        attempted: String,
        /// On which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The store's own file is damaged, or is something else.
    #[error("{}: {message}", path.display())]
    CorruptStore {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        message: String,
    },
    /// The store was written by a newer version.
    #[error(
        "{}: format {found} is newer than {supported}, the newest that this version reads; upgrade opencode-memory",
        path.display()
    )]
    FormatVersion {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        supported: i64,
    },
    /// A derived index refused; the caller falls back to an exact answer or rebuilds.
    #[error("{index} index: {message}")]
    Index {
        /// `lexical` or `vector`.
        index: &'static str,
        /// What it said.
        message: String,
    },
    /// A long operation was stopped by its caller.
    #[error("interrupted")]
    Interrupted,
}

/// The classes that a binding has for [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// [`Error::InvalidInput`]
    InvalidInput,
    /// [`Error::DimensionMismatch`]
    DimensionMismatch,
    /// [`Error::NotFound`]
    NotFound,
    /// [`Error::Conflict`]
    Conflict,
    /// [`Error::Busy`]
    Busy,
    /// [`Error::Closed`]
    Closed,
    /// [`Error::Storage`] and [`Error::Index`]
    Storage,
    /// [`Error::CorruptStore`]
    CorruptStore,
    /// [`Error::FormatVersion`]
    FormatVersion,
    /// [`Error::Interrupted`]
    Interrupted,
}

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The class of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidInput { .. } => ErrorKind::InvalidInput,
            Self::DimensionMismatch { .. } => ErrorKind::DimensionMismatch,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Conflict(_) => ErrorKind::Conflict,
            Self::Busy { .. } => ErrorKind::Busy,
            Self::Closed(_) => ErrorKind::Closed,
            Self::Storage { .. } | Self::Index { .. } => ErrorKind::Storage,
            Self::CorruptStore { .. } => ErrorKind::CorruptStore,
            Self::FormatVersion { .. } => ErrorKind::FormatVersion,
            Self::Interrupted => ErrorKind::Interrupted,
        }
    }

    /// An [`Error::InvalidInput`] without a bound.
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::InvalidInput { field, message: message.into(), limit: None }
    }

    /// An [`Error::InvalidInput`] that names the broken bound.
    pub fn over_limit(field: &'static str, message: impl Into<String>, limit: impl std::fmt::Display) -> Self {
        Self::InvalidInput { field, message: message.into(), limit: Some(limit.to_string()) }
    }

    /// An [`Error::NotFound`] without a suggestion.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into(), hint: String::new() }
    }

    /// An [`Error::Storage`] for an I/O failure on `path`.
    pub fn storage(attempted: impl Into<String>, path: &Path, source: std::io::Error) -> Self {
        Self::Storage { attempted: attempted.into(), path: path.to_owned(), source }
    }

    /// Name `file` in an error that crossed a `?` before anybody knew the file.
    #[must_use]
    pub fn located(mut self, file: &Path) -> Self {
        if let Self::Busy { path, .. } | Self::Storage { path, .. } | Self::CorruptStore { path, .. } = &mut self
            && path.as_os_str().is_empty()
        {
            file.clone_into(path);
        }
        self
    }
}
