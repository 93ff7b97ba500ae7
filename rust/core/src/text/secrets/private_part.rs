//! Finds passages that the user has put between `<private>` and `</private>`.
//!
//! Only closed passages with words count, because a text about this tag names it alone, or with an ellipsis.

use super::Found;
use super::kinds::compile;
use regex::Regex;
use std::sync::LazyLock;

static PASSAGE: LazyLock<Regex> = LazyLock::new(|| compile(r"(?is)<\s*private\b[^>]*>(.*?)<\s*/\s*private\s*>"));

/// Adds private passages. Their rank is the lowest, so a secret inside of one is part of it.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    if !text.contains('<') {
        return;
    }
    for passage in PASSAGE.captures_iter(text) {
        let has_words = passage.get(1).is_some_and(|inside| inside.as_str().contains(char::is_alphanumeric));
        if let Some(whole) = passage.get(0).filter(|_| has_words) {
            found.push(Found { range: whole.range(), kind: "private", rank: 0 });
        }
    }
}
