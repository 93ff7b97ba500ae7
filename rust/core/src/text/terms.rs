//! Collects the terms of the analyzer. Words of prose are folded, filtered and stemmed; identifiers are kept as they
//! are.
//!
//! This module decides the form of a word in the index. Invariant: queries and documents use the same functions, and
//! the terms of a query are always a subset of the terms of a document with the same text.

use super::fold::fold;
use super::stop_words::is_stop_word;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::sync::LazyLock;

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// Maximum length of a stemmed word. Longer words are names, hashes or noise, and not English.
const LONGEST_STEMMED: usize = 32;

/// Number of terms of the current piece that are checked for duplicates. The bound keeps the time linear.
const COMPARED: usize = 32;

// 10MB and 10 MB are the same quantity. One-letter units are not listed, because 4k, 2x and 5s are words.
const UNITS: &[&str] = &[
    "am", "bit", "bits", "bytes", "cm", "fps", "gb", "gbps", "ghz", "gib", "hr", "hrs", "hz", "kb", "kbps", "kg",
    "khz", "kib", "km", "mb", "mbps", "mhz", "mib", "min", "mins", "ml", "mm", "ms", "ns", "pm", "px", "rem", "rpm",
    "rps", "sec", "secs", "tb", "tib", "us",
];

/// The terms found so far.
pub(super) struct Terms {
    pub(super) prose: Vec<String>,
    pub(super) identifiers: Vec<String>,
    /// Whether additional forms are added. Documents get more forms than queries, so that a query in any form finds
    /// them.
    pub(super) for_document: bool,
    piece_start: usize,
}

impl Terms {
    pub(super) fn new(for_document: bool) -> Self {
        Self { prose: Vec::new(), identifiers: Vec::new(), for_document, piece_start: 0 }
    }

    /// Begins a new piece. Within a piece, an identifier is added only once.
    pub(super) fn begin_piece(&mut self) {
        self.piece_start = self.identifiers.len();
    }

    /// Adds a word of prose. Apostrophes are removed first: `user's` becomes user, `don't` is a stop word, `l'avion`
    /// two words.
    pub(super) fn word(&mut self, word: &str) {
        if word.contains('\'') {
            self.word_with_apostrophes(word);
        } else {
            self.folded_word(fold(word));
        }
    }

    fn word_with_apostrophes(&mut self, word: &str) {
        let mut halves = word.split('\'').filter(|half| !half.is_empty()).peekable();
        while let Some(half) = halves.next() {
            let mut folded = fold(half);
            if let Some(&suffix) = halves.peek() {
                if suffix.eq_ignore_ascii_case("t") {
                    folded.push('t');
                    halves.next();
                } else if ["s", "re", "ve", "ll", "d", "m"].iter().any(|s| suffix.eq_ignore_ascii_case(s)) {
                    halves.next();
                }
            }
            self.folded_word(folded);
        }
    }

    /// Adds a word that is already folded.
    pub(super) fn folded_word(&mut self, word: String) {
        if let Some(digits) = quantity(&word) {
            let (number, unit) = word.split_at(digits);
            self.prose.push(number.to_owned());
            self.prose.push(unit.to_owned());
        } else if !word.is_empty() && !is_stop_word(&word) {
            self.prose.push(stem(word));
        }
    }

    /// Adds a term of prose without changes.
    pub(super) fn verbatim(&mut self, term: String) {
        self.prose.push(term);
    }

    /// Adds a whole identifier, unless this piece has already added it.
    pub(super) fn identifier(&mut self, identifier: String) {
        let in_piece = &self.identifiers[self.piece_start..];
        if !identifier.is_empty() && (in_piece.len() > COMPARED || !in_piece.contains(&identifier)) {
            self.identifiers.push(identifier);
        }
    }

    /// Adds a part of an identifier, unless it is a single character, a stop word, or a number (which is in prose).
    pub(super) fn identifier_part(&mut self, part: String) {
        let says_nothing =
            is_stop_word(&part) || part.chars().nth(1).is_none() || part.bytes().all(|b| b.is_ascii_digit());
        if !says_nothing {
            self.identifier(part);
        }
    }
}

/// Length of the number in a quantity such as `10mb`; `None` if the word is not a quantity.
fn quantity(word: &str) -> Option<usize> {
    if !word.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    UNITS.binary_search(&&word[digits..]).is_ok().then_some(digits)
}

/// Whether a word is a number with a unit, as in `10MB`.
pub(super) fn is_quantity(word: &str) -> bool {
    quantity(&fold(word)).is_some()
}

pub(super) fn stem(word: String) -> String {
    if word.len() < 3 || word.len() > LONGEST_STEMMED || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word;
    }
    let stem = match STEMMER.stem(&word) {
        Cow::Borrowed(stem) if stem.len() == word.len() => None,
        changed => Some(changed.into_owned()),
    };
    stem.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_sorted_for_the_binary_search() {
        assert!(UNITS.is_sorted());
    }

    #[test]
    fn apostrophes_join_negations_and_separate_elisions() {
        let mut terms = Terms::new(true);
        for word in ["user's", "don't", "l'avion", "O'Brien", "we've", "rock'n'roll"] {
            terms.word(word);
        }
        assert_eq!(terms.prose, ["user", "l", "avion", "o", "brien", "rock", "n", "roll"]);
    }
}
