//! Normalises texts for the detection of exact duplicates, and hashes normalised texts.
//!
//! Normalisation removes differences in compatibility characters, white space, the case of ordinary words, a final full
//! stop, and quotes around the whole text. All other differences remain. Refuses to change code between backticks,
//! where even spaces may matter. Invariant: texts with equal normal form mean the same, and normalisation is
//! idempotent.

use super::code_spans::{Span, spans};
use super::spelling::{plain_case, plain_characters};
use xxhash_rust::xxh3::xxh3_128;

/// Converts a text to the form that is compared for exact duplicates.
pub fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for span in spans(text) {
        match span {
            Span::Code(code) => {
                separate(&mut out, &mut space);
                out.push_str(code);
            }
            Span::Text(text) => {
                for part in plain_characters(text).split_inclusive(char::is_whitespace) {
                    let token = part.trim_end();
                    if !token.is_empty() {
                        separate(&mut out, &mut space);
                        out.push_str(&plain_case(token));
                    }
                    space |= token.len() < part.len();
                }
            }
        }
    }
    trim(&mut out);
    out
}

fn separate(out: &mut String, space: &mut bool) {
    if std::mem::take(space) && !out.is_empty() {
        out.push(' ');
    }
}

/// Takes off one final full stop and quotes around the whole, whichever is outside.
fn trim(out: &mut String) {
    while let Some(shorter) = without_full_stop(out).or_else(|| without_quotes(out)) {
        *out = shorter.to_owned();
    }
}

/// A full stop after a letter, digit or closing mark. `cd ..`, `src/.` and an ellipsis are something else.
fn without_full_stop(text: &str) -> Option<&str> {
    let rest = text.strip_suffix(['.', '。'])?;
    rest.ends_with(|c: char| c.is_alphanumeric() || "\"')]}»`".contains(c)).then_some(rest)
}

/// Strips quotes around the whole text, unless the text contains another quote, as in `"a" and "b"`.
fn without_quotes(text: &str) -> Option<&str> {
    let inside = [('"', '"'), ('\'', '\''), ('«', '»')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close))?;
    let bare = inside.trim();
    (!bare.is_empty() && !inside.contains(['"', '\'', '«', '»'])).then_some(bare)
}

/// Hashes the normalised text: equal for exact duplicates.
pub fn content_hash(text: &str) -> u128 {
    xxh3_128(normalise(text).as_bytes())
}

/// Hashes the text as it is, byte for byte.
pub fn text_hash(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spelling_variants_have_equal_normal_form() {
        for (a, b) in [
            ("Always use pnpm.", "always  use\n\tpnpm"),
            ("“Use spaces”", "Use spaces"),
            ("\"Use spaces.\"", "'use spaces'."),
            ("It’s ﬁne。", "it's fine"),
            ("NEVER squash commits", "Never squash commits"),
            ("Cafe\u{301} rules", "Café rules"),
            ("  Ｕｓｅ it ", "use it"),
            ("Run `make  test`.", "run `make  test`"),
        ] {
            assert_eq!(normalise(a), normalise(b));
            assert_eq!(content_hash(a), content_hash(b));
            assert_ne!(text_hash(a), text_hash(b));
        }
    }

    #[test]
    fn differences_that_may_change_the_meaning_remain() {
        for (a, b) in [
            ("!12", "12"),
            ("#12", "12"),
            ("--flag", "flag"),
            ("a/b", "a b"),
            ("use camelCase", "use camelcase"),
            ("set ALLCAPS_X", "set allcaps_x"),
            ("read src/Main.py", "read src/main.py"),
            ("limit 10 Mb", "limit 10 MB"),
            ("limit 10MB", "limit 10mb"),
            ("ask US", "ask us"),
            ("use `Foo`", "use `foo`"),
            ("```\nif a:\n  b\n  c\n```", "```\nif a:\n  b\nc\n```"),
            ("is it on?", "is it on"),
            ("call save!", "call save"),
            ("10² rows", "102 rows"),
            ("cd ..", "cd ."),
            ("cd .", "cd"),
            ("\"a\" and \"b\"", "a\" and \"b"),
            ("-5 degrees", "5 degrees"),
            ("resume", "résumé"),
            ("never x", "always x"),
        ] {
            assert_ne!(normalise(a), normalise(b), "{a} {b}");
        }
    }

    #[test]
    fn empty_text_and_punctuation_are_unchanged() {
        assert_eq!(normalise(" \n "), "");
        assert_eq!(normalise("."), ".");
        assert_eq!(normalise("\"\""), "\"\"");
    }

    #[test]
    fn long_input_takes_linear_time() {
        for part in ["`", "a`", "` `` ``` ", "\"", "é² ", "A ", "«", "."] {
            let text = part.repeat((1 << 20) / part.len());
            assert!(normalise(&text).len() <= text.len());
        }
    }

    proptest! {
        #[test]
        fn normalising_is_idempotent(text in "(\\PC|[`\"'. «»\nAa²]){0,30}") {
            let once = normalise(&text);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn content_hash_equals_hash_of_normalised_text(text in "\\PC{0,30}") {
            prop_assert_eq!(content_hash(&text), text_hash(&normalise(&text)));
        }
    }
}
