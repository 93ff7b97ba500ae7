//! Pure functions over text: the analyzer of the lexical index, normalisation and hashes for exact duplicates, the
//! comparison of statements, and redaction of secrets.
//!
//! This module performs no I/O and uses no clock, configuration or search engine. Every function accepts any string,
//! never panics, and takes time linear in the length of its input.

mod analyzer;
mod camel;
mod code_spans;
mod dates;
mod fold;
mod framing;
mod identifier;
mod normalise;
mod pieces;
mod question;
mod same_statement;
mod secrets;
mod spelling;
mod statement;
mod stop_words;
mod subject;
mod terms;
mod traits;
mod unspaced;

pub use analyzer::{Analysis, MAX_QUERY_TERMS, QueryTerms, analyze, analyze_query};
pub use dates::{Span, date_expressions, day_of, year_of};
pub use framing::subject;
pub use normalise::{content_hash, normalise, text_hash};
pub use question::Question;
pub use same_statement::same_statement;
pub use secrets::{Redacted, redact};
pub use subject::{Reading, Relation, Statement, compare};
pub use traits::Traits;
pub use unspaced::is_unspaced;
