//! What a question asks for besides its words: a moment, a day, somebody's own words.

use std::sync::LazyLock;

use regex::Regex;

use super::dates::{self, Span};

/// A question, looked at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// It asks when, or for how long.
    pub asks_when: bool,
    /// It is about what an assistant said or advised.
    pub addresses_assistant: bool,
    /// The days that it names.
    pub spans: Vec<Span>,
}

static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:when|what (?:date|day|year|month|time)|how long|how many (?:days|weeks|months|years)|which (?:date|day|year|month))\b",
    )
});

static ASSISTANT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:did you|you (?:recommend|suggest|said|advise|explain|mention|gave|give|propose|told)\w*|your (?:advice|recommendation|suggestion|answer|explanation)s?|the assistant)\b",
    )
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("a pattern that a test compiles: {error}"))
}

impl Question {
    /// Look at a question asked at `now_ms`.
    pub fn of(text: &str, now_ms: i64) -> Self {
        Self {
            asks_when: WHEN.is_match(text),
            addresses_assistant: ASSISTANT.is_match(text),
            spans: dates::spans(text, now_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_what_it_is_after() {
        let of = |text| Question::of(text, 0);
        assert!(of("When did Ada move?").asks_when && of("how LONG did it take").asks_when);
        assert!(!of("Whenever it rains").asks_when && !of("Who moved?").asks_when);
        assert!(of("What did you recommend for caching?").addresses_assistant);
        assert!(of("the steps the assistant gave").addresses_assistant);
        assert!(!of("What do I use for caching?").addresses_assistant);
    }
}
