//! Splits camel-case words such as `parseHTTPResponse` at their capitals.
//!
//! Refuses to split base64, plural acronyms (`URLs`) and names with a single separate letter (`OAuth`, `iPhone`).
//! Invariant: the concatenated parts equal the word. A word longer than a bound is one part.

/// Longer words with capitals inside are encoded data, not names.
const LONGEST_SPLIT: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
}

fn kind(c: char) -> Kind {
    if c.is_uppercase() {
        Kind::Upper
    } else if c.is_numeric() {
        Kind::Digit
    } else {
        Kind::Lower
    }
}

/// Calls `part` with each part of a word. A word without inner capitals has one part.
pub(super) fn parts<'a>(word: &'a str, mut part: impl FnMut(&'a str)) {
    if word.len() > LONGEST_SPLIT {
        return part(word);
    }
    let chars: Vec<(usize, Kind)> = word.char_indices().map(|(i, c)| (i, kind(c))).collect();
    let mut cuts: Vec<usize> = (1..chars.len()).filter(|&i| is_boundary(word, &chars, i)).collect();
    if cuts.len() >= 3 && chars.len() < (cuts.len() + 1) * 3 {
        return part(word);
    }
    // Join a single letter to the next part, or to the previous part if it is the last one.
    cuts.insert(0, 0);
    cuts.push(chars.len());
    let mut i = 0;
    while i + 1 < cuts.len() && cuts.len() > 2 {
        if cuts[i + 1] - cuts[i] == 1 {
            cuts.remove(if i + 2 < cuts.len() { i + 1 } else { i });
        } else {
            i += 1;
        }
    }
    let byte = |at: usize| chars.get(at).map_or(word.len(), |&(i, _)| i);
    for pair in cuts.windows(2) {
        part(&word[byte(pair[0])..byte(pair[1])]);
    }
}

fn is_boundary(word: &str, chars: &[(usize, Kind)], at: usize) -> bool {
    if chars[at].1 != Kind::Upper {
        return false;
    }
    let next_is_lower = chars.get(at + 1).is_some_and(|&(_, next)| next == Kind::Lower);
    let plural = at + 2 == chars.len() && word.ends_with('s');
    match chars[at - 1].1 {
        Kind::Lower => true,
        Kind::Digit => next_is_lower,
        Kind::Upper => next_is_lower && !plural,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(word: &str) -> Vec<&str> {
        let mut out = Vec::new();
        parts(word, |part| out.push(part));
        out
    }

    #[test]
    fn camel_case_is_split_at_words_and_acronyms() {
        for (word, expected) in [
            ("parseHTTPResponse", &["parse", "HTTP", "Response"][..]),
            ("HTTPServer", &["HTTP", "Server"]),
            ("userIDs", &["user", "IDs"]),
            ("utf8Decode", &["utf8", "Decode"]),
            ("HTTP2Server", &["HTTP2", "Server"]),
            ("getS3Url", &["get", "S3", "Url"]),
            ("größeÄndern", &["größe", "Ändern"]),
            ("ПарсерОтвета", &["Парсер", "Ответа"]),
        ] {
            assert_eq!(split(word), expected);
        }
    }

    #[test]
    fn words_acronyms_and_base64_are_not_split() {
        for word in
            ["word", "HTTP", "URLs", "OAuth2", "iPhone", "planB", "sha256sum", "E2E", "K8s", "aGVsbG8gV29ybGQh", "x"]
        {
            assert_eq!(split(word), [word]);
        }
    }

    proptest! {
        #[test]
        fn concatenated_parts_equal_the_word(word in "[a-zA-Zé0-9]{0,70}") {
            prop_assert_eq!(split(&word).concat(), word);
        }
    }
}
