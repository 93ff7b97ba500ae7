//! Finds secrets with other characters inside: escaped for Markdown, with invisible characters, or broken into lines.
//!
//! The characters are left out, and the rest is searched. Refuses to guess: only a secret that spans such a place
//! counts, because all others were found before, and a line is part of a secret only if it looks random by itself.

use super::Found;
use super::shape::looks_random;
use super::{assignment, kinds};
use std::ops::Range;

/// Kinds of passwords, whose form says nothing about where they end.
const PASSWORDS: &[&str] = &["password", "url-password", "authorization", "secret"];

/// Adds the secrets that hold escapes, invisible characters or line ends.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    if let Some(bare) = Bare::without(text, escape) {
        let mut hidden = Vec::new();
        kinds::find(&bare.text, &mut hidden);
        assignment::find(&bare.text, &mut hidden);
        bare.add(hidden, found, |_| true);
    }
    if text.contains('\n')
        && kinds::may_match(text)
        && let Some(bare) = Bare::without(text, line_end)
    {
        let mut hidden = Vec::new();
        kinds::find(&bare.text, &mut hidden);
        hidden.retain(|secret| !PASSWORDS.contains(&secret.kind));
        bare.add(hidden, found, |pieces| pieces[1..].iter().all(|piece| looks_random(piece)));
    }
}

/// The length of an escape or an invisible character between two characters of a token; 0 if there is none.
fn escape(rest: &str, _before: char) -> usize {
    let mut letters = rest.chars();
    match letters.next() {
        Some('\\') if matches!(letters.next(), Some('_' | '-' | '*' | '.' | '~' | '=' | '+')) => 1,
        Some(first @ ('\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')) => first.len_utf8(),
        _ => 0,
    }
}

/// The length of a line end, with the indentation after it, between two characters of a token; 0 if there is none.
fn line_end(rest: &str, before: char) -> usize {
    if !rest.starts_with(['\n', '\r', '\\']) || !is_token(before) {
        return 0;
    }
    let length = rest.len() - rest.trim_start_matches(['\n', '\r', '\\', ' ', '\t', '>', '|']).len();
    let is_line_end = rest[..length].contains('\n');
    if is_line_end && rest[length..].starts_with(is_token) { length } else { 0 }
}

fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+' | '/' | '=')
}

/// A text without the characters at some places.
struct Bare {
    text: String,
    /// For each place, in order: its offset in the bare text, and its length in the original text.
    places: Vec<(usize, usize)>,
}

impl Bare {
    /// `None` if nothing is left out. `length` gives the length of what begins here, after a given character.
    fn without(original: &str, length: impl Fn(&str, char) -> usize) -> Option<Self> {
        let mut bare = Self { text: String::new(), places: Vec::new() };
        let mut before = ' ';
        let mut at = 0;
        while let Some(letter) = original[at..].chars().next() {
            let skipped = length(&original[at..], before);
            if skipped > 0 {
                bare.places.push((bare.text.len(), skipped));
                at += skipped;
                continue;
            }
            bare.text.push(letter);
            before = letter;
            at += letter.len_utf8();
        }
        (!bare.places.is_empty()).then_some(bare)
    }

    /// Add the secrets that span a place, with their ranges in the original text. `accept` judges their pieces.
    fn add(&self, hidden: Vec<Found>, found: &mut Vec<Found>, accept: impl Fn(&[&str]) -> bool) {
        for secret in hidden {
            let Range { start, end } = secret.range;
            let first = self.places.partition_point(|(place, _)| *place <= start);
            let last = self.places.partition_point(|(place, _)| *place < end);
            if first >= last {
                continue;
            }
            let mut pieces = Vec::new();
            let mut at = start;
            for (place, _) in &self.places[first..last] {
                pieces.push(&self.text[at..*place]);
                at = *place;
            }
            pieces.push(&self.text[at..end]);
            if accept(&pieces) {
                let skipped = |places: &[(usize, usize)]| places.iter().map(|(_, length)| length).sum::<usize>();
                let before = skipped(&self.places[..first]);
                let range = start + before..end + before + skipped(&self.places[first..last]);
                found.push(Found { range, ..secret });
            }
        }
    }
}
