//! Error type of the crate.

use std::path::{Path, PathBuf};

/// All errors of the crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the model cannot be read.
    #[error("the model file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file of the model has other content than expected.
    #[error("the model file {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// A text has more tokens than the model has positions.
    #[error("a text has {tokens} tokens, but the model reads at most {limit}")]
    TooLong {
        /// Tokens of the text.
        tokens: usize,
        /// Positions of the model.
        limit: usize,
    },
    /// A token id is not in the vocabulary of the model.
    #[error("token {id} is not in the vocabulary of {size} tokens")]
    UnknownToken {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        size: usize,
    },
    /// The numbers of vectors, pieces and texts do not fit together.
    #[error("{values} values are no vectors of {dimension} for {pieces} pieces of {texts} texts")]
    Shape {
        /// Number of values.
        values: usize,
        /// Length of a vector.
        dimension: usize,
        /// Number of pieces.
        pieces: usize,
        /// Number of texts.
        texts: usize,
    },
    /// A vector does not have length 1, so it cannot be compared.
    #[error("the model returned a vector that is not of length 1, but of {length}; nothing was kept")]
    NotUnit {
        /// Place of its text.
        text: usize,
        /// Its length.
        length: f32,
    },
}

impl Error {
    pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.into() }
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
