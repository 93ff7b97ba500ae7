//! Finds private keys in PEM and PGP armour, complete or truncated.
//!
//! A key consists of the header, the following lines of key material and the footer, if there is one. A header without
//! key material is not a key. Invariant: linear time, because each header is read once.

use super::Found;
use super::kinds::{LAST_RANK, compile};
use regex::Regex;
use std::sync::LazyLock;

static HEADER: LazyLock<Regex> =
    LazyLock::new(|| compile("-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"));
static FOOTER: LazyLock<Regex> =
    LazyLock::new(|| compile("^-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"));

/// Minimum length of a line of key material. A shorter line may be a word.
const SHORTEST_LINE: usize = 16;

/// Adds private keys.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    if !text.contains("PRIVATE KEY") {
        return;
    }
    for header in HEADER.find_iter(text) {
        let body = material(&text[header.end()..]);
        if body > 0 {
            // No row of the table matches this shape, so only the rank of an assigned secret matters.
            let rank = LAST_RANK - 1;
            found.push(Found { range: header.start()..header.end() + body, kind: "private-key", rank });
        }
    }
}

/// Length of the key material including the footer, if any; 0 if there is no key material.
fn material(text: &str) -> usize {
    let mut end = 0;
    let mut at = 0;
    loop {
        at += skip_separators(&text[at..]);
        let rest = &text[at..];
        let line = rest.find(|c: char| c.is_whitespace() || c == '\\' || c == '"' || c == '\'').unwrap_or(rest.len());
        let word = &rest[..line];
        if end > 0
            && let Some(footer) = FOOTER.find(rest)
        {
            return at + footer.end();
        }
        let whole_line = word.len() >= SHORTEST_LINE && is_mixed_case(word);
        let last_line = end > 0 && !word.is_empty() && (word.contains('=') || is_last_line(&rest[line..]));
        if is_base64(word) && (whole_line || last_line) {
            at += line;
            end = at;
        } else if matches!(word, "Proc-Type:" | "DEK-Info:" | "Version:" | "Comment:") {
            at += rest.find(['\n', '\\']).unwrap_or(rest.len());
        } else {
            return end;
        }
    }
}

/// Length of the white space, escaped line ends, and quotation or indentation characters at the start of a text.
fn skip_separators(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if rest.starts_with("\\n") || rest.starts_with("\\r") {
            at += 2;
        } else if rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '>' | '|' | '\\' | ',')) {
            at += rest.chars().next().map_or(1, char::len_utf8);
        } else {
            return at;
        }
    }
}

fn is_last_line(rest: &str) -> bool {
    FOOTER.is_match(&rest[skip_separators(rest)..])
}

fn is_base64(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
}

fn is_mixed_case(word: &str) -> bool {
    let upper = word.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = word.bytes().filter(u8::is_ascii_lowercase).count();
    upper > 1 && lower > 1
}
