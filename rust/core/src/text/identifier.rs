//! Splits identifiers such as `src/app/main.py`, `--dry-run`, `std::vec::Vec`, `group/project!12` and `v2.0.1`.
//!
//! An identifier is indexed whole, by component (`main.py`) and by word (`main`). A name of several words is also
//! indexed joined (`parse_http` as `parsehttp`), so that all spellings find it. The words of an identifier are also
//! prose, because plain words are not repeated among the identifiers. A piece without structure is a word. Invariant:
//! linear time, even for a path of a million components.

use super::camel;
use super::fold::fold;
use super::pieces::Shape;
use super::stop_words::is_one_word_name;
use super::terms::Terms;

/// Maximum number of words of a joined name. Longer names are sentences (URL slugs, branch names), which are never
/// written joined. For camel case the limit is higher, because the joined form is the identifier in lower case, as
/// users type it.
const MOST_JOINED_WORDS: usize = 4;
const MOST_JOINED_CAMEL_WORDS: usize = 8;
const LONGEST_JOINED: usize = 64;

/// Maximum number of suffixes such as `:12` or `!12` to strip. `file.py:12:5` has two.
const MOST_POSITIONS: usize = 3;

const COMPONENT_SEPARATORS: [char; 10] = ['/', '\\', ':', '#', '!', '@', '&', '+', '$', '~'];

/// Adds all terms of a piece.
pub(super) fn add_identifier(piece: &str, terms: &mut Terms) {
    let core = piece.trim_matches(is_joiner);
    if !core.contains(char::is_alphanumeric) || matches!(core, "e.g" | "i.e") {
        return;
    }
    terms.begin_piece();
    let start = core.as_ptr() as usize - piece.as_ptr() as usize;
    let (lead, tail) = (&piece[..start], &piece[start + core.len()..]);
    let (sigil, suffix) = (sigil(lead, core), suffix(core, tail));
    if sigil.is_empty() && suffix.is_empty() && simple(core, terms) {
        return;
    }
    let core = without_scheme(core, terms);
    terms.identifier(whole(&[sigil, core, suffix]));
    if !sigil.is_empty() && !core.bytes().all(|b| b.is_ascii_digit()) {
        terms.identifier_part(whole(&[core]));
    }
    for component in without_positions(core, terms).split(COMPONENT_SEPARATORS) {
        self::component(component.trim_matches(['.', '-']), terms);
    }
}

fn is_joiner(c: char) -> bool {
    c == '.' || c == '-' || c == ',' || COMPONENT_SEPARATORS.contains(&c)
}

/// The prefix that belongs to a name: `--flag`, `-x`, `!12`, `#12`, `&12`, `@user`, `$HOME`, `.env`.
fn sigil<'a>(lead: &'a str, core: &str) -> &'a str {
    let Some(first) = core.chars().next() else {
        return "";
    };
    let name = first.is_alphabetic() || first == '_';
    let kept = match lead.as_bytes() {
        [.., b'!' | b'&'] if first.is_ascii_digit() => 1,
        [.., b'#'] if name || first.is_ascii_digit() => 1,
        [.., b'@' | b'$'] | [b'-' | b'.'] | [.., b'/' | b'\\', b'.'] if name => 1,
        [b'-', b'-'] if name => 2,
        _ => 0,
    };
    &lead[lead.len() - kept..]
}

/// The suffix that belongs to a name: `c++`, `C#`.
fn suffix<'a>(core: &str, tail: &'a str) -> &'a str {
    if tail.starts_with("++") && core.bytes().all(|b| b.is_ascii_alphabetic()) {
        &tail[..2]
    } else if tail.starts_with('#') && core.len() == 1 {
        &tail[..1]
    } else {
        ""
    }
}

/// Adds a piece that is not an identifier: a word at the end of a sentence, a number, a quantity, a known name. Returns
/// whether the piece was one.
fn simple(core: &str, terms: &mut Terms) -> bool {
    let shape = Shape::of(core);
    if core.contains(',') {
        grouped_number(core, terms);
    } else if !shape.has(Shape::LETTER) {
        // A decimal with one dot is a number. With two dots it is a version or an address, which is an identifier.
        let decimal = core.bytes().all(|b| b.is_ascii_digit() || b == b'.') && core.matches('.').count() < 2;
        let one_number = !shape.has(Shape::JOINER);
        if !decimal && !one_number {
            return false;
        }
        terms.verbatim(fold(core));
    } else if shape.has(Shape::DIGIT) {
        return is_quantity(core, terms);
    } else if shape.is_plain_word() {
        terms.word(core);
    } else if shape.has(Shape::JOINER) {
        return false;
    } else {
        let folded = fold(core);
        if !is_one_word_name(&folded) {
            return false;
        }
        terms.folded_word(folded);
    }
    true
}

