//! Unifies spelling variants of plain text: compatibility characters, typographic quotes, and the case of ordinary
//! words.
//!
//! Refuses changes that could change the meaning. For example, x² stays x². Identifiers, acronyms, paths and numbers
//! keep their case, because `foo` and `Foo`, Mb and MB, US and us are different things.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

// In capitals, these words are emphasised. All other words in capitals are acronyms.
const EMPHASIS: &[&str] = &[
    "after",
    "all",
    "always",
    "and",
    "any",
    "before",
    "cannot",
    "do",
    "don't",
    "every",
    "important",
    "is",
    "must",
    "mustn't",
    "never",
    "no",
    "not",
    "note",
    "only",
    "or",
    "should",
    "the",
    "use",
    "warning",
];

/// Converts compatibility forms and typographic quotes to plain characters.
pub(super) fn plain_characters(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = rest.find(|c| !differs_in_meaning(c)).unwrap_or(rest.len());
        out.push_str(&rest[..kept]);
        rest = &rest[kept..];
        let plain = rest.find(differs_in_meaning).unwrap_or(rest.len());
        out.extend(rest[..plain].nfkc().map(ascii_quote));
        rest = &rest[plain..];
        debug_assert!(kept + plain >= c.len_utf8());
    }
    Cow::Owned(out)
}

/// Whether the compatibility form of a character has another meaning: powers, fractions, circled numbers, other
/// backticks.
fn differs_in_meaning(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '¼'..='¾' | '\u{2070}'..='\u{209f}' | '\u{2150}'..='\u{218b}' | '\u{2460}'..='\u{24ff}'
        | '\u{1fef}' | '\u{ff40}')
}

fn ascii_quote(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        _ => c,
    }
}

/// Converts a token between white space to lower case if it is an ordinary word.
pub(super) fn plain_case(token: &str) -> Cow<'_, str> {
    if is_ordinary(token) && token.contains(char::is_uppercase) {
        Cow::Owned(token.to_lowercase().nfc().collect())
    } else {
        Cow::Borrowed(token)
    }
}

/// Whether a token is a word of prose, with or without punctuation around it, and not code, an acronym or a number.
pub(super) fn is_ordinary(token: &str) -> bool {
    let word = token.trim_matches(|c: char| "\"'()[]{}*,;:?«»…—–".contains(c)).trim_end_matches(['.', '!']);
    if word.is_empty() || !word.starts_with(char::is_alphabetic) {
        return false;
    }
    word.split('-').all(is_ordinary_word)
}

fn is_ordinary_word(word: &str) -> bool {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    if !word.chars().all(|c| c.is_alphabetic() || c == '\'' || is_combining_mark(c)) {
        return false;
    }
    let inner_capitals = chars.clone().filter(|c| c.is_uppercase()).count();
    if inner_capitals == 0 {
        // A single capital is a name (plan B, the language C), except for the words "a" and "I".
        return chars.next().is_some() || !first.is_uppercase() || matches!(first, 'A' | 'I');
    }
    EMPHASIS.binary_search(&word.to_lowercase().as_str()).is_ok() && !word.contains(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_ordinary_but_identifiers_acronyms_and_numbers_are_not() {
        assert!(EMPHASIS.is_sorted());
        for word in ["Use", "use,", "(Never)", "NEVER", "Don't", "Well-known", "Größe", "I", "**Bold**", "Done!"] {
            assert!(is_ordinary(word), "{word}");
        }
        for token in
            ["camelCase", "ALLCAPS_X", "HTTP", "US", "src/Main", "10MB", "B", "--Flag", "Foo::Bar", "F.x", "$HOME", ""]
        {
            assert!(!is_ordinary(token), "{token}");
        }
    }

    #[test]
    fn compatibility_forms_are_converted_but_powers_are_kept() {
        assert_eq!(plain_characters("ﬁle ＡＢ “x” it’s 10² ½ ①"), "file AB \"x\" it's 10² ½ ①");
    }

    proptest! {
        #[test]
        fn plain_characters_is_idempotent(text in "\\PC{0,30}") {
            let once = plain_characters(&text);
            prop_assert_eq!(plain_characters(&once), once.clone());
            let lower = plain_case(&once);
            prop_assert_eq!(plain_case(&lower), lower.clone());
        }
    }
}
