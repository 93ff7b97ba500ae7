//! Analyzer of the lexical index: converts text to terms.
//!
//! There are two fields. `prose` contains words, folded and stemmed, without English stop words; scripts without spaces
//! become pairs of characters. `identifiers` contains all tokens that look like code or a reference, whole and in
//! parts. There is no query language: `AND`, `*` and `field:x` are text. Invariant: every term of `analyze_query(text)`
//! is among the terms of `analyze(text)`, so a text always finds itself.

use super::fold::prepare;
use super::identifier::add_identifier;
use super::pieces::{Piece, Shape, pieces};
use super::terms::Terms;
use super::unspaced::pairs;
use rustc_hash::FxHashSet;

/// Maximum number of query terms in each field. Further terms of a long query are ignored.
pub const MAX_QUERY_TERMS: usize = 256;

/// The terms of a document, with every occurrence, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Words of any script: folded, stemmed, without stop words. Identifiers contribute their words.
    pub prose: Vec<String>,
    /// Identifiers and references, whole and in parts, folded but not stemmed. Plain words are not repeated here.
    pub identifiers: Vec<String>,
}

/// The terms of a query, each once, in order of first appearance, at most [`MAX_QUERY_TERMS`] in each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryTerms {
    /// Terms to look up in the prose of documents.
    pub prose: Vec<String>,
    /// Terms to look up among the identifiers of documents; empty for a query in plain words.
    pub identifiers: Vec<String>,
}

/// Analyses a document.
pub fn analyze(text: &str) -> Analysis {
    let terms = terms_of(text, true);
    Analysis { prose: terms.prose, identifiers: terms.identifiers }
}

/// Analyses a query. A query that consists of stop words and punctuation has no terms.
pub fn analyze_query(text: &str) -> QueryTerms {
    let terms = terms_of(text, false);
    QueryTerms { prose: deduplicate(terms.prose), identifiers: deduplicate(terms.identifiers) }
}

fn terms_of(text: &str, for_document: bool) -> Terms {
    let text = prepare(text);
    let mut terms = Terms::new(for_document);
    for piece in pieces(&text).map(Piece::without_possessive) {
        if piece.shape.has(Shape::UNSPACED) {
            pairs(piece.text, for_document, |pair| terms.verbatim(pair));
        } else if piece.shape.is_plain_word() {
            terms.word(piece.text);
        } else {
            add_identifier(piece.text, &mut terms);
        }
    }
    terms
}

fn deduplicate(terms: Vec<String>) -> Vec<String> {
    let mut seen = FxHashSet::default();
    let mut distinct: Vec<String> = terms.into_iter().filter(|term| seen.insert(term.clone())).collect();
    distinct.truncate(MAX_QUERY_TERMS);
    distinct
}

#[cfg(test)]
#[path = "analyzer_tests.rs"]
mod tests;