/// Adds `10,000` as the number 10000. A document also gets each group as a term, because `100,200` may be a list.
fn grouped_number(core: &str, terms: &mut Terms) {
    terms.verbatim(fold(&core.replace(',', "")));
    if terms.for_document {
        for group in core.split(',') {
            terms.verbatim(fold(group));
        }
    }
}

fn is_quantity(core: &str, terms: &mut Terms) -> bool {
    let is_one = super::terms::is_quantity(core);
    if is_one {
        terms.word(core);
    }
    is_one
}

/// Joins the parts of an identifier to one spelling with forward slashes.
fn whole(parts: &[&str]) -> String {
    fold(&parts.concat().replace('\\', "/"))
}

/// Strips `https://`. The scheme of another protocol is added as a word.
fn without_scheme<'a>(core: &'a str, terms: &mut Terms) -> &'a str {
    let Some((scheme, rest)) = core.split_once("://") else {
        return core;
    };
    let rest = rest.trim_start_matches(is_joiner);
    if rest.is_empty() || scheme.len() > 16 || scheme.contains(['/', ':']) {
        return core;
    }
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        component(scheme, terms);
    }
    rest
}

/// Strips numbers from the end of references and positions: `group/project!12` is also `!12` and `group/project`.
fn without_positions<'a>(core: &'a str, terms: &mut Terms) -> &'a str {
    let mut rest = core;
    for _ in 0..MOST_POSITIONS {
        let digits = rest.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, number) = rest.split_at(rest.len() - digits);
        let Some(mark) = before.chars().next_back().filter(|c| "!#&:".contains(*c)) else {
            break;
        };
        let prefix = &before[..before.len() - 1];
        if number.is_empty() || prefix.is_empty() {
            break;
        }
        if mark != ':' {
            terms.identifier(whole(&[&before[before.len() - 1..], number]));
        }
        if prefix.contains(char::is_alphabetic) {
            terms.identifier_part(whole(&[prefix]));
        }
        terms.verbatim(fold(number));
        rest = prefix;
    }
    rest
}

/// Adds a component of a path, its dotted parts and their words.
fn component(component: &str, terms: &mut Terms) {
    if component.is_empty() {
        return;
    }
    terms.identifier_part(fold(component));
    let mut rest = component;
    while !rest.is_empty() {
        let end = dot_outside_a_number(rest).unwrap_or(rest.len());
        name(&rest[..end], terms);
        rest = rest[end..].trim_start_matches('.');
    }
}

/// Finds the first dot that is not between two digits. `main.py` has one, `1.2.3` does not.
fn dot_outside_a_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    text.match_indices('.').map(|(i, _)| i).find(|&i| i == 0 || !(digit(i - 1) && digit(i + 1)))
}

/// Adds a name and its words.
fn name(name: &str, terms: &mut Terms) {
    let mut words = Vec::new();
    let bare = name.trim_matches(['-', '_']);
    for word in bare.split(['-', '_']).filter(|word| !word.is_empty()) {
        if is_one_word_name(&fold(word)) {
            words.push(word);
        } else {
            camel::parts(word, |part| words.push(part));
        }
    }
    terms.identifier_part(fold(name));
    let camel_only = !bare.contains(['-', '_']);
    let most = if camel_only { MOST_JOINED_CAMEL_WORDS } else { MOST_JOINED_WORDS };
    if (2..=most).contains(&words.len()) && bare.len() <= LONGEST_JOINED && bare.contains(char::is_alphabetic) {
        let joined = fold(&words.concat());
        // In prose "SQLite" must match "sqlite". A query for "well-known" must not search for "wellknown", because so
        // rare a word would get too much weight.
        if camel_only || terms.for_document {
            terms.folded_word(joined.clone());
        }
        terms.identifier_part(joined);
    }
    for word in words {
        self::word(word, terms);
    }
}

fn word(word: &str, terms: &mut Terms) {
    terms.identifier_part(fold(word));
    if word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic() {
        return;
    }
    terms.word(word);
    // Index v2.0.1 also as 2.0.1, and python3.11 also as python and 3.11.
    if word.contains('.')
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && let Some(digits) = word.find(|c: char| c.is_ascii_digit())
    {
        let (letters, version) = word.split_at(digits);
        for part in [letters, version] {
            terms.identifier_part(fold(part));
            if part.len() > 1 {
                terms.word(part);
            }
        }
    }
}
