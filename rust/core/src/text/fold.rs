//! Folds words to one spelling: lower case, without diacritics and compatibility forms, and with bounded length.
//!
//! Refuses to remove marks that are letters in their script (the vowel signs of Hindi, Cyrillic й). Invariant:
//! documents and queries are folded in the same way, and folding is idempotent.

use std::borrow::Cow;
use std::fmt::Write;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum length of a term in bytes. A longer term is truncated and gets a hash, so that long terms stay distinct.
pub(super) const MAX_TERM_BYTES: usize = 128;
const KEPT_BYTES: usize = 96;

/// Resolves compatibility forms and typographic variants, so that the scanner sees one kind of apostrophe and hyphen.
pub(super) fn prepare(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let variant = |c| is_ignorable(c) || matches!(c, '\u{2019}' | '\u{2bc}' | '\u{2010}' | '\u{2011}');
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes && !text.contains(variant) {
        return Cow::Borrowed(text);
    }
    let plain = text.nfkc().filter(|&c| !is_ignorable(c)).map(|c| match c {
        '\u{2019}' | '\u{2bc}' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        _ => c,
    });
    Cow::Owned(plain.collect())
}

/// Whether a character is invisible: soft hyphen, joiners, direction and variation marks, byte order mark.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Folds prepared text to a term.
pub(super) fn fold(text: &str) -> String {
    let mut folded = if text.is_ascii() { text.to_ascii_lowercase() } else { fold_wide(text) };
    truncate_with_hash(&mut folded);
    folded
}

fn fold_wide(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.nfd().peekable();
    while let Some(c) = chars.next() {
        // The short i is a separate letter. Without its breve it would become the letter и.
        if matches!(c, 'и' | 'И') && chars.peek() == Some(&'\u{306}') {
            out.push('й');
        } else if !is_diacritic(c) {
            for lower in c.to_lowercase() {
                push_folded(lower, &mut out);
            }
        }
    }
    if out.is_ascii() {
        return out;
    }
    // Compose Hangul and voiced kana again, so that a term does not depend on the normalisation form of the input.
    out.nfc().collect()
}

/// Whether a character is an optional mark: Latin, Greek and Cyrillic accents, Hebrew and Arabic vowels.
fn is_diacritic(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

fn push_folded(c: char, out: &mut String) {
    let replacement = match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ł' => "l",
        'ħ' => "h",
        'ŧ' => "t",
        'ŋ' => "n",
        'ı' => "i",
        'ς' => "σ",
        'ى' => "ي",
        'ة' => "ه",
        '٠'..='٩' => return push_digit(c, '٠', out),
        '۰'..='۹' => return push_digit(c, '۰', out),
        '०'..='९' => return push_digit(c, '०', out),
        _ if is_diacritic(c) => return,
        _ => return out.push(c),
    };
    out.push_str(replacement);
}

fn push_digit(c: char, zero: char, out: &mut String) {
    out.push(char::from(b'0' + (c as u32 - zero as u32) as u8));
}

/// Truncates a term that is too long and appends a hash of the whole term.
fn truncate_with_hash(term: &mut String) {
    if term.len() <= MAX_TERM_BYTES {
        return;
    }
    let hash = xxh3_64(term.as_bytes());
    let end = (0..=KEPT_BYTES).rev().find(|&i| term.is_char_boundary(i)).unwrap_or(0);
    term.truncate(end);
    // Writing to a string cannot fail.
    let _ = write!(term, "~{hash:016x}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accents_case_and_ligatures_are_folded() {
        for (from, to) in [
            ("Café", "cafe"),
            ("Straße", "strasse"),
            ("SØREN", "soren"),
            ("Łódź", "lodz"),
            ("İstanbul", "istanbul"),
            ("ĐẶNG", "dang"),
            ("Σίσυφος", "σισυφοσ"),
            ("Ёлка", "елка"),
            ("ЙОД", "йод"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
            ("हिन्दी", "हिन्दी"),
            ("한국어", "한국어"),
            ("ガギ", "ガギ"),
            ("१२३", "123"),
        ] {
            assert_eq!(fold(&prepare(from)), to, "{from}");
            let decomposed: String = from.nfd().collect();
            assert_eq!(fold(&prepare(&decomposed)), to, "{from} decomposed");
        }
    }

    #[test]
    fn long_terms_are_truncated_and_stay_distinct() {
        let (a, b) = ("é".repeat(500_000), format!("{}x", "é".repeat(500_000)));
        assert!(fold(&a).len() <= MAX_TERM_BYTES);
        assert_ne!(fold(&a), fold(&b));
        assert_eq!(fold(&a), fold(&a.to_uppercase()));
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(text in "\\PC{0,40}") {
            let once = fold(&prepare(&text));
            prop_assert_eq!(fold(&prepare(&once)), once);
        }
    }
}
