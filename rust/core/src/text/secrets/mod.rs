//! Finds secrets by their shape, and private passages, and replaces them by `[redacted:kind]`.
//!
//! A value is a secret only if it has the shape of a key, token or password. For example, "the password field is
//! required" contains no secret. The caller decides how to use the redacted text and the kinds. Invariants: redaction
//! is idempotent, the text around a secret does not change, and text without a secret is returned byte for byte.

mod assignment;
mod hidden;
mod kinds;
mod private_key;
mod private_part;
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

/// A secret in a text: its range and kind.
struct Found {
    range: Range<usize>,
    kind: &'static str,
    /// If two kinds match the same text, the lower rank wins.
    rank: usize,
}

/// Prefix of the replacement of a secret.
const MARK: &str = "[redacted:";

/// Maximum number of passes. One pass is enough for nearly every text. But a value that looks like code may contain a
/// password that is recognised only after a token inside of the value was replaced.
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

/// Finds all secrets in order, without overlaps.
///
/// Only the text between existing replacements is searched. Otherwise the word `token` in `[redacted:github-token]`
/// would make the following text look like a secret.
fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    private_part::find(text, &mut found);
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

/// Ranges of the replacements of an earlier redaction.
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
    hidden::find(text, found);
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
