//! Properties of a query that affect ranking: whether it asks for a time, and the days that it names.

use std::sync::LazyLock;

use regex::Regex;

use super::dates::{self, Span};

/// Properties of a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// Whether the query asks when, or for how long.
    pub asks_when: bool,
    /// The days that the query names.
    pub spans: Vec<Span>,
}

static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:when|what (?:date|day|year|month|time)|how long|how many (?:days|weeks|months|years)|which (?:date|day|year|month))\b",
    )
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("a pattern that a test compiles: {error}"))
}

impl Question {
    /// Analyses a query, with dates relative to `now_ms`.
    pub fn of(text: &str, now_ms: i64) -> Self {
        Self { asks_when: WHEN.is_match(text), spans: dates::spans(text, now_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_properties_are_detected() {
        let of = |text| Question::of(text, 0);
        assert!(of("When did Ada move?").asks_when && of("how LONG did it take").asks_when);
        assert!(!of("Whenever it rains").asks_when && !of("Who moved?").asks_when);
    }
}
