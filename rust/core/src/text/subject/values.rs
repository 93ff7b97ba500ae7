//! The values that a statement gives: options, numbers, quantities, dates, identifiers and names.

use super::super::statement::is_label;
use super::super::stop_words::is_stop_word;
use super::cues::COPULA;
use super::options::{DAYS, FAMILIES, GENERIC, canonical, family_of};
use super::words::{Word, is_irregular, stem_of};

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An option of a family, by its number.
    Option(usize),
    /// A number without a unit.
    Number,
    /// A number with a unit, by the dimension of the unit.
    Quantity(&'static str),
    /// A day, a month or a date.
    Day,
    /// A path, a flag or another identifier.
    Code,
    /// A proper name.
    Name,
    /// A word after "is", "to" or "=", for example an unknown tool.
    Word,
}

/// A value that a statement gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub kind: Kind,
    pub text: String,
}

/// The value that a word is.
pub(super) fn value_at(words: &[Word], at: usize, text: &str) -> Option<Value> {
    let word = &words[at];
    let before = at.checked_sub(1).map_or("", |before| words[before].text.as_str());
    let value = |kind, text: &str| Some(Value { kind, text: text.to_owned() });
    if let Some(number) = family_of(text) {
        let is_attribute =
            FAMILIES[number].options.len() > 1 && (FAMILIES[number].name != "branch" || is_branch(words, at));
        return if is_attribute { value(Kind::Option(number), canonical(text)) } else { None };
    }
    if let Some((day, _)) = date_at(words, at) {
        return Some(Value { kind: Kind::Day, text: day });
    }
    if DAYS.contains(&text) || is_date(text) {
        return value(Kind::Day, text.strip_suffix('s').filter(|day| day.ends_with("day")).unwrap_or(text));
    }
    if is_label(before) && !(before == "node" && (text.len() == 2 || text.contains('.'))) {
        return None; // issue 12 and step 3 are names, but Node 20 and Node 20.1 are versions
    }
    if let Some(number) = number_word(text)
        && !word.ends
        && let Some(next) = words.get(at + 1)
    {
        return match dimension(&next.text) {
            Some(dimension) => Some(Value { kind: Kind::Quantity(dimension), text: format!("{number} {}", next.text) }),
            None => value(Kind::Number, number),
        };
    }
    let digits = text.trim_start_matches(['v', '~', '<', '>', '=', '$', '€', '-']);
    if digits.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".,_%-x~<>=$€+".contains(c))
    {
        let end = digits.find(|c: char| !(c.is_ascii_digit() || ".,_".contains(c))).unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        let number = number.replace([',', '_'], "");
        let next = words.get(at + 1).map_or("", |next| next.text.as_str());
        let unit = if suffix.is_empty() { next } else { suffix };
        return match dimension(unit) {
            Some(dimension) => Some(Value { kind: Kind::Quantity(dimension), text: format!("{number} {unit}") }),
            None => value(Kind::Number, if suffix.is_empty() { &number } else { text }),
        };
    }
    if word.is_code && text.len() >= 2 {
        return value(Kind::Code, text);
    }
    if word.is_capital && text.chars().count() >= 2 && !is_stop_word(text) && !GENERIC.contains(&stem_of(text).as_str())
    {
        let starts = at == 0 || words[at - 1].stops;
        let owns = words.get(at + 1).is_some_and(|next| {
            matches!(
                next.text.as_str(),
                "owns"
                    | "own"
                    | "maintains"
                    | "leads"
                    | "is"
                    | "reviews"
                    | "handles"
                    | "manages"
                    | "approves"
                    | "took"
                    | "takes"
            )
        });
        if !starts || (owns && !word.is_code) {
            return value(Kind::Name, &stem_of(text));
        }
    }
    let is_word = COPULA.contains(&before)
        && !is_stop_word(text)
        && !text.ends_with("ed")
        && !is_irregular(text)
        && !GENERIC.contains(&stem_of(text).as_str());
    if is_word { value(Kind::Word, &stem_of(text)) } else { None }
}

/// Whether a word such as "main" names the branch for a purpose: in "releases are cut from the main branch", but not in
/// "protect the main branch", which may hold for several branches, nor in "the main screen".
fn is_branch(words: &[Word], at: usize) -> bool {
    let after = words.get(at + 1).map_or("", |next| next.text.as_str());
    let lead = words[..at].iter().rev().find(|word| !matches!(word.text.as_str(), "the" | "our" | "a" | "branch"));
    let is_chosen = lead.is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "from" | "to" | "into" | "off" | "onto" | "against" | "on" | "is" | "called" | "use" | "default" | "base"
        )
    });
    is_chosen && !matches!(after, "screen" | "server" | "container" | "mode" | "database")
}

/// A date of several words, for example "15 March", "March 15" or "Friday the 12th", and the number of its words.
pub(super) fn date_at(words: &[Word], at: usize) -> Option<(String, usize)> {
    let text = |number: usize| words.get(at + number).map_or("", |word| word.text.as_str());
    let is_number = |text: &str| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        (1..=2).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(&text[digits.len()..], "" | "st" | "nd" | "rd" | "th")
    };
    let is_ordinal = |text: &str| is_number(text) && text.ends_with(|c: char| c.is_ascii_alphabetic());
    let is_day = |text: &str| DAYS.contains(&text);
    if words[at].ends {
        return is_ordinal(text(0)).then(|| (text(0).to_owned(), 1));
    }
    let is_named = is_day(text(1)) || matches!(text(1), "may" | "march");
    if is_number(text(0)) && is_named || (is_day(text(0)) || matches!(text(0), "may" | "march")) && is_number(text(1)) {
        return Some((format!("{} {}", text(0), text(1)), 2));
    }
    if is_day(text(0)) && text(1) == "the" && is_ordinal(text(2)) {
        return Some((format!("{} {}", text(0), text(2)), 3));
    }
    is_ordinal(text(0)).then(|| (text(0).to_owned(), 1))
}

fn number_word(text: &str) -> Option<&'static str> {
    const NUMBERS: &[&str] = &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    const DIGITS: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    NUMBERS.iter().position(|number| *number == text).map(|at| DIGITS[at])
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn dimension(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" | "ms" | "millisecond" | "milliseconds" | "minute" | "minutes"
        | "min" | "mins" | "hour" | "hours" | "h" | "day" | "days" | "d" | "week" | "weeks" | "month" | "months"
        | "year" | "years" => "time",
        "b" | "kb" | "mb" | "gb" | "tb" | "kib" | "mib" | "gib" | "bytes" => "size",
        "%" | "percent" => "share",
        "characters" | "chars" | "columns" | "lines" | "line" => "length",
        "px" | "rem" | "em" => "pixels",
        "spaces" | "space" => "indent",
        "retries" | "attempts" | "times" | "approvals" | "reviewers" | "workers" | "replicas" | "threads"
        | "connections" | "requests" | "items" | "users" | "approval" | "attempt" | "replica" | "retry"
        | "reviewer" | "thread" | "worker" => "count",
        _ => return None,
    })
}
