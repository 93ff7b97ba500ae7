//! The bundled embedding model: a BERT encoder with mean pooling, computed on the CPU in single precision.
//!
//! [`Tokenizer`] turns a text into token ids, and [`Encoder`] turns token ids into a vector of length 1. The weights are
//! mapped from their file in half precision, and each matrix is widened while it is multiplied. So processes share one
//! copy of them, and a short query reads half as many bytes. The crate knows no store, no configuration and no Python.
//!
//! `encoder` is the forward pass, `matrix` multiplies, `kernel` has the loops for each kind of processor, `pieces` joins the
//! vectors of a long text, `tokenizer` is the `WordPiece` algorithm.

mod attention;
mod encoder;
mod error;
mod kernel;
mod matrix;
mod pieces;
mod tokenizer;
mod weights;

pub use encoder::Encoder;
pub use error::{Error, Result};
pub use kernel::Level;
pub use pieces::join;
pub use tokenizer::{Tokenizer, Word};
