//! Splits scripts without spaces into overlapping pairs: Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese.
//!
//! There is no dictionary. A pair of characters matches at any position, regardless of word boundaries.
//! Invariant: the terms of a query are among the terms of a document that contains the query's text.

use super::fold::fold;
use unicode_segmentation::UnicodeSegmentation;

/// Whether a character belongs to a script without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    let c = c as u32;
    // Korean has spaces, but its particles are attached to the words. Pairs find the word without its particles.
    c >= 0xe00
        && matches!(c,
            0xe00..=0xeff | 0x1000..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff
            | 0x3005..=0x3007 | 0x3031..=0x3035 | 0x3041..=0x3096 | 0x3099..=0x309a | 0x309d..=0x309f | 0x30a1..=0x30fa
            | 0x30fc..=0x30ff | 0x3105..=0x312f | 0x3131..=0x318e | 0x31a0..=0x31bf | 0x31f0..=0x31ff | 0x3400..=0x4dbf
            | 0x4e00..=0x9fff | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// Calls `term` with each pair of a run. A document also gets every single character, so that a query of one character
/// (猫, 水) finds it. A query gets single characters only if it has no pair.
pub(super) fn pairs(run: &str, with_singles: bool, mut term: impl FnMut(String)) {
    let mut previous: Option<&str> = None;
    let mut count = 0;
    for unit in run.graphemes(true) {
        count += 1;
        if with_singles {
            term(fold(unit));
        }
        if let Some(before) = previous {
            let mut pair = String::with_capacity(before.len() + unit.len());
            pair.push_str(before);
            pair.push_str(unit);
            term(fold(&pair));
        }
        previous = Some(unit);
    }
    if count == 1 && !with_singles {
        term(fold(run));
    }
}
