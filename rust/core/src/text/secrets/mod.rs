//! Finds secrets by their shape and writes `[redacted:kind]` in their place.
//!
//! Knows what keys and tokens look like, not which words stand near them: "the password field is required" is text, and a
//! value is a secret only when it looks like one. Refuses to decide what to do about it; the caller stores the redacted
//! text and may say which kinds were found. Invariants: redacting twice is redacting once, everything around a secret stays
//! as it was, and text without a secret comes back byte for byte.

mod assignment;
mod kinds;
mod private_key;
mod shape;

use std::ops::Range;

/// A text without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text, each secret replaced by `[redacted:kind]`.
    pub text: String,
    /// The kind of each secret that was replaced, in order of appearance; empty when the text is unchanged.
    pub kinds: Vec<&'static str>,
}

/// A secret that was found: where, and what it is.
struct Found {
    range: Range<usize>,
    kind: &'static str,
    /// Of two kinds that claim the same text, the lower rank names it.
    rank: usize,
}

/// How the text in place of a secret begins.
const MARK: &str = "[redacted:";

/// Bounds how often the result is searched again. One pass is enough for nearly every text; a value that looks like code as a
/// whole may show a password once a token inside of it is replaced.
const MOST_PASSES: usize = 4;

/// Replaces every secret in a text.
pub fn redact(text: &str) -> Redacted {
    let mut redacted = Redacted { text: text.to_owned(), kinds: Vec::new() };
    for _ in 0..MOST_PASSES {
        let found = find(&redacted.text);
        if found.is_empty() {
            break;
        }
        redacted = replace(&redacted, &found);
    }
    redacted
}

/// Everything that is a secret, in order, without overlaps.
///
/// The text is searched between marks of ours: the name in `[redacted:github-token]` must not make a secret of what follows.
fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    for mark in marks(text) {
        find_between(&text[at..mark.start], at, &mut found);
        at = mark.end;
    }
    find_between(&text[at..], at, &mut found);
    found.sort_by_key(|secret| secret.range.start);
    let mut merged: Vec<Found> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
                if secret.rank < last.rank {
                    (last.kind, last.rank) = (secret.kind, secret.rank);
                }
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// Where the marks of an earlier redaction are.
fn marks(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(MARK).filter_map(|(start, _)| {
        let kind = start + MARK.len();
        let length = text[kind..].bytes().take_while(|&b| b.is_ascii_lowercase() || b == b'-').count();
        text[kind + length..].starts_with(']').then_some(start..kind + length + 1)
    })
}

fn find_between(text: &str, offset: usize, found: &mut Vec<Found>) {
    let first = found.len();
    kinds::find(text, found);
    private_key::find(text, found);
    assignment::find(text, found);
    for secret in &mut found[first..] {
        secret.range = secret.range.start + offset..secret.range.end + offset;
    }
}

fn replace(from: &Redacted, found: &[Found]) -> Redacted {
    let mut text = String::with_capacity(from.text.len());
    let mut at = 0;
    for secret in found {
        text.push_str(&from.text[at..secret.range.start]);
        text.push_str(MARK);
        text.push_str(secret.kind);
        text.push(']');
        at = secret.range.end;
    }
    text.push_str(&from.text[at..]);
    let mut kinds = from.kinds.clone();
    kinds.extend(found.iter().map(|secret| secret.kind));
    Redacted { text, kinds }
}

#[cfg(test)]
mod tests;
