//! Finds passages that the user has put between `<private>` and `</private>`.
//!
//! Only closed passages count, because a text about this tag names it alone.

use super::Found;
use super::kinds::compile;
use regex::Regex;
use std::sync::LazyLock;

static PASSAGE: LazyLock<Regex> = LazyLock::new(|| compile(r"(?is)<\s*private\b[^>]*>.*?<\s*/\s*private\s*>"));

/// Adds private passages. Their rank is the lowest, so a secret inside of one is part of it.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    if text.contains('<') {
        found.extend(PASSAGE.find_iter(text).map(|passage| Found { range: passage.range(), kind: "private", rank: 0 }));
    }
}
