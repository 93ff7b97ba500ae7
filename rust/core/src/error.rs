//! Error type of the core. Variants carry data, and bindings map [`Error::kind`] to their own classes.

use std::path::{Path, PathBuf};

/// All errors of the core.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid. The store was not changed.
    #[error("{field}: {message}")]
    InvalidInput {
        /// Name of the argument.
        field: &'static str,
        /// The problem and the valid values.
        message: String,
        /// The exceeded limit, if any.
        limit: Option<String>,
    },
    /// An embedding has another dimension than the active model.
    #[error("embedding: the active model has {expected} dimensions, but {received} were given")]
    DimensionMismatch {
        /// Dimension of the active model.
        expected: usize,
        /// Dimension of the given embedding.
        received: usize,
    },
    /// There is no memory, project or key with this name.
    #[error("{what} {id:?} was not found{hint}")]
    NotFound {
        /// Kind of the missing item: `memory`, `project` ….
        what: &'static str,
        /// Requested name or id.
        id: String,
        /// A suggestion, or an empty string.
        hint: String,
    },
    /// The change conflicts with stored data.
    #[error("{0}")]
    Conflict(String),
    /// Another process held a lock for longer than the timeout.
    #[error("{attempted}: another process is writing to {path} and did not finish in time; try again")]
    Busy {
        /// The attempted operation.
        attempted: String,
        /// The locked file.
        path: PathBuf,
    },
    /// The engine was closed, or was opened by the parent of this forked process.
    #[error("{0}")]
    Closed(String),
    /// A file system operation failed.
    #[error("{attempted} {}: {source}", path.display())]
    Storage {
        /// The attempted operation.
        attempted: String,
        /// The affected file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file of the store is damaged or is not a store.
    #[error("{}: {message}", path.display())]
    CorruptStore {
        /// The file.
        path: PathBuf,
        /// The problem and what to do.
        message: String,
    },
    /// A newer version wrote the store.
    #[error(
        "{}: format {found} is newer than {supported}, the newest that this version reads; upgrade opencode-memory",
        path.display()
    )]
    FormatVersion {
        /// The file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Newest format that this version reads.
        supported: i64,
    },
    /// An older version wrote the store, and it was opened for reading only.
    #[error("{}: format {found} is older than {supported}; open the store once for writing, which migrates it", path.display())]
    OlderFormat {
        /// The file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Format that this version reads and writes.
        supported: i64,
    },
    /// A derived index failed. The caller falls back to an exact search or rebuilds the index.
    #[error("{index} index: {message}")]
    Index {
        /// `lexical` or `vector`.
        index: &'static str,
        /// Message of the index.
        message: String,
    },
    /// The caller interrupted a long operation.
    #[error("interrupted")]
    Interrupted,
}

/// Error classes that a binding provides for [`Error`].
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
    /// [`Error::FormatVersion`] and [`Error::OlderFormat`]
    FormatVersion,
    /// [`Error::Interrupted`]
    Interrupted,
}

/// Result type of the core.
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
            Self::FormatVersion { .. } | Self::OlderFormat { .. } => ErrorKind::FormatVersion,
            Self::Interrupted => ErrorKind::Interrupted,
        }
    }

    /// Create an [`Error::InvalidInput`] without a limit.
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::InvalidInput { field, message: message.into(), limit: None }
    }

    /// Create an [`Error::InvalidInput`] with the exceeded limit.
    pub fn over_limit(field: &'static str, message: impl Into<String>, limit: impl std::fmt::Display) -> Self {
        Self::InvalidInput { field, message: message.into(), limit: Some(limit.to_string()) }
    }

    /// Create an [`Error::NotFound`] without a suggestion.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into(), hint: String::new() }
    }

    /// Create an [`Error::Storage`] for an I/O failure on `path`.
    pub fn storage(attempted: impl Into<String>, path: &Path, source: std::io::Error) -> Self {
        Self::Storage { attempted: attempted.into(), path: path.to_owned(), source }
    }

    /// Set the path of an error that was created without one.
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
